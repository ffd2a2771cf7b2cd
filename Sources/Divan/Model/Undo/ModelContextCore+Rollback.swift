extension ModelContextCore: TransactionObserver {
  func nestedChangesBegan() { rollbackLog.begin(undoHistory) }

  func nestedChangesEnded(areKept: Bool) {
    guard let nested = rollbackLog.end(areKept: areKept), !areKept else { return }
    // The limit is a setting, not a change of the transaction.
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
    for model in live.all { model.rollbackEntry = nil }
    end(WriteTransaction.overError)
  }

  /// Restores models to their states before everything recorded since a number.
  private func takeBack(_ models: [Model], since number: Int) {
    for model in models {
      while let last = model.rollbackEntry, last.number >= number {
        model.rollbackEntry = last.previous
        last.takeBack(model)
      }
      if model.isUnsaved { noteUnsaved(model) }
    }
  }
}

extension ModelContextCore {
  /// Records models that the context's transaction just saved, so that a rollback restores them.
  func noteReversal(of saved: [SavedModel]) {
    guard isInTransaction else { return }
    for each in saved { rollbackLog.note(.saving(RollbackEntry.Saving(each)), of: each.model) }
  }

  /// Records models that are about to be deleted.
  func noteReversal(ofDeleting models: [Model]) {
    guard isInTransaction else { return }
    for model in models { rollbackLog.note(.deletion(model.state), of: model) }
  }

  /// Records a model from whose document a reference is about to be removed.
  func noteReversal(ofRebasing model: Model) {
    guard isInTransaction, let body = model.body else { return }
    rollbackLog.note(.rebasing(body, model.pendingChanges?.bases ?? [:]), of: model)
  }

  /// Records references that were removed from an unsaved model.
  func noteReversal(
    ofRemoving before: [ModelReference], leaving after: [ModelReference],
    _ property: any ModelProperty, in model: Model
  ) {
    guard isInTransaction, before.count != after.count else { return }
    rollbackLog.note(.removal(property.place.index, before, left: after.map(\.key)), of: model)
  }
}
