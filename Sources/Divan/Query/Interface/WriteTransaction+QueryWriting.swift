extension WriteTransaction {
  /// Changes every document that matches a query.
  ///
  /// The documents are found before anything is changed, so no document is changed twice. Those
  /// that `change` leaves as they are get no revision. If `change` throws, all changes of this call
  /// are rolled back.
  ///
  /// A transaction knows no subclasses of a model class, and calls no hooks: contexts such as
  /// `transaction.models` have their own `update`.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - change: changes one document.
  /// - Returns: the number of documents that were changed.
  /// - Throws: the errors of finding, reading and putting documents, and those of `change`.
  @discardableResult
  public func update<Subject>(
    _ query: Query<Subject>, _ change: (inout Document) throws -> Void
  ) throws -> Int {
    let ids = try ids(query)
    return try savepoint {
      var changedCount = 0
      for id in ids {
        guard let document = try document(id) else { continue }
        var changed = document
        try change(&changed)
        if try put(&changed, unlessEqualTo: document) { changedCount += 1 }
      }
      return changedCount
    }
  }

  /// Deletes every document that matches a query; if it throws, none is deleted.
  ///
  /// A transaction knows no subclasses of a model class, and no deletion rules: contexts such as
  /// `transaction.models` have their own `delete`.
  ///
  /// - Returns: the number of documents that were deleted.
  @discardableResult
  public func delete<Subject>(_ query: Query<Subject>) throws -> Int {
    let ids = try ids(query)
    try savepoint {
      for id in ids { _ = try delete(id) }
    }
    return ids.count
  }
}
