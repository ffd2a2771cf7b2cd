extension QueryExecution {
  /// The operators of the execution, from the one that yields the results.
  var operators: QueryExplanation.Operator {
    var root = sourceOperator
    if filter != nil {
      root = QueryExplanation.Operator(
        name: "filter", details: plan.residual.description, rows: tally.accepted, inputs: [root])
    }
    if case .sorted = plan.order {
      let keys = query.sorts.map { $0.path.description + ($0.descending ? " descending" : "") }
      root = QueryExplanation.Operator(
        name: "sort", details: "by " + keys.joined(separator: ", "), rows: tally.accepted,
        inputs: [root])
    }
    if query.limit != nil || query.offset > 0 {
      let count = query.limit.map { "\($0)" } ?? "to the end"
      root = QueryExplanation.Operator(
        name: "limit", details: query.offset > 0 ? "\(count), after \(query.offset)" : count,
        rows: tally.results, inputs: [root])
    }
    return root
  }

  /// The operator that yields the candidates.
  private var sourceOperator: QueryExplanation.Operator {
    if case .fromIndex = plan.order, case .index(let access) = plan.access {
      return .leaf("ordered index scan", access.nameAndRanges, rows: tally.candidates)
    }
    let consumer: CandidateConsumer = if case .sorted = plan.order { .sorting } else { .inOrder }
    switch RowSource(plan.access, for: consumer, in: self) {
    case .sequenceScan: return .leaf("sequence scan", rows: tally.candidates)
    case .idScan: return plan.access.scanOperator(rows: tally.candidates)
    case .indexScan, .lookups: return plan.access.lookupOperator(rows: tally.candidates)
    }
  }
}

extension AccessPath {
  fileprivate func scanOperator(rows: Int?) -> QueryExplanation.Operator {
    if case .ids = self { return .leaf("ID scan", "of a range", rows: rows) }
    return .leaf("ID scan", rows: rows)
  }

  /// The operator that finds IDs; only the number of those that several inputs yield is known.
  fileprivate func lookupOperator(rows: Int? = nil) -> QueryExplanation.Operator {
    switch self {
    case .everything, .ids: scanOperator(rows: rows)
    case .named(let ids): .leaf("ID list", ids.count == 1 ? ids[0] : "of \(ids.count)", rows: rows)
    case .index(let access): .leaf("index scan", access.nameAndRanges, rows: rows)
    case .intersection(let accesses):
      .init(
        name: "intersection", details: "", rows: rows,
        inputs: accesses.map { AccessPath.index($0).lookupOperator() })
    case .union(let accesses):
      .init(name: "union", details: "", rows: rows, inputs: accesses.map { $0.lookupOperator() })
    case .nothing: .leaf("nothing", "no document can match the filter", rows: rows)
    }
  }
}
