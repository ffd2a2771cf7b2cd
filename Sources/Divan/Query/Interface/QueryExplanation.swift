internal import DivanLog

/// The explanation of how a query was executed, with estimated and actual numbers.
///
/// ```swift
/// let explanation = try database.snapshot().explain(query)
/// print(explanation.plan)
/// print("\(explanation.documentsRead) documents were read")
/// if explanation.indexes.isEmpty { print("An index may help.") }
/// ```
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// The operator that yields the results, with the operators below it.
  public let plan: Operator
  /// The source of candidates, as text: every document, indexes, or IDs.
  public let access: String
  /// The names of the indexes that were searched.
  public let indexes: [String]
  /// The residual predicate that was tested on each candidate, as text; nil if there was none.
  public let residual: String?
  /// How results were ordered, as text.
  public let order: String
  /// The number of candidates to examine, as estimated before.
  public let estimatedRows: Int
  /// The number of candidates that were examined.
  public let rows: Int
  /// The number of these that the predicate cache decided, without reading them for the filter.
  public let rowsRemembered: Int
  /// The estimated number of results.
  public let estimatedResults: Int
  /// The number of results.
  public let results: Int
  /// The estimated cost of the chosen plan: the one with the least cost is chosen.
  ///
  /// The unit is the cost of reading the next document of a full scan and testing it.
  public let estimatedCost: Double
  /// The number of index entries that were read.
  public let entriesRead: Int
  /// The number of documents that were read.
  public let documentsRead: Int

  /// The whole explanation in several lines.
  public var description: String {
    let cached = rowsRemembered > 0 ? " (\(rowsRemembered) decided by the predicate cache)" : ""
    return """
      \(plan)
      Estimate: \(estimatedRows) candidates, \(estimatedResults) results
      Actual: \(rows) candidates\(cached), \(entriesRead) index entries read, \
      \(documentsRead) documents read, \(results) results
      """
  }
}

extension Int {
  /// Creates an integer from an estimate, rounded up.
  init(rounding estimate: Double) {
    self = estimate >= 1e18 ? .max : Int(estimate.rounded(.up))
  }
}

extension AccessPath {
  var indexNames: [String] {
    switch self {
    case .everything, .ids, .named, .nothing: []
    case .index(let access): [access.definition.index.name]
    case .fullText(let access): [access.definition.index.name]
    case .intersection(let accesses), .union(let accesses): accesses.flatMap(\.indexNames)
    }
  }
}
