/// Which documents are meant: what comparisons of properties and `&&`, `||` and `!` make.
///
/// ```swift
/// query.filter { $0.done == false && ($0.priority > 3 || $0.tags.contains("home")) }
/// ```
///
/// A filter looks at documents as they are stored. Numbers are equal and in order however they are written; texts by
/// the bytes of their UTF-8, without regard to any language. `<` and the like are false of null, of a missing property
/// and of a value of another type, and `!` makes that true: `!($0.year < 1920)` is true of a film without a year.
/// `== nil` is true of null and of what is missing.
///
/// Any number of filters may be joined with `&&`, or with `||`. In each other these and `!` are 100 deep at most; a query of
/// a filter that is deeper is refused.
public struct Filter: Sendable {
  private let content: Content
  /// How many of `&&`, `||` and `!` are in each other.
  private let depth: Int

  /// More than that would take more of a thread's stack than there may be.
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

  /// What it is joined of, if it is.
  var join: FilterJoin? { if case .joined(let join) = content { join } else { nil } }

  private static let isTooDeep = DatabaseError(
    .invalidQuery, "a filter is more than \(depthLimit) deep",
    hint: "Join what is alike with one && or ||, instead of one in the other")
}

extension Filter {
  /// What every document fulfils.
  public static let all = Filter(.all)
  /// What none does.
  public static let none = Filter(.nothing)

  /// What fulfils both.
  public static func && (a: Filter, b: Filter) -> Filter {
    // As long as it is, and not as deep: filters are made in loops.
    Filter(
      FilterJoin(isAnd: true, a, b),
      depth: max(a.isAnd ? a.depth : a.depth + 1, b.isAnd ? b.depth : b.depth + 1))
  }

  /// What fulfils one of them, or both.
  public static func || (a: Filter, b: Filter) -> Filter {
    Filter(
      FilterJoin(isAnd: false, a, b),
      depth: max(a.isOr ? a.depth : a.depth + 1, b.isOr ? b.depth : b.depth + 1))
  }

  /// What does not fulfil it.
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
  /// The filter in words.
  public var description: String { expression.description }
}
