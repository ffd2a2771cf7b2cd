import DivanLog

extension QueryExecution {
  /// Counts the execution, and reports it if it was slow.
  func noteEnd() {
    view.environment.counters.noteQuery(
      candidates: tally.candidates, results: tally.results, hits: tally.cached,
      misses: cachedPredicate == nil ? 0 : tally.candidates - tally.cached)
    guard let start, let events = view.environment.events,
      let duration = events.slowDuration(since: start)
    else { return }
    events.report(
      .slowQuery(
        DatabaseEvent.QueryDetails(
          text: query.description.shortened,
          plan: "\(plan.access.description), \(orderDescription)".shortened,
          candidateCount: tally.candidates, documentsRead: tally.documentsRead,
          resultCount: tally.results), duration))
  }

  /// The order of the results and how it comes about, as text.
  var orderDescription: String {
    switch plan.order {
    case .byID: return "by the IDs"
    case .fromIndex: return "as in the index"
    case .byRelevance: return query.textOrder?.description ?? ""
    case .sorted:
      let limit = query.limit.map { ", keeping the first \($0)" } ?? ""
      return "sorted" + limit
    }
  }
}

extension String {
  /// The text without control characters, and at most its first 2,000 characters.
  ///
  /// A query can compare with a long text, or with thousands of values.
  fileprivate var shortened: String {
    let end = index(startIndex, offsetBy: 2000, limitedBy: endIndex) ?? endIndex
    return printable(end == endIndex ? self : self[..<end] + " …")
  }
}
