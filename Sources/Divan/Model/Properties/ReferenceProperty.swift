import DivanLog

/// A property that refers to another model by its ID, which the model stores.
///
/// The wrapper retains the target only during a read or a modification, because models that
/// refer to each other would form a cycle.
final class ReferenceProperty<Target: Model>: ModelProperty {
  let location: PropertyLocation
  let keyBytes: SharedBytes

  init(location: PropertyLocation) {
    self.location = location
    keyBytes = SharedBytes(copying: Array(location.key.utf8))
  }

  var valueType: Any.Type { Target?.self }
  var classFlags: PropertyFlags.Bits { PropertyFlags.reference }
  var target: Model.Type? { Target.self }

  func load(_ model: Model) {
    let properties = model.storedProperties
    let range = properties.flatMap { model.storedRange(of: keyBytes, in: $0) }
    let id = range.flatMap { range in properties?.bytes.withSpan { String.decode($0, range) } }
    model.withValue(at: location.offset, of: Target?.self) { $0 = nil }
    model.references[location.index] = id.map { ModelReference(id: $0, target: nil) }
    clear(PropertyFlags.unloaded | PropertyFlags.unreadable, in: model)
    guard id == nil, let range, let properties else { return }
    set(PropertyFlags.unreadable, in: model)
    noteTypeMismatch(properties.bytes, range, in: model)
  }

  func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError? {
    guard !bytes.isNull(range), bytes.withSpan({ String.decode($0, range) }) == nil else {
      return nil
    }
    return DatabaseError(
      .mismatchedType,
      "\(type(of: model)).\(name) is a reference, but the document's value is not a text",
      hint: "Assign the property to replace the document's value",
      documentID: model.documentID, propertyPath: key)
  }

  /// Turns a declared value, or one set by the initializer, into a reference by ID.
  private func takeFromWrapper(_ model: Model) {
    let target = model.withValue(at: location.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    if let target {
      model.references[location.index] = model.reference(to: target, as: Target.self)
    }
  }

  func prepare(_ model: Model) {
    if model.flags(at: location) & PropertyFlags.unloaded != 0 {
      load(model)
    } else {
      takeFromWrapper(model)
    }
  }

  func prepareToRead(_ model: Model) {
    prepare(model)
    guard let reference = model.references[location.index] else { return }
    let target = reference.target as? Target ?? model.core?.target(reference.id, Target.self)
    model.withValue(at: location.offset, of: Target?.self) { $0 = target }
  }

  func finishReading(_ model: Model) {
    model.withValue(at: location.offset, of: Target?.self) { $0 = nil }
  }

  func assign<T>(_ value: T, to model: Model) {
    prepare(model)
    set(identical(value, as: Target?.self), in: model)
  }

  func takeTargets(of model: Model) -> [Model] {
    prepare(model)
    guard let reference = model.references[location.index] else { return [] }
    model.references[location.index] = ModelReference(id: reference.id, target: nil)
    return reference.target.map { [$0] } ?? []
  }

  func forgetTargets(of model: Model) { model.references[location.index] = nil }

  func assign(stored bytes: SharedBytes, to model: Model) -> Bool {
    if bytes.isNull(0..<bytes.count) {
      reset(in: model)
      return true
    }
    guard let id = bytes.withSpan({ String.decode($0, 0..<bytes.count) }) else { return false }
    prepare(model)
    set(ModelReference(id: id, target: nil), in: model)
    return true
  }

  func reset(in model: Model) {
    prepare(model)
    set(nil as ModelReference?, in: model)
  }

  private func set(_ target: Target?, in model: Model) {
    set(target.map { model.reference(to: $0, as: Target.self) }, in: model)
  }

  private func set(_ reference: ModelReference?, in model: Model) {
    let flags = model.flags(at: location)
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0,
      reference.map(\.key) == model.references[location.index].map(\.key)
    {
      return
    }
    let before = model.references[location.index]
    model.announcing(observationPath(in: model)) {
      model.references[location.index] = reference
      model.noteChange(at: location)
    }
    model.core?.announceInverses(of: [before, reference].compactMap { $0?.key })
  }

  // MARK: Inverses

  func references(in model: Model) -> [ModelReference] {
    prepare(model)
    return model.references[location.index].map { [$0] } ?? []
  }

  func set(references: [ModelReference], in model: Model) {
    prepare(model)
    set(references.first, in: model)
  }

  func targets(in model: Model) throws -> [Model] {
    try model.core?.targets(of: references(in: model), Target.self) ?? []
  }

  func removeReferences(to target: DocumentKey, in model: Model) {
    if references(in: model).contains(where: { $0.key == target }) { reset(in: model) }
  }

  func setProbe(in model: Model) -> Model? {
    // Removes a declared value, which would otherwise replace the probe.
    prepare(model)
    let target = Target()
    model.references[location.index] = ModelReference(id: target.id, target: target)
    return target
  }

  func beginModifying(_ model: Model) { prepareToRead(model) }

  func endModifying(_ model: Model) {
    let target = model.withValue(at: location.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    // A reference whose target could not be found stays, unless another model was assigned.
    if target == nil, let id = model.references[location.index]?.id,
      model.core?.target(id, Target.self) == nil
    {
      return
    }
    set(target, in: model)
  }

  func isAbsent(in model: Model) -> Bool {
    prepare(model)
    return model.references[location.index] == nil
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) {
    prepare(model)
    guard let id = model.references[location.index]?.id else { return encoder.addNull() }
    _ = id.encode(into: &encoder)
  }
}

/// A reference of a property.
struct ModelReference {
  let id: String
  var key: DocumentKey { DocumentKey(id) }
  /// The target, while the model that refers to it is in no context.
  let target: Model?
  /// The target after a lookup, retained while the model that refers to it is unsaved.
  ///
  /// It prevents a growing list from being looked up as a whole at each change.
  var found: Model?

  /// The reference without `found`.
  var unretained: ModelReference { ModelReference(id: id, target: target) }
}

/// Models that are released one after another.
final class ReleasedModels {
  var models: [Model] = []
}
