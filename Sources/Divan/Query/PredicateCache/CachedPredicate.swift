import DivanLog

/// The predicate cache for the filter of a run: its verdicts on documents, and cached columns.
///
/// Verdicts come from earlier runs, from this one, or from the known values of documents.
struct CachedPredicate {
  private let memory: PredicateCache
  private let identity: FilterIdentity
  private var matchResults: MatchResults
  private var columns: CachedColumns?

  /// The number of candidates below which it is faster to read them than to search the cache.
  private static let leastCandidates = 32.0

  /// Creates the cache for a plan's residual predicate; nil if it is not cached, or not worth it.
  init?(_ plan: QueryPlan, in view: ReadView) {
    guard plan.estimate?.rows ?? 0 >= CachedPredicate.leastCandidates,
      let memory = view.predicateCache, let identity = FilterIdentity(plan.residual)
    else { return nil }
    self.memory = memory
    self.identity = identity
    matchResults = memory.matchResults(of: identity)
    columns = CachedColumns(plan.residual, in: memory)
  }
}

extension CachedPredicate {
  /// Whether nothing is known yet.
  var isEmpty: Bool { matchResults.isEmpty && columns?.isEmpty ?? true }

  /// Returns the verdict on the document whose newest record has this number; nil if unknown.
  @inline(__always)
  mutating func matchResult(of sequence: UInt64) -> MatchResult? {
    if let matchResult = matchResults[sequence] { return matchResult }
    return askColumns(sequence)
  }

  /// Returns the verdict after the columns were evaluated for all documents of its page.
  private mutating func askColumns(_ sequence: UInt64) -> MatchResult? {
    guard columns != nil, let page = memory.place(of: sequence)?.page,
      let found = columns?.matchResults(ofPage: page)
    else { return nil }
    matchResults.note(found, ofPage: page)
    return matchResults[sequence]
  }

  /// Records the columns' values of a document that was read.
  ///
  /// If the columns can decide, it records and returns the filter's verdict.
  mutating func note(_ candidate: borrowing QueryCandidate) -> MatchResult? {
    let sequence = candidate.place.sequence
    guard columns != nil, let place = memory.place(of: sequence),
      let matchResult = columns?.note(candidate.row, place, sequence)
    else { return nil }
    matchResults.note(matchResult, of: sequence)
    return matchResult
  }

  /// Records the filter's verdict on a document.
  mutating func note(_ matchResult: MatchResult, at place: DocumentLocation) {
    matchResults.note(matchResult, of: place.sequence)
    if matchResult == .deleted { columns?.noteDeletion(of: place.sequence) }
  }

  /// Publishes the recorded results to later queries.
  mutating func keep() {
    if matchResults.hasNews {
      memory.keep(matchResults, of: identity)
      matchResults.endNews()
    }
    columns?.keep(in: memory)
  }
}
