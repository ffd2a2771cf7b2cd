/// A condition on documents: comparisons of properties, joined with `&&`, `||` and `!`.
///
/// ```swift
/// query.filter { $0.done == false && ($0.priority > 3 || $0.tags.contains("home")) }
/// ```
///
/// A filter reads documents as they are stored. Numbers are compared by value, however they are
/// written; texts by the bytes of their UTF-8, without regard to any language. `<` and the other
/// comparisons of order are false for null, for a missing property and for a value of another type.
/// `!` inverts that: `!($0.year < 1920)` is true for a film without a year. `== nil` is true for
/// null and for a missing property.
///
/// You can join any number of filters with `&&`, or with `||`. Alternating these and `!`, filters
/// can be nested 100 deep at most; a query with a deeper filter is refused.
public struct Filter: Sendable {
  private let content: Content
  /// The nesting depth of `&&`, `||` and `!`.
  private let depth: Int

  /// Deeper filters might overflow a thread's stack.
  static let depthLimit = 100

  init(_ expression: FilterExpression, depth: Int = 0) {
    let isTooDeep = depth > Filter.depthLimit
    content = .one(isTooDeep ? .refused(Filter.isTooDeep) : expression)
    self.depth = isTooDeep ? 0 : depth
  }

  private init(_ join: FilterJoin, depth: Int) {
    let isTooDeep = depth > Filter.depthLimit
    content = isTooDeep ? .one(.refused(Filter.isTooDeep)) : .joined(join)
    self.depth = isTooDeep ? 0 : depth
  }

  private enum Content {
    case one(FilterExpression)
    case joined(FilterJoin)
  }

  var expression: FilterExpression {
    switch content {
    case .one(let expression): expression
    case .joined(let join): join.expression
    }
  }

  /// The join, if the filter is one.
  var join: FilterJoin? { if case .joined(let join) = content { join } else { nil } }

  private static let isTooDeep = DatabaseError(
    .invalidQuery, "a filter is nested more than \(depthLimit) deep",
    hint: "Join conditions with a single && or ||, instead of nesting filters")
}

extension Filter {
  /// A filter that every document matches.
  public static let all = Filter(.all)
  /// A filter that no document matches.
  public static let none = Filter(.nothing)

  /// Returns a filter for documents that match both filters.
  public static func && (a: Filter, b: Filter) -> Filter {
    // A chain of one operator does not get deeper with its length: filters are built in loops.
    Filter(
      FilterJoin(isAnd: true, a, b),
      depth: max(a.isAnd ? a.depth : a.depth + 1, b.isAnd ? b.depth : b.depth + 1))
  }

  /// Returns a filter for documents that match at least one of the filters.
  public static func || (a: Filter, b: Filter) -> Filter {
    Filter(
      FilterJoin(isAnd: false, a, b),
      depth: max(a.isOr ? a.depth : a.depth + 1, b.isOr ? b.depth : b.depth + 1))
  }

  /// Returns a filter for documents that do not match the filter.
  public static prefix func ! (a: Filter) -> Filter {
    Filter(.not(a.expression), depth: a.depth + 1)
  }

  private var isAnd: Bool {
    switch content {
    case .one(.and): true
    case .one: false
    case .joined(let join): join.isAnd
    }
  }

  private var isOr: Bool {
    switch content {
    case .one(.or): true
    case .one: false
    case .joined(let join): !join.isAnd
    }
  }
}

extension Filter: CustomStringConvertible {
  /// A textual description of the filter.
  public var description: String { expression.description }
}
