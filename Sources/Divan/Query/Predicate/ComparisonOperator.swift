/// A test of one value.
enum ComparisonOperator: Sendable {
  enum Order: String, Sendable {
    case less = "<"
    case lessOrEqual = "≤"
    case greater = ">"
    case greaterOrEqual = "≥"
  }

  enum TextMatch: UInt8, Sendable {
    case beginning, anywhere, end, pattern, whole
  }

  case equal(Value)
  case order(Order, Value)
  case oneOf([Value])
  case text(TextMatch, String, TextDifferences)
  /// Whether the property is missing; null is not.
  case isMissing
}

// MARK: - Description

extension ComparisonOperator: CustomStringConvertible {
  var description: String {
    switch self {
    case .equal(let value): "= \(value.json)"
    case .order(let order, let value): "\(order.rawValue) \(value.json)"
    case .oneOf(let values): "in \(Value.array(values).json)"
    case .text(let match, let text, let ignored):
      [match.words, Value.string(text).json, ignored.description].filter { !$0.isEmpty }
        .joined(separator: " ")
    case .isMissing: "is missing"
    }
  }
}

extension ComparisonOperator.TextMatch {
  fileprivate var words: String {
    switch self {
    case .beginning: "begins with"
    case .anywhere: "contains text"
    case .end: "ends with"
    case .pattern: "looks like"
    case .whole: "is"
    }
  }
}
