import DivanLog

extension Snapshot {
  /// Whether this version has exactly this index, ready for use.
  ///
  /// A past version has no index: it would have to be computed for each query.
  func hasIndex(_ index: DocumentIndex) -> Bool {
    view.past == nil && view.state.indexes.contains { $0.index == index && $0.isReady }
  }

  /// The indexes of this version that are ready for use.
  var readyIndexes: [DocumentIndex] {
    view.past == nil ? view.state.indexes.filter(\.isReady).map(\.index) : []
  }

  /// Calls `body` with each first-property value that an index of this version would have.
  ///
  /// `body` also receives the document's ID. Values come in the order of the IDs; every document is
  /// read. `orDamaged` receives the errors of damaged documents.
  func forEachValue(
    of index: DocumentIndex, orDamaged: (DatabaseError) throws -> Void,
    _ body: (Value, String) -> Void
  ) throws {
    var documents = documents()
    while true {
      do {
        guard let document = try documents.next() else { return }
        let values = IndexEntries.values(index, of: try document.encoded())
        for values in values { body(values[0], document.id) }
      } catch let error as DatabaseError where error.code == .damaged {
        try orDamaged(error)
      }
    }
  }

  /// Returns a cursor over the documents with index values in a range, in index order.
  ///
  /// Each document is returned once, even if several elements of an array are in the range. Costs
  /// one search, and then one step, one search and one read for each document. A past version has
  /// no indexes, so there it costs a read of every document. A partial index contains only the
  /// documents that fulfil its conditions.
  ///
  /// - Parameters:
  ///   - index: The name of an index.
  ///   - range: The range of values.
  ///   - descending: Whether to reverse the order, also of the IDs of documents with equal values.
  /// - Returns: A cursor that reads each document on demand.
  /// - Throws: ``DatabaseError/Code/notFound`` if this version has no such index, or it is not
  ///   complete yet; ``DatabaseError/Code/invalidQuery`` if the range has more properties than the
  ///   index, or one after a property that may have several values, and for a full-text index.
  public func documents(
    by index: String, _ range: some IndexRangeExpression = .all, descending: Bool = false
  ) throws -> IndexedDocumentCursor {
    try IndexedDocumentCursor(view, index, range.indexRange, descending: descending)
  }

  /// Returns a cursor over document IDs, otherwise as ``documents(by:_:descending:)``.
  ///
  /// It reads no document, unless long values have equal beginnings.
  public func ids(
    by index: String, _ range: some IndexRangeExpression = .all, descending: Bool = false
  ) throws -> IndexedIDCursor {
    try IndexedIDCursor(view, index, range.indexRange, descending: descending)
  }

  /// Returns the number of documents with index values in a range.
  ///
  /// Costs a step for each, and reads no document, unless long values have equal beginnings.
  public func count(by index: String, _ range: some IndexRangeExpression = .all) throws -> Int {
    try view.count(by: index, range.indexRange)
  }
}
