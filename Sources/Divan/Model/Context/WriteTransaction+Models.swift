extension WriteTransaction {
  /// The models of the transaction: a context that reads and saves through it and ends with it.
  ///
  /// ```swift
  /// try database.write { transaction in
  ///   let film = try transaction.models.model(Film.self, id: "metropolis")
  ///   film?.year = 1927
  ///   try film?.save()
  ///   try transaction.put(Document(id: "log", ["text": "A year was set"]))
  /// }
  /// ```
  ///
  /// Saving stores models in the transaction, which is committed as a whole or not at all. Models
  /// that are unsaved when the closure returns are not stored. ``Model/didSave()`` is called when
  /// the model is stored in the transaction.
  ///
  /// A model shows the state of the transaction when it was loaded. Documents that you put or
  /// delete without their models are treated like external changes: saving merges them, and
  /// ``ModelContext/refresh()`` shows them. If ``savepoint(_:)`` rolls back, models that it saved
  /// are unsaved again with their changes, and models that it deleted exist again. Models that were
  /// loaded or refreshed in it then show the restored state.
  ///
  /// The property returns the same context each time. The compiler prevents models from being
  /// returned from the closure. If they escape through a variable, the values they have can still
  /// be read, and everything else throws ``DatabaseError/Code/closed``.
  public var models: ModelContext {
    if let known = attachedObject as? ModelContext { return known }
    let context = makeContext()
    // After the end of the transaction, nothing would release it.
    if !isOver { attachedObject = context }
    return context
  }

  /// Creates a context that reads and saves through the transaction, in addition to ``models``.
  ///
  /// - Parameter registry: the classes of documents; without it, a document becomes a model of the
  ///   class that you request.
  /// - Returns: the context, which the caller must retain, and which ends with the transaction.
  public func makeContext(_ registry: ModelRegistry? = nil) -> ModelContext {
    ModelContext(isOver ? .ended(WriteTransaction.overError) : .transaction(self), registry)
  }
}
