import DivanLog

// What a query for models means, changed or deleted together.

extension ModelContext {
  /// Changes every model that a query means, and saves them all, in one transaction: all of it, or nothing.
  ///
  /// ```swift
  /// try context.update(Query<Todo>().filter { $0.due < today }) { $0.priority += 1 }
  /// ```
  ///
  /// The query is asked when the transaction has begun, of what is stored then, and before anything is changed, so that no model
  /// is met twice. With a ``ModelRegistry`` a query for a class means its subclasses, too.
  ///
  /// `change` gets models that are made for it, some hundreds at a time, so that any number of them can be changed. They belong to
  /// a context of the transaction, and are over with the call: see ``WriteTransaction/models``. What they refer to may be
  /// set to models of this context. New models that they come to refer to are saved with them, hooks and
  /// ``Model/validate(_:)`` are called as by ``saveModels(_:)``, some hundreds at a time, and what was unsaved in this context stays
  /// so. What ``Model/didSave()`` changes is saved, too, up to sixteen times. `change` must not save with this context, unless that
  /// is one of a transaction: it would be a transaction within another, which throws ``DatabaseError`` with the code `nestedWrite`.
  ///
  /// Afterwards this context's models show what was changed, and it can be taken back with ``undo()`` as one. Unsaved changes of
  /// models that the query means stay unsaved, as if somebody else had changed the documents: saving them
  /// keeps both, and where it is the same property that is a conflict until ``refresh()``.
  ///
  /// - Parameters:
  ///   - query: what is meant.
  ///   - change: changes one model; it may delete it, or others, too.
  /// - Returns: how many models `change` was called with.
  /// - Throws: what finding models and ``saveModels(_:)`` throw, and what `change` throws; ``DatabaseError/Code/invalidModel`` if
  ///   ``Model/didSave()`` changes models still after that; ``DatabaseError/Code/readOnly`` in a context of a snapshot.
  @discardableResult
  public func update<M: Model>(
    _ query: Query<M>, _ change: (M) throws -> Void
  ) throws -> Int { try core.update(query, change) }

  /// Deletes every model that a query means, and does what the ``DeleteRule``s of their classes say, in one transaction: all
  /// of it, or nothing.
  ///
  /// They are the models that ``find(_:)`` gives, deleted as by ``Model/delete()``, but together: where a rule denies
  /// that one is deleted, those that refer to it may be among them. What was changed in them and not saved is given up.
  /// All of them are in memory until the transaction is over.
  ///
  /// - Returns: how many models the query means; those that go with them by a rule are not counted.
  /// - Throws: what ``find(_:)`` and ``Model/delete()`` throw.
  @discardableResult
  public func delete<M: Model>(_ query: Query<M>) throws -> Int {
    try core.source.requireWritable()
    let models = try find(query)
    try core.delete(models)
    return models.count
  }
}

extension ModelContextCore {
  /// How many models are changed before these are saved, and let go of.
  private static let pieceCount = 256

  /// How often they are saved while ``Model/didSave()`` changes models.
  static let saveLimit = 16

  fileprivate func update<M: Model>(
    _ query: Query<M>, _ change: (M) throws -> Void
  ) throws -> Int {
    try source.requireWritable()
    addDeclaredIndexes(of: [ModelClass.of(M.self)])
    var count = 0
    var changes: [SavedChange] = []
    try write { transaction in
      var ids = try transaction.ids(known(query))[...]
      while !ids.isEmpty {
        // A context for each piece: what it notes of its models goes with it.
        let piece = makePiece(of: transaction)
        defer { piece.core.end(ModelContextCore.pieceIsOver) }
        for id in ids.prefix(ModelContextCore.pieceCount) {
          // Another one's change may have deleted it.
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

  /// A context that saves by a transaction what this one was asked to change.
  private func makePiece(of transaction: WriteTransaction) -> ModelContext {
    let piece = transaction.makeContext(registry)
    piece.errorHandler = handle?.errorHandler
    piece.mismatchHandler = handle?.mismatchHandler
    piece.isStrict = isStrict
    piece.isObservable = false
    piece.undoLimit = undoHistory.isOn ? .max : 0
    piece.core.elsewhere = elsewhere
    return piece
  }

  /// Saves what is unsaved, and what hooks changed when it was.
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
