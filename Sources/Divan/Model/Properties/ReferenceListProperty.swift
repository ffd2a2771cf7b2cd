import DivanLog

/// An array of models, the type of a property that refers to several.
protocol ReferenceList {
  static var referenceStorage: _PersistedStorage { get }
}

extension Array: ReferenceList where Element: Model {
  /// The storage as the IDs of the other models' documents.
  static var referenceStorage: _PersistedStorage {
    _PersistedStorage { ReferenceListProperty<Element>(location: $0) }
  }
}

/// A property that refers to other models, in order, by their IDs, which the model stores.
///
/// As with a single reference, the wrapper retains the targets only during a read or a
/// modification. Each read looks up all of them. Once the list was changed, found targets are
/// retained until the list is saved. Targets that do not exist, or cannot be read, are left out. A
/// change of the list removes references to deleted documents. It keeps other references without a
/// target, whose documents may arrive later.
final class ReferenceListProperty<Target: Model>: ModelProperty {
  let location: PropertyLocation
  let keyBytes: SharedBytes

  init(location: PropertyLocation) {
    self.location = location
    keyBytes = SharedBytes(copying: Array(location.key.utf8))
  }

  var valueType: Any.Type { [Target].self }
  var classFlags: PropertyFlags.Bits { PropertyFlags.reference }
  var target: Model.Type? { Target.self }

  // MARK: The IDs

  private func ids(_ bytes: SharedBytes, _ range: Range<Int>) -> [String]? {
    bytes.withSpan { [String].decode($0, range) }
  }

  func load(_ model: Model) {
    let properties = model.storedProperties
    let range = properties.flatMap { model.storedRange(of: keyBytes, in: $0) }
    let found = range.flatMap { range in properties.flatMap { ids($0.bytes, range) } }
    model.withValue(at: location.offset, of: [Target].self) { $0 = [] }
    model.referenceLists[location.index] = found?.map { ModelReference(id: $0, target: nil) }
    clear(PropertyFlags.unloaded | PropertyFlags.unreadable, in: model)
    guard found == nil, let range, let properties else { return }
    set(PropertyFlags.unreadable, in: model)
    noteTypeMismatch(properties.bytes, range, in: model)
  }

  func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>, in model: Model) -> DatabaseError? {
    guard !bytes.isNull(range), ids(bytes, range) == nil else { return nil }
    return DatabaseError(
      .mismatchedType,
      "\(type(of: model)).\(name) refers to models, but the document's value is not an array of texts",
      hint: "Assign the property to replace the document's value",
      documentID: model.documentID, propertyPath: key)
  }

  /// Turns declared models, or ones set by the initializer, into references by ID.
  private func prepare(_ model: Model) {
    if model.flags(at: location) & PropertyFlags.unloaded != 0 { return load(model) }
    let targets = model.withValue(at: location.offset, of: [Target].self) { current in
      defer { current = [] }
      return current
    }
    if !targets.isEmpty {
      model.referenceLists[location.index] = targets.map {
        model.reference(to: $0, as: Target.self)
      }
    }
  }

  // MARK: Reading

  func prepareToRead(_ model: Model) {
    prepare(model)
    let targets = findTargets(
      model, isRetaining: model.isDirty(location) && model.unsavedPosition > 0)
    model.withValue(at: location.offset, of: [Target].self) { $0 = targets }
  }

  /// Returns the existing targets of the list, and retains those it looked up if `isRetaining`.
  private func findTargets(_ model: Model, isRetaining: Bool) -> [Target] {
    guard let references = model.referenceLists[location.index] else { return [] }
    var targets: [Target] = []
    targets.reserveCapacity(references.count)
    var newlyFound: [(index: Int, target: Target)] = []
    for (index, reference) in references.enumerated() {
      if let found = reference.found as? Target, found.state != .deleted {
        targets.append(found)
      } else if let target = find(reference, for: model) {
        targets.append(target)
        if isRetaining, model.core != nil { newlyFound.append((index, target)) }
      }
    }
    if !newlyFound.isEmpty, model.referenceLists[location.index]?.count == references.count {
      model.retainsFound = true
      for (index, target) in newlyFound {
        model.referenceLists[location.index]?[index].found = target
      }
    }
    return targets
  }

  func finishReading(_ model: Model) {
    model.withValue(at: location.offset, of: [Target].self) { $0 = [] }
  }

  private func find(_ reference: ModelReference, for model: Model) -> Target? {
    if let target = reference.target { return target as? Target }
    guard let core = model.core else { return nil }
    do {
      return try core.targetCore(of: Target.self).model(Target.self, id: reference.id)
    } catch {
      core.handle?.report(error)
      return nil
    }
  }

  /// Whether the target of a reference was deleted.
  ///
  /// A changed list drops such a reference. It keeps one whose target does not exist yet or cannot
  /// be read.
  private func isDeleted(_ reference: ModelReference, for model: Model) -> Bool {
    guard reference.target == nil, let core = model.core else { return false }
    do {
      let targetCore = try core.targetCore(of: Target.self)
      if let known = targetCore.known(reference.id) { return known.state == .deleted }
      let snapshot = try targetCore.requireSnapshot()
      return try snapshot.revision(of: reference.id) != nil && !snapshot.exists(reference.id)
    } catch {
      return false
    }
  }

  // MARK: Changing

  func assign<T>(_ value: T, to model: Model) {
    prepare(model)
    set(
      identical(value, as: [Target].self).map { reference(to: $0, from: model) }, in: model)
    if model.retainsFound, model.unsavedPosition == 0 { model.releaseFound() }
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
    let flags = model.flags(at: location)
    let current = model.referenceLists[location.index] ?? []
    if flags & (PropertyFlags.dirty | PropertyFlags.unreadable) == 0,
      current.map(\.key) == references.map(\.key)
    {
      return
    }
    model.announcing(observationPath(in: model)) {
      model.referenceLists[location.index] = references
      model.noteChange(at: location)
    }
    guard let core = model.core, !core.inverseReaders.isEmpty else { return }
    core.announceInverses(of: Set(current.map(\.key)).symmetricDifference(references.map(\.key)))
  }

  // MARK: Inverses

  func references(in model: Model) -> [ModelReference] {
    prepare(model)
    let references = model.referenceLists[location.index] ?? []
    return model.retainsFound ? references.map(\.unretained) : references
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
    // Removes declared models, which would otherwise replace the probe.
    prepare(model)
    let target = Target()
    model.referenceLists[location.index] = [ModelReference(id: target.id, target: target)]
    return target
  }

  func beginModifying(_ model: Model) {
    prepare(model)
    let targets = findTargets(model, isRetaining: true)
    model.withValue(at: location.offset, of: [Target].self) { $0 = targets }
  }

  func endModifying(_ model: Model) {
    let targets = model.withValue(at: location.offset, of: [Target].self) { current in
      defer { current = [] }
      return current
    }
    // The references still retain the targets found in `beginModifying`.
    let before = model.referenceLists[location.index] ?? []
    take(targets, in: model, before)
    // A model that is not unsaved retains no targets; they are released once everything is
    // consistent.
    if model.retainsFound, model.unsavedPosition == 0 { model.releaseFound() }
  }

  /// Sets the list to these models, and keeps the references that currently have no target.
  private func take(_ targets: [Target], in model: Model, _ before: [ModelReference]) {
    let sameCount = zip(before, targets).prefix { ($0.found ?? $0.target) === $1 }.count
    if sameCount == before.count {
      // Most lists change at their end.
      if sameCount < targets.count { append(targets[sameCount...], to: model) }
      return
    }
    let shown = before.map { $0.found ?? $0.target.flatMap { $0 as? Target } }
    guard !shown.lazy.compactMap({ $0 }).elementsEqual(targets, by: ===) else { return }
    var references = targets.map { reference(to: $0, from: model) }
    // References without a target stay behind the ones that they followed.
    var previous: DocumentKey?
    for (reference, target) in zip(before, shown) {
      if target == nil {
        if isDeleted(reference, for: model) { continue }
        let index = previous.flatMap { key in references.lastIndex { $0.key == key } }
        references.insert(reference, at: index.map { $0 + 1 } ?? 0)
      }
      previous = reference.key
    }
    set(references, in: model)
  }

  private func append(_ targets: ArraySlice<Target>, to model: Model) {
    let new = targets.map { reference(to: $0, from: model) }
    model.announcing(observationPath(in: model)) {
      model.referenceLists[location.index, default: []] += new
      model.noteChange(at: location)
    }
    guard let core = model.core else { return }
    // The model may have become unsaved only by this change.
    if model.unsavedPosition > 0 { model.retainsFound = true }
    if !core.inverseReaders.isEmpty { core.announceInverses(of: Set(new.map(\.key))) }
  }

  /// Returns a reference that retains its target if the model that refers to it is in a context.
  private func reference(to target: Target, from model: Model) -> ModelReference {
    var reference = model.reference(to: target, as: Target.self)
    // A copy, or a model of an unrelated context, is not what the reference leads to: that is this
    // context's own model of the document.
    if let core = model.core, let targetCore = try? core.targetCore(of: Target.self),
      target.core === targetCore
    {
      reference.found = target
      model.retainsFound = true
    }
    return reference
  }

  // MARK: Saving

  func isAbsent(in model: Model) -> Bool {
    prepare(model)
    return false
  }

  func encode(_ model: Model, into encoder: inout ValueEncoder) {
    prepare(model)
    encoder.beginArray()
    for reference in model.referenceLists[location.index] ?? [] {
      _ = reference.id.encode(into: &encoder)
    }
    encoder.endArray()
  }

  func takeTargets(of model: Model) -> [Model] {
    prepare(model)
    guard let references = model.referenceLists[location.index] else { return [] }
    model.referenceLists[location.index] = references.map { ModelReference(id: $0.id, target: nil) }
    return references.compactMap(\.target)
  }

  func forgetTargets(of model: Model) { model.referenceLists[location.index] = nil }
}
