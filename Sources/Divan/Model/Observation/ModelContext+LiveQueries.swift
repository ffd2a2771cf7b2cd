extension ModelContext {
  /// Returns a live query: the models that match a query, kept up to date.
  ///
  /// ```swift
  /// let open = context.liveQuery(Query<Chore>().filter { $0.due != nil }.sorted(by: \.due))
  /// ```
  public func liveQuery<M: Model>(_ query: Query<M>) -> LiveQuery<M> { LiveQuery(core, query) }
}
