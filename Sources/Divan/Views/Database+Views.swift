import DivanLog

extension Database {
  /// Returns the rows of a view in the current version; see ``Snapshot/rows(of:_:)``.
  public func rows(of view: MapReduceView, _ query: ViewQuery = .all) throws -> ViewRows {
    try snapshot().rows(of: view, query)
  }

  /// Returns the rows of a view in the current version, without blocking the calling thread.
  ///
  /// See ``Snapshot/rows(of:_:)``. A task that is cancelled while the view is updated gets
  /// ``DatabaseError/Code/cancelled``.
  public func rows(of view: MapReduceView, _ query: ViewQuery = .all) async throws -> ViewRows {
    try await Database.run { isCancelled in
      try self.snapshot().rows(of: view, query, isCancelled: isCancelled)
    }
  }

  /// Drops the rows of a view, in memory and in its file; the next query rebuilds them.
  ///
  /// If the database is open for reading only, the file stays.
  /// - Returns: Whether there were any.
  @discardableResult
  public func removeView(named name: String) -> Bool {
    store.environment.views.remove(name, from: store)
  }
}
