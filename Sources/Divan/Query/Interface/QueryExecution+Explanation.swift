internal import DivanLog

extension QueryExecution {
  /// Returns the explanation of the execution so far.
  func explanation() throws(DatabaseError) -> QueryExplanation {
    let residual: String? = if case .all = plan.residual { nil } else { plan.residual.description }
    var known = plan.estimate
    if known == nil { known = try QueryPlanner(view).estimate(of: plan, for: query) }
    let estimate = known ?? QueryEstimate()
    return QueryExplanation(
      plan: operators, access: plan.access.description, indexes: plan.access.indexNames,
      residual: residual,
      order: orderDescription, estimatedRows: Int(rounding: estimate.rows),
      rows: tally.candidates, rowsRemembered: tally.cached,
      estimatedResults: Int(rounding: estimate.results),
      results: tally.results, estimatedCost: estimate.cost.total,
      entriesRead: tally.entriesRead, documentsRead: tally.documentsRead)
  }
}
