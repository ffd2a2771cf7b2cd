extension ModelContextCore: TransactionObserver {
  func nestedChangesBegan() { rollbackLog.begin(undoHistory) }

  func nestedChangesEnded(areKept: Bool) {
    guard let nested = rollbackLog.end(areKept: areKept), !areKept else { return }
    // The limit is a setting, not a change of the transaction.
    let limit = undoHistory.limit
    undoHistory = nested.undoHistory
    undoHistory.limit = limit
    guard nested.isNoted else { return }
    rollBack(nested.models, since: nested.number)
    updateAfterRollback(
      identityMap.all.filter { $0.lastReading >= nested.number && $0.state != .new })
    announceInverses()
  }

  func transactionEnded(isCommitted: Bool) {
    if !isCommitted { rollBack(identityMap.all, since: 0) }
    for model in identityMap.all { model.rollbackEntry = nil }
    end(WriteTransaction.overError)
  }

  /// Restores models to their states before everything recorded since a number.
  private func rollBack(_ models: [Model], since number: Int) {
    for model in models {
      while let last = model.rollbackEntry, last.number >= number {
        model.rollbackEntry = last.previous
        last.rollBack(model)
      }
      if model.isUnsaved { noteUnsaved(model) }
    }
  }
}

extension ModelContextCore {
  /// Records models that the context's transaction just saved, for a rollback to restore.
  func noteRollbackEntry(of saved: [SavedModel]) {
    guard isInTransaction else { return }
    for each in saved { rollbackLog.note(.saving(RollbackEntry.Saving(each)), of: each.model) }
  }

  /// Records models that are about to be deleted.
  func noteRollbackEntry(ofDeleting models: [Model]) {
    guard isInTransaction else { return }
    for model in models { rollbackLog.note(.deletion(model.state), of: model) }
  }

  /// Records a model from whose document a reference is about to be removed.
  func noteRollbackEntry(ofRebasing model: Model) {
    guard isInTransaction, let properties = model.storedProperties else { return }
    rollbackLog.note(.rebasing(properties, model.pendingChanges?.bases ?? [:]), of: model)
  }

  /// Records references that were removed from an unsaved model.
  func noteRollbackEntry(
    ofRemoving before: [ModelReference], leaving after: [ModelReference],
    _ property: any ModelProperty, in model: Model
  ) {
    guard isInTransaction, before.count != after.count else { return }
    rollbackLog.note(.removal(property.location.index, before, left: after.map(\.key)), of: model)
  }
}
