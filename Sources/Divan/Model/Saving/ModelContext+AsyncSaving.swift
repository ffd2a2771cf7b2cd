// Saving and deleting for asynchronous callers, whose actor they do not block.

extension ModelContext {
  /// Stores all new and changed models of this context in one transaction, without blocking the
  /// actor.
  ///
  /// ```swift
  /// todo.text = "Buy milk"
  /// try await context.save()
  /// ```
  ///
  /// The models are encoded on the actor that the context belongs to. The transaction runs on
  /// another thread: it waits there for other transactions and for the device. When it is
  /// committed, the models take that over on the actor, and the call returns. Until then they are
  /// unsaved, and the actor can run other work:
  ///
  /// - Changes that you make meanwhile stay unsaved, and the next save stores them.
  /// - Another asynchronous save, deletion or undo of this context waits for this one.
  /// - A synchronous one blocks the thread until this one has ended, as do ``refresh()`` and
  ///   reverting a model that is being saved.
  ///
  /// Hooks are called on the actor: ``Model/willSave(_:)`` and ``Model/validate(_:)`` before the
  /// transaction, ``Model/didSave()`` after it. If another writer changes one of the documents at
  /// the same time, its changes are merged as by the synchronous `save()`, and the models are
  /// validated again.
  ///
  /// Encoding takes most of the time that a save keeps the actor busy. If a task is cancelled
  /// before its transaction begins, nothing is saved.
  ///
  /// - Parameter actor: The actor that the context belongs to; the caller's actor by default.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public func save(isolation actor: isolated (any Actor)? = #isolation) async throws {
    try await core.save(core.unsavedModels, isEverything: true)
  }

  /// Stores the changes of these models in one transaction, without blocking the actor.
  ///
  /// It differs from the synchronous call as ``save(isolation:)`` does.
  ///
  /// - Parameters:
  ///   - models: The models to save: all of them, or none.
  ///   - actor: The actor that the context belongs to; the caller's actor by default.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public func saveModels(
    _ models: some Sequence<Model>, isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    try await core.save(Array(models))
  }

  /// Deletes all models that match a query, without blocking the actor while the transaction runs.
  ///
  /// The models are found on the actor. It differs from the synchronous call as
  /// ``save(isolation:)`` does.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - includingOtherClasses: Whether to delete documents although they may be of other classes,
  ///     because the class has no document type.
  ///   - actor: The actor that the context belongs to; the caller's actor by default.
  /// - Returns: The number of models that match the query, not including those that a rule deletes.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  @discardableResult
  public func delete<M: Model>(
    _ query: Query<M>, includingOtherClasses: Bool = false,
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> Int {
    try core.source.requireWritable()
    if !includingOtherClasses { try M.requireDocumentType() }
    let models = try find(query)
    try await core.delete(models)
    return models.count
  }

  /// Undoes the last save or deletion of this context, without blocking the actor.
  ///
  /// It differs from the synchronous call as ``save(isolation:)`` does.
  ///
  /// - Parameter actor: The actor that the context belongs to; the caller's actor by default.
  /// - Returns: False if there is nothing to undo.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  @discardableResult
  public func undo(isolation actor: isolated (any Actor)? = #isolation) async throws -> Bool {
    try await core.undo()
  }

  /// Redoes the change that was undone last, without blocking the actor.
  ///
  /// It differs from the synchronous call as ``save(isolation:)`` does.
  ///
  /// - Parameter actor: The actor that the context belongs to; the caller's actor by default.
  /// - Returns: False if there is nothing to redo.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  @discardableResult
  public func redo(isolation actor: isolated (any Actor)? = #isolation) async throws -> Bool {
    try await core.redo()
  }
}
