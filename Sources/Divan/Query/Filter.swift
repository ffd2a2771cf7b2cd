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
public struct Filter: Sendable {
  let expression: FilterExpression

  init(_ expression: FilterExpression) { self.expression = expression }
}

extension Filter {
  /// What every document fulfils.
  public static let all = Filter(.all)
  /// What none does.
  public static let none = Filter(.nothing)

  /// What fulfils both.
  public static func && (a: Filter, b: Filter) -> Filter {
    // As long as it is, and not as deep: filters are made in loops.
    Filter(.and(a.expression.andParts + b.expression.andParts))
  }

  /// What fulfils one of them, or both.
  public static func || (a: Filter, b: Filter) -> Filter {
    Filter(.or(a.expression.orParts + b.expression.orParts))
  }

  /// What does not fulfil it.
  public static prefix func ! (a: Filter) -> Filter { Filter(.not(a.expression)) }
}

extension Filter: CustomStringConvertible {
  /// The filter in words.
  public var description: String { expression.description }
}
