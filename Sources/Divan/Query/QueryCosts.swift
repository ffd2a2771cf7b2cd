/// What answering a query in some way takes, about: how often each of a few things is done.
///
/// All choices of ``QueryPlanner`` compare ``cost``, whose unit is what it takes to read the next document of a walk over all of
/// them and to ask it something, some microseconds. That to find and read one by its ID takes four times as long, and an
/// entry of an index a quarter, was measured in stores that fit into memory; the others are set by what they do of these. A choice that is
/// wrong by a factor of two costs a factor of two.
struct QueryEffort: Sendable, Hashable {
  /// Documents that a walk passes.
  var walked = 0.0
  /// Searches in an index, each of which leads to where a range begins.
  var searches = 0.0
  /// Entries of indexes that are passed.
  var entries = 0.0
  /// IDs that are held, and told apart or brought into their order.
  var collected = 0.0
  /// Documents that are found by their IDs and read.
  var lookups = 0.0
  /// Results that are sorted, by what was read already.
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

/// What is guessed where no index knows it.
enum QueryGuess {
  /// The share of documents that pass what is asked of them.
  static let share = 0.1
  /// The share that passes what begins with "not".
  static let shareOfNot = 0.5
  /// By how much longer a walk may be until it has found enough, since what passes may stand at its end.
  static let caution = 2.0
  /// Walking over all documents is taken to cost as much as over so many, however few there are, so that a store that has
  /// just begun is asked as it will be once there is something in it.
  static let leastWalk = 1000.0
}

/// One way to find candidates.
struct AccessChoice {
  var access: QueryAccess
  /// About how many candidates there are.
  var found: Double
  /// What it takes to find all of them, without looking at any.
  var effort: QueryEffort
  /// The parts of the filter that need not be asked again.
  var answered = FilterPartSet()
  /// Whether finding a candidate is reading it.
  var isWalk = false
  /// Whether candidates come one by one in the order of their IDs.
  var isByID = false
}

/// What is known of a query before it is answered.
struct QueryOutlook {
  /// How many documents there are.
  let total: Double
  /// What it takes to walk over all of them.
  let fullWalk: QueryEffort
  /// How many results are wanted; nil for all.
  let wanted: Double?
  let isSorted: Bool
  /// For each part of the filter the share of documents that fulfil it, about.
  let shares: [Double]

  /// The share of candidates that fulfils the rest of the filter.
  func share(without answered: FilterPartSet) -> Double {
    shares.enumerated().reduce(1) { answered.contains($1.offset) ? $0 : $0 * $1.element }
  }

  /// The share of documents that fulfil some parts.
  func share(of parts: FilterPartSet) -> Double { parts.reduce(1) { $0 * shares[$1] } }

  /// The share of candidates that must be looked at until enough results are found.
  func shareToWalk(_ choice: AccessChoice) -> Double {
    guard let wanted else { return 1 }
    let isAnswered = choice.answered.count == shares.count
    let results = choice.found * share(without: choice.answered)
    let needed = wanted * (isAnswered ? 1 : QueryGuess.caution)
    return results <= needed ? 1 : needed / results
  }

  /// What it takes to answer the query with these candidates, where no index gives the order.
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

  /// The same where an index gives the order, of whose entries at least so many must be sorted before the first result is known.
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

  /// What it takes to ask candidates what is left.
  private func asking(_ count: Double, _ choice: AccessChoice) -> QueryEffort {
    var effort = QueryEffort()
    if choice.answered.count < shares.count, !choice.isWalk { effort.lookups = count }
    return effort
  }
}
