import DivanLog

extension QueryExecution {
  /// Returns the given documents that match the filter, sorted.
  func sort(_ ids: [SharedBytes]) throws(DatabaseError) -> SortedRows {
    var rows = SortedRows(limit: left)
    var waiting = PrefetchQueue(self, areRead: readsCandidates, areAllWanted: true)
    var candidate = QueryCandidate(references: references, attachments: attachments)
    var remaining = ids[...]
    repeat {
      while waiting.next(&candidate) {
        if try accept(&candidate) { rows.add(try sortedRow(&candidate)) }
      }
      while !waiting.isFull, let id = remaining.popFirst() { waiting.add(id) }
      try waiting.fill()
    } while !waiting.isEmpty
    return rows
  }

  /// Returns the documents whose value at a path is null or missing, sorted.
  func sortMissing(_ path: QueryPath) throws(DatabaseError) -> SortedRows {
    // The index has covered no part of the filter for documents that it does not have.
    let filter = CompiledFilter(
      Conjuncts(try FullTextBinding(view: view).bind(query.conjuncts))
        .residual(without: ConjunctSet()))
    let isNothing = CompiledFilter(.test(path, .equal(.null)))
    var rows = SortedRows(limit: left)
    var documents = try CandidateCursor(self, .everything, for: .sorting)
    var candidate = QueryCandidate(references: references, attachments: attachments)
    while try documents.advance(&candidate) {
      guard try isDocument(candidate) else { continue }
      try read(&candidate)
      if try filter.accepts(candidate.row), try isNothing.accepts(candidate.row) {
        tally.accepted += 1
        rows.add(try sortedRow(&candidate))
      } else {
        tally.notMissing += 1
      }
    }
    return rows
  }
}
