internal import DivanLog

extension QueryExplanation {
  /// A step in the execution of a query, which takes rows from its inputs.
  ///
  /// ```swift
  /// var operators = [explanation.plan]
  /// while let next = operators.popLast() {
  ///   print(next.name, next.rows ?? 0)
  ///   operators += next.inputs
  /// }
  /// ```
  public struct Operator: Sendable, Hashable {
    /// The name of the operator.
    ///
    /// It is one of `limit`, `offset`, `sort`, `filter`, `ordered index scan`, `index scan`,
    /// `ranked full-text index`, `full-text index`, `sequence scan`, `ID scan`, `ID list`,
    /// `intersection`, `union` and `nothing`.
    public let name: String
    /// What the operator does, as text; empty if the name says it.
    public let details: String
    /// The number of rows that the operator has yielded; nil if they were not counted.
    ///
    /// It includes those that the predicate cache decided without reading them.
    public let rows: Int?
    /// The operators that yield the rows for this one.
    public let inputs: [Operator]
  }
}

extension QueryExplanation.Operator: CustomStringConvertible {
  /// The operator and its inputs, each in a line of its own.
  public var description: String { lines.joined(separator: "\n") }

  private var lines: [String] {
    var line = details.isEmpty ? name : "\(name) \(printable(details))"
    if let rows { line += ": \(rows) \(rows == 1 ? "row" : "rows")" }
    return inputs.reduce(into: [line]) { lines, input in
      for (number, inner) in input.lines.enumerated() {
        lines.append((number == 0 ? "└ " : "  ") + inner)
      }
    }
  }
}

extension QueryExplanation.Operator {
  /// Creates an operator without inputs.
  static func leaf(_ name: String, _ details: String = "", rows: Int?) -> Self {
    Self(name: name, details: details, rows: rows, inputs: [])
  }
}
