/// The changes of documents that undo or redo a group of changes.
struct ChangesToMake: Sendable {
  let changes: [(change: SavedChange, tombstone: Value.Object)]

  /// Makes the changes, all of them or none.
  @Sendable func make(in transaction: WriteTransaction) throws {
    for (change, tombstone) in changes { try change.make(tombstone, in: transaction) }
  }
}

extension ModelContextCore {
  func undo() throws -> Bool {
    finishCommit()
    guard let changes = changesToUndo else { return false }
    try noteUndo(Result { try write(changes.make) })
    return true
  }

  func redo() throws -> Bool {
    finishCommit()
    guard let changes = changesToRedo else { return false }
    try noteRedo(Result { try write(changes.make) })
    return true
  }

  func undo(isolation actor: isolated (any Actor)? = #isolation) async throws -> Bool {
    guard case .database(let database) = source else { return try undoWhileWaiting() }
    await finishCommit()
    guard let changes = changesToUndo else { return false }
    try await commit(to: database, changes.make, publish: noteUndo)
    return true
  }

  func redo(isolation actor: isolated (any Actor)? = #isolation) async throws -> Bool {
    guard case .database(let database) = source else { return try redoWhileWaiting() }
    await finishCommit()
    guard let changes = changesToRedo else { return false }
    try await commit(to: database, changes.make, publish: noteRedo)
    return true
  }

  private func undoWhileWaiting() throws -> Bool { try undo() }
  private func redoWhileWaiting() throws -> Bool { try redo() }

  private var changesToUndo: ChangesToMake? {
    undoHistory.done.last.map { toMake($0.reversed().map(\.reversed)) }
  }

  private var changesToRedo: ChangesToMake? { undoHistory.undone.last.map(toMake) }

  private func toMake(_ changes: [SavedChange]) -> ChangesToMake {
    ChangesToMake(
      changes: changes.map { change in
        // The deleted model may have been released.
        (change, change.tombstone ?? known(change.id)?.tombstoneProperties ?? [:])
      })
  }

  private func noteUndo(_ outcome: Result<Void, any Error>) throws {
    try note(outcome, orForget: { $0.dropDone() }) { $0.noteUndone() }
  }

  private func noteRedo(_ outcome: Result<Void, any Error>) throws {
    try note(outcome, orForget: { $0.dropUndone() }) { $0.noteRedone() }
  }

  private func note(
    _ outcome: Result<Void, any Error>, orForget forget: (inout UndoHistory) -> Void,
    _ note: (inout UndoHistory) -> Void
  ) throws {
    do {
      try outcome.get()
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
