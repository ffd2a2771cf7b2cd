extension Database {
  /// Returns the IDs of the models that match a query, now and after each change of the result.
  ///
  /// ```swift
  /// for try await ids in database.liveResults(of: open) {
  ///   count = ids.count
  /// }
  /// ```
  ///
  /// Unlike models, which belong to a context, IDs can be sent anywhere. Everything else is as with
  /// ``liveResults(of:)-(Query<Document>)``; a model has changed if its document has. To get models
  /// in a context, use ``ModelContext/liveQuery(_:)``.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - registry: the classes of documents, as for a context.
  /// - Returns: the results, which any number of tasks may iterate over, each from a first result
  ///   on.
  public func liveResults<M: Model>(
    of query: Query<M>, registry: ModelRegistry? = nil
  ) -> LiveUpdates<ModelID<M>> {
    var core = query.core
    core.kind = ModelKind.of(
      M.self, registry ?? DatabaseSchema.of(store.environment).schema?.registry)
    return LiveUpdates(self, core) { id in ModelID<M>(id) }
  }
}
