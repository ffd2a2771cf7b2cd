import DivanLog

/// Where a property is, in the objects of its class and in their documents.
struct PropertyPlace: Sendable {
  /// The property's name.
  var name = ""
  /// The property's name in documents.
  var key = ""
  /// The property's number in its class.
  var index = 0
  /// From the beginning of the object to the wrapper, which begins with the value.
  let offset: Int
  /// From the beginning of the wrapper to its number and its flags.
  let indexOffset: Int
  let flagsOffset: Int
  /// The flags of a model that was just made.
  var initialFlags: UInt16
  /// What becomes of the models that the property refers to when its own is deleted.
  var deleteRule = DeleteRule.none
  /// The index that is declared with the property; nil if there is none.
  var indexKind: PropertyIndexKind?
}

/// A wrapper of any type.
protocol PersistedWrapper {
  static func place(at offset: Int) -> PropertyPlace
  static func makeProperty(_ place: PropertyPlace) -> any ModelProperty
}

extension Persisted: PersistedWrapper {
  static func place(at offset: Int) -> PropertyPlace {
    guard let indexOffset = MemoryLayout<Self>.offset(of: \._index),
      let flagsOffset = MemoryLayout<Self>.offset(of: \._flags)
    else { refuseUse("\(Self.self) has no stored properties") }
    precondition(MemoryLayout<Self>.offset(of: \._value) == 0, "The value is not in its place")
    let property = storage.makeProperty(
      PropertyPlace(
        offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset, initialFlags: 0))
    return PropertyPlace(
      offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset,
      initialFlags: property.classFlags)
  }

  static func makeProperty(_ place: PropertyPlace) -> any ModelProperty {
    storage.makeProperty(place)
  }

  /// How values are stored: in a form of their own, as references, or else as they encode themselves.
  private static var storage: _PersistedStorage {
    if let type = Value.self as? any PersistableValue.Type { return type._storage }
    if let type = Value.self as? any ReferenceList.Type { return type.referenceStorage }
    if let storage = _PersistedStorage.coded(Value.self) { return storage }
    refuseUse("Only properties that can be stored have an initializer")
  }
}

/// A property of a class of models: what can be done with it, whatever its type.
protocol ModelProperty: AnyObject, Sendable {
  var place: PropertyPlace { get }
  /// The type that the property is declared with.
  var valueType: Any.Type { get }
  var keyBytes: SharedBytes { get }
  /// The flags that the property has in every model.
  var classFlags: UInt16 { get }
  /// Brings the value from the document into the model.
  func load(_ model: Model)
  /// Makes the wrapper hold the value.
  ///
  /// After that, and after reading it, `finishReading` is due if the property is a reference.
  func prepareToRead(_ model: Model)
  func finishReading(_ model: Model)
  /// Sets the value; does nothing if it is the same.
  func assign<T>(_ value: T, to model: Model)
  /// Sets the value to one in its stored form; returns false if it is none of this type.
  func assign(stored bytes: SharedBytes, to model: Model) -> Bool
  /// Sets the value to the declared one.
  func reset(in model: Model)
  func beginModifying(_ model: Model)
  func endModifying(_ model: Model)
  /// Whether the property is left out of the document.
  func isAbsent(in model: Model) -> Bool
  /// Adds the value.
  ///
  /// - Throws: ``DatabaseError`` with the code `invalidValue` or `documentTooLarge`.
  func encode(_ model: Model, into encoder: inout ValueEncoder) throws(DatabaseError)
  /// What is to be stored, with what the property's type does not know of the objects in what is stored in a range.
  func adding(unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Value) -> Value
  /// Keeps nothing but the IDs of the models that the property refers to; returns those that it kept themselves, since its own
  /// was in no context.
  func takeTargets(of model: Model) -> [Model]
  /// Forgets what the property referred to; the document says it again.
  func forgetTargets(of model: Model)
  /// The class that the property is declared to refer to; nil if it is no reference.
  var target: Model.Type? { get }
  /// What the property refers to; nothing if it is no reference.
  func references(in model: Model) -> [ModelReference]
  /// Changes what the property refers to, those in other contexts among them; does nothing if it is no reference.
  func set(references: [ModelReference], in model: Model)
  /// The models that the property refers to, those that are not there left out.
  func targets(in model: Model) throws -> [Model]
  /// Takes references to a document out of the property.
  func removeReferences(to target: DocumentKey, in model: Model)
  /// Makes the property of a model that nobody sees refer to a new model, which it returns; nil if it is no
  /// reference.
  func setProbe(in model: Model) -> Model?
  /// Why what a document has for the property cannot be read as its type; nil if it can, or is null.
  func misfit(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError?
}

extension ModelProperty {
  func adding(unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Value) -> Value { new }
  func takeTargets(of model: Model) -> [Model] { [] }
  func forgetTargets(of model: Model) {}
  var target: Model.Type? { nil }
  func references(in model: Model) -> [ModelReference] { [] }
  func set(references: [ModelReference], in model: Model) {}
  func targets(in model: Model) throws -> [Model] { [] }
  func removeReferences(to target: DocumentKey, in model: Model) {}
  func setProbe(in model: Model) -> Model? { nil }

  var name: String { place.name }
  var key: String { place.key }

  /// Whether the property is to be saved.
  func isDirty(in model: Model) -> Bool { model.isDirty(place) }

  func set(_ flags: UInt16, in model: Model) {
    model.setFlags(model.flags(at: place) | flags, at: place)
  }

  /// Has the value read from the document when it is asked for.
  func readAgain(in model: Model) {
    set(PropertyFlags.unloaded, in: model)
    clear(PropertyFlags.unreadable | PropertyFlags.unrounded, in: model)
    forgetTargets(of: model)
  }

  func clear(_ flags: UInt16, in model: Model) {
    model.setFlags(model.flags(at: place) & ~flags, at: place)
  }

  /// Notes that the document has a value that is none of the property's type.
  func noteMisfit(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) {
    guard let misfit = misfit(bytes, range, in: model) else { return }
    model.core?.handle?.mismatchHandler?(misfit)
  }

  /// Why the property cannot be read from the model's document, if it cannot.
  func problem(in model: Model) throws(DatabaseError) -> DatabaseError? {
    guard !isDirty(in: model), let body = model.body else { return nil }
    let range = try keyBytes.withSpan { (key) throws(DatabaseError) in
      try body.propertyRange(key)
    }
    return range.flatMap { misfit(body.bytes, $0, in: model) }
  }
}

extension SharedBytes {
  /// Whether a null stands in a range, which is as if nothing did.
  func isNull(_ range: Range<Int>) -> Bool {
    range.count == 1 && self[range.lowerBound] == ValueFormat.Tag.null
  }
}
