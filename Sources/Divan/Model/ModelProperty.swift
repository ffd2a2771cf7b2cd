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
  let initialFlags: UInt16
}

/// A wrapper of any type.
protocol PersistedWrapper {
  static func place(at offset: Int) -> PropertyPlace
  static func makeProperty(_ place: PropertyPlace) -> any ModelProperty
}

extension Persisted: PersistedWrapper where Value: PersistableValue {
  static func place(at offset: Int) -> PropertyPlace {
    guard let indexOffset = MemoryLayout<Self>.offset(of: \._index),
      let flagsOffset = MemoryLayout<Self>.offset(of: \._flags)
    else { preconditionFailure("\(Self.self) has no stored properties") }
    precondition(MemoryLayout<Self>.offset(of: \._value) == 0, "The value is not in its place")
    let property = Value._storage.makeProperty(
      PropertyPlace(
        offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset, initialFlags: 0))
    return PropertyPlace(
      offset: offset, indexOffset: indexOffset, flagsOffset: flagsOffset,
      initialFlags: property.classFlags)
  }

  static func makeProperty(_ place: PropertyPlace) -> any ModelProperty {
    Value._storage.makeProperty(place)
  }
}

/// A property of a class of models: what can be done with it, whatever its type.
protocol ModelProperty: AnyObject, Sendable {
  var place: PropertyPlace { get }
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
  func beginModifying(_ model: Model)
  func endModifying(_ model: Model)
  /// Whether the property is left out of the document.
  func isAbsent(in model: Model) -> Bool
  /// Adds the value.
  func encode(_ model: Model, into encoder: inout ValueEncoder) -> Bool
}

extension ModelProperty {
  var name: String { place.name }
  var key: String { place.key }

  /// Whether the property is to be saved.
  func isDirty(in model: Model) -> Bool { model.flags(at: place) & PropertyFlags.dirty != 0 }

  func set(_ flags: UInt16, in model: Model) {
    model.setFlags(model.flags(at: place) | flags, at: place)
  }

  func clear(_ flags: UInt16, in model: Model) {
    model.setFlags(model.flags(at: place) & ~flags, at: place)
  }

  /// Notes that the value was changed.
  func noteChange(in model: Model) {
    let flags = model.flags(at: place)
    model.setFlags(
      (flags | PropertyFlags.dirty | PropertyFlags.replaced)
        & ~(PropertyFlags.unreadable | PropertyFlags.unloaded), at: place)
    if flags & PropertyFlags.dirty == 0 { model.noteChange() }
  }

  /// Where the document has something for the property; nil if it has nothing.
  func storedRange(in model: Model) -> Range<Int>? {
    guard let body = model.body else { return nil }
    do throws(DatabaseError) {
      return try keyBytes.withSpan { (key) throws(DatabaseError) in try body.propertyRange(key) }
    } catch {
      model.report(error)
      return nil
    }
  }
}

/// A property whose value is kept in its wrapper.
final class TypedProperty<V: StorableValue>: ModelProperty {
  let place: PropertyPlace
  let keyBytes: SharedBytes

  init(place: PropertyPlace) {
    self.place = place
    keyBytes = SharedBytes(copying: Array(place.key.utf8))
  }

  var classFlags: UInt16 { V.isNormalizing ? PropertyFlags.normalizing : 0 }

  func load(_ model: Model) {
    let range = storedRange(in: model)
    let flags = model.flags(at: place)
    if let range, let bytes = model.body?.bytes,
      model.withValue(at: place.offset, of: V.self, { V.read(bytes, range, into: &$0) })
    {
      model.setFlags(
        (flags | PropertyFlags.replaced) & ~(PropertyFlags.unloaded | PropertyFlags.unreadable),
        at: place)
      return
    }
    if flags & PropertyFlags.replaced != 0 {
      let declared = model.modelClass.defaults.withValue(at: place.offset, of: V.self) {
        $0
      }
      model.withValue(at: place.offset, of: V.self) { $0 = declared }
    }
    model.setFlags(
      flags & ~(PropertyFlags.unloaded | PropertyFlags.unreadable | PropertyFlags.replaced)
        | (range == nil ? 0 : PropertyFlags.unreadable), at: place)
  }

  func prepareToRead(_ model: Model) {
    let flags = model.flags(at: place)
    if flags & PropertyFlags.unloaded != 0 {
      load(model)
    } else if flags & PropertyFlags.unrounded != 0 {
      model.withValue(at: place.offset, of: V.self) { $0 = V._normalized($0) }
      clear(PropertyFlags.unrounded, in: model)
    }
  }

  func finishReading(_ model: Model) {}

  func assign<T>(_ value: T, to model: Model) {
    let value = V._normalized(identical(value, as: V.self))
    prepareToRead(model)
    let flags = model.flags(at: place)
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0 {
      let isSame = model.withValue(at: place.offset, of: V.self) {
        V.areSame($0, value)
      }
      if isSame { return }
    }
    // What was there is released only after the access is over: that may run anybody's code.
    let old = model.withValue(at: place.offset, of: V.self) { current in
      let old = current
      current = value
      return old
    }
    noteChange(in: model)
    _ = old
  }

  func beginModifying(_ model: Model) { prepareToRead(model) }

  func endModifying(_ model: Model) {
    if V.isNormalizing { set(PropertyFlags.unrounded, in: model) }
    noteChange(in: model)
  }

  func isAbsent(in model: Model) -> Bool {
    prepareToRead(model)
    return model.withValue(at: place.offset, of: V.self) { $0.isAbsent }
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) -> Bool {
    prepareToRead(model)
    let value = model.withValue(at: place.offset, of: V.self) { $0 }
    return value.encode(into: &encoder)
  }
}

/// A property that refers to another model, whose ID the model keeps.
///
/// The wrapper holds the other model only while it is read or changed, so that models that refer to
/// each other can go.
final class ReferenceProperty<Target: Model>: ModelProperty {
  let place: PropertyPlace
  let keyBytes: SharedBytes

  init(place: PropertyPlace) {
    self.place = place
    keyBytes = SharedBytes(copying: Array(place.key.utf8))
  }

  var classFlags: UInt16 { PropertyFlags.reference }

  func load(_ model: Model) {
    let range = storedRange(in: model)
    let id = range.flatMap { range in
      model.body?.bytes.withSpan { String.decode($0, range) }
    }
    model.withValue(at: place.offset, of: Target?.self) { $0 = nil }
    model.references[place.index] = id.map { ModelReference(id: $0, target: nil) }
    clear(PropertyFlags.unloaded | PropertyFlags.unreadable, in: model)
    if id == nil, range != nil { set(PropertyFlags.unreadable, in: model) }
  }

  /// The value that was declared, or given by the initializer, becomes a reference like any other.
  private func takeFromWrapper(_ model: Model) {
    let target = model.withValue(at: place.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    if let target { model.references[place.index] = model.reference(to: target) }
  }

  func prepare(_ model: Model) {
    if model.flags(at: place) & PropertyFlags.unloaded != 0 {
      load(model)
    } else {
      takeFromWrapper(model)
    }
  }

  func prepareToRead(_ model: Model) {
    prepare(model)
    guard let reference = model.references[place.index] else { return }
    let target = reference.target as? Target ?? model.core?.target(reference.id, Target.self)
    model.withValue(at: place.offset, of: Target?.self) { $0 = target }
  }

  func finishReading(_ model: Model) {
    model.withValue(at: place.offset, of: Target?.self) { $0 = nil }
  }

  func assign<T>(_ value: T, to model: Model) {
    prepare(model)
    set(identical(value, as: Target?.self), in: model)
  }

  private func set(_ target: Target?, in model: Model) {
    let reference = target.map { model.reference(to: $0) }
    let flags = model.flags(at: place)
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0,
      reference?.id == model.references[place.index]?.id
    {
      return
    }
    model.references[place.index] = reference
    noteChange(in: model)
  }

  func beginModifying(_ model: Model) { prepareToRead(model) }

  func endModifying(_ model: Model) {
    let target = model.withValue(at: place.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    // One that could not be found stays, unless another was assigned.
    if target == nil, let id = model.references[place.index]?.id,
      model.core?.target(id, Target.self) == nil
    {
      return
    }
    set(target, in: model)
  }

  func isAbsent(in model: Model) -> Bool {
    prepare(model)
    return model.references[place.index] == nil
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) -> Bool {
    prepare(model)
    guard let id = model.references[place.index]?.id else {
      encoder.addNull()
      return true
    }
    return id.encode(into: &encoder)
  }
}

/// What a property refers to.
struct ModelReference {
  let id: String
  /// The model itself, while the one that refers to it is in no context.
  let target: Model?
}
