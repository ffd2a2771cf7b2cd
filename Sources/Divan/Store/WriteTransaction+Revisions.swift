import DivanLog

extension WriteTransaction {
  /// Stores a revision that was made elsewhere, with its history.
  ///
  /// This is how stores exchange revisions: it is never a conflict error, and doing it again does
  /// nothing. Ancestors that are not known here become known by their IDs. Which revision wins is the
  /// same in every store that has the same ones.
  ///
  /// - Parameters:
  ///   - document: the document's ID, properties and attachments; its own revision does not matter.
  ///   - history: the revision's ID, and those of the revisions before it, newest first, as far as they
  ///     are known.
  ///   - isDeleted: whether the revision deletes the document.
  ///   - contradictions: what becomes of a history that contradicts what is known.
  ///   - origin: where it comes from, as ``Change/origin`` tells it.
  /// - Returns: whether the revision was stored. It is not if it is there already, or if others were made
  ///   from it here; then only its history may be news.
  /// - Throws: ``DatabaseError`` with the code `invalidRevisionID` if the history is none, or, where
  ///   contradictions are refused, names another parent for a revision than the one that is known, or than its
  ///   digest tells;
  ///   `documentTooLarge` too if the document has ``DocumentLimits/branches`` and this would be one more;
  ///   `conflict` never; the others as ``put(_:)-(Document)``.
  @discardableResult
  public func insert(
    _ document: Document, history: [RevisionID], isDeleted: Bool = false,
    contradictions: HistoryContradictions = .refused, origin: String? = nil
  ) throws -> Bool {
    try check()
    let id = document.id
    try DocumentID.validate(id)
    let path = try RevisionTree.Path(history)
    let body = try document.encoded().bytes
    let current = try entry(of: id)
    try checkBranches(of: id, current, with: history)
    func insert(_ attachments: [AttachmentEntry]) throws -> Bool {
      try append(
        RevisionEdit(
          revision: path.revision, isDeleted: isDeleted, body: body, attachments: attachments,
          lineage: .history(path.ancestors), isForeignEdit: true, origin: origin,
          contradictions: contradictions),
        id: id, over: current
      ).isNewRevision
    }
    if document.attachments.isEmpty { return try insert([]) }
    // A revision that is known stays as it is, with what it has attached.
    if let current, try view.tree(of: current, id).contains(path.revision) {
      return try insert([])
    }
    // Nothing of the attachments stays if the revision is refused.
    return try nested {
      try insert(try store(document.attachments, id: id, madeBy: .elsewhere(path.revision)))
    }
  }

  /// Refuses a branch more than a document may have: each record of it holds the tree of all, so that what many of them
  /// take grows with the square of their number.
  private func checkBranches(
    of id: String, _ current: DocumentEntry?, with history: [RevisionID]
  ) throws(DatabaseError) {
    guard let current, current.traits.contains(.tree) else { return }
    let tree = try view.tree(of: current, id)
    guard tree.leafCount >= store.configuration.branchLimit, !tree.contains(history[0]) else {
      return
    }
    // What goes on from a leaf is no further branch.
    for ancestor in history.dropFirst() {
      if let index = tree.index(of: ancestor) {
        if tree.isLeaf(index) { return }
        break
      }
    }
    throw DatabaseError(
      .documentTooLarge, "the document has \(tree.leafCount) branches, and may have no more",
      hint: "Purge branches that are deleted or not needed: `purge(_:revision:)`", documentID: id)
  }

  /// Takes a document away as if it had never been: no tombstone is left, and no history.
  ///
  /// Those who follow changes are not told. If the document comes again from elsewhere it is a new one.
  /// - Returns: whether there was anything.
  @discardableResult
  public func purge(_ id: String) throws -> Bool {
    try check()
    guard let current = try entry(of: id) else { return false }
    let expiry =
      current.traits.contains(.expiry)
      ? try view.newestRecord(of: current, id).details?.expiry : nil
    noteReleased(current, keeping: [])
    try append(
      PurgeRecord(
        idBytes: SharedBytes(utf8: id),
        superseded: .init(sequence: current.sequence, locator: current.locator),
        supersededExpiry: expiry, mayHoldOlder: current.traits.contains(.mayHoldOlder)), id)
    state.countDocument(wasLive: !current.isDeleted, isLive: false)
    return true
  }

  /// Takes a leaf away as if it had never been, with those of its ancestors that nothing else was made
  /// from; the document itself, if it has no other.
  ///
  /// An earlier version that showed the leaf shows what is still held of the document in its place: another
  /// leaf, or an earlier revision.
  ///
  /// - Returns: whether there was such a leaf.
  /// - Throws: ``DatabaseError/Code/conflict`` if something was made from that revision.
  @discardableResult
  public func purge(_ id: String, revision: RevisionID) throws -> Bool {
    try check()
    guard let current = try entry(of: id) else { return false }
    let newest = try view.newestRecord(of: current, id)
    let before = try view.tree(of: newest)
    var tree = before
    guard let index = tree.index(of: revision) else { return false }
    guard tree.isLeaf(index) else {
      throw DatabaseError(
        .conflict, "other revisions were made from that one", hint: "Purge those first",
        documentID: id)
    }
    guard tree.leafCount > 1 else { return try purge(id) }
    let sequence = tree.nodes[index].sequence
    let released = tree.removeLeaf(at: index)
    let earlier = try recordsOfPurged(before, without: tree, of: id, current)
    try nested {
      try write(tree, of: id, over: newest, current, releasing: released)
      for sequence in [sequence] + earlier {
        try append(PurgeRecord(idBytes: SharedBytes(utf8: id), sequence: sequence), id)
      }
    }
    return true
  }

  /// The records that history holds of revisions that are in one tree and not in another.
  private func recordsOfPurged(
    _ before: RevisionTree, without after: RevisionTree, of id: String, _ current: DocumentEntry
  ) throws(DatabaseError) -> [UInt64] {
    let leaves = Set(before.heldSequences)
    let others = try view.olderSequences(of: id, current).filter { !leaves.contains($0) }
    guard !others.isEmpty else { return [] }
    let purged = Set(before.nodes.map(\.revision)).subtracting(after.nodes.map(\.revision))
    var sequences: [UInt64] = []
    for sequence in others {
      let revision = try view.olderRecord(sequence, of: id).revision
      if purged.contains(revision) { sequences.append(sequence) }
    }
    return sequences
  }

  /// Writes the winning revision of a tree again, with the tree.
  private func write(
    _ changedTree: RevisionTree, of id: String, over newest: DocumentRecord,
    _ current: DocumentEntry, releasing released: [UInt64]
  ) throws(DatabaseError) {
    var tree = changedTree
    guard let winner = tree.winner else {
      preconditionFailure("A tree with a leaf has a winner")
    }
    let old = tree.nodes[winner].sequence
    let content = old == newest.sequence ? newest : try view.olderRecord(old, of: id)
    var record = content
    record.sequence = state.lastSequence + 1
    record.takeContent(of: content)
    record.superseded = .init(sequence: current.sequence, locator: current.locator)
    tree.setSequence(record.sequence, at: winner)
    try complete(&record, with: &tree, over: newest, current, released: released + [old])
    try append(record, id: id, over: current)
  }

  /// Appends a removal and makes it in the index.
  func append(_ record: PurgeRecord, _ id: String?) throws(DatabaseError) {
    var indexed: IndexChange?
    if record.sequence == nil, let id {
      indexed = try indexChange(purging: record.idBytes, id, try entry(of: id))
    }
    let savepoint = buffer.savepoint
    let place = try append(.purge, id: id) { writer in record.encode(to: &writer) }
    do throws(DatabaseError) {
      try change { (state, _) throws(PageError) in try state.purge(record, at: place) }
    } catch {
      buffer.rollback(to: savepoint)
      throw error
    }
    if let indexed { make(indexed) }
  }
}
