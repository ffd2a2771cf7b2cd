import DivanLog

extension WriteTransaction {
  /// Stores a revision that another store made, with its history.
  ///
  /// This is how stores exchange revisions. It never fails because of a conflict, and repeating it
  /// has no effect. Ancestors that are not known here become known by their IDs. The winning
  /// revision is the same in every store that has the same revisions.
  ///
  /// - Parameters:
  ///   - document: The document's ID, properties and attachments; its own revision is ignored.
  ///   - history: The IDs of the revision and of its known ancestors, newest first.
  ///   - isDeleted: Whether the revision deletes the document.
  ///   - contradictions: The handling of a history that contradicts the known one.
  ///   - origin: The source of the revision, which ``Change/origin`` reports.
  /// - Returns: Whether the revision was stored. It is not stored if it is there already, or if it
  ///   has successors here; then only its history may be new.
  /// - Throws: ``DatabaseError`` with the code `invalidRevisionID` if the history is not valid. The
  ///   same if contradictions are refused and the history names another parent for a revision than
  ///   the known one, or than the one that its digest proves. `documentTooLarge` also if the
  ///   document has ``DocumentLimits/branches`` and this would be one more. Never `conflict`.
  ///   Otherwise the errors of ``put(_:)-(Document)``.
  @discardableResult
  public func insert(
    _ document: Document, history: [RevisionID], isDeleted: Bool = false,
    contradictions: HistoryContradictions = .rejected, origin: String? = nil
  ) throws -> Bool {
    try check()
    let id = document.id
    try DocumentID.validate(id)
    let path = try RevisionTree.Path(history)
    let properties = try document.encoded().bytes
    let current = try view.entry(id)
    func insert(_ attachments: [AttachmentEntry]) throws -> Bool {
      try addRevision(
        RevisionEdit(
          revision: path.revision, isDeleted: isDeleted, body: properties, attachments: attachments,
          lineage: .history(path.ancestors), isForeignEdit: true, origin: origin,
          contradictions: contradictions),
        id: id, over: current
      ).isNewRevision
    }
    if document.attachments.isEmpty { return try insert([]) }
    // A known revision keeps its content and attachments.
    if let current, try view.tree(of: current, id).contains(path.revision) {
      return try insert([])
    }
    // If the revision is refused, its attachments are rolled back.
    return try savepoint {
      try insert(try store(document.attachments, id: id, madeBy: .external(path.revision)))
    }
  }

  /// Removes a document without a trace: no tombstone is left, and no history.
  ///
  /// The change feed does not report it. If the document is inserted again from another store,
  /// it is new.
  /// - Returns: Whether the document existed.
  @discardableResult
  public func purge(_ id: String) throws -> Bool {
    try check()
    guard let current = try view.entry(id) else { return false }
    let expiry =
      current.traits.contains(.expiry)
      ? try view.newestRecord(of: current, id).details?.expiry : nil
    noteReleased(current, keeping: [])
    try append(
      PurgeRecord(
        idBytes: SharedBytes(utf8: id), superseded: current.superseded, supersededExpiry: expiry,
        mayRetainOlder: current.traits.contains(.mayRetainOlder)), id)
    state.countDocument(wasLive: !current.isDeleted, isLive: false)
    return true
  }

  /// Removes a leaf without a trace, with its ancestors that have no other successors.
  ///
  /// If the document has no other leaf, the document itself is removed. An earlier version that
  /// showed the leaf then shows another retained revision of the document: another leaf, or an
  /// earlier revision.
  ///
  /// - Returns: Whether there was such a leaf.
  /// - Throws: ``DatabaseError/Code/conflict`` if the revision has successors.
  @discardableResult
  public func purge(_ id: String, revision: RevisionID) throws -> Bool {
    try check()
    guard let current = try view.entry(id) else { return false }
    let newest = try view.newestRecord(of: current, id)
    let before = try view.tree(of: newest)
    var tree = before
    guard let index = tree.index(of: revision) else { return false }
    guard tree.isLeaf(index) else {
      throw DatabaseError(
        .conflict, "the revision has successors", hint: "Purge those first",
        documentID: id)
    }
    guard tree.leafCount > 1 else { return try purge(id) }
    let sequence = tree.nodes[index].sequence
    let released = tree.removeLeaf(at: index)
    let earlier = try recordsOfPurged(before, without: tree, of: id, current)
    try savepoint {
      try write(tree, of: id, over: newest, current, releasing: released)
      for sequence in [sequence] + earlier {
        try append(PurgeRecord(idBytes: SharedBytes(utf8: id), sequence: sequence), id)
      }
    }
    return true
  }

  /// Returns the retained records of revisions that are in one tree and not in another.
  private func recordsOfPurged(
    _ before: RevisionTree, without after: RevisionTree, of id: String, _ current: DocumentEntry
  ) throws(DatabaseError) -> [UInt64] {
    let leaves = Set(before.storedSequences)
    let others = try view.retainedSequences(of: id, current).filter { !leaves.contains($0) }
    guard !others.isEmpty else { return [] }
    let purged = Set(before.nodes.map(\.revision)).subtracting(after.nodes.map(\.revision))
    var sequences: [UInt64] = []
    for sequence in others {
      let revision = try view.retainedRecord(sequence, of: id).revision
      if purged.contains(revision) { sequences.append(sequence) }
    }
    return sequences
  }

  /// Writes the winning revision of a tree again, with the changed tree.
  private func write(
    _ changedTree: RevisionTree, of id: String, over newest: DocumentRecord,
    _ current: DocumentEntry, releasing released: [UInt64]
  ) throws(DatabaseError) {
    var tree = changedTree
    guard let winner = tree.winner else {
      preconditionFailure("A tree with a leaf has a winner")
    }
    let old = tree.nodes[winner].sequence
    let content = old == newest.sequence ? newest : try view.retainedRecord(old, of: id)
    var record = content
    record.sequence = state.lastSequence + 1
    record.takeContent(of: content)
    record.superseded = current.superseded
    tree.setSequence(record.sequence, at: winner)
    try complete(&record, with: &tree, over: newest, current, released: released + [old])
    try addNewestRecord(record, id: id, over: current, isRewrite: true)
  }

  /// Appends a purge, and applies it to the index.
  func append(_ record: PurgeRecord, _ id: String?) throws(DatabaseError) {
    var indexed: IndexChange?
    if record.sequence == nil, let id {
      indexed = try indexChange(purging: record.idBytes, id, try view.entry(id))
    }
    let savepoint = buffer.savepoint
    let locator = try appendRecord(.purge, id: id) { writer in record.encode(to: &writer) }
    try change(orRollbackTo: savepoint) { (state, _) throws(PageError) in
      try state.purge(record, at: locator)
    }
    if let indexed { make(indexed) }
  }
}
