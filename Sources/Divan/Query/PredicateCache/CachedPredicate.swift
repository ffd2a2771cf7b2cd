import DivanLog

/// The predicate cache for the filter of one execution: its match results from earlier executions
/// and from this one.
struct CachedPredicate {
  private let cache: PredicateCache
  private let identity: FilterIdentity
  private var matchResults: MatchResults

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
  }
}

extension CachedPredicate {
  /// Whether nothing is known yet.
  var isEmpty: Bool { matchResults.isEmpty }

  /// Returns the result of the document whose newest record has this number; nil if unknown.
  @inline(__always)
  func matchResult(of sequence: UInt64) -> MatchResult? { matchResults[sequence] }

  /// Records the match result of a document.
  mutating func note(_ matchResult: MatchResult, at location: DocumentLocation) {
    matchResults.note(matchResult, of: location.sequence)
  }

  /// Stores the recorded results in the cache, for later queries.
  mutating func publish() {
    guard matchResults.isModified else { return }
    cache.store(matchResults, of: identity)
    matchResults.clearModified()
  }
}
