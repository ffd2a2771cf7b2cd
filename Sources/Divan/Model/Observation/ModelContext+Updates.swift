extension ModelContext {
  /// A sequence that moves the context to each new snapshot, and yields the models it updated.
  ///
  /// ```swift
  /// for try await update in context.updates {
  ///   print(update.changed.count, "models were updated")
  /// }
  /// ```
  ///
  /// Each step waits for a commit that changes documents of models in this context, moves to the
  /// newest snapshot as ``refresh()`` does, and yields the models that took over changes. One step
  /// may cover several commits. Unlike with ``refresh()``, a property with both an unsaved
  /// and an external change remains a conflict, which saving the model detects.
  ///
  /// The sequence ends when the task is cancelled or the context is released. It throws
  /// ``DatabaseError/Code/closed`` when the database is closed. Iterate over it on the actor that
  /// the context belongs to.
  public var updates: ModelUpdates { ModelUpdates(core: core) }
}
