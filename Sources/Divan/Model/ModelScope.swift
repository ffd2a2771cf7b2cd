// Contexts that live as long as a transaction, or as a look at a snapshot.

extension WriteTransaction {
  /// The transaction's models: a context that reads and saves by the transaction, and ends with it.
  ///
  /// ```swift
  /// try database.write { transaction in
  ///   let film = try transaction.models.model(Film.self, "metropolis")
  ///   film?.year = 1927
  ///   try film?.save()
  ///   try transaction.put(Document(id: "log", ["text": "A year was set"]))
  /// }
  /// ```
  ///
  /// Saving stores models in the transaction, and is committed with all else or not at all. What is
  /// not saved when the closure returns is not stored. ``Model/didSave()`` is called when the model stands in the
  /// transaction. A model shows what the transaction had when it was loaded; documents that are put or deleted without their
  /// models are merged as if others had changed them, and shown after ``ModelContext/refresh()``. If
  /// ``nested(_:)`` takes back what was saved or deleted, the models are changed and unsaved again, or there; and what was loaded or
  /// refreshed meanwhile shows what the transaction has then.
  ///
  /// It is the same context each time. The compiler keeps models from being returned from the closure; where they leave it by a
  /// variable, what they have can still be read, and all else throws ``DatabaseError/Code/closed``.
  public var models: ModelContext {
    if let known = companion as? ModelContext { return known }
    let context = makeContext()
    // Afterwards nobody would let go of it.
    if !isOver { companion = context }
    return context
  }

  /// Makes a context that reads and saves by the transaction, as ``models`` does, beside that.
  ///
  /// - Parameter registry: which classes documents are of; without one, those that they are asked for as.
  /// - Returns: the context, which is to be held by whoever uses it, and ends with the transaction.
  public func makeContext(_ registry: ModelRegistry? = nil) -> ModelContext {
    ModelContext(isOver ? .over(WriteTransaction.overError) : .transaction(self), registry)
  }
}

extension Snapshot {
  /// Lends a context that reads this snapshot, for as long as a closure runs.
  ///
  /// ```swift
  /// let titles = try database.read { snapshot in
  ///   try snapshot.models { context in
  ///     var films = try context.models(Film.self)
  ///     return try films.rest().map(\.title)
  ///   }
  /// }
  /// ```
  ///
  /// Models can be made and changed in it, and not be saved: that throws ``DatabaseError/Code/readOnly``. The compiler keeps them
  /// from being returned from the closure; where they leave it by a variable, what they have can still be read, and reading
  /// more throws ``DatabaseError/Code/closed``.
  ///
  /// - Parameters:
  ///   - registry: which classes documents are of; without one, those that they are asked for as.
  ///   - body: what to do with the context, synchronously.
  /// - Returns: what `body` returns.
  /// - Throws: whatever `body` throws.
  public func models<R>(
    _ registry: ModelRegistry? = nil, _ body: (ModelContext) throws -> sending R
  ) rethrows -> sending R {
    let context = ModelContext(.snapshot(self), registry)
    defer {
      context.core.end(
        DatabaseError(
          .closed, "the context is over", hint: "Use it only within the closure it was lent to"))
    }
    return try body(context)
  }
}

extension DatabaseError.Code {
  /// It cannot be done in the context of a transaction.
  public static let inTransaction = Self("inTransaction")
}
