import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Query {
  /// Returns the query, restricted to documents that also match a predicate.
  ///
  /// ```swift
  /// try query.filter(#Predicate { !$0.done && $0.title.contains("milk") })
  /// ```
  ///
  /// The predicate is translated into a ``Filter``, whose rules for null, missing properties and
  /// the order of texts apply. It may contain `==`, `!=`, `<` and the other comparisons, `&&`,
  /// `||`, `!`, `contains`, `starts(with:)`, `allSatisfy`, `contains(where:)`, ranges, optional
  /// chaining, `!` and conditionals, with properties on one side and constants on the other. A
  /// predicate cannot search text: add ``QueryProperty/matches(_:index:)`` as another filter.
  ///
  /// - Throws: ``DatabaseError/Code/invalidQuery`` if a part of it cannot be run; it names the
  ///   part.
  public func filter(_ predicate: Predicate<Subject>) throws -> Query {
    var translation = PredicateTranslation()
    translation.variables[predicate.variable.key] = .subject
    let filter = try translation.filter(predicate.expression)
    try filter.refuse()
    return self.filter(Filter(filter))
  }
}

/// A translation of a predicate's expressions into a filter.
struct PredicateTranslation {
  /// The terms that variables represent.
  var variables: [PredicateExpressions.VariableID: PredicateTerm] = [:]

  /// Returns the term of an expression, if filters support it.
  func term(_ expression: Any) throws(DatabaseError) -> PredicateTerm {
    guard let translatable = translatablePart(expression) else {
      throw PredicateTranslation.refusal(expression)
    }
    return try translatable.term(self)
  }

  func filter(_ expression: Any) throws(DatabaseError) -> FilterExpression {
    guard let filter = PredicateTranslation.filter(of: try term(expression)) else {
      throw PredicateTranslation.refusal(expression)
    }
    return filter
  }

  /// Returns the filter for a term; nil if the term is not a condition.
  static func filter(of term: PredicateTerm) -> FilterExpression? {
    switch term {
    case .filter(let filter), .chain(let filter, _): filter
    case .constant(let value): value.boolValue.map { $0 ? .all : .nothing }
    // A truth value by itself.
    case .property(let path, let type) where type == Bool.self: .test(path, .equal(.bool(true)))
    case .subject, .property, .range, .coalesced, .chainedCount: nil
    }
  }

  static func refusal(_ expression: Any) -> DatabaseError {
    var part = "\(type(of: expression))"
    // Without its generic arguments.
    if let end = part.firstIndex(of: "<") { part = String(part[..<end]) }
    return DatabaseError(
      .invalidQuery, "the part \(part) of a predicate cannot be run",
      hint: "Compare properties with constants, or filter the results in code")
  }

  /// Returns the translation with a variable that represents a term.
  func binding(
    _ variable: PredicateExpressions.VariableID, to term: PredicateTerm
  ) -> PredicateTranslation {
    var inner = self
    inner.variables[variable] = term
    return inner
  }

  /// Returns the filter that compares an optional chain or a truth value with a constant.
  ///
  /// Returns nil if it is not such a comparison.
  static func truth(of part: PredicateTerm, is constant: PredicateTerm) -> FilterExpression? {
    switch (part, constant) {
    case (.filter(let filter), .constant(.bool(let isSo))): isSo ? filter : .not(filter)
    case (.chain(let filter, let isThere), .constant(.bool(let isSo))):
      isSo ? filter : .and([isThere, .not(filter)])
    case (.chain(_, let isThere), .constant(.null)),
      (.chainedCount(_, let isThere), .constant(.null)):
      .not(isThere)
    case (.chainedCount(let path, let isThere), .constant(let count)):
      .and([isThere, .test(path, .equal(count))])
    default: nil
    }
  }

  /// Returns the filter that compares a property with a constant, in either order.
  static func comparing(
    _ a: PredicateTerm, _ b: PredicateTerm, _ whole: Any,
    _ test: (QueryPath, Value, _ isReversed: Bool) -> FilterExpression
  ) throws(DatabaseError) -> PredicateTerm {
    switch (a, b) {
    case (.property(let path, _), .constant(let value)): return .filter(test(path, value, false))
    case (.constant(let value), .property(let path, _)): return .filter(test(path, value, true))
    case (.coalesced(let path, let isThere, let other), .constant(let value)):
      return .filter(try coalescing(test(path, value, false), isThere, other))
    case (.constant(let value), .coalesced(let path, let isThere, let other)):
      return .filter(try coalescing(test(path, value, true), isThere, other))
    default: throw PredicateTranslation.refusal(whole)
    }
  }

  /// Returns a test that applies to the property if it exists, and to another value if it does not.
  private static func coalescing(
    _ test: FilterExpression, _ isThere: FilterExpression, _ other: Value
  ) throws(DatabaseError) -> FilterExpression {
    try holds(test, of: other) ? .or([.not(isThere), test]) : .and([isThere, test])
  }

  /// Whether a value passes the test of a property.
  private static func holds(
    _ expression: FilterExpression, of value: Value
  ) throws(DatabaseError) -> Bool {
    switch expression {
    case .test(_, let test):
      let stored = try ValueEncoder.encode(value)
      return try stored.withSpan { (bytes) throws(DatabaseError) in
        try CompiledTest(test).accepts(bytes, 0..<bytes.count)
      }
    case .not(let part): return try !holds(part, of: value)
    default: throw refusal(expression)
    }
  }
}

/// The translation of a part of a predicate.
enum PredicateTerm {
  /// The document that the predicate tests.
  case subject
  case property(QueryPath, Any.Type)
  case constant(Value)
  case range(lower: Value, upper: Value, includesUpper: Bool)
  case filter(FilterExpression)
  /// A condition at the end of an optional chain, and whether the chain reaches its end.
  ///
  /// The condition is false if the chain ends in nil.
  case chain(FilterExpression, isThere: FilterExpression)
  /// A property, and the value that replaces it if it is null or missing.
  case coalesced(QueryPath, isThere: FilterExpression, Value)
  /// The number of elements at the end of an optional chain; nil if the chain ends in nil.
  case chainedCount(QueryPath, isThere: FilterExpression)
}

/// A part of a predicate that can be translated.
protocol TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm
}

/// A type whose values are stored as separate documents, to which others refer.
///
/// It provides the keys under which their properties are stored.
protocol QueryKeyed {
  /// Returns the key of the property at a key path; nil for the ID of the document.
  static func queryKey(of path: AnyKeyPath) throws(DatabaseError) -> String?
}
