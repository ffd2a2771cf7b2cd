import DivanLog

extension ModelContextCore {
  /// Returns the query with the filter for its class in this context.
  func known<M: Model>(_ query: Query<M>) -> Query<M> {
    var query = query
    query.core.kind = ModelKind.of(M.self, registry)
    return query
  }
}
