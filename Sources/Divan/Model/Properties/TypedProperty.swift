import DivanLog
import Observation
import Synchronization

/// A property whose value is stored in its wrapper.
final class TypedProperty<Form: StoredForm>: ModelProperty {
  typealias V = Form.Value

  let location: PropertyLocation
  let keyBytes: SharedBytes
  /// Whether nil is stored as null: 0 if not determined yet, 1 for no, 2 for yes.
  private let nullRule = Atomic<UInt8>(0)

  init(location: PropertyLocation) {
    self.location = location
    keyBytes = SharedBytes(copying: Array(location.key.utf8))
  }

  var valueType: Any.Type { V.self }
  var classFlags: PropertyFlags.Bits {
    (Form.isNormalizing ? PropertyFlags.normalizing : 0)
      | (Form.isReadAfterSaving ? PropertyFlags.readAfterSaving : 0)
  }

  func load(_ model: Model) {
    guard let properties = model.storedProperties else { return loadWithout(nil, model) }
    let range = model.storedRange(of: keyBytes, in: properties)
    guard let range,
      model.withValue(
        at: location.offset, of: V.self, { Form.read(properties.bytes, range, into: &$0) })
    else { return loadWithout(range, model) }
    model.setFlags(
      (model.flags(at: location) | PropertyFlags.replaced)
        & ~(PropertyFlags.unloaded | PropertyFlags.unreadable), at: location)
  }

  /// Sets the property to the value it has if the document has none of its type.
  ///
  /// Separate from `load`, which is called often and must not set up more than it needs.
  @inline(never)
  private func loadWithout(_ range: Range<Int>?, _ model: Model) {
    let flags = model.flags(at: location)
    if let range, storesNull(in: model), model.storedProperties?.bytes.isNull(range) == true,
      let none = Form.nilValue
    {
      model.withValue(at: location.offset, of: V.self) { $0 = none }
      model.setFlags(
        (flags | PropertyFlags.replaced) & ~(PropertyFlags.unloaded | PropertyFlags.unreadable),
        at: location)
      return
    }
    if flags & PropertyFlags.replaced != 0 {
      let declared = declaredValue(in: model)
      model.withValue(at: location.offset, of: V.self) { $0 = declared }
    }
    model.setFlags(
      flags & ~(PropertyFlags.unloaded | PropertyFlags.unreadable | PropertyFlags.replaced)
        | (range == nil ? 0 : PropertyFlags.unreadable), at: location)
    if let range, let bytes = model.storedProperties?.bytes {
      noteTypeMismatch(bytes, range, in: model)
    }
  }

  func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError? {
    guard !bytes.isNull(range) else { return nil }
    var value = declaredValue(in: model)
    guard !Form.read(bytes, range, into: &value) else { return nil }
    var error = DatabaseError(
      .mismatchedType, "the document's value is not of the type of \(type(of: model)).\(name)",
      hint: "Assign the property to replace the document's value",
      documentID: model.documentID, underlying: Form.typeMismatch(bytes, range))
    let inner = (error.underlying as? DatabaseError)?.propertyPath
    error.propertyPath = inner.map { $0.hasPrefix("[") ? key + $0 : "\(key).\($0)" } ?? key
    return error
  }

  func prepareToRead(_ model: Model) {
    let flags = model.flags(at: location)
    if flags & PropertyFlags.unloaded != 0 {
      load(model)
    } else if flags & PropertyFlags.unrounded != 0 {
      model.withValue(at: location.offset, of: V.self) { $0 = Form.normalized($0) }
      clear(PropertyFlags.unrounded, in: model)
    }
  }

  func finishReading(_ model: Model) {}

  func assign<T>(_ value: T, to model: Model) {
    let value = Form.normalized(identical(value, as: V.self))
    prepareToRead(model)
    let flags = model.flags(at: location)
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0 {
      let isSame = model.withValue(at: location.offset, of: V.self) {
        Form.areSame($0, value)
      }
      if isSame { return }
    }
    model.announcing(model.observationPath(of: location)) {
      // The old value is released only after the access has ended: that may run client code.
      let old = model.withValue(at: location.offset, of: V.self) { current in
        let old = current
        current = value
        return old
      }
      model.noteChange(at: location)
      _ = old
    }
  }

  func assign(stored bytes: SharedBytes, to model: Model) -> Bool {
    var value = declaredValue(in: model)
    if bytes.isNull(0..<bytes.count), storesNull(in: model), let none = Form.nilValue {
      value = none
    } else if !Form.read(bytes, 0..<bytes.count, into: &value) {
      return false
    }
    assign(value, to: model)
    return true
  }

  func reset(in model: Model) { assign(Form.nilValue ?? declaredValue(in: model), to: model) }

  /// Whether nil is stored as null, because a missing value would be read as the declared one.
  private func storesNull(in model: Model) -> Bool {
    let known = nullRule.load(ordering: .relaxed)
    guard known == 0 else { return known == 2 }
    let storesNull = Form.nilValue != nil && !Form.isAbsent(declaredValue(in: model))
    nullRule.store(storesNull ? 2 : 1, ordering: .relaxed)
    return storesNull
  }

  private func declaredValue(in model: Model) -> V {
    model.modelClass.defaults.withValue(at: location.offset, of: V.self) { $0 }
  }

  func beginModifying(_ model: Model) {
    prepareToRead(model)
    model.observers?.willChange(model.observationPath(of: location))
  }

  func endModifying(_ model: Model) {
    if Form.isNormalizing { set(PropertyFlags.unrounded, in: model) }
    model.noteChange(at: location)
    model.observers?.didChange(model.observationPath(of: location))
  }

  func isAbsent(in model: Model) -> Bool {
    prepareToRead(model)
    return model.withValue(at: location.offset, of: V.self) { Form.isAbsent($0) }
      && !storesNull(in: model)
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) throws(DatabaseError) {
    prepareToRead(model)
    let value = model.withValue(at: location.offset, of: V.self) { $0 }
    try Form.write(value, to: &encoder)
  }

  var keepsUnknownKeys: Bool { Form.keepsUnknownKeys }

  func adding(unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Value) -> Value {
    Form.adding(unknownIn: bytes, range, to: new)
  }
}
