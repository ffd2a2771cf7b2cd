import DivanLog

/// A property that refers to another model by its ID, which the model stores.
///
/// The wrapper retains the target only during a read or a modification, so that models that refer
/// to each other do not form a cycle.
final class ReferenceProperty<Target: Model>: ModelProperty {
  let place: PropertyLocation
  let keyBytes: SharedBytes

  init(place: PropertyLocation) {
    self.place = place
    keyBytes = SharedBytes(copying: Array(place.key.utf8))
  }

  var valueType: Any.Type { Target?.self }
  var classFlags: UInt16 { PropertyFlags.reference }
  var target: Model.Type? { Target.self }

  func load(_ model: Model) {
    let body = model.body
    let range = body.flatMap { model.storedRange(of: keyBytes, in: $0) }
    let id = range.flatMap { range in body?.bytes.withSpan { String.decode($0, range) } }
    model.withValue(at: place.offset, of: Target?.self) { $0 = nil }
    model.references[place.index] = id.map { ModelReference(id: $0, target: nil) }
    clear(PropertyFlags.unloaded | PropertyFlags.unreadable, in: model)
    guard id == nil, let range, let body else { return }
    set(PropertyFlags.unreadable, in: model)
    noteMisfit(body.bytes, range, in: model)
  }

  func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError? {
    guard !bytes.isNull(range), bytes.withSpan({ String.decode($0, range) }) == nil else {
      return nil
    }
    return DatabaseError(
      .mismatchedType, "\(type(of: model)).\(name) is a reference, and the document has no text",
      hint: "Assign the property to replace what the document has",
      documentID: model.documentID, propertyPath: key)
  }

  /// Turns a declared value, or one set by the initializer, into a reference by ID.
  private func takeFromWrapper(_ model: Model) {
    let target = model.withValue(at: place.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    if let target { model.references[place.index] = model.reference(to: target, as: Target.self) }
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

  func takeTargets(of model: Model) -> [Model] {
    prepare(model)
    guard let reference = model.references[place.index] else { return [] }
    model.references[place.index] = ModelReference(id: reference.id, target: nil)
    return reference.target.map { [$0] } ?? []
  }

  func forgetTargets(of model: Model) { model.references[place.index] = nil }

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
    let flags = model.flags(at: place)
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0,
      reference.map(\.key) == model.references[place.index].map(\.key)
    {
      return
    }
    let before = model.references[place.index]
    model.announcing(observationPath(in: model)) {
      model.references[place.index] = reference
      model.noteChange(at: place)
    }
    model.core?.announceInverses(of: [before, reference].compactMap { $0?.key })
  }

  // MARK: Inverses

  func references(in model: Model) -> [ModelReference] {
    prepare(model)
    return model.references[place.index].map { [$0] } ?? []
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
    model.references[place.index] = ModelReference(id: target.id, target: target)
    return target
  }

  func beginModifying(_ model: Model) { prepareToRead(model) }

  func endModifying(_ model: Model) {
    let target = model.withValue(at: place.offset, of: Target?.self) { current in
      defer { current = nil }
      return current
    }
    // A reference whose target could not be found stays, unless another model was assigned.
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

  func encode(_ model: Model, into encoder: inout ValueEncoder) {
    prepare(model)
    guard let id = model.references[place.index]?.id else { return encoder.addNull() }
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
  var unheld: ModelReference { ModelReference(id: id, target: target) }
}

/// Models that are released one after another.
final class ReleasedModels {
  var models: [Model] = []
}
