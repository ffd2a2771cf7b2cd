import DivanLog

/// An array of models: what a property can refer to besides a single one.
protocol ReferenceList {
  static var referenceStorage: _PersistedStorage { get }
}

extension Array: ReferenceList where Element: Model {
  /// Stored as the IDs of the other models' documents.
  static var referenceStorage: _PersistedStorage {
    _PersistedStorage { ReferenceListProperty<Element>(place: $0) }
  }
}

/// A property that refers to other models in an order, whose IDs the model keeps.
///
/// As with a single reference, the wrapper holds the others only while it is read or changed. Each reading
/// looks all of them up. Those whose documents are not there are left out; they go from the document
/// when the property is changed. Those that cannot be read just now are left out too, but stay.
final class ReferenceListProperty<Target: Model>: ModelProperty {
  let place: PropertyPlace
  let keyBytes: SharedBytes

  init(place: PropertyPlace) {
    self.place = place
    keyBytes = SharedBytes(copying: Array(place.key.utf8))
  }

  var valueType: Any.Type { [Target].self }
  var classFlags: UInt16 { PropertyFlags.reference }
  var target: Model.Type? { Target.self }

  // MARK: The IDs

  private func ids(_ bytes: SharedBytes, _ range: Range<Int>) -> [String]? {
    bytes.withSpan { [String].decode($0, range) }
  }

  func load(_ model: Model) {
    let body = model.body
    let range = body.flatMap { model.storedRange(of: keyBytes, in: $0) }
    let found = range.flatMap { range in body.flatMap { ids($0.bytes, range) } }
    model.withValue(at: place.offset, of: [Target].self) { $0 = [] }
    model.referenceLists[place.index] = found?.map { ModelReference(id: $0, target: nil) }
    clear(PropertyFlags.unloaded | PropertyFlags.unreadable, in: model)
    guard found == nil, let range, let body else { return }
    set(PropertyFlags.unreadable, in: model)
    noteMisfit(body.bytes, range, in: model)
  }

  func misfit(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError? {
    guard !bytes.isNull(range), ids(bytes, range) == nil else { return nil }
    return DatabaseError(
      .mismatchedType,
      "\(type(of: model)).\(name) refers to models, and the document has no array of texts",
      hint: "Assign the property to replace what the document has",
      documentID: model.documentID, propertyPath: key)
  }

  /// What was declared, or given by the initializer, becomes references like any others.
  private func prepare(_ model: Model) {
    if model.flags(at: place) & PropertyFlags.unloaded != 0 { return load(model) }
    let targets = model.withValue(at: place.offset, of: [Target].self) { current in
      defer { current = [] }
      return current
    }
    if !targets.isEmpty {
      model.referenceLists[place.index] = targets.map { model.reference(to: $0, as: Target.self) }
    }
  }

  // MARK: Reading

  func prepareToRead(_ model: Model) {
    prepare(model)
    let targets = model.referenceLists[place.index]?.compactMap { find($0, for: model).model }
    model.withValue(at: place.offset, of: [Target].self) { $0 = targets ?? [] }
  }

  func finishReading(_ model: Model) {
    model.withValue(at: place.offset, of: [Target].self) { $0 = [] }
  }

  private func find(
    _ reference: ModelReference, for model: Model
  ) -> (model: Target?, isMissing: Bool) {
    if let target = reference.target { return (target as? Target, false) }
    guard let core = model.core else { return (nil, false) }
    do {
      let target = try core.home(of: Target.self).model(Target.self, reference.id)
      return (target, target == nil)
    } catch {
      core.handle?.errorHandler?(error)
      return (nil, false)
    }
  }

  // MARK: Changing

  func assign<T>(_ value: T, to model: Model) {
    prepare(model)
    set(
      identical(value, as: [Target].self).map { model.reference(to: $0, as: Target.self) },
      in: model)
  }

  func assign(stored bytes: SharedBytes, to model: Model) -> Bool {
    guard let ids = ids(bytes, 0..<bytes.count) else { return false }
    prepare(model)
    set(ids.map { ModelReference(id: $0, target: nil) }, in: model)
    return true
  }

  func reset(in model: Model) {
    prepare(model)
    set([] as [ModelReference], in: model)
  }

  private func set(_ references: [ModelReference], in model: Model) {
    let flags = model.flags(at: place)
    let current = model.referenceLists[place.index] ?? []
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0,
      current.map(\.key) == references.map(\.key)
    {
      return
    }
    model.announcing(observationPath(in: model)) {
      model.referenceLists[place.index] = references
      model.noteChange(at: place)
    }
    guard let core = model.core, core.hasInverseReaders else { return }
    core.announceInverses(of: Set(current.map(\.key)).symmetricDifference(references.map(\.key)))
  }

  // MARK: Inverses

  func references(in model: Model) -> [ModelReference] {
    prepare(model)
    return model.referenceLists[place.index] ?? []
  }

  func set(references: [ModelReference], in model: Model) {
    prepare(model)
    set(references, in: model)
  }

  func targets(in model: Model) throws -> [Model] {
    try model.core?.targets(of: references(in: model), Target.self) ?? []
  }

  func removeReferences(to target: DocumentKey, in model: Model) {
    let references = references(in: model)
    let left = references.filter { $0.key != target }
    if left.count != references.count { set(left, in: model) }
  }

  func setProbe(in model: Model) -> Model? {
    // What was declared must not come back in its place.
    prepare(model)
    let target = Target()
    model.referenceLists[place.index] = [ModelReference(id: target.id, target: target)]
    return target
  }

  func beginModifying(_ model: Model) { prepareToRead(model) }

  func endModifying(_ model: Model) {
    let targets = model.withValue(at: place.offset, of: [Target].self) { current in
      defer { current = [] }
      return current
    }
    let known = (model.referenceLists[place.index] ?? []).map { ($0, find($0, for: model)) }
    let before = known.compactMap { $0.1.model.map { DocumentKey($0.id) } }
    guard targets.map({ DocumentKey($0.id) }) != before else { return }
    var references = targets.map { model.reference(to: $0, as: Target.self) }
    // Those that could not be read stay behind those that they followed.
    var previous: DocumentKey?
    for (reference, found) in known where !found.isMissing {
      if found.model == nil {
        let index = references.lastIndex { $0.key == previous }
        references.insert(reference, at: index.map { $0 + 1 } ?? 0)
      }
      previous = reference.key
    }
    set(references, in: model)
  }

  // MARK: Saving

  func isAbsent(in model: Model) -> Bool {
    prepare(model)
    return false
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) {
    prepare(model)
    encoder.beginArray()
    for reference in model.referenceLists[place.index] ?? [] {
      _ = reference.id.encode(into: &encoder)
    }
    encoder.endArray()
  }

  func takeTargets(of model: Model) -> [Model] {
    prepare(model)
    guard let references = model.referenceLists[place.index] else { return [] }
    model.referenceLists[place.index] = references.map { ModelReference(id: $0.id, target: nil) }
    return references.compactMap(\.target)
  }

  func forgetTargets(of model: Model) { model.referenceLists[place.index] = nil }
}
