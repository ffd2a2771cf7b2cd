import DivanLog

/// The predicate cache for the filter of one execution: its match results, and cached columns.
///
/// Match results come from earlier executions, from this one, or from the known values of
/// documents.
struct CachedPredicate {
  private let cache: PredicateCache
  private let identity: FilterIdentity
  private var matchResults: MatchResults
  private var columns: CachedColumns?

  /// The number of candidates below which it is faster to read them than to search the cache.
  private static let leastCandidates = 32.0

  /// Creates the cache for a plan's residual predicate; nil if it cannot or need not be cached.
  init?(_ plan: QueryPlan, in view: ReadView) {
    guard plan.estimate?.rows ?? 0 >= CachedPredicate.leastCandidates,
      let cache = view.predicateCache, let identity = FilterIdentity(plan.residual)
    else { return nil }
    self.cache = cache
    self.identity = identity
    matchResults = cache.matchResults(of: identity)
    columns = CachedColumns(plan.residual, in: cache)
  }
}

extension CachedPredicate {
  /// Whether nothing is known yet.
  var isEmpty: Bool { matchResults.isEmpty && columns?.isEmpty ?? true }

  /// Returns the result of the document whose newest record has this number; nil if unknown.
  @inline(__always)
  mutating func matchResult(of sequence: UInt64) -> MatchResult? {
    if let matchResult = matchResults[sequence] { return matchResult }
    return evaluateColumns(sequence)
  }

  /// Returns the result after the columns were evaluated for all documents of its page.
  private mutating func evaluateColumns(_ sequence: UInt64) -> MatchResult? {
    guard columns != nil, let page = cache.slot(of: sequence)?.page,
      let found = columns?.matchResults(ofPage: page)
    else { return nil }
    matchResults.note(found, ofPage: page)
    return matchResults[sequence]
  }

  /// Records the columns' values of a document that was read.
  ///
  /// If the columns decide, it records and returns the match result.
  mutating func note(_ candidate: borrowing QueryCandidate) -> MatchResult? {
    let sequence = candidate.location.sequence
    guard columns != nil, let slot = cache.slot(of: sequence),
      let matchResult = columns?.note(candidate.row, slot, sequence)
    else { return nil }
    matchResults.note(matchResult, of: sequence)
    return matchResult
  }

  /// Records the match result of a document.
  mutating func note(_ matchResult: MatchResult, at location: DocumentLocation) {
    matchResults.note(matchResult, of: location.sequence)
    if matchResult == .deleted { columns?.noteDeletion(of: location.sequence) }
  }

  /// Stores the recorded results in the cache, for later queries.
  mutating func publish() {
    if matchResults.isModified {
      cache.store(matchResults, of: identity)
      matchResults.clearModified()
    }
    columns?.store(in: cache)
  }
}
