extension ModelContextCore {
  func undo() throws -> Bool {
    guard let changes = undoHistory.done.last else { return false }
    try make(changes.reversed().map(\.reversed), orForget: { $0.dropDone() }) { $0.noteUndone() }
    return true
  }

  func redo() throws -> Bool {
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
          // The deleted model may have been released.
          let tombstone = change.tombstone ?? known(change.id)?.tombstoneProperties ?? [:]
          try change.make(tombstone, in: transaction)
        }
      }
    } catch let error as DatabaseError where error.code.isFinal {
      // It would block undoing all earlier changes.
      forget(&undoHistory)
      throw error
    }
    // Before the models are notified: their hooks may save.
    note(&undoHistory)
    advance(ownChanges: 0)
  }
}
