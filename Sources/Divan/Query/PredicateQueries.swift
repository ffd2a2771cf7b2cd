import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Query {
  /// Only what also fulfils a predicate.
  ///
  /// ```swift
  /// try query.filter(#Predicate { !$0.done && $0.title.contains("milk") })
  /// ```
  ///
  /// It is translated into a ``Filter``, with what that means of null, of missing properties and of the order of texts:
  /// `==`, `!=`, `<` and its like, `&&`, `||`, `!`, `contains`, `starts(with:)`, `allSatisfy`, `contains(where:)`, ranges,
  /// optional chaining, `!` and conditions are understood, with properties on one side and constants on the other.
  ///
  /// - Throws: ``DatabaseError/Code/invalidQuery`` if a part of it cannot be run, naming the part.
  public func filter(_ predicate: Predicate<Subject>) throws -> Query {
    var translation = PredicateTranslation()
    translation.variables[predicate.variable.key] = .subject
    let filter = try translation.filter(predicate.expression)
    try filter.refuse()
    return self.filter(Filter(filter))
  }
}

/// A predicate's expressions on their way to a filter.
struct PredicateTranslation {
  /// What variables stand for.
  var variables: [PredicateExpressions.VariableID: PredicateTerm] = [:]

  /// What an expression is, as far as filters know such a thing.
  func term(_ expression: Any) throws(DatabaseError) -> PredicateTerm {
    guard let known = translatablePart(expression) else {
      throw PredicateTranslation.refusal(expression)
    }
    return try known.term(self)
  }

  func filter(_ expression: Any) throws(DatabaseError) -> FilterExpression {
    switch try term(expression) {
    case .filter(let filter), .chain(let filter, _): return filter
    case .constant(let value) where value.boolValue != nil:
      return value.boolValue == true ? .all : .nothing
    // A truth value by itself.
    case .property(let path, let type) where type == Bool.self:
      return .test(path, .equal(.bool(true)))
    default: throw PredicateTranslation.refusal(expression)
    }
  }

  static func refusal(_ expression: Any) -> DatabaseError {
    var part = "\(type(of: expression))"
    // Without the types of what is in it.
    if let end = part.firstIndex(of: "<") { part = String(part[..<end]) }
    return DatabaseError(
      .invalidQuery, "the part \(part) of a predicate cannot be run",
      hint: "Compare properties with constants, or filter the results in code")
  }

  /// The same with a variable that stands for something.
  func binding(
    _ variable: PredicateExpressions.VariableID, to term: PredicateTerm
  ) -> PredicateTranslation {
    var inner = self
    inner.variables[variable] = term
    return inner
  }

  /// The filter of a comparison of an optional chain, or of what is true of a part, with a constant; nil if it is no such
  /// comparison.
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

  /// The filter of a comparison of a property with a constant, whichever is first.
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

  /// What a test of a property says where that is there, and what it says of another value where it is not.
  private static func coalescing(
    _ test: FilterExpression, _ isThere: FilterExpression, _ other: Value
  ) throws(DatabaseError) -> FilterExpression {
    try holds(test, of: other) ? .or([.not(isThere), test]) : .and([isThere, test])
  }

  /// Whether a value passes what is asked of a property.
  private static func holds(
    _ expression: FilterExpression, of value: Value
  ) throws(DatabaseError) -> Bool {
    switch expression {
    case .test(_, let test):
      let stored = try ValueCoding.encode(value)
      return try stored.withSpan { (bytes) throws(DatabaseError) in
        try CompiledTest(test).accepts(bytes, 0..<bytes.count)
      }
    case .not(let part): return try !holds(part, of: value)
    default: throw refusal(expression)
    }
  }
}

/// What a part of a predicate is.
enum PredicateTerm {
  /// The document that the predicate is about.
  case subject
  case property(QueryPath, Any.Type)
  case constant(Value)
  case range(lower: Value, upper: Value, includesUpper: Bool)
  case filter(FilterExpression)
  /// What is true at the end of an optional chain, which is false where the chain ends in nil, and where it does not.
  case chain(FilterExpression, isThere: FilterExpression)
  /// A property, and what stands for it where it is null or missing.
  case coalesced(QueryPath, isThere: FilterExpression, Value)
  /// How many elements there are at the end of an optional chain; nil where the chain ends in nil.
  case chainedCount(QueryPath, isThere: FilterExpression)
}

/// The parts of predicates that are understood.
protocol TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm
}

/// A type whose values are stored as documents of their own, to which others refer: it says under which keys their
/// properties are stored.
protocol QueryKeyed {
  /// The key of the property at a key path; nil for the ID of the document.
  static func queryKey(of path: AnyKeyPath) throws(DatabaseError) -> String?
}
