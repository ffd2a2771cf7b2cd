/// What of a context's transaction may be taken back, and since when.
///
/// Nested changes are numbered as they begin. Whatever models take from the transaction, or leave there, bears the number of
/// those that began last by then: so when changes are taken back, all that was meanwhile bears theirs or a greater one.
///
/// Invariant: `going` are those that began and did not end, with growing numbers.
struct ModelReversals {
  /// Nested changes that go on, or just ended.
  struct Nested {
    let number: Int
    /// What could be undone before them.
    let undoHistory: UndoHistory
    /// Those that were changed meanwhile: if nobody else holds them, they are unsaved still when this is taken back.
    var models: [Model] = []
    /// Whether anything bears this number or a greater one.
    var isNoted = false
  }

  private var going: [Nested] = []
  /// How many nested changes have begun.
  private var count = 0

  mutating func begin(_ undoHistory: UndoHistory) {
    count += 1
    going.append(Nested(number: count, undoHistory: undoHistory))
  }

  /// Ends what began last; nil if nothing did.
  mutating func end(areKept: Bool) -> Nested? {
    guard let ended = going.popLast() else { return nil }
    if areKept { fold(ended) }
    // What was taken back, too: models that showed it bear the number still, and show what those around it did.
    if ended.isNoted, !going.isEmpty { going[going.count - 1].isNoted = true }
    return ended
  }

  /// Adds what is kept to what was noted before it and is taken back together with it from now on.
  ///
  /// So a model that changes in many nested changes, one after the other, remembers no more than one that changes once.
  private mutating func fold(_ kept: Nested) {
    let number = going.last?.number ?? 0
    for model in kept.models { model.reversal = model.reversal?.folded(since: number) }
    guard !going.isEmpty else { return }
    // Those of which nothing bears the greater number are there already.
    going[going.count - 1].models += kept.models.filter {
      $0.reversal.map { $0.number >= kept.number } ?? false
    }
  }

  /// Notes that a model shows what the transaction has now.
  mutating func noteReading(of model: Model) {
    guard !going.isEmpty else { return }
    model.lastReading = count
    going[going.count - 1].isNoted = true
  }

  /// Notes what a model was, before something is done that may be taken back.
  ///
  /// Outside nested changes nothing holds the model: only all of the transaction can be taken back then, and the context is
  /// over with it.
  mutating func note(_ change: ModelReversal.Change, of model: Model) {
    // What was noted within the changes that go on is taken back together with this.
    if let last = model.reversal, last.number >= going.last?.number ?? 0, last.add(change) {
      return
    }
    model.reversal = ModelReversal(change, count, after: model.reversal)
    guard !going.isEmpty else { return }
    going[going.count - 1].models.append(model)
    going[going.count - 1].isNoted = true
  }
}

extension ModelContextCore: TransactionFollower {
  func nestedChangesBegan() { reversals.begin(undoHistory) }

  func nestedChangesEnded(areKept: Bool) {
    guard let nested = reversals.end(areKept: areKept), !areKept else { return }
    // How much is remembered is a setting, and nothing that the transaction did.
    let limit = undoHistory.limit
    undoHistory = nested.undoHistory
    undoHistory.limit = limit
    guard nested.isNoted else { return }
    takeBack(nested.models, since: nested.number)
    showAgain(live.all.filter { $0.lastReading >= nested.number && $0.state != .new })
    announceInverses()
  }

  func transactionEnded(isCommitted: Bool) {
    if !isCommitted { takeBack(live.all, since: 0) }
    for model in live.all { model.reversal = nil }
    end(WriteTransaction.overError)
  }

  /// Lets models be what they were before all that was noted under a number or a greater one.
  private func takeBack(_ models: [Model], since number: Int) {
    for model in models {
      while let last = model.reversal, last.number >= number {
        model.reversal = last.previous
        last.takeBack(model)
      }
      if model.isUnsaved { noteUnsaved(model) }
    }
  }
}

// MARK: - What is noted

extension ModelContextCore {
  /// Lets models that were just saved in the context's transaction be as before if that is taken back.
  func noteReversal(of saved: [SavedModel]) {
    guard isInTransaction else { return }
    for each in saved { reversals.note(.saving(ModelReversal.Saving(each)), of: each.model) }
  }

  /// Does the same for models that are about to be deleted there.
  func noteReversal(ofDeleting models: [Model]) {
    guard isInTransaction else { return }
    for model in models { reversals.note(.deletion(model.state), of: model) }
  }

  /// Does the same for a model out of whose document a reference is about to be taken.
  func noteReversal(ofRebasing model: Model) {
    guard isInTransaction, let body = model.body else { return }
    reversals.note(.rebasing(body, model.extras?.bases ?? [:]), of: model)
  }

  /// Does the same for references that were taken out of an unsaved model.
  func noteReversal(
    ofRemoving before: [ModelReference], leaving after: [ModelReference],
    _ property: any ModelProperty, in model: Model
  ) {
    guard isInTransaction, before.count != after.count else { return }
    reversals.note(.removal(property.place.index, before, left: after.map(\.key)), of: model)
  }
}
