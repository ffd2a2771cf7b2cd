// How a context takes back what it saved, and makes it again.

/// What one save or deletion of a context did to a document; nil stands for no document.
struct SavedChange {
  let id: String
  let before: Document?
  let after: Document?
  /// What a deletion left; nil where nothing was deleted.
  var tombstone: Value.Object?

  /// What takes it back.
  var reversed: SavedChange {
    SavedChange(id: id, before: after, after: before, tombstone: tombstone)
  }
}

/// What a context can take back, and make again.
///
/// Invariants: neither list has more than `limit` groups; what was taken back can be made again until something else
/// is saved.
struct UndoHistory {
  var limit = 0 {
    didSet {
      done = done.suffix(limit)
      undone = undone.suffix(limit)
    }
  }
  /// Groups of changes that were saved together, the latest last.
  private(set) var done: [[SavedChange]] = []
  private(set) var undone: [[SavedChange]] = []

  /// Whether changes are to be remembered.
  var isOn: Bool { limit > 0 }

  mutating func note(_ changes: [SavedChange]) {
    guard isOn, !changes.isEmpty else { return }
    undone = []
    done = (done + [changes]).suffix(limit)
  }

  mutating func noteUndone() { if let last = done.popLast() { undone.append(last) } }
  mutating func noteRedone() { if let last = undone.popLast() { done.append(last) } }

  /// Forgets what cannot be taken back, or made again.
  mutating func dropDone() { done = done.dropLast() }
  mutating func dropUndone() { undone = undone.dropLast() }
}

extension DatabaseError.Code {
  /// Whether the same would be refused again, however often it is tried.
  fileprivate var isFinal: Bool {
    [
      .conflict, .damaged, .refused, .notUnique, .notFound, .alreadyExists, .invalidValue,
      .documentTooLarge, .transactionTooLarge,
    ].contains(self)
  }
}

extension ModelContext {
  /// How many saves and deletions of this context can be taken back; 0, which is the default, remembers none.
  ///
  /// Their documents are kept in memory as they were before and after. Making it less forgets the oldest.
  public var undoLimit: Int {
    get { core.undoHistory.limit }
    set { core.undoHistory.limit = max(0, newValue) }
  }

  /// Whether there is something to take back.
  public var canUndo: Bool { !core.undoHistory.done.isEmpty }

  /// Whether something was taken back that can be made again.
  public var canRedo: Bool { !core.undoHistory.undone.isEmpty }

  /// Takes back what this context saved or deleted last, with all that was saved together, in one transaction.
  ///
  /// Properties and attachments that were changed get back what they had; what others changed beside them stays.
  /// New documents are deleted, and deleted ones are there again, with the same IDs; of a document in conflict that is so
  /// for the winning branch. The models follow, as they
  /// follow changes from elsewhere. What is not saved yet is not touched: ``Model/revert()`` takes that back.
  ///
  /// - Returns: false if there is nothing to take back.
  /// - Throws: ``DatabaseError`` with the codes `conflict` if what is to be taken back was changed since, by
  ///   anybody; `damaged` if an attachment that is to come back was cleaned away meanwhile; and those of
  ///   ``Database/write(durability:timeout:_:)-4yolg``. Then nothing is taken back. What can never be taken back, because of a
  ///   conflict, damage or a rule that refuses it, is forgotten: the next call takes back what was saved before it.
  @discardableResult
  public func undo() throws -> Bool { try core.undo() }

  /// Makes again what was taken back last.
  ///
  /// - Returns: false if there is nothing to make again.
  /// - Throws: as ``undo()``.
  @discardableResult
  public func redo() throws -> Bool { try core.redo() }
}

extension ModelContextCore {
  fileprivate func undo() throws -> Bool {
    guard let changes = undoHistory.done.last else { return false }
    try make(changes.reversed().map(\.reversed), orForget: { $0.dropDone() }) { $0.noteUndone() }
    return true
  }

  fileprivate func redo() throws -> Bool {
    guard let changes = undoHistory.undone.last else { return false }
    try make(changes, orForget: { $0.dropUndone() }) { $0.noteRedone() }
    return true
  }

  private func make(
    _ changes: [SavedChange], orForget forget: (inout UndoHistory) -> Void,
    _ note: (inout UndoHistory) -> Void
  ) throws {
    do {
      try write { transaction in
        for change in changes {
          // Nobody may hold the model any more that was deleted.
          let tombstone = change.tombstone ?? known(change.id)?.tombstoneProperties ?? [:]
          try change.make(tombstone, in: transaction)
        }
      }
    } catch let error as DatabaseError where error.code.isFinal {
      // It would stand in the way of all that was saved before it.
      forget(&undoHistory)
      throw error
    }
    // Before the models hear of it: their hooks may save.
    note(&undoHistory)
    advance(ownChanges: 0)
  }
}

extension SavedChange {
  /// Changes a document from what it was before to what it was after; `tombstone` is what a deletion leaves.
  fileprivate func make(_ tombstone: Value.Object, in transaction: WriteTransaction) throws {
    let current = try transaction.get(id)
    switch (before, after) {
    case (nil, nil): return
    case (nil, let after?):
      guard current == nil else { throw conflict("there is a document of this ID again") }
      try put(after.properties, after.attachments, over: nil, in: transaction)
    case (let before?, nil):
      guard var current, current.properties == before.properties,
        current.attachments == before.attachments
      else { throw conflict("the document was changed since") }
      current.properties = tombstone
      current.attachments = [:]
      // Of a conflict only this branch: the others are not what is taken back.
      try transaction.delete(current)
    case (let before?, let after?):
      guard let current else { throw conflict("the document was deleted since") }
      let merge = ThreeWayMerge(
        base: before.properties, mine: after.properties, theirs: current.properties)
      if let overlap = merge.overlaps.first {
        throw conflict(
          "a property was changed since", at: overlap.path.joined(separator: "."))
      }
      try put(
        merge.properties, attachments(before, after, current), over: current, in: transaction)
    }
  }

  private func put(
    _ properties: Value.Object, _ attachments: Document.Attachments,
    over current: Document?,
    in transaction: WriteTransaction
  ) throws {
    var document = current ?? Document(id: id)
    document.properties = properties
    document.attachments = attachments
    try transaction.put(document)
  }

  /// The attachments that a document has, with those of `after` where these differ from those of `before`.
  private func attachments(
    _ before: Document, _ after: Document, _ current: Document
  ) throws -> Document.Attachments {
    var all = current.attachments
    var names = before.attachments
    for (name, attachment) in after.attachments { names[name] = attachment }
    for name in names.keys where before.attachments[name] != after.attachments[name] {
      guard [before.attachments[name], after.attachments[name]].contains(all[name]) else {
        throw conflict("an attachment was changed since", at: "_attachments.\(name)")
      }
      all[name] = after.attachments[name]
    }
    return all
  }

  private func conflict(_ what: String, at path: String? = nil) -> DatabaseError {
    DatabaseError(
      .conflict, "nothing was taken back or made again, since \(what)",
      hint: "Change it by hand; what was done before it can still be taken back", documentID: id,
      propertyPath: path)
  }
}
