import DivanLog

/// Judges documents one by one: whether a query means them, and where they come among its results.
///
/// So whoever knows the results of a query and what has changed since knows the new results, without asking for all of
/// them again, unless the query follows references.
struct QueryJudge: Sendable {
  /// Whether other documents than the one that is judged have a say.
  let followsReferences: Bool
  private let filter: CompiledFilter
  private let sorts: SortKeys

  /// - Throws: `invalidQuery` if the query cannot be answered.
  init(_ query: QueryCore) throws(DatabaseError) {
    let whole = query.whole
    try whole.refuse()
    followsReferences = query.followsReferences
    filter = CompiledFilter(whole)
    sorts = SortKeys(query.sorts)
  }

  /// The bytes by which a document is sorted among the results; nil if it is not meant.
  ///
  /// - Parameters:
  ///   - id: the document's ID.
  ///   - body: its properties in their stored form.
  ///   - view: where references lead.
  /// - Returns: bytes whose order is that of the results.
  /// - Throws: `damaged` if what is looked at is no value; what reading throws that references lead to.
  func key(
    of id: SharedBytes, _ body: SharedBytes, in view: StoreView
  ) throws(DatabaseError) -> [UInt8]? {
    var row = QueryRow(references: followsReferences ? QueryReferences(view) : nil)
    row.id = id
    row.payload = body
    guard try filter.accepts(row) else { return nil }
    return try key(ofResult: row)
  }

  /// The bytes by which a document is sorted that is known to be meant.
  func key(ofResult row: borrowing QueryRow) throws(DatabaseError) -> [UInt8] {
    try sorts.key(of: row)
  }
}
