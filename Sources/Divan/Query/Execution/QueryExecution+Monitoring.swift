import DivanLog

extension QueryExecution {
  /// Counts the execution, and reports it if it was slow.
  func noteEnd() {
    view.store.counters.noteQuery(
      candidates: tally.candidates, results: tally.results, hits: tally.cached,
      misses: cachedPredicate == nil ? 0 : tally.candidates - tally.cached)
    guard let start, let events = view.store.events,
      let duration = events.slowDuration(since: start)
    else { return }
    events.report(
      .slowQuery(
        DatabaseEvent.QueryDetails(
          text: printable(query.description),
          plan: printable("\(plan.access.description), \(orderDescription)"),
          candidateCount: tally.candidates, documentsRead: tally.documentsRead,
          resultCount: tally.results), duration))
  }

  /// The order of the results and how it comes about, as text.
  var orderDescription: String {
    switch plan.order {
    case .byID: return "by the IDs"
    case .fromIndex: return "as in the index"
    case .sorted:
      let limit = query.limit.map { ", keeping the first \($0)" } ?? ""
      return "sorted" + limit
    }
  }
}
