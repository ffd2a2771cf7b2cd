import DivanLog

extension ModelContextCore {
  /// Returns the models that refer to another one.
  ///
  /// Stored models come in the order of their IDs, followed by unsaved ones. With `orStored`,
  /// models whose document still refers to it are included even if the model no longer does.
  /// `onError` receives the errors of models that cannot be loaded; without it, they are thrown.
  func models(
    referringTo model: Model, by relation: InverseRelation, orStored: Bool = false,
    onError: ((any Error) -> Void)? = nil
  ) throws -> [Model] {
    let target = DocumentKey(model.id)
    var found: [Model] = []
    for id in try ids(referringTo: model.id, by: relation, onError: onError) {
      do {
        guard let source = try source(id, of: relation) else { continue }
        if orStored || !relation.isUnsaved(source) { found.append(source) }
      } catch {
        guard let onError else { throw error }
        onError(error)
      }
    }
    for source in unsavedModels
    where relation.includes(source) && relation.isUnsaved(source) {
      if relation.refers(source, to: target), !orStored || !found.contains(source) {
        found.append(source)
      }
    }
    return found
  }

  /// Returns the IDs of the documents that refer to another one, in order.
  func ids(
    referringTo id: String, by relation: InverseRelation, onError: ((any Error) -> Void)? = nil
  ) throws -> [String] {
    let snapshot = try requireSnapshot()
    let index = relation.index
    if snapshot.hasIndex(index) {
      return try snapshot.ids(by: index.name, .equal(to: .string(id))).collect()
    }
    if case .database = source { inverseIndexes.need(index) }
    return try scanned(index, snapshot, onError)[DocumentKey(id)] ?? []
  }

  /// Returns what an index would contain, from a scan of all documents, once per snapshot.
  private func scanned(
    _ index: DocumentIndex, _ snapshot: Snapshot, _ onError: ((any Error) -> Void)?
  ) throws -> [DocumentKey: [String]] {
    if let known = inverseIndexes.scanned(index, snapshot) { return known }
    var ids: [DocumentKey: [String]] = [:]
    var isWhole = true
    try snapshot.forEachValue(
      of: index,
      orDamaged: { error in
        guard let onError else { throw error }
        isWhole = false
        onError(error)
      },
      { value, source in
        guard let target = value.stringValue.map(DocumentKey.init) else { return }
        // An array may refer to it twice.
        if ids[target]?.last.map(DocumentKey.init) != DocumentKey(source) {
          ids[target, default: []].append(source)
        }
      })
    // A transaction's state changes, and the result would become outdated.
    if isWhole, !isInTransaction { inverseIndexes.note(ids, of: index, in: snapshot) }
    return ids
  }

  /// Returns the model of a document, if it is of the source class.
  private func source(_ id: String, of relation: InverseRelation) throws -> Model? {
    if let known = known(id) {
      return known.state != .deleted && relation.includes(known) ? known : nil
    }
    guard let document = try requireSnapshot().document(id) else { return nil }
    return try relation.model(document, self)
  }

  // MARK: Observing

  /// Notifies observers of inverses that references to these models were added or removed.
  func announceInverses(of targets: some Sequence<DocumentKey>) {
    guard !inverseReaders.isEmpty else { return }
    for reader in inverseReaders.models(targets) { reader.announceInverses() }
  }

  /// Notifies all observers of inverses that references may have been added or removed.
  func announceInverses() {
    guard !inverseReaders.isEmpty else { return }
    inverseReaders.forgetDeallocated()
    for reader in inverseReaders.models { reader.announceInverses() }
  }
}
