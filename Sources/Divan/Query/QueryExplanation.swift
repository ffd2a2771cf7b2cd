internal import DivanLog

/// What was done to answer a query, and what was expected.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// Where candidates came from, in words: every document, indexes, or IDs.
  public let access: String
  /// The names of the indexes that were looked into.
  public let indexes: [String]
  /// What was asked of each candidate's document, in words; nil if nothing was left to ask.
  public let rest: String?
  /// How results came into their order, in words.
  public let order: String
  /// About how many candidates would have to be looked at, as it was known before.
  public let estimatedRows: Int
  /// How many candidates were looked at.
  public let rows: Int
  /// Of how many of these it was remembered what is asked of them, so that they were not read for it.
  public let rowsRemembered: Int
  /// About how many results there would be.
  public let estimatedResults: Int
  /// How many results there are.
  public let results: Int
  /// What the way that was chosen was taken to cost: the one with the least is chosen.
  ///
  /// The unit is what it costs to read the next
  /// document of a walk over all of them, and to ask it something.
  public let estimatedCost: Double
  /// How many entries of indexes were read.
  public let entriesRead: Int
  /// How many documents were read.
  public let documentsRead: Int

  /// All of it in some lines.
  public var description: String {
    var lines = ["From \(access)"]
    if let rest { lines.append("Each document is asked: \(rest)") }
    lines.append("Order: \(order)")
    lines.append("Expected about \(estimatedRows) rows and \(estimatedResults) results")
    let remembered = rowsRemembered > 0 ? ", of which \(rowsRemembered) were remembered" : ""
    lines.append(
      "Looked at \(rows) rows\(remembered), read \(entriesRead) entries of indexes and "
        + "\(documentsRead) documents; \(results) results")
    return lines.map { printable($0) }.joined(separator: "\n")
  }
}

extension QueryRun {
  /// What was done so far, and why.
  func explanation() throws(DatabaseError) -> QueryExplanation {
    let rest: String? = if case .all = plan.rest { nil } else { plan.rest.description }
    var known = plan.estimate
    if known == nil { known = try QueryPlanner(view).estimate(of: plan, for: query) }
    let estimate = known ?? QueryEstimate()
    return QueryExplanation(
      access: plan.access.description, indexes: plan.access.indexNames, rest: rest,
      order: orderInWords, estimatedRows: Int(rounding: estimate.rows),
      rows: tally.candidates, rowsRemembered: tally.remembered,
      estimatedResults: Int(rounding: estimate.results),
      results: tally.results, estimatedCost: estimate.effort.cost,
      entriesRead: tally.entriesRead, documentsRead: tally.documentsRead)
  }

  private var orderInWords: String {
    switch plan.order {
    case .byID: return "by the IDs"
    case .fromIndex: return "as in the index"
    case .sorted:
      let limit = query.limit.map { ", of which \($0) are kept" } ?? ""
      return "the results are sorted" + limit
    }
  }
}

extension Int {
  /// A number that was estimated, rounded up.
  fileprivate init(rounding estimate: Double) {
    self = estimate >= 1e18 ? .max : Int(estimate.rounded(.up))
  }
}

extension QueryAccess {
  fileprivate var indexNames: [String] {
    switch self {
    case .everything, .ids, .named, .nothing: []
    case .index(let access): [access.kept.index.name]
    case .intersection(let accesses): accesses.map(\.kept.index.name)
    case .union(let accesses): accesses.flatMap(\.indexNames)
    }
  }
}
