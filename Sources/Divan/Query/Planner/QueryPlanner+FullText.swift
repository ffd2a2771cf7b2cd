// Plans that search text.

/// The search for a part of a filter in a full-text index.
struct FullTextLookup {
  /// The number of the part.
  let part: Int
  let choice: AccessChoice
}

extension QueryPlanner {
  /// Returns the searches for the parts of a filter that are conditions on text.
  ///
  /// A part that is a condition of a partial index is covered, too.
  func searches(_ filter: Conjuncts) throws(DatabaseError) -> [FullTextLookup] {
    var lookups: [FullTextLookup] = []
    for (number, part) in filter.parts.enumerated() {
      guard case .fullText(let condition, let test?) = part else { continue }
      let access = try accesses.access(condition, test, in: view)
      var covered = ConjunctSet(number)
      for (other, part) in filter.parts.enumerated()
      where access.definition.index.conditions.contains(where: part.isSame) {
        covered.insert(other)
      }
      let found = min(total, Double(access.estimatedCount))
      lookups.append(
        FullTextLookup(
          part: number,
          choice: AccessChoice(
            access: .fullText(access), found: found, cost: QueryCost(searches: 1, entries: found),
            covered: covered)))
    }
    return lookups
  }

  /// Returns the plan for results in the order of a search for text.
  func byRelevance(
    _ filter: Conjuncts, _ query: QueryCore, _ search: FullTextLookup
  ) -> QueryPlan {
    let choice = search.choice
    let costModel = costModel(of: query, filter, [], [search])
    let share = costModel.fractionToScan(choice)
    var estimate = QueryEstimate(
      rows: choice.found * share,
      results: choice.found * costModel.selectivity(without: choice.covered),
      cost: costModel.costByRelevance(choice))
    estimate.limitResults(query)
    return QueryPlan(
      access: choice.access, residual: filter.residual(without: choice.covered),
      order: .byRelevance, estimate: estimate)
  }
}
