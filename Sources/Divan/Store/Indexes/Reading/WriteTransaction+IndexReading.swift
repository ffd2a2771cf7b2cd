import DivanLog

extension WriteTransaction {
  /// Returns the IDs of the documents with a value of an index's first property.
  ///
  /// Works without the index too, by reading all documents.
  func ids(of index: DocumentIndex, equalTo value: Value) throws -> [String] {
    try check()
    if state.indexes.contains(where: { $0.index == index && $0.isReady }) {
      return try ids(by: index.name, .equal(to: value)).collect()
    }
    var ids: [String] = []
    var documents = try documents()
    while let document = try documents.next() {
      if IndexEntries.values(index, of: try document.encoded()).contains(where: { $0[0] == value })
      {
        ids.append(document.id)
      }
    }
    return ids
  }

  /// Returns a cursor over the documents with index values in a range, as of now.
  ///
  /// See ``Snapshot/documents(by:_:descending:)``.
  public func documents(
    by index: String, _ range: some IndexRangeExpression = .all, descending: Bool = false
  ) throws -> IndexedDocumentCursor {
    try check()
    return try IndexedDocumentCursor(view, index, range.indexRange, descending: descending)
  }

  /// Returns a cursor over the IDs of these documents: see ``Snapshot/ids(by:_:descending:)``.
  public func ids(
    by index: String, _ range: some IndexRangeExpression = .all, descending: Bool = false
  ) throws -> IndexedIDCursor {
    try check()
    return try IndexedIDCursor(view, index, range.indexRange, descending: descending)
  }

  /// Returns the number of these documents: see ``Snapshot/count(by:_:)``.
  public func count(by index: String, _ range: some IndexRangeExpression = .all) throws -> Int {
    try check()
    return try view.count(by: index, range.indexRange)
  }
}
