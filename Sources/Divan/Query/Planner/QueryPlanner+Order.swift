// Plans that use the order of an index for the results.

extension QueryPlanner {
  /// Returns a plan that reads an index in the order of the results; nil if it has no part of it.
  ///
  /// The first properties of the index have a single value, which the filter requires, and the next
  /// ones are sort keys. The rest of the order is sorted within each group of documents that are
  /// equal in the index.
  func ordered(
    _ found: EstimatedMatch, by sorts: [QuerySort], _ filter: Conjuncts, _ costModel: CostModel
  ) throws(DatabaseError) -> (plan: QueryPlan, estimate: QueryEstimate)? {
    let match = found.match
    // A sort key with a single value in all results has no effect.
    let sorts = sorts.filter { filter.constant($0.path) == nil }
    guard let first = sorts.first, match.ranges.count == 1 else { return nil }
    let range = match.ranges[0]
    let equalCount = match.equalCount
    guard let order = order(of: match, by: sorts, first) else { return nil }
    var unordered = 0.0
    if equalCount < range.count {
      guard range[equalCount].hasOrder(byBytes: first.byBytes) else { return nil }
    } else if !first.byBytes {
      // The index sorts texts by their bytes, so all of them form one group, which is sorted.
      let texts = try estimatedCount(
        IndexKeyRange(IndexRange(range + [.prefix("")]), of: match.definition))
      let before = (found.entries - texts) * costModel.selectivity(without: match.covered)
      let isReached = first.descending || costModel.wanted.map { before < $0 } ?? true
      if isReached { unordered = texts }
    }
    let access = IndexAccess(match, keys: found.keys, endsWithMissing: !match.isWhole)
    var collected = 0.0
    if !order.isWhole {
      unordered = max(
        unordered, costModel.wanted == nil ? found.entries : try firstGroup(access, order))
    } else if order.descending || !order.isByID {
      // For equal values, all IDs are collected before the first is returned.
      collected = costModel.wanted == nil ? found.entries : try firstGroup(access, order)
    }
    // Null and missing values can only come last here: to come first, they would have to be found
    // by a search.
    guard match.isWhole || first.descending else { return nil }
    let choice = found.choice
    let share = costModel.fractionToScan(choice)
    var cost = costModel.costInOrder(
      choice, unordered: unordered, endsWithMissing: access.endsWithMissing)
    if share < 1 { cost.entries += collected }
    cost.collected += collected
    return (
      QueryPlan(
        access: .index(access), residual: filter.residual(without: match.covered),
        order: .fromIndex(order)),
      QueryEstimate(
        rows: max(unordered, choice.found * share),
        results: choice.found * costModel.selectivity(without: match.covered), cost: cost)
    )
  }

  /// Returns the sort keys whose order an index has; nil if it does not have that of the first.
  private func order(
    of match: IndexMatch, by sorts: [QuerySort], _ first: QuerySort
  ) -> IndexOrder? {
    let index = match.definition.index
    let equalCount = match.equalCount
    // With several elements of an array, a document would come several times.
    guard !index.eachElement || equalCount > 0 else { return nil }
    var depth = equalCount
    for sort in sorts {
      guard depth < index.paths.count, sort.path.leads(to: index.paths[depth]),
        sort.descending == first.descending
      else { break }
      depth += 1
    }
    guard depth > equalCount else { return nil }
    return IndexOrder(
      path: first.path, constantSize: match.ranges[0].prefix(equalCount).reduce(0) { $0 + $1.size },
      byBytes: sorts.prefix(depth - equalCount).map(\.byBytes), descending: first.descending,
      isWhole: depth - equalCount == sorts.count, isByID: depth == index.paths.count)
  }

  /// Estimates the number of entries that come first and whose order the index does not know.
  private func firstGroup(
    _ access: IndexAccess, _ order: IndexOrder
  ) throws(DatabaseError) -> Double {
    var entries = try access.entries(0, in: view, descending: order.descending)
    guard try entries.advance() else { return 0 }
    return Double(
      try view.estimatedCount(
        of: access.definition, beginningWith: order.group(of: entries.value).beginning))
  }
}

extension IndexRange.Kind {
  /// The number of bytes that the value takes in entries, if it is a single value.
  fileprivate var size: Int {
    if case .equal(let value) = self { IndexedValue.whole(value).count } else { 0 }
  }
}
