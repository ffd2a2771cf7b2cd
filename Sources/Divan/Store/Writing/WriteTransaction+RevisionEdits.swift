import DivanLog

extension WriteTransaction {
  /// Returns the revision that a document succeeds when it is stored; nil if it is a first one.
  func parent(
    of document: Document, id: String, current: DocumentEntry?, allowingConflict: Bool
  ) throws(DatabaseError) -> RevisionID? {
    guard let revision = document.revision else {
      if let current, !current.isDeleted {
        throw DatabaseError(
          .conflict, "there is already a document with this ID",
          hint: "Read it and change it, or put it with the policy `overwrite`", documentID: id)
      }
      return current?.revision
    }
    if current?.revision == revision { return revision }
    // Other revisions may be leaves too.
    if let current, allowingConflict || current.traits.contains(.tree) {
      let tree = try view.tree(of: current, id)
      if let index = tree.index(of: revision), allowingConflict || tree.isLeaf(index) {
        return revision
      }
    }
    throw DatabaseError(
      .conflict, "the document was changed since it was read",
      hint: "Read it again, and make the change again", documentID: id)
  }

  /// Appends the record of a revision and indexes it.
  ///
  /// - Returns: the document's sequence number, and whether the revision was not known before; if
  ///   it was, its known history may have grown.
  @discardableResult
  func addRevision(
    _ edit: RevisionEdit, id: String, over current: DocumentEntry?
  ) throws -> (sequence: UInt64, isNewRevision: Bool) {
    var record = DocumentRecord(
      idBytes: SharedBytes(utf8: id), sequence: state.lastSequence + 1, revision: edit.revision,
      isDeleted: edit.isDeleted, ancestors: .none, superseded: nil, body: edit.body)
    var isNewRevision = true
    if let current {
      guard let isNew = try follow(current, edit, id, &record) else {
        return (current.sequence, false)
      }
      isNewRevision = isNew
    } else {
      try validate(edit, id: id)
      if case .history(let digests) = edit.lineage {
        record.ancestors = .init(Array(digests.prefix(store.configuration.revisionDepth - 1)))
      }
      if !edit.isPlain { record.details = DocumentDetails(edit) }
    }
    try addNewestRecord(record, id: id, over: current)
    return (record.sequence, isNewRevision)
  }

  /// Completes the record of a revision of an existing document.
  ///
  /// - Returns: whether the revision was not known before; nil if nothing changes.
  private func follow(
    _ current: DocumentEntry, _ edit: RevisionEdit, _ id: String, _ record: inout DocumentRecord
  ) throws -> Bool? {
    record.superseded = current.superseded
    if edit.isPlain, current.traits.isSubset(of: .mayRetainOlder),
      case .child(current.revision) = edit.lineage
    {
      try validate(edit, id: id)
      record.ancestors = .init(try ancestors(of: current, id))
      record.details = try historyDetails(over: current, id)
      return true
    }
    let newest = try view.newestRecord(of: current, id)
    var tree = try view.tree(of: newest)
    let leafCount = tree.leafCount
    let insertion = try insert(edit, sequence: record.sequence, into: &tree, id)
    guard insertion.hasChangedTree else {
      if case .child = edit.lineage { try checkIsLeaf(edit.revision, of: tree, id) }
      return nil
    }
    if tree.leafCount > leafCount { try checkBranches(of: id, tree) }
    var released = insertion.released
    if insertion.isNewRevision {
      try validate(edit, id: id)
      record.details = DocumentDetails(edit)
    } else {
      // The tree may only have been cut to the depth.
      if case .child = edit.lineage { try checkIsLeaf(edit.revision, of: tree, id) }
      // Only the history is new. A leaf is written again with it: the leaf that the history leads
      // to, so that its record names its parent, or else the winner. The previous winner may not be
      // a leaf now.
      let arrived = tree.leafIndex(of: edit.revision)
      let leaf = arrived ?? tree.leaves[0]
      let old = tree.nodes[leaf].sequence
      let content = old == newest.sequence ? newest : try view.retainedRecord(old, of: id)
      record.takeContent(of: content)
      tree.setSequence(record.sequence, at: leaf)
      released.append(old)
    }
    try complete(&record, with: &tree, over: newest, current, released: released)
    if !insertion.isNewRevision, try !record.isOfItsHistory {
      guard edit.contradictions == .rejected else { return nil }
      throw refusal(ofHistoryOf: record)
    }
    return insertion.isNewRevision
  }

  /// Throws if an edit made here leads to a known revision that has successors.
  ///
  /// The document has changed since, so storing the edit would change nothing.
  private func checkIsLeaf(
    _ revision: RevisionID, of tree: RevisionTree, _ id: String
  ) throws(DatabaseError) {
    guard tree.leafIndex(of: revision) == nil else { return }
    throw DatabaseError(
      .conflict,
      "the same change was made before, as \(revision), and the document was changed since",
      hint: "Read the document again, and make the change to its current revision", documentID: id)
  }

  /// Throws if a document would have more branches than the limit.
  ///
  /// Each record of a branch contains the tree of all branches, so their size grows with the square
  /// of their number; resolving them writes a record for each in one transaction. Branches with
  /// long histories of their own count for more, so that this stays possible.
  private func checkBranches(of id: String, _ tree: RevisionTree) throws(DatabaseError) {
    let limit = store.configuration.branchLimit
    let (leafCount, nodeCount) = (tree.leafCount, tree.nodes.count)
    guard leafCount > limit || leafCount * (nodeCount + leafCount / 2) > limit * limit * 7 / 4
    else { return }
    throw DatabaseError(
      .documentTooLarge, "the document would have too many branches: \(leafCount)",
      hint: "Purge branches that are deleted or not needed: `purge(_:revision:)`", documentID: id)
  }

  private func refusal(ofHistoryOf record: DocumentRecord) -> DatabaseError {
    let parent = record.parent.map { "\($0)" } ?? "none"
    return DatabaseError(
      .invalidRevisionID, "\(record.revision) was not made from \(parent), as its digest shows",
      hint: "One of the stores that the history came from has invented it", documentID: record.id)
  }

  private func insert(
    _ edit: RevisionEdit, sequence: UInt64, into tree: inout RevisionTree, _ id: String
  ) throws(DatabaseError) -> RevisionTree.Insertion {
    let depth = store.configuration.revisionDepth
    switch edit.lineage {
    case .history(let digests):
      var path = try RevisionTree.Path(edit.revision, ancestors: digests)
      while let found = tree.contradiction(to: path) {
        if edit.contradictions == .keepingKnown {
          // The path gets shorter each time.
          path = path.from(found.revision)
          continue
        }
        throw DatabaseError(
          .invalidRevisionID,
          "\(found.revision) was made from \(found.knownParent), and according to this history from "
            + "\(found.otherParent)",
          hint:
            "A revision has one parent: one of the stores that it came from has invented its history",
          documentID: id)
      }
      return tree.insert(
        path, isDeleted: edit.isDeleted, isForeignEdit: edit.isForeignEdit, sequence: sequence,
        depth: depth)
    case .child(let parent):
      // An existing document has revisions, and this one's parent is among them.
      guard let parent, let index = tree.index(of: parent) else {
        throw DatabaseError(
          .damaged, "the index names a revision that the document's record does not have",
          documentID: id)
      }
      return tree.insert(
        edit.revision, childOf: index, isDeleted: edit.isDeleted,
        isForeignEdit: edit.isForeignEdit, sequence: sequence, depth: depth)
    }
  }

  /// Sets the document's tree in a record, and which retained records it keeps or releases.
  ///
  /// The record's revision must be a leaf of the tree, and have the record's sequence number there.
  /// `released` are records that the tree no longer names.
  func complete(
    _ record: inout DocumentRecord, with tree: inout RevisionTree, over newest: DocumentRecord,
    _ current: DocumentEntry, released: [UInt64]
  ) throws(DatabaseError) {
    var details = record.details ?? DocumentDetails()
    let cleared = tree.clearInnerSequences()
    let leaves = tree.leaves
    // A record always contains a leaf. Otherwise the leaf that it supersedes would be lost.
    guard let winner = leaves.first.map({ tree.nodes[$0] }),
      let own = tree.index(ofSequence: record.sequence),
      tree.nodes[own].revision == record.revision
    else {
      throw DatabaseError(
        .damaged, "the document's revision tree has no leaf for its newest record",
        documentID: record.id, path: store.path)
    }
    details.keepsSuperseded =
      current.sequence != record.sequence
      && (leaves.contains { tree.nodes[$0].sequence == current.sequence }
        || keepsHistory(current.sequence))
    details.released = (released + cleared).filter {
      $0 != current.sequence && $0 != record.sequence && !keepsHistory($0)
    }
    details.mayRetainOlder = details.keepsSuperseded || current.traits.contains(.mayRetainOlder)
    details.expiry = newest.details?.expiry
    details.supersededExpiry = details.expiry
    details.winner =
      winner.sequence == record.sequence
      ? nil
      : .init(revision: winner.revision, isDeleted: winner.isDeleted, sequence: winner.sequence)
    if tree.isPlainChain {
      record.ancestors = .init(
        tree.history(of: own).dropFirst().map(\.revision.digest))
    } else {
      record.ancestors = .init(tree.history(of: own, limit: 2).dropFirst().map(\.revision.digest))
      var writer = ByteWriter(capacity: 24 * tree.nodes.count)
      tree.encode(into: &writer)
      details.tree = writer.sharedCopy
    }
    record.details = details.isEmpty ? nil : details
  }

  /// Returns the details about retained records for a document with one leaf; nil if none.
  private func historyDetails(
    over current: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> DocumentDetails? {
    var details = DocumentDetails()
    details.keepsSuperseded = keepsHistory(current.sequence)
    if details.keepsSuperseded {
      details.mayRetainOlder = true
    } else if current.traits.contains(.mayRetainOlder) {
      details.mayRetainOlder = try view.retainedSequences(of: id, current).contains(
        where: keepsHistory)
      // So that later records need no lookup.
      details.releasesOlder = !details.mayRetainOlder
    }
    return details.isEmpty ? nil : details
  }

  /// Whether a superseded record is retained although its revision is no longer a leaf.
  func keepsHistory(_ sequence: UInt64) -> Bool {
    store.configuration.history.isOn || sequence <= pinnedThrough
  }

  /// Returns the digests of the revisions before the one that is to be stored over `current`.
  private func ancestors(
    of current: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> [RevisionID.Digest] {
    let depth = store.configuration.revisionDepth
    guard depth > 1 else { return [] }
    var digests = [current.revision.digest]
    if current.revision.generation > 1 {
      let record = try view.newestRecord(of: current, id)
      digests += record.ancestors.digests.prefix(depth - 2)
    }
    return digests
  }
}

extension WriteTransaction {
  /// Appends a document's newest record and indexes it.
  ///
  /// A record of a revision that the store has already is `isRewrite`: the revision stays what it
  /// is if an attachment can no longer be read.
  func addNewestRecord(
    _ record: DocumentRecord, id: String, over current: DocumentEntry?, isRewrite: Bool = false
  ) throws(DatabaseError) {
    let indexed = try indexChange(to: record, id, over: current, requiresText: !isRewrite)
    let savepoint = buffer.savepoint
    let locator = try appendRecord(.document, id: id) { writer in record.encode(to: &writer) }
    let commit = nextCommit
    if record.details?.releasesSomething == true {
      try change(orRollbackTo: savepoint) { (state, scratch) throws(PageError) in
        try state.put(record, at: locator, commit: commit, scratch: &scratch)
      }
    } else {
      // Nothing is looked up here, so nothing can fail, and the trees need not be copied.
      try? state.put(record, at: locator, commit: commit, scratch: &entryScratch)
    }
    let entry = DocumentEntry(record, at: locator)
    state.lastSequence = max(state.lastSequence, record.sequence)
    if let current, current.traits.contains(.attachments) {
      state.mayHaveUnreferenced = true
      noteReleased(current, keeping: record.details?.attachments ?? [])
    }
    state.countDocument(wasLive: current?.isDeleted == false, isLive: !entry.isDeleted)
    if let indexed { make(indexed) }
  }

  /// Counts the attachments that a document's newest record no longer refers to.
  ///
  /// History or other documents may still refer to them: a sweep checks that once enough was
  /// counted.
  func noteReleased(_ current: DocumentEntry, keeping attachments: [AttachmentEntry]) {
    // Records that cannot be read are not counted.
    guard current.traits.contains(.attachments),
      let old = try? view.record(at: current.locator).details?.attachments
    else { return }
    let digests = Set(attachments.map(\.digest))
    for entry in old where !digests.contains(entry.digest) {
      // The sum is clamped, because a forged record may have any length.
      releasedSize += min(Int(clamping: entry.length), (1 << 60) - releasedSize)
    }
  }

  /// Appends a record with a payload from `encode`; returns its future locator.
  func appendRecord(
    _ kind: Record.Kind, id: String?, encode: (inout ByteWriter) -> Void
  ) throws(DatabaseError) -> RecordLocator {
    let savepoint = buffer.savepoint
    let slot = buffer.append(kind, encode: encode)
    guard slot.size <= Record.sizeLimit else {
      buffer.rollback(to: savepoint)
      throw DatabaseError(
        .documentTooLarge,
        "the record has \(slot.size) bytes, where \(Record.sizeLimit) are allowed",
        hint:
          "A record has a document's properties, its attachments' metadata, and its revision IDs",
        documentID: id)
    }
    guard buffer.size <= store.configuration.transactionSizeLimit else {
      buffer.rollback(to: savepoint)
      throw DatabaseError(
        .transactionTooLarge,
        "the transaction is larger than \(store.configuration.transactionSizeLimit) bytes",
        hint: "Write in several transactions, or raise `transactionSizeLimit`", documentID: id)
    }
    return RecordLocator(fileID: fileID, offset: UInt64(slot.offset), size: UInt32(slot.size))
  }

  /// Changes the index with lookups: completely, or not at all if the index cannot be read.
  ///
  /// Then the records after `savepoint` are dropped, too.
  func change(
    orRollbackTo savepoint: TransactionBuffer.Savepoint,
    _ body: (inout Version, inout ByteWriter) throws(PageError) -> Void
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      state = try view.repairing { (version) throws(PageError) in
        var changed = version.state
        try body(&changed, &entryScratch)
        return changed
      }
    } catch {
      buffer.rollback(to: savepoint)
      throw error
    }
  }
}
