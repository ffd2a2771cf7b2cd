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
        name: "sort", details: "by " + keys.joined(separator: ", "),
        rows: min(tally.accepted, wanted ?? .max), inputs: [root])
    }
    if let limit = query.limit {
      root = QueryExplanation.Operator(
        name: "limit", details: query.offset > 0 ? "\(limit), after \(query.offset)" : "\(limit)",
        rows: tally.results, inputs: [root])
    } else if query.offset > 0 {
      root = QueryExplanation.Operator(
        name: "offset", details: "\(query.offset)", rows: tally.results, inputs: [root])
    }
    return root
  }

  /// The operator that yields the candidates.
  private var sourceOperator: QueryExplanation.Operator {
    // Without a filter, candidates that are no documents are not yielded.
    let rows = filter == nil ? tally.accepted : tally.candidates - tally.notMissing
    if case .fromIndex = plan.order, case .index(let access) = plan.access {
      return .leaf("ordered index scan", access.nameAndRanges, rows: rows)
    }
    if case .byRelevance = plan.order, case .fullText(let access) = plan.access {
      return .leaf("ranked full-text index", access.nameAndQuery, rows: rows)
    }
    let consumer: CandidateConsumer = if case .sorted = plan.order { .sorting } else { .inOrder }
    switch RowSource(plan.access, for: consumer, in: self) {
    case .sequenceScan: return .leaf("sequence scan", rows: rows)
    case .idScan: return plan.access.scanOperator(rows: rows)
    case .indexScan, .textSearch, .lookups: return plan.access.lookupOperator(rows: rows)
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
    case .fullText(let access): .leaf("full-text index", access.nameAndQuery, rows: rows)
    case .intersection(let accesses):
      .init(
        name: "intersection", details: "", rows: rows,
        inputs: accesses.map { $0.lookupOperator() })
    case .union(let accesses):
      .init(name: "union", details: "", rows: rows, inputs: accesses.map { $0.lookupOperator() })
    case .nothing: .leaf("nothing", "no document can match the filter", rows: rows)
    }
  }
}
