import DivanLog

/// A cursor over the results of a query in the order of relevance, the best match first.
struct RankedTextScan: ~Copyable {
  private let execution: QueryExecution
  private var matches: RankedMatchCursor
  /// Candidates that were taken from the matches.
  private var waiting: PrefetchQueue
  /// Whether there are no more matches after those that are waiting.
  private var areAllFound = false

  init(_ execution: QueryExecution, _ access: FullTextAccess) throws(DatabaseError) {
    self.execution = execution
    matches = try access.takeSearch(in: execution.view)
      .ranked(
        by: execution.query.textOrder?.scoring, expectedCount: execution.expectedMatchCount)
    waiting = PrefetchQueue(execution, areRead: execution.readsCandidates, areAllWanted: false)
  }

  /// Moves to the next result; returns false at the end.
  mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool {
    while true {
      while waiting.next(&candidate) {
        if try execution.accept(&candidate) { return true }
      }
      while !waiting.isFull, !areAllFound {
        try execution.stopIfCancelled()
        guard let match = try matches.next() else {
          areAllFound = true
          break
        }
        execution.tally.entriesRead += 1
        waiting.add(match.id)
      }
      guard !waiting.isEmpty else { return false }
      try waiting.fill()
    }
  }
}
