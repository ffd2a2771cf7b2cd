/// The estimated cost of answering a query in some way, as numbers of a few basic operations.
///
/// All choices of ``QueryPlanner`` compare ``total``. Its unit is the cost of reading the next
/// document of a full scan and testing it: some microseconds. Finding and reading a document by its
/// ID costs four times as much, and reading an index entry a quarter. Both were measured in stores
/// that fit into memory; the other costs are derived from these. A choice that is wrong by a factor
/// of two makes a query twice as slow.
struct QueryCost: Sendable, Hashable {
  /// The number of documents that a scan reads.
  var scanned = 0.0
  /// The number of searches in an index, each for the beginning of a range.
  var searches = 0.0
  /// The number of index entries that are read.
  var entries = 0.0
  /// The number of IDs that are collected, to be deduplicated or sorted.
  var collected = 0.0
  /// The number of documents that are found by their IDs and read.
  var lookups = 0.0
  /// The number of results that are sorted, after they were read.
  var sorted = 0.0
  /// The number of documents whose text is analysed, to test a condition on it.
  var analysed = 0.0

  static let search = 2.0
  static let entry = 0.25
  static let collectedID = 0.25
  static let lookup = 4.0
  static let sortedResult = 1.0
  /// Text of some hundred words is divided into terms in the time of eight reads of a scan.
  static let analysis = 8.0

  var total: Double {
    scanned + searches * QueryCost.search + entries * QueryCost.entry
      + collected * QueryCost.collectedID + lookups * QueryCost.lookup
      + sorted * QueryCost.sortedResult + analysed * QueryCost.analysis
  }

  static func + (a: QueryCost, b: QueryCost) -> QueryCost {
    QueryCost(
      scanned: a.scanned + b.scanned, searches: a.searches + b.searches,
      entries: a.entries + b.entries,
      collected: a.collected + b.collected, lookups: a.lookups + b.lookups,
      sorted: a.sorted + b.sorted, analysed: a.analysed + b.analysed)
  }

  static func * (cost: QueryCost, share: Double) -> QueryCost {
    QueryCost(
      scanned: cost.scanned * share, searches: cost.searches, entries: cost.entries * share,
      collected: cost.collected * share, lookups: cost.lookups * share,
      sorted: cost.sorted * share, analysed: cost.analysed * share)
  }
}

/// Estimates that are used if no index provides one.
enum DefaultSelectivity {
  /// The share of documents that pass a test.
  static let ofTest = 0.1
  /// The share of documents that pass a negated test.
  static let ofNegation = 0.5
  /// The factor by which a scan may be longer, because matching documents may be at its end.
  static let caution = 2.0
  /// The least number of documents that a full scan is assumed to read.
  ///
  /// A small store is therefore queried like a larger one, which it will soon be.
  static let leastScan = 1000.0
}

/// One way to find candidates.
struct AccessChoice {
  var access: AccessPath
  /// The estimated number of candidates.
  var found: Double
  /// The cost of finding all of them, without testing any.
  var cost: QueryCost
  /// The parts of the filter that need not be tested again.
  var covered = ConjunctSet()
  /// Whether finding a candidate includes reading it.
  var includesRead = false
  /// Whether candidates come one by one in the order of their IDs.
  var isByID = false
}

/// The facts about a query from which the costs of its access paths are estimated.
struct CostModel {
  /// The cost of a full scan.
  let fullScan: QueryCost
  /// The number of results that are wanted; nil for all.
  let wanted: Double?
  let isSorted: Bool
  /// The estimated selectivity of each part of the filter: the share of documents that meet it.
  let selectivities: [Double]
  /// The parts that search text.
  let searches: ConjunctSet

  /// Returns the share of candidates that match the rest of the filter.
  func selectivity(without covered: ConjunctSet) -> Double {
    selectivities.enumerated().reduce(1) { covered.contains($1.offset) ? $0 : $0 * $1.element }
  }

  /// Returns the share of documents that meet some parts.
  func selectivity(of parts: ConjunctSet) -> Double { parts.reduce(1) { $0 * selectivities[$1] } }

  /// Returns the share of candidates that must be examined until enough results are found.
  func fractionToScan(_ choice: AccessChoice) -> Double {
    guard let wanted else { return 1 }
    let isCovered = choice.covered.count == selectivities.count
    let results = choice.found * selectivity(without: choice.covered)
    let needed = wanted * (isCovered ? 1 : DefaultSelectivity.caution)
    return results <= needed ? 1 : needed / results
  }

  /// Returns the cost of answering the query with these candidates, in no index's order.
  func cost(_ choice: AccessChoice) -> QueryCost {
    let isTested = choice.covered.count < selectivities.count
    if isSorted {
      var cost = choice.cost + testing(choice.found, choice)
      cost.sorted = choice.found * selectivity(without: choice.covered)
      if !isTested, !choice.includesRead { cost.lookups += cost.sorted }
      return cost
    }
    let share = choice.isByID ? fractionToScan(choice) : 1
    var cost = choice.cost * share + testing(choice.found * share, choice)
    if !choice.isByID { cost.collected += choice.found }
    return cost
  }

  /// Returns the cost of answering the query if an index provides the order.
  ///
  /// At least `unordered` of its entries must be sorted before the first result is known.
  func costInOrder(
    _ choice: AccessChoice, unordered: Double, endsWithMissing: Bool
  ) -> QueryCost {
    let share = max(fractionToScan(choice), min(1, unordered / max(1, choice.found)))
    var cost = choice.cost * share + testing(choice.found * share, choice)
    if unordered > 0 {
      cost.sorted += unordered
      if choice.covered.count == selectivities.count { cost.lookups += unordered }
    }
    if endsWithMissing, fractionToScan(choice) == 1 { cost = cost + fullScan }
    return cost
  }

  /// Returns the cost of answering the query in the order of relevance.
  ///
  /// All matches are ranked, before the first result is known.
  func costByRelevance(_ choice: AccessChoice) -> QueryCost {
    var cost = choice.cost + testing(choice.found * fractionToScan(choice), choice)
    cost.collected += choice.found
    return cost
  }

  /// Returns the cost of testing candidates for the rest of the filter.
  private func testing(_ count: Double, _ choice: AccessChoice) -> QueryCost {
    var cost = QueryCost()
    guard choice.covered.count < selectivities.count else { return cost }
    if !choice.includesRead { cost.lookups = count }
    let searched = searches.subtracting(choice.covered)
    if !searched.isEmpty {
      var others = choice.covered
      others.formUnion(searched)
      cost.analysed = count * selectivity(without: others) * Double(searched.count)
    }
    return cost
  }
}
