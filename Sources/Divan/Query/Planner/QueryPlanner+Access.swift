// The access paths to the candidates of a filter.

extension QueryPlanner {
  /// The maximum number of parts whose alternatives are planned, which limits the planning time.
  private static let unionLimit = 8
  /// The maximum number of values of a set that is split into alternatives.
  private static let setLimit = 16

  /// Returns the cheapest way to find the documents that match a filter.
  ///
  /// Alternatives are planned one by one only for the first `ownCount` parts.
  func cheapest(
    _ filter: Conjuncts, _ matches: [EstimatedMatch], _ searches: [FullTextLookup],
    _ costModel: CostModel, ownCount: Int
  ) throws(DatabaseError) -> AccessChoice {
    var best: (choice: AccessChoice, cost: Double)?
    /// Of equal costs the first wins: that with fewer candidates, and an index rather than none.
    func consider(_ choice: AccessChoice) {
      let cost = costModel.cost(choice).total
      if best.map({ cost < $0.cost }) ?? true { best = (choice, cost) }
    }
    for match in matches where match.match.isWhole { consider(match.choice) }
    for search in searches { consider(search.choice) }
    if matches.count + searches.count > 1 {
      // Both are few, and the smallest come first.
      let lookups = matches.filter(\.match.isWhole).map(\.choice) + searches.map(\.choice)
      let sorted = searches.isEmpty ? lookups : lookups.sorted { $0.found < $1.found }
      if let both = intersection(sorted, costModel) { consider(both) }
    }
    if let named = named(filter.parts) { consider(named) }
    if let range = try idRange(filter.parts) { consider(range) }
    var unions = 0
    for (number, part) in filter.parts.prefix(ownCount).enumerated()
    where unions < QueryPlanner.unionLimit {
      guard let alternatives = alternatives(part) else { continue }
      unions += 1
      if let union = try union(alternatives, number, of: filter) { consider(union) }
    }
    let scan = AccessChoice(
      access: .everything, found: total, cost: fullScan, includesRead: true, isByID: true)
    consider(scan)
    return best?.choice ?? scan
  }

  /// Returns the documents that the filter names by their IDs.
  private func named(_ parts: [FilterExpression]) -> AccessChoice? {
    func choice(_ ids: [String], _ part: Int) -> AccessChoice {
      // Their existence must be looked up in any case.
      AccessChoice(
        access: .named(ids), found: Double(ids.count),
        cost: QueryCost(lookups: Double(ids.count)), covered: ConjunctSet(part),
        includesRead: true,
        isByID: true)
    }
    for (number, part) in parts.enumerated() {
      guard case .test(.documentID, let test) = part else { continue }
      switch test {
      case .equal(.string(let id)): return choice([id], number)
      // IDs are texts; no other value equals one.
      case .oneOf(let values): return choice(values.compactMap(\.stringValue), number)
      default: break
      }
    }
    return nil
  }

  /// Returns the documents whose IDs begin as the filter requires.
  private func idRange(_ parts: [FilterExpression]) throws(DatabaseError) -> AccessChoice? {
    for (number, part) in parts.enumerated() {
      guard case .test(.documentID, .text(.beginning, let text, [])) = part, !text.isEmpty else {
        continue
      }
      let range = IDRange.prefix(text)
      let count = Double(try view.estimatedCount(of: range))
      return AccessChoice(
        access: .ids(range), found: count, cost: QueryCost(scanned: count, searches: 1),
        covered: ConjunctSet(number), includesRead: true, isByID: true)
    }
    return nil
  }

  /// Returns the alternatives of a part; nil if it has none, or is a set that is looked up whole.
  ///
  /// A set is split for partial indexes on one of its values, such as the indexes of one class.
  private func alternatives(_ part: FilterExpression) -> [FilterExpression]? {
    switch part {
    case .or(let alternatives): return alternatives
    case .test(let path, .oneOf(let values))
    where values.count > 1 && values.count <= QueryPlanner.setLimit:
      let isCondition = indexes.contains {
        $0.isReady && $0.index.fullText == nil
          && $0.index.conditions.contains { path.leads(to: $0.path) }
      }
      return isCondition ? values.map { .test(path, .equal($0)) } : nil
    default: return nil
    }
  }

  /// Returns a union of look-ups for alternatives, combined with the other parts of the filter.
  ///
  /// Returns nil if all documents must be read for one of them.
  private func union(
    _ alternatives: [FilterExpression], _ number: Int, of filter: Conjuncts
  ) throws(DatabaseError) -> AccessChoice? {
    var given = filter.given
    var common: [(number: Int, part: FilterExpression)] = []
    for (other, part) in filter.parts.enumerated() where other != number {
      if case .or = part { given.append(part) } else { common.append((other, part)) }
    }
    var union = AccessChoice(
      access: .nothing, found: 0, cost: QueryCost(),
      covered: ConjunctSet(common.map(\.number) + [number]))
    var accesses: [AccessPath] = []
    for alternative in alternatives {
      if case .nothing = alternative { continue }
      let own = alternative.conjuncts
      let parts = Conjuncts(own + common.map(\.part), given: given)
      let matches = try matches(parts)
      let searches = try searches(parts)
      let costModel = costModel(of: QueryCore(), parts, matches, searches)
      let best = try cheapest(parts, matches, searches, costModel, ownCount: own.count)
      if case .everything = best.access { return nil }
      accesses.append(best.access)
      union.found += best.found
      union.cost = union.cost + best.cost
      union.cost.collected += best.found
      // A part is covered if every alternative answers it.
      if !own.indices.allSatisfy(best.covered.contains) { union.covered.remove(number) }
      for (offset, other) in common.enumerated()
      where !best.covered.contains(own.count + offset) {
        union.covered.remove(other.number)
      }
      // Further alternatives would only add cost.
      if union.cost.total > fullScan.total { return nil }
    }
    if !accesses.isEmpty { union.access = .union(accesses) }
    return union
  }

  /// Returns the candidates that several searches in indexes have in common.
  ///
  /// A search is included only if it excludes documents that would cost more to read.
  private func intersection(
    _ lookups: [AccessChoice], _ costModel: CostModel
  ) -> AccessChoice? {
    guard lookups.count > 1, let first = lookups.first else { return nil }
    var best = first
    best.isByID = false
    var accesses = [first.access]
    for other in lookups.dropFirst() {
      let isNew = !other.covered.isSubset(of: best.covered) || other.covered.isEmpty
      guard isNew, other.access.mayExclude(from: first.access) else { continue }
      var both = best
      both.covered.formUnion(other.covered)
      let added = other.covered.subtracting(best.covered)
      both.found *= added.isEmpty ? min(1, other.found / total) : costModel.selectivity(of: added)
      both.cost = both.cost + other.cost
      both.cost.collected += accesses.count == 1 ? first.found + other.found : other.found
      guard costModel.cost(both).total < costModel.cost(best).total else { continue }
      best = both
      accesses.append(other.access)
    }
    guard accesses.count > 1 else { return nil }
    best.access = .intersection(accesses)
    return best
  }
}

extension AccessPath {
  /// Whether a search can exclude documents that another one finds.
  ///
  /// The same index again adds nothing, except for elements of arrays, and for text.
  fileprivate func mayExclude(from first: AccessPath) -> Bool {
    guard case .index(let access) = self, case .index(let other) = first else { return true }
    return access.definition != other.definition || other.definition.index.eachElement
  }
}
