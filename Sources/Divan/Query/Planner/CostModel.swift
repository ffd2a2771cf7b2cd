/// The estimated effort of answering a query in some way, as numbers of a few basic operations.
///
/// All choices of ``QueryPlanner`` compare ``cost``. Its unit is the cost of reading the next
/// document in a walk over all of them and testing it: some microseconds. Finding and reading a
/// document by its ID costs four times as much, and reading an index entry a quarter. Both were
/// measured in stores that fit into memory; the other costs are derived from these. A choice that
/// is wrong by a factor of two costs a factor of two.
struct QueryEffort: Sendable, Hashable {
  /// The number of documents that a walk passes.
  var walked = 0.0
  /// The number of searches in an index, each for the beginning of a range.
  var searches = 0.0
  /// The number of index entries that are passed.
  var entries = 0.0
  /// The number of IDs that are held, and deduplicated or sorted.
  var collected = 0.0
  /// The number of documents that are found by their IDs and read.
  var lookups = 0.0
  /// The number of results that are sorted, after they were read.
  var sorted = 0.0

  static let search = 2.0
  static let entry = 0.25
  static let collectedID = 0.25
  static let lookup = 4.0
  static let sortedResult = 1.0

  var cost: Double {
    walked + searches * QueryEffort.search + entries * QueryEffort.entry
      + collected * QueryEffort.collectedID + lookups * QueryEffort.lookup
      + sorted * QueryEffort.sortedResult
  }

  static func + (a: QueryEffort, b: QueryEffort) -> QueryEffort {
    QueryEffort(
      walked: a.walked + b.walked, searches: a.searches + b.searches,
      entries: a.entries + b.entries,
      collected: a.collected + b.collected, lookups: a.lookups + b.lookups,
      sorted: a.sorted + b.sorted)
  }

  static func * (effort: QueryEffort, share: Double) -> QueryEffort {
    QueryEffort(
      walked: effort.walked * share, searches: effort.searches, entries: effort.entries * share,
      collected: effort.collected * share, lookups: effort.lookups * share,
      sorted: effort.sorted * share)
  }
}

/// Estimates that are used if no index provides one.
enum QueryGuess {
  /// The share of documents that pass a test.
  static let share = 0.1
  /// The share of documents that pass a negated test.
  static let shareOfNot = 0.5
  /// The factor by which a walk may be longer, because matching documents may be at its end.
  static let caution = 2.0
  /// The least number of documents that a full walk is assumed to pass.
  ///
  /// A small store is therefore queried like a larger one, which it will soon be.
  static let leastWalk = 1000.0
}

/// One way to find candidates.
struct AccessChoice {
  var access: QueryAccess
  /// The estimated number of candidates.
  var found: Double
  /// The effort of finding all of them, without testing any.
  var effort: QueryEffort
  /// The parts of the filter that need not be tested again.
  var answered = FilterPartSet()
  /// Whether finding a candidate includes reading it.
  var isWalk = false
  /// Whether candidates come one by one in the order of their IDs.
  var isByID = false
}

/// The facts about a query that are known before it is answered.
struct QueryOutlook {
  /// The number of documents.
  let total: Double
  /// The effort of walking over all of them.
  let fullWalk: QueryEffort
  /// The number of results that are wanted; nil for all.
  let wanted: Double?
  let isSorted: Bool
  /// The estimated selectivity of each part of the filter: the share of documents that meet it.
  let shares: [Double]

  /// Returns the share of candidates that match the rest of the filter.
  func share(without answered: FilterPartSet) -> Double {
    shares.enumerated().reduce(1) { answered.contains($1.offset) ? $0 : $0 * $1.element }
  }

  /// Returns the share of documents that meet some parts.
  func share(of parts: FilterPartSet) -> Double { parts.reduce(1) { $0 * shares[$1] } }

  /// Returns the share of candidates that must be examined until enough results are found.
  func shareToWalk(_ choice: AccessChoice) -> Double {
    guard let wanted else { return 1 }
    let isAnswered = choice.answered.count == shares.count
    let results = choice.found * share(without: choice.answered)
    let needed = wanted * (isAnswered ? 1 : QueryGuess.caution)
    return results <= needed ? 1 : needed / results
  }

  /// Returns the effort of answering the query with these candidates, in no index's order.
  func effort(_ choice: AccessChoice) -> QueryEffort {
    let isAsked = choice.answered.count < shares.count
    if isSorted {
      var effort = choice.effort + asking(choice.found, choice)
      effort.sorted = choice.found * share(without: choice.answered)
      if !isAsked, !choice.isWalk { effort.lookups += effort.sorted }
      return effort
    }
    let share = choice.isByID ? shareToWalk(choice) : 1
    var effort = choice.effort * share + asking(choice.found * share, choice)
    if !choice.isByID { effort.collected += choice.found }
    return effort
  }

  /// Returns the effort of answering the query if an index provides the order.
  ///
  /// At least `unordered` of its entries must be sorted before the first result is known.
  func effortInOrder(
    _ choice: AccessChoice, unordered: Double, isFollowedByNone: Bool
  ) -> QueryEffort {
    let share = max(shareToWalk(choice), min(1, unordered / max(1, choice.found)))
    var effort = choice.effort * share + asking(choice.found * share, choice)
    if unordered > 0 {
      effort.sorted += unordered
      if choice.answered.count == shares.count { effort.lookups += unordered }
    }
    if isFollowedByNone, shareToWalk(choice) == 1 { effort = effort + fullWalk }
    return effort
  }

  /// Returns the effort of testing candidates for the rest of the filter.
  private func asking(_ count: Double, _ choice: AccessChoice) -> QueryEffort {
    var effort = QueryEffort()
    if choice.answered.count < shares.count, !choice.isWalk { effort.lookups = count }
    return effort
  }
}
