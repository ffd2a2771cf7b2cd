import DivanLog

extension Snapshot {
  /// Returns the properties of a local document; nil if there is none with this ID.
  ///
  /// *Local documents* contain a program's notes about its store: positions, settings, the state of
  /// an exchange. They have IDs of their own, which may be the same as documents', no revisions,
  /// and no conflicts: the last write wins. They are not counted, not listed among the documents,
  /// and not in change feeds. Past versions of the database have none.
  ///
  /// Costs one search in the index and one read.
  public func localDocument(_ id: String) throws -> Value.Object? { try view.localDocument(id) }

  /// Returns the IDs of the local documents in a range, in the order of their bytes.
  ///
  /// Reads only the index.
  public func localDocumentIDs(_ range: some IDRangeExpression = .all) throws -> [String] {
    try view.localDocumentIDs(range.idRange)
  }
}
