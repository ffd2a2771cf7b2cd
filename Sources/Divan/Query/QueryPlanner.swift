/// Chooses how a query is answered, by what the indexes of a version of the store can do, and about how many entries
/// they have.
///
/// Every way to find candidates (QueryPlanner+Access.swift) is a choice, and so is every index that has the order of the
/// results (QueryPlanner+Order.swift); the least ``QueryEffort`` wins.
struct QueryPlanner {
  let view: StoreView
  let indexes: [KeptIndex]
  /// How many documents there are.
  let total: Double
  /// What it takes to walk over all of them.
  let fullWalk: QueryEffort

  init(_ view: StoreView) {
    self.view = view
    // A past version has no indexes of its own.
    indexes = view.past == nil ? view.state.indexes.filter(\.isReady) : []
    total = max(1, Double(Int(clamping: view.state.documentCount)))
    fullWalk = QueryEffort(walked: max(total, QueryGuess.leastWalk))
  }

  func plan(_ query: QueryCore) throws(DatabaseError) -> QueryPlan {
    let whole = query.whole
    if let refusal = whole.refusal { throw refusal }
    let filter = FilterParts(whole.conjuncts)
    if filter.parts.contains(where: { if case .nothing = $0 { true } else { false } }) {
      return QueryPlan(
        access: .nothing, rest: .all, order: .byID, estimatedRows: 0, estimatedResults: 0,
        effort: QueryEffort())
    }
    let matches = try estimated(filter, sorts: query.sorts)
    let outlook = outlook(of: query, filter, matches)
    let found = try choices(filter, matches, outlook, ownCount: filter.parts.count)
    var plans = found.map { choice in
      let stops = choice.isByID && !outlook.isSorted
      return QueryPlan(
        access: choice.access, rest: filter.rest(without: choice.answered),
        order: outlook.isSorted ? .sorted : .byID,
        estimatedRows: choice.found * (stops ? outlook.shareToWalk(choice) : 1),
        estimatedResults: choice.found * outlook.share(without: choice.answered),
        effort: outlook.effort(choice))
    }
    if outlook.isSorted {
      for match in matches {
        guard let plan = try ordered(match, by: query.sorts, filter, outlook) else { continue }
        plans.append(plan)
      }
    }
    // Of two that cost as much the first: with fewer candidates, and an index rather than none.
    var best = plans[0]
    for plan in plans.dropFirst() where plan.effort.cost < best.effort.cost { best = plan }
    best.limitResults(query)
    return best
  }

  /// What indexes can look up for a filter, and about how many entries that has; the fewest first.
  ///
  /// With what some of them have in an order in which documents without entries come last.
  func estimated(
    _ filter: FilterParts, sorts: [QuerySort]
  ) throws(DatabaseError) -> [EstimatedMatch] {
    var found: [EstimatedMatch] = []
    for kept in indexes {
      for match in filter.matches(kept) {
        let hasOrder = sorts.contains { $0.descending && $0.path.leads(to: kept.index.path) }
        guard match.isWhole || hasOrder else { continue }
        found.append(EstimatedMatch(match: match, entries: try entries(match)))
      }
    }
    // Where there are as many, the one that answers more.
    return found.sorted {
      ($0.entries, -$0.match.answered.count) < ($1.entries, -$1.match.answered.count)
    }
  }

  /// What is known of a query from the matches of the parts of its filter.
  func outlook(
    of query: QueryCore, _ filter: FilterParts, _ matches: [EstimatedMatch]
  ) -> QueryOutlook {
    var shares = filter.parts.map { part in
      if case .not = part { QueryGuess.shareOfNot } else { QueryGuess.share }
    }
    // What an index answers of several parts together is put down to those that no index answers with fewer.
    var known: Set<Int> = []
    let byParts = matches.filter(\.match.isWhole)
      .sorted { $0.match.answered.count < $1.match.answered.count }
    for found in byParts {
      let unknown = found.match.answered.subtracting(known).sorted()
      guard let last = unknown.last else { continue }
      for part in unknown { shares[part] = 1 }
      var share = found.entries / total
      for part in found.match.answered.sorted() where known.contains(part) { share /= shares[part] }
      // Never nothing: it is divided by.
      shares[last] = min(1, max(share, 0.5 / total))
      known.formUnion(unknown)
    }
    return QueryOutlook(
      total: total, fullWalk: fullWalk,
      wanted: query.limit.map { Double($0) + Double(query.offset) },
      isSorted: query.sorts.contains { filter.constant($0.path) == nil }, shares: shares)
  }

  // MARK: Estimates

  /// About how many entries an index has in the ranges of a match.
  ///
  /// Of many ranges only some are looked at.
  private func entries(_ match: IndexMatch) throws(DatabaseError) -> Double {
    let ranges = match.ranges
    guard ranges.count > QueryPlanner.estimatedRangeLimit else {
      var entries = 0.0
      for range in ranges { entries += try self.entries(match.kept, range) }
      return entries
    }
    var entries = 0.0
    for number in 0..<QueryPlanner.estimatedRangeLimit {
      let range = ranges[number * ranges.count / QueryPlanner.estimatedRangeLimit]
      entries += try self.entries(match.kept, range)
    }
    return entries * Double(ranges.count) / Double(QueryPlanner.estimatedRangeLimit)
  }

  private static let estimatedRangeLimit = 32

  /// The same of one range.
  func entries(_ kept: KeptIndex, _ range: [IndexRange.Kind]) throws(DatabaseError) -> Double {
    let isOne =
      kept.index.isUnique && range.count == kept.index.paths.count
      && range.allSatisfy { if case .equal(let value) = $0 { !value.isNull } else { false } }
    let count = Double(try view.estimatedCount(of: kept, IndexRange(range)))
    return isOne ? min(1, count) : count
  }
}

/// What an index can look up, and about how many entries that has.
struct EstimatedMatch {
  let match: IndexMatch
  let entries: Double

  var access: IndexAccess {
    IndexAccess(kept: match.kept, ranges: match.ranges, estimate: entries)
  }

  /// The entries as candidates.
  var choice: AccessChoice {
    AccessChoice(
      access: .index(access), found: entries,
      effort: QueryEffort(searches: Double(match.ranges.count), entries: entries),
      answered: match.answered, isByID: access.isOneValue)
  }
}
