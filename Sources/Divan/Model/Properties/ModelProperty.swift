import DivanLog

/// The location of a property in the objects of its class and in their documents.
struct PropertyLocation: Sendable {
  /// The property's name.
  var name = ""
  /// The property's key in documents.
  var key = ""
  /// The property's number in its class.
  var index = 0
  /// The offset of the wrapper in the object; the wrapper starts with the value.
  let offset: Int
  /// The offsets of the number and the flags in the wrapper.
  let indexOffset: Int
  let flagsOffset: Int
  /// The flags of a newly initialized model.
  var initialFlags: PropertyFlags.Bits
  /// What happens to the targets of the property when its model is deleted.
  var deleteRule = DeleteRule.noAction
  /// The number of the property's declaration in `PropertyKeys`.
  ///
  /// It leads to the index, whose options are not here: a location is copied with each access that
  /// is not fast.
  var declaration = PropertyKeys.none
}

extension PropertyLocation {
  /// The index that is declared with the property; nil if there is none.
  var indexKind: PropertyIndexKind? { PropertyKeys.declaration(declaration)?.index }
}

/// A type-erased wrapper.
protocol PersistedWrapper {
  static func location(at offset: Int) -> PropertyLocation
  static func makeProperty(_ location: PropertyLocation) -> any ModelProperty
}

extension Persisted: PersistedWrapper {
  static func location(at offset: Int) -> PropertyLocation {
    guard let indexOffset = MemoryLayout<Self>.offset(of: \._index),
      let flagsOffset = MemoryLayout<Self>.offset(of: \._flags)
    else { refuseUse("\(Self.self) has no stored properties") }
    precondition(MemoryLayout<Self>.offset(of: \._value) == 0, "The value is not the first field")
    let property = storage.makeProperty(
      PropertyLocation(
        offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset, initialFlags: 0))
    return PropertyLocation(
      offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset,
      initialFlags: property.classFlags)
  }

  static func makeProperty(_ location: PropertyLocation) -> any ModelProperty {
    storage.makeProperty(location)
  }

  /// The storage of the values: their own form, references, or else their `Codable` form.
  private static var storage: _PersistedStorage {
    if let type = Value.self as? any _PersistableValue.Type { return type._storage }
    if let type = Value.self as? any ReferenceList.Type { return type.referenceStorage }
    if let storage = _PersistedStorage.coded(Value.self) { return storage }
    refuseUse("Only properties that can be stored have an initializer")
  }
}

/// A type-erased property of a model class.
protocol ModelProperty: AnyObject, Sendable {
  var location: PropertyLocation { get }
  /// The declared type of the property.
  var valueType: Any.Type { get }
  var keyBytes: SharedBytes { get }
  /// The flags that the property has in every model.
  var classFlags: PropertyFlags.Bits { get }
  /// Loads the value from the document into the model.
  func load(_ model: Model)
  /// Ensures that the wrapper contains the value.
  ///
  /// If the property is a reference, `finishReading` must follow once the value was read.
  func prepareToRead(_ model: Model)
  func finishReading(_ model: Model)
  /// Sets the value; does nothing if it is unchanged.
  func assign<T>(_ value: T, to model: Model)
  /// Sets the value from its stored form; returns false if that is of another type.
  func assign(stored bytes: SharedBytes, to model: Model) -> Bool
  /// Sets the value to nil if its type has one, and otherwise to the declared value.
  func reset(in model: Model)
  func beginModifying(_ model: Model)
  func endModifying(_ model: Model)
  /// Whether the property is left out of the document.
  func isAbsent(in model: Model) -> Bool
  /// Encodes the value.
  ///
  /// - Throws: ``DatabaseError`` with the code `invalidValue` or `documentTooLarge`.
  func encode(_ model: Model, into encoder: inout ValueEncoder) throws(DatabaseError)
  /// Whether values can have properties that their type does not know.
  var keepsUnknownKeys: Bool { get }
  /// Returns the value to store, with the properties of the stored one that its type does not know.
  func adding(unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Value) -> Value
  /// Reduces the property's references to IDs, and returns the models that they retained.
  ///
  /// They retain models only while the model of the property is in no context.
  func takeTargets(of model: Model) -> [Model]
  /// Drops the references of the property, which are loaded from the document again.
  func forgetTargets(of model: Model)
  /// The class that the property refers to; nil if it is not a reference.
  var target: Model.Type? { get }
  /// The references of the property; empty if it is not a reference.
  func references(in model: Model) -> [ModelReference]
  /// Sets the references, including those into other contexts; does nothing for other properties.
  func set(references: [ModelReference], in model: Model)
  /// The targets of the property, without those that do not exist.
  func targets(in model: Model) throws -> [Model]
  /// Removes the references to a document from the property.
  func removeReferences(to target: DocumentKey, in model: Model)
  /// Sets the property of a scratch model to refer to a new model, which it returns.
  ///
  /// Returns nil if the property is not a reference.
  func setProbe(in model: Model) -> Model?
  /// The error of a stored value that is not of the property's type; nil if it is, or is null.
  func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError?
}

extension ModelProperty {
  var keepsUnknownKeys: Bool { false }
  func adding(unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Value) -> Value { new }
  func takeTargets(of model: Model) -> [Model] { [] }
  func forgetTargets(of model: Model) {}
  var target: Model.Type? { nil }
  func references(in model: Model) -> [ModelReference] { [] }
  func set(references: [ModelReference], in model: Model) {}
  func targets(in model: Model) throws -> [Model] { [] }
  func removeReferences(to target: DocumentKey, in model: Model) {}
  func setProbe(in model: Model) -> Model? { nil }

  var name: String { location.name }
  var key: String { location.key }

  /// Whether the property has an unsaved change.
  func isDirty(in model: Model) -> Bool { model.isDirty(location) }

  func set(_ flags: PropertyFlags.Bits, in model: Model) {
    model.setFlags(model.flags(at: location) | flags, at: location)
  }

  /// Makes the next access load the value from the document.
  func readAgain(in model: Model) {
    set(PropertyFlags.unloaded, in: model)
    clear(PropertyFlags.unreadable | PropertyFlags.unrounded, in: model)
    forgetTargets(of: model)
  }

  func clear(_ flags: PropertyFlags.Bits, in model: Model) {
    model.setFlags(model.flags(at: location) & ~flags, at: location)
  }

  /// Reports that the document's value is not of the property's type.
  func noteTypeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) {
    guard let typeMismatch = typeMismatch(bytes, range, in: model) else { return }
    model.core?.handle?.mismatchHandler?(typeMismatch)
  }

  /// The error of reading the property from the model's document, if there is one.
  func problem(in model: Model) throws(DatabaseError) -> DatabaseError? {
    guard !isDirty(in: model), let properties = model.storedProperties else { return nil }
    let range = try keyBytes.withSpan { (key) throws(DatabaseError) in
      try properties.propertyRange(key)
    }
    return range.flatMap { typeMismatch(properties.bytes, $0, in: model) }
  }
}

extension SharedBytes {
  /// Whether a range is a null, which is treated like a missing value.
  func isNull(_ range: Range<Int>) -> Bool {
    range.count == 1 && self[range.lowerBound] == ValueFormat.Tag.null
  }
}
