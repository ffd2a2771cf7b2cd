import DivanLog

// Looking up the models that refer to another one.

extension InverseRelation {
  /// The index of all documents by the targets of the property.
  var index: DocumentIndex {
    let key = property.key
    return DocumentIndex("reference:\(key)", on: key, eachElement: true)
  }

  /// Whether a model refers to a document.
  func refers(_ model: Model, to target: DocumentKey) -> Bool {
    model.modelClass.properties[property.place.index].references(in: model)
      .contains { $0.key == target }
  }

  /// Whether the references of a model may differ from those in its document.
  func isUnsaved(_ model: Model) -> Bool {
    model.state == .new || property.isDirty(in: model)
  }
}

extension Model {
  /// Returns the models that refer to this one, for reading an inverse property.
  final func models<Source: Model>(
    by path: AnyKeyPath, of _: Source.Type
  ) -> [Source] {
    noteAccess(ModelObservation.inversePath)
    guard let core else { return [] }
    guard let relation = modelClass.inverses.first(where: { $0.path == path }) else {
      report(unknownProperties)
      return []
    }
    if observers != nil { core.noteInverseRead(by: self) }
    do {
      let home = try core.home(of: relation.source)
      if observers != nil, home !== core { home.noteInverseRead(by: self) }
      return try home.models(referringTo: self, by: relation) { core.handle?.errorHandler?($0) }
        .compactMap { $0 as? Source }
    } catch {
      core.handle?.errorHandler?(error)
      return []
    }
  }
}

extension ModelContextCore {
  /// Returns the models that refer to another one.
  ///
  /// Stored models come in the order of their IDs, followed by unsaved ones. With `orStored`,
  /// models whose document still refers to it are included even if the model no longer does.
  /// `passOver` receives the errors of models that cannot be loaded; without it, they are thrown.
  func models(
    referringTo model: Model, by relation: InverseRelation, orStored: Bool = false,
    passOver: ((any Error) -> Void)? = nil
  ) throws -> [Model] {
    let target = DocumentKey(model.id)
    var found: [Model] = []
    for id in try ids(referringTo: model.id, by: relation, passOver: passOver) {
      do {
        guard let source = try source(id, of: relation) else { continue }
        if orStored || !relation.isUnsaved(source) { found.append(source) }
      } catch {
        guard let passOver else { throw error }
        passOver(error)
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
    referringTo id: String, by relation: InverseRelation, passOver: ((any Error) -> Void)? = nil
  ) throws -> [String] {
    let snapshot = try requireSnapshot()
    let index = relation.index
    if snapshot.hasIndex(index) {
      var ids = try snapshot.ids(by: index.name, .equal(to: .string(id)))
      return try ids.rest()
    }
    if case .database = source, !refusedIndexes.contains(index) { missingIndexes.insert(index) }
    return try scanned(index, snapshot, passOver)[DocumentKey(id)] ?? []
  }

  /// Returns what an index would contain, from a scan of all documents, once per snapshot.
  private func scanned(
    _ index: DocumentIndex, _ snapshot: Snapshot, _ passOver: ((any Error) -> Void)?
  ) throws -> [DocumentKey: [String]] {
    if let known = scannedReferences[index], known.snapshot.isSameVersion(as: snapshot) {
      return known.ids
    }
    var ids: [DocumentKey: [String]] = [:]
    var isWhole = true
    try snapshot.forEachValue(
      of: index,
      orDamaged: { error in
        guard let passOver else { throw error }
        isWhole = false
        passOver(error)
      },
      { value, source in
        guard let target = value.stringValue.map(DocumentKey.init) else { return }
        // An array may refer to it twice.
        if ids[target]?.last.map(DocumentKey.init) != DocumentKey(source) {
          ids[target, default: []].append(source)
        }
      })
    // A transaction's state changes, so that the result would become outdated.
    if isWhole, !isInTransaction { scannedReferences[index] = (snapshot, ids) }
    return ids
  }

  /// Returns the model of a document, if it is of the source class.
  private func source(_ id: String, of relation: InverseRelation) throws -> Model? {
    if let known = known(id) {
      return known.state != .deleted && relation.includes(known) ? known : nil
    }
    guard let document = try requireSnapshot().get(id) else { return nil }
    return try relation.model(document, self)
  }

  /// Builds the indexes that were missing, after a save.
  func addMissingIndexes() {
    guard case .database(let database) = source, !missingIndexes.isEmpty else { return }
    let missing = missingIndexes
    missingIndexes = []
    scannedReferences = [:]
    // In a fixed order, because they are stored.
    for index in missing.sorted(by: { compareUTF8($0.name, $1.name) < 0 }) {
      do {
        try database.addIndex(index)
      } catch {
        // An existing index of this name stays; the error is reported only once.
        if (error as? DatabaseError)?.code == .alreadyExists { refusedIndexes.insert(index) }
        handle?.errorHandler?(error)
      }
    }
  }

  // MARK: Observing

  func noteInverseRead(by model: Model) {
    let key = DocumentKey(model.id)
    var readers = inverseReaders[key] ?? []
    guard !readers.contains(where: { $0.model === model }) else { return }
    readers.removeAll { $0.model == nil }
    inverseReaders[key] = readers + [WeakModel(model: model)]
  }

  /// Drops the deallocated readers of an ID.
  func forgetInverseReaders(_ key: DocumentKey) {
    guard let readers = inverseReaders[key]?.filter({ $0.model != nil }) else { return }
    inverseReaders[key] = readers.isEmpty ? nil : readers
  }

  /// Notifies observers of inverses that references to these models were added or removed.
  func announceInverses(of targets: some Sequence<DocumentKey>) {
    guard hasInverseReaders else { return }
    for key in targets {
      for reader in inverseReaders[key] ?? [] { reader.model?.announceInverses() }
    }
  }

  /// Notifies all observers of inverses that references may have been added or removed.
  func announceInverses() {
    guard hasInverseReaders else { return }
    for key in inverseReaders.keys { forgetInverseReaders(key) }
    for reader in inverseReaders.values.joined().compactMap(\.model) { reader.announceInverses() }
  }
}

extension Model {
  fileprivate final func announceInverses() { announcing(ModelObservation.inversePath) {} }
}
