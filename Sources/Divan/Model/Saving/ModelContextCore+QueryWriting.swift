import DivanLog

extension ModelContextCore {
  /// The number of models that are changed before they are saved and released.
  private static let pieceCount = 256

  /// The number of rounds of saving while ``Model/didSave()`` changes models.
  static let saveLimit = 16

  func update<M: Model>(
    _ query: Query<M>, _ change: (M) throws -> Void
  ) throws -> Int {
    try source.requireWritable()
    addDeclaredIndexes(of: [ModelClass.of(M.self)])
    var count = 0
    var changes: [SavedChange] = []
    try write { transaction in
      var ids = try transaction.ids(known(query))[...]
      while !ids.isEmpty {
        // Each piece has its own context, which releases its bookkeeping when it ends.
        let piece = makePiece(of: transaction)
        defer { piece.core.end(ModelContextCore.pieceIsOver) }
        for id in ids.prefix(ModelContextCore.pieceCount) {
          // The change of another model may have deleted it.
          guard let model = try piece.model(M.self, id) else { continue }
          count += 1
          try change(model)
        }
        try piece.core.saveUntilClean()
        changes += piece.core.undoHistory.done.joined()
        ids = ids.dropFirst(ModelContextCore.pieceCount)
      }
    }
    undoHistory.note(changes)
    if count > 0 { advance(ownChanges: 0) }
    return count
  }

  /// Creates a context of the transaction with the settings of this one.
  private func makePiece(of transaction: WriteTransaction) -> ModelContext {
    let piece = transaction.makeContext(registry)
    piece.errorHandler = handle?.errorHandler
    piece.mismatchHandler = handle?.mismatchHandler
    piece.isStrict = isStrict
    piece.isObservable = false
    piece.undoLimit = undoHistory.isOn ? .max : 0
    piece.core.crossContext = crossContext
    return piece
  }

  /// Saves unsaved models, including those that hooks change in the process.
  private func saveUntilClean() throws {
    for _ in 0..<ModelContextCore.saveLimit where !unsaved.isEmpty {
      try save(unsavedModels, isEverything: true)
    }
    guard let model = unsavedModels.first else { return }
    throw DatabaseError(
      .invalidModel,
      "nothing was changed: models are unsaved still after they were saved \(ModelContextCore.saveLimit) times",
      hint: "Let `didSave` change models only if there is something to change",
      documentID: model.documentID)
  }

  private static var pieceIsOver: DatabaseError {
    DatabaseError(
      .closed, "the model was lent to a change of many",
      hint: "Use it only within the closure, and ask the context for its own model afterwards")
  }
}
