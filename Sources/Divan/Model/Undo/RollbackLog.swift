/// The nested changes of a context's transaction, each of which can be rolled back.
///
/// Nested changes are numbered as they begin. Everything that models read from the transaction or
/// store in it gets the number of the nested changes that began last. A rollback therefore concerns
/// everything with the number of its nested changes or a greater one.
///
/// Invariant: `active` has the nested changes that began and did not end, with increasing numbers.
struct RollbackLog {
  /// Nested changes that are in progress, or have just ended.
  struct Nested {
    let number: Int
    /// The undo history from before the nested changes.
    let undoHistory: UndoHistory
    /// The models that were changed, retained because a rollback makes them unsaved again.
    var models: [Model] = []
    /// Whether anything has this number or a greater one.
    var isNoted = false
  }

  private var active: [Nested] = []
  /// The number of nested changes that have begun so far.
  private var count = 0

  mutating func begin(_ undoHistory: UndoHistory) {
    count += 1
    active.append(Nested(number: count, undoHistory: undoHistory))
  }

  /// Ends the nested changes that began last; returns nil if there are none.
  mutating func end(areKept: Bool) -> Nested? {
    guard let ended = active.popLast() else { return nil }
    if areKept { fold(ended) }
    // After a rollback too: models that were read in it keep the number, and show the outer state.
    if ended.isNoted, !active.isEmpty { active[active.count - 1].isNoted = true }
    return ended
  }

  /// Merges kept changes into the surrounding ones, with which they can still be rolled back.
  ///
  /// A model that changes in many successive nested changes thus has no more entries than a model
  /// that changes once.
  private mutating func fold(_ ended: Nested) {
    let number = active.last?.number ?? 0
    for model in ended.models { model.rollbackEntry = model.rollbackEntry?.folded(since: number) }
    guard !active.isEmpty else { return }
    // Models without a greater number are in the list already.
    active[active.count - 1].models += ended.models.filter {
      $0.rollbackEntry.map { $0.number >= ended.number } ?? false
    }
  }

  /// Records that a model shows the current state of the transaction.
  mutating func noteReading(of model: Model) {
    guard !active.isEmpty else { return }
    model.lastReading = count
    active[active.count - 1].isNoted = true
  }

  /// Records the state of a model before a change that can be rolled back.
  ///
  /// Outside nested changes, the model is not retained: only the whole transaction can then be
  /// rolled back, which ends the context.
  mutating func note(_ change: RollbackEntry.Change, of model: Model) {
    // A change that was recorded in the same nested changes is rolled back together with this.
    if let last = model.rollbackEntry, last.number >= active.last?.number ?? 0, last.add(change) {
      return
    }
    model.rollbackEntry = RollbackEntry(change, count, after: model.rollbackEntry)
    guard !active.isEmpty else { return }
    active[active.count - 1].models.append(model)
    active[active.count - 1].isNoted = true
  }
}
