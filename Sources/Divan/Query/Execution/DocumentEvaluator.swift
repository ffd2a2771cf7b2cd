import DivanLog

/// Evaluates single documents: whether they match a query, and their order among its results.
///
/// With the results of a query and the changes since then, it therefore determines the new results
/// without running the query again, unless the query follows references.
struct DocumentEvaluator: Sendable {
  /// Whether the result depends on documents other than the evaluated one.
  let followsReferences: Bool
  /// The indexes by which text is analysed.
  let textIndexes: [IndexDefinition]
  /// Whether conditions on text need the attachments of documents.
  private let searchesAttachments: Bool
  private let filter: CompiledFilter
  private let sorts: SortKeys

  /// Creates the evaluator of a query, by the full-text indexes of a version.
  ///
  /// The order by relevance is not that of its keys.
  ///
  /// - Throws: `invalidQuery` if the query cannot be executed, and `notFound` if a condition on
  ///   text has no index.
  init(_ query: QueryCore, in view: ReadView) throws(DatabaseError) {
    let parts = query.conjuncts
    for part in parts { try part.refuse() }
    try query.refuseOrder()
    followsReferences = query.followsReferences
    let bound = try FullTextBinding(view: view).bind(parts)
    textIndexes = bound.flatMap(\.textIndexes)
    searchesAttachments = bound.contains(where: \.searchesAttachments)
    filter = CompiledFilter(Conjuncts(bound).residual(without: ConjunctSet()))
    sorts = SortKeys(query.sorts)
  }

  /// Returns the bytes by which a document is sorted among the results; nil if it does not match.
  ///
  /// - Parameters:
  ///   - document: the document; its attachments are read only if the query searches their text.
  ///   - view: the version in which references are followed.
  /// - Returns: bytes whose order is that of the results.
  /// - Throws: `damaged` if the bytes that are read are not a value; errors in reading referenced
  ///   documents and attachments.
  func key(
    of document: Document, in view: ReadView
  ) throws(DatabaseError) -> [UInt8]? {
    var row = QueryRow(
      references: followsReferences ? QueryReferences(view) : nil,
      attachments: searchesAttachments ? .known(document.attachments) : .unused)
    row.id = SharedBytes(utf8: document.id)
    row.payload = try document.encoded().bytes
    guard try filter.accepts(row) else { return nil }
    return try key(ofResult: row)
  }

  /// Returns the bytes by which a document that is known to match is sorted.
  func key(ofResult row: borrowing QueryRow) throws(DatabaseError) -> [UInt8] {
    try sorts.key(of: row)
  }
}
