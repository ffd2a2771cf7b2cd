import DivanLog

extension ModelContextCore {
  /// The number of models that are changed before they are saved and released.
  private static let batchSize = 256

  /// The number of rounds of saving while ``Model/didSave()`` changes models.
  static let saveLimit = 16

  func update<M: Model>(
    _ query: Query<M>, _ change: (M) throws -> Void
  ) throws -> Int {
    try source.requireWritable()
    finishCommit()
    buildIndexes(for: [ModelClass.of(M.self)])
    var count = 0
    var changes: [SavedChange] = []
    try write { transaction in
      var ids = try transaction.ids(known(query))[...]
      while !ids.isEmpty {
        // Each batch has its own context, which releases its bookkeeping when it ends.
        let batch = makeBatchContext(of: transaction)
        defer { batch.core.end(ModelContextCore.batchEnded) }
        for id in ids.prefix(ModelContextCore.batchSize) {
          // The change of another model may have deleted it.
          guard let model = try batch.model(M.self, id: id) else { continue }
          count += 1
          try change(model)
        }
        try batch.core.saveUntilClean()
        changes += batch.core.undoHistory.done.joined()
        ids = ids.dropFirst(ModelContextCore.batchSize)
      }
    }
    undoHistory.note(changes)
    if count > 0 { advance(ownChanges: 0) }
    return count
  }

  /// Creates a context of the transaction with the settings of this one.
  private func makeBatchContext(of transaction: WriteTransaction) -> ModelContext {
    let batch = transaction.makeContext(registry)
    batch.errorHandler = handle.map { handle in { handle.report($0) } }
    batch.mismatchHandler = handle?.mismatchHandler
    batch.isStrict = isStrict
    batch.isObservable = false
    batch.undoLimit = undoHistory.isOn ? .max : 0
    batch.core.crossContext = crossContext
    return batch
  }

  /// Saves unsaved models, including those that hooks change in the process.
  private func saveUntilClean() throws {
    for _ in 0..<ModelContextCore.saveLimit where !unsaved.isEmpty {
      try save(unsavedModels, isEverything: true)
    }
    guard let model = unsavedModels.first else { return }
    throw DatabaseError(
      .invalidModel,
      "nothing was changed: models still have changes after \(ModelContextCore.saveLimit) saves",
      hint: "Let `didSave` change models only if there is something to change",
      documentID: model.documentID)
  }

  private static var batchEnded: DatabaseError {
    DatabaseError(
      .closed, "the model is valid only while the update is running",
      hint: "Use it only within the closure, and get the model from the context afterwards")
  }
}
