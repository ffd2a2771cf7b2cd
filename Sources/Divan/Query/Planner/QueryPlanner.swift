/// Chooses the plan of a query, by the indexes of a version of the store and their sizes.
///
/// Every access path (QueryPlanner+Access.swift) is a choice, and so is every index in the order of
/// the results (QueryPlanner+Order.swift). The least ``QueryCost`` wins. If one index has exactly
/// the results, there is nothing to choose, and nothing is estimated.
struct QueryPlanner {
  let view: ReadView
  /// All indexes; only those that are ready can be used.
  let indexes: [IndexDefinition]
  /// The number of documents.
  let total: Double
  /// The cost of a full scan.
  let fullScan: QueryCost
  /// The searches in full-text indexes.
  let accesses = FullTextAccesses()

  init(_ view: ReadView) {
    self.view = view
    // A past version has no indexes of its own.
    indexes = view.past == nil ? view.state.indexes : []
    total = max(1, Double(Int(clamping: view.state.documentCount)))
    fullScan = QueryCost(scanned: max(total, DefaultSelectivity.leastScan))
  }

  func plan(_ query: QueryCore) throws(DatabaseError) -> QueryPlan {
    let parts = query.conjuncts
    for part in parts { try part.refuse() }
    try query.refuseOrder()
    let filter = Conjuncts(try FullTextBinding(view: view).bind(parts))
    if filter.areNothing {
      return QueryPlan(access: .nothing, residual: .all, order: .byID, estimate: QueryEstimate())
    }
    if let plan = exact(filter, query) { return plan }
    let searches = try searches(filter)
    // There is exactly one: all other queries were refused.
    if query.isByRelevance, let search = searches.first {
      return byRelevance(filter, query, search)
    }
    let found = try matches(filter, sorts: query.sorts)
    let costModel = costModel(of: query, filter, found, searches)
    let choice = try cheapest(filter, found, searches, costModel, ownCount: filter.parts.count)
    var (best, estimate) = plan(choice, filter, costModel)
    if costModel.isSorted {
      for match in found {
        guard let ordered = try ordered(match, by: query.sorts, filter, costModel) else { continue }
        if ordered.estimate.cost.total < estimate.cost.total { (best, estimate) = ordered }
      }
    }
    estimate.limitResults(query)
    best.estimate = estimate
    return best
  }

  /// Returns the plan for a query if an index has exactly its results; nil if none has.
  ///
  /// Results are read one by one as they are wanted. Any other plan must examine as many documents,
  /// so their number makes no difference. A full scan could be as short only if nearly all
  /// documents match and only the first is wanted.
  private func exact(_ filter: Conjuncts, _ query: QueryCore) -> QueryPlan? {
    var access: IndexAccess?
    for definition in indexes where definition.isReady && access == nil {
      filter.forEachMatch(definition) { match in
        if access == nil, match.isOneValue, match.covered.count == filter.parts.count {
          access = IndexAccess(match)
        }
      }
    }
    guard let access, query.sorts.allSatisfy({ filter.constant($0.path) != nil }) else {
      return nil
    }
    return QueryPlan(access: .index(access), residual: .all, order: .byID, estimate: nil)
  }

  /// Returns the estimate for a plan that did not need one.
  func estimate(of plan: QueryPlan, for query: QueryCore) throws(DatabaseError) -> QueryEstimate {
    guard case .index(let access) = plan.access else { return QueryEstimate() }
    var entries = 0.0
    for number in access.ranges.indices {
      let count = try estimatedCount(access.keyRange(number))
      entries += isOne(access.ranges[number], of: access.definition) ? min(1, count) : count
    }
    let rows = query.limit.map { min(entries, Double($0) + Double(query.offset)) } ?? entries
    var estimate = QueryEstimate(
      rows: rows, results: entries, cost: QueryCost(searches: 1, entries: rows))
    estimate.limitResults(query)
    return estimate
  }

  /// Returns the plan to examine candidates that have no order, or only that of their IDs.
  private func plan(
    _ choice: AccessChoice, _ filter: Conjuncts, _ costModel: CostModel
  ) -> (plan: QueryPlan, estimate: QueryEstimate) {
    let stops = choice.isByID && !costModel.isSorted
    return (
      QueryPlan(
        access: choice.access, residual: filter.residual(without: choice.covered),
        order: costModel.isSorted ? .sorted : .byID),
      QueryEstimate(
        rows: choice.found * (stops ? costModel.fractionToScan(choice) : 1),
        results: choice.found * costModel.selectivity(without: choice.covered),
        cost: costModel.cost(choice))
    )
  }

  /// Returns the conditions of a filter that indexes can look up, those with the fewest entries
  /// first.
  ///
  /// An index that lacks documents without entries is included if those come last in its order.
  func matches(
    _ filter: Conjuncts, sorts: [QuerySort] = []
  ) throws(DatabaseError) -> [EstimatedMatch] {
    var matches: [IndexMatch] = []
    for definition in indexes where definition.isReady {
      let hasOrder = sorts.contains { $0.descending && $0.path.leads(to: definition.index.path) }
      filter.forEachMatch(definition, mayLackDocuments: hasOrder) { matches.append($0) }
    }
    let found = try matches.map(estimated)
    guard found.count > 1 else { return found }
    // Of equal numbers, the match that answers more parts comes first.
    return found.sorted {
      ($0.entries, -$0.match.covered.count) < ($1.entries, -$1.match.covered.count)
    }
  }

  /// Returns the cost model of a query, from the matches of its filter's parts.
  func costModel(
    of query: QueryCore, _ filter: Conjuncts, _ matches: [EstimatedMatch],
    _ searches: [FullTextLookup]
  ) -> CostModel {
    var selectivities = filter.parts.map { part in
      if case .not = part { DefaultSelectivity.ofNegation } else { DefaultSelectivity.ofTest }
    }
    // The selectivity of several parts that an index answers together is assigned to those parts
    // that no index answers with fewer.
    var known = ConjunctSet()
    let byParts =
      matches.count > 1
      ? matches.sorted { $0.match.covered.count < $1.match.covered.count } : matches
    for found in byParts where found.match.isWhole {
      let unknown = found.match.covered.subtracting(known)
      guard let last = unknown.max() else { continue }
      for part in unknown { selectivities[part] = 1 }
      var share = found.entries / total
      for part in found.match.covered where known.contains(part) { share /= selectivities[part] }
      // Never zero, because it is a divisor.
      selectivities[last] = min(1, max(share, 0.5 / total))
      known.formUnion(unknown)
    }
    for search in searches {
      selectivities[search.part] = min(1, max(search.choice.found / total, 0.5 / total))
    }
    return CostModel(
      fullScan: fullScan,
      wanted: query.limit.map { Double($0) + Double(query.offset) },
      isSorted: query.sorts.contains { filter.constant($0.path) == nil },
      selectivities: selectivities,
      searches: ConjunctSet(filter.parts.indices.filter { filter.parts[$0].searchesText }))
  }

  // MARK: Estimates

  /// Estimates the number of entries that an index has in the ranges of a match.
  ///
  /// Of many ranges, it reads only some.
  private func estimated(_ match: IndexMatch) throws(DatabaseError) -> EstimatedMatch {
    let ranges = match.ranges
    let lookedAt = min(ranges.count, QueryPlanner.estimatedRangeLimit)
    var entries = 0.0
    var keys: [IndexKeyRange?] = []
    keys.reserveCapacity(lookedAt)
    for number in 0..<lookedAt {
      let range = ranges[number * ranges.count / lookedAt]
      let found = try IndexKeyRange(IndexRange(range), of: match.definition)
      keys.append(found)
      entries += isOne(range, of: match.definition) ? 1 : try estimatedCount(found)
    }
    guard lookedAt < ranges.count else {
      return EstimatedMatch(match: match, entries: entries, keys: keys)
    }
    return EstimatedMatch(
      match: match, entries: entries * Double(ranges.count) / Double(lookedAt), keys: [])
  }

  private static let estimatedRangeLimit = 32

  /// Estimates the number of entries between two keys.
  func estimatedCount(_ keys: IndexKeyRange?) throws(DatabaseError) -> Double {
    guard let keys else { return 0 }
    return Double(try view.estimatedCount(of: keys))
  }

  /// Whether a range can have only one document; it is then assumed to have one.
  private func isOne(_ range: [IndexRange.Kind], of definition: IndexDefinition) -> Bool {
    definition.index.isUnique && range.count == definition.index.paths.count
      && range.allSatisfy { if case .equal(let value) = $0 { !value.isNull } else { false } }
  }
}

/// The match of an index with a filter, and the estimated number of its entries.
struct EstimatedMatch {
  let match: IndexMatch
  let entries: Double
  /// See ``IndexAccess/keys``.
  let keys: [IndexKeyRange?]

  var access: IndexAccess { IndexAccess(match, keys: keys) }

  /// The entries as candidates.
  var choice: AccessChoice {
    AccessChoice(
      access: .index(access), found: entries,
      cost: QueryCost(searches: Double(match.ranges.count), entries: entries),
      covered: match.covered, isByID: match.isOneValue)
  }
}
