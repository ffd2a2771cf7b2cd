extension WriteTransaction {
  /// Changes every document that a query means.
  ///
  /// What is meant is found before anything is changed, so that no document is met twice. If `change` throws, nothing of
  /// this call stays. A transaction knows no subclasses of a class of models, and calls no hooks: contexts such as
  /// `transaction.models` have an `update` of their own.
  ///
  /// - Parameters:
  ///   - query: what is meant.
  ///   - change: changes one document.
  /// - Returns: how many documents were changed.
  /// - Throws: what finding, reading and putting documents throws, and what `change` throws.
  @discardableResult
  public func update<Subject>(
    _ query: Query<Subject>, _ change: (inout Document) throws -> Void
  ) throws -> Int {
    let ids = try ids(query)
    try nested {
      for id in ids { _ = try update(id, change) }
    }
    return ids.count
  }

  /// Deletes every document that a query means; all of them, or none if it throws.
  ///
  /// A transaction knows no subclasses of a class of models, and no rules of deletion: contexts such as `transaction.models` have
  /// a `delete` of their own.
  ///
  /// - Returns: how many documents were deleted.
  @discardableResult
  public func delete<Subject>(_ query: Query<Subject>) throws -> Int {
    let ids = try ids(query)
    try nested {
      for id in ids { _ = try delete(id: id) }
    }
    return ids.count
  }
}
