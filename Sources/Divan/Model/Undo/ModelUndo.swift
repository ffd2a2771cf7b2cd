// Undo and redo of a context's saves and deletions.

/// The change that a save or deletion of a context made to a document; nil means no document.
struct SavedChange {
  let id: String
  let before: Document?
  let after: Document?
  /// The properties of the tombstone; nil if nothing was deleted.
  var tombstone: Value.Object?

  /// The change that undoes this one.
  var reversed: SavedChange {
    SavedChange(id: id, before: after, after: before, tombstone: tombstone)
  }
}

/// The changes that a context can undo and redo.
///
/// Invariants: neither list has more than `limit` groups. An undone change can be redone until
/// another change is saved.
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

  /// Whether changes are recorded.
  var isOn: Bool { limit > 0 }

  mutating func note(_ changes: [SavedChange]) {
    guard isOn, !changes.isEmpty else { return }
    undone = []
    done = (done + [changes]).suffix(limit)
  }

  mutating func noteUndone() { if let last = done.popLast() { undone.append(last) } }
  mutating func noteRedone() { if let last = undone.popLast() { done.append(last) } }

  /// Drops the latest group, which cannot be undone or redone.
  mutating func dropDone() { done = done.dropLast() }
  mutating func dropUndone() { undone = undone.dropLast() }
}

extension SavedChange {
  /// Applies the change to a document; `tombstone` has the properties that a deletion leaves.
  func make(_ tombstone: Value.Object, in transaction: WriteTransaction) throws {
    let current = try transaction.document(id)
    switch (before, after) {
    case (nil, nil): return
    case (nil, let after?):
      guard current == nil else { throw conflict("a document with this ID exists again") }
      try put(after.properties, after.attachments, over: nil, in: transaction)
    case (let before?, nil):
      guard var current, current.properties == before.properties,
        current.attachments == before.attachments
      else { throw conflict("the document was changed since") }
      current.properties = tombstone
      current.attachments = [:]
      // In a conflict, only this branch is deleted: the save did not create the others.
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

  /// Returns the document's attachments with the differences between `before` and `after` applied.
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
      .conflict, "nothing was undone or redone, because \(what)",
      hint: "Change it by hand; earlier changes can still be undone", documentID: id,
      propertyPath: path)
  }
}
