import DivanLog

/// A cursor over the documents that a search for text finds, each once and in no order.
struct TextSearchScan: ~Copyable {
  private let execution: QueryExecution
  private var search: FullTextSearch

  init(_ execution: QueryExecution, _ access: FullTextAccess) throws(DatabaseError) {
    self.execution = execution
    search = try access.takeSearch(in: execution.view)
  }

  /// Returns the next document's ID; nil at the end.
  mutating func next() throws(DatabaseError) -> SharedBytes? {
    guard let id = try search.nextID() else { return nil }
    try execution.stopIfCancelled()
    execution.tally.entriesRead += 1
    return id
  }
}
