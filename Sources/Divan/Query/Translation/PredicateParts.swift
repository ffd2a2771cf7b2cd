#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The translation of each part of a predicate into a filter.

extension PredicateExpressions.Variable: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard let known = translation.variables[key] else { throw PredicateTranslation.refusal(self) }
    return known
  }
}

/// Returns a part of a predicate, if it can be translated.
///
/// The function must be in the same file as the conformances that it finds. From a static library,
/// a linker takes only files from which something is referenced, and nothing else references this
/// one. So it must not be inlined either: `Tests/static-archive` links such a library.
@inline(never)
func translatablePart(_ expression: Any) -> (any TranslatablePredicate)? {
  expression as? any TranslatablePredicate
}

extension PredicateExpressions.Value: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    switch value {
    case let range as any PredicateRange: return try range.rangeTerm()
    case let value as any Encodable: return .constant(try Value(queryConstant: value))
    case let value as any Identifiable<String>: return .constant(.string(value.id))
    default: throw PredicateTranslation.refusal(self)
    }
  }
}

extension PredicateExpressions.NilLiteral: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    .constant(.null)
  }
}

extension PredicateExpressions.KeyPath: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    var path = QueryPath()
    let isSubject: Bool
    switch try translation.term(root) {
    case .subject: isSubject = true
    case .property(let known, _): (path, isSubject) = (known, false)
    default: throw PredicateTranslation.refusal(self)
    }
    if Root.Output.self is any _QueryElements.Type { return try measure(path) }
    let key: String?
    if let type = Root.Output.self as? any QueryKeyed.Type {
      if !isSubject { path = path.appending(.reference) }
      key = try type.queryKey(of: keyPath)
    } else if let type = Root.Output.self as? any Codable.Type {
      if isSubject {
        return .property(try CodableKeys.path(to: keyPath, in: type, from: path), Output.self)
      }
      key = try CodableKeys.key(of: keyPath, in: type)
    } else {
      throw PredicateTranslation.refusal(self)
    }
    if let key { return .property(path.appending(.key(key)), Output.self) }
    guard path.steps.last == .reference else { return .property(.documentID, Output.self) }
    path.steps.removeLast()
    return .property(path, Output.self)
  }

  /// Returns the number of elements of an array, or a test whether it is empty.
  ///
  /// The two are distinguished by their values for an empty array and for one with an element.
  private func measure(_ array: QueryPath) throws(DatabaseError) -> PredicateTerm {
    var path = array
    path.measure = .count
    let none = CodableKeys.sample(of: Root.Output.self, isAltered: false)?[keyPath: keyPath]
    let one = CodableKeys.sample(of: Root.Output.self, isAltered: true)?[keyPath: keyPath]
    if let none = none as? Int, let one = one as? Int, (none, one) == (0, 1) {
      return .property(path, Int.self)
    }
    if let none = none as? Bool, let one = one as? Bool, (none, one) == (true, false) {
      return .filter(.test(path, .equal(.int(0))))
    }
    throw PredicateTranslation.refusal(self)
  }
}

// MARK: - Truth

extension PredicateExpressions.Conjunction: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    .filter(.and([try translation.filter(lhs), try translation.filter(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    .filter(.or([try translation.filter(lhs), try translation.filter(rhs)]))
  }
}

extension PredicateExpressions.Negation: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    .filter(.not(try translation.filter(wrapped)))
  }
}

extension PredicateExpressions.Conditional: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    let test = try translation.filter(self.test)
    return .filter(
      .or([
        .and([test, try translation.filter(trueBranch)]),
        .and([.not(test), try translation.filter(falseBranch)]),
      ]))
  }
}

// MARK: - Comparing

extension PredicateExpressions.Equal: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    let (one, other) = (try translation.term(lhs), try translation.term(rhs))
    if let truth = PredicateTranslation.truth(of: one, is: other) { return .filter(truth) }
    return try PredicateTranslation.comparing(one, other, self) { path, value, _ in
      .test(path, .equal(value))
    }
  }
}

extension PredicateExpressions.NotEqual: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    let (one, other) = (try translation.term(lhs), try translation.term(rhs))
    if let truth = PredicateTranslation.truth(of: one, is: other) { return .filter(.not(truth)) }
    return try PredicateTranslation.comparing(one, other, self) { path, value, _ in
      .not(.test(path, .equal(value)))
    }
  }
}

extension PredicateExpressions.Comparison: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard Output.self == Bool.self, LHS.Output.self is any _QueryOrdered.Type else {
      throw PredicateTranslation.refusal(self)
    }
    let orders: (ComparisonOperator.Order, reversed: ComparisonOperator.Order)
    switch op {
    case .lessThan: orders = (.less, .greater)
    case .lessThanOrEqual: orders = (.lessOrEqual, .greaterOrEqual)
    case .greaterThan: orders = (.greater, .less)
    case .greaterThanOrEqual: orders = (.greaterOrEqual, .lessOrEqual)
    @unknown default: throw PredicateTranslation.refusal(self)
    }
    let (one, other) = (try translation.term(lhs), try translation.term(rhs))
    return try PredicateTranslation.comparing(one, other, self) { path, value, isReversed in
      .test(path, .order(isReversed ? orders.reversed : orders.0, value))
    }
  }
}

// MARK: - Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    let unwrapped: PredicateTerm
    let isThere: FilterExpression
    switch try translation.term(wrapped) {
    case .constant(.null): return .constant(.null)
    case .property(let path, _):
      unwrapped = .property(path, Wrapped.self)
      isThere = .not(.test(path, .equal(.null)))
    case .chain(let filter, let isReached): (unwrapped, isThere) = (.filter(filter), isReached)
    case .chainedCount(let path, let isReached):
      (unwrapped, isThere) = (.property(path, Int.self), isReached)
    case let known: return try translation.binding(variable.key, to: known).term(transform)
    }
    let end = try translation.binding(variable.key, to: unwrapped).term(transform)
    switch end {
    case .chain(let filter, let isFurtherThere):
      return .chain(.and([isThere, filter]), isThere: .and([isThere, isFurtherThere]))
    case .property(let path, _) where path.measure == .count:
      return .chainedCount(path, isThere: isThere)
    case .chainedCount(let path, let isFurtherThere):
      return .chainedCount(path, isThere: .and([isThere, isFurtherThere]))
    // If the chain ends in nil, its path finds nothing.
    case .property(let path, _) where unwrapped.leads(to: path): return end
    case .subject, .property, .constant, .range, .filter, .coalesced:
      guard let filter = PredicateTranslation.filter(of: end) else {
        throw PredicateTranslation.refusal(self)
      }
      return .chain(.and([isThere, filter]), isThere: isThere)
    }
  }
}

extension PredicateTerm {
  /// Whether this is a property on the way to another one, or that one itself.
  fileprivate func leads(to other: QueryPath) -> Bool {
    guard case .property(let path, _) = self else { return false }
    return path.measure == .value && other.steps.starts(with: path.steps)
  }
}

extension PredicateExpressions.ForcedUnwrap: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    // Nil is not ordered relative to any value, so nothing has to fail.
    switch try translation.term(inner) {
    case .chainedCount(let path, _): .property(path, Int.self)
    case .property(let path, _): .property(path, Output.self)
    case let term: term
    }
  }
}

extension PredicateExpressions.NilCoalesce: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .constant(let value) = try translation.term(rhs), !value.isNull else {
      throw PredicateTranslation.refusal(self)
    }
    guard case .bool(let isSo) = value else {
      switch try translation.term(lhs) {
      case .constant(let known): return .constant(known.isNull ? value : known)
      case .property(let path, _):
        return .coalesced(path, isThere: .not(.test(path, .equal(.null))), value)
      case .chainedCount(let path, let isThere):
        return .coalesced(path, isThere: isThere, value)
      default: throw PredicateTranslation.refusal(self)
      }
    }
    switch try translation.term(lhs) {
    case .constant(.null): return .constant(.bool(isSo))
    case .filter(let filter): return .filter(filter)
    case .chain(let filter, let isThere):
      return .filter(isSo ? .or([.not(isThere), filter]) : filter)
    // A truth value that may be nil.
    case .property(let path, let type) where type == Bool.self || type == Bool?.self:
      return .filter(
        isSo
          ? .not(.test(path, .equal(.bool(false)))) : .test(path, .equal(.bool(true))))
    case .subject, .property, .constant, .range, .coalesced, .chainedCount:
      throw PredicateTranslation.refusal(self)
    }
  }
}

// MARK: - Texts, arrays, ranges

extension PredicateExpressions.CollectionContainsCollection: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .property(let path, _) = try translation.term(base),
      case .constant(.string(let text)) = try translation.term(other)
    else { throw PredicateTranslation.refusal(self) }
    return .filter(.test(path, .text(.anywhere, text, [])))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .property(let path, _) = try translation.term(base),
      case .constant(.string(let text)) = try translation.term(prefix)
    else { throw PredicateTranslation.refusal(self) }
    return .filter(.test(path, .text(.beginning, text, [])))
  }
}

extension PredicateExpressions.SequenceContains: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    switch (try translation.term(sequence), try translation.term(element)) {
    case (.property(let path, let type), .constant(let value)) where type is any _QueryElements.Type:
      return .filter(.anyElement(path, .test(QueryPath(), .equal(value))))
    case (.constant(.array(let values)), .property(let path, _)):
      return .filter(.test(path, .oneOf(values)))
    default: throw PredicateTranslation.refusal(self)
    }
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .property(let path, let type) = try translation.term(sequence),
      type is any _QueryElements.Type
    else { throw PredicateTranslation.refusal(self) }
    var inner = PredicateTranslation()
    // Paths of conditions on elements begin at the element; nothing outside of it can be tested
    // there.
    inner.variables[variable.key] = .property(QueryPath(), LHS.Output.Element.self)
    return .filter(.anyElement(path, try inner.filter(test)))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .property(let path, let type) = try translation.term(sequence),
      type is any _QueryElements.Type
    else { throw PredicateTranslation.refusal(self) }
    var inner = PredicateTranslation()
    // Paths of conditions on elements begin at the element; nothing outside of it can be tested
    // there.
    inner.variables[variable.key] = .property(QueryPath(), LHS.Output.Element.self)
    return .filter(.everyElement(path, try inner.filter(test)))
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    // The bounds are compared as they are stored, which for other types is not their own order.
    guard Element.Output.self is any _QueryOrdered.Type else {
      throw PredicateTranslation.refusal(self)
    }
    guard case .range(let lower, let upper, let includesUpper) = try translation.term(range),
      case .property(let path, _) = try translation.term(element)
    else { throw PredicateTranslation.refusal(self) }
    return .filter(
      .and([
        .test(path, .order(.greaterOrEqual, lower)),
        .test(path, .order(includesUpper ? .lessOrEqual : .less, upper)),
      ]))
  }
}

extension PredicateExpressions.Range: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .constant(let low) = try translation.term(lower),
      case .constant(let high) = try translation.term(upper)
    else { throw PredicateTranslation.refusal(self) }
    return .range(lower: low, upper: high, includesUpper: false)
  }
}

extension PredicateExpressions.ClosedRange: TranslatablePredicate {
  func term(_ translation: PredicateTranslation) throws(DatabaseError) -> PredicateTerm {
    guard case .constant(let low) = try translation.term(lower),
      case .constant(let high) = try translation.term(upper)
    else { throw PredicateTranslation.refusal(self) }
    return .range(lower: low, upper: high, includesUpper: true)
  }
}

/// A range that was created outside of a predicate.
private protocol PredicateRange {
  func rangeTerm() throws(DatabaseError) -> PredicateTerm
}

extension Range: PredicateRange where Bound: _QueryOrdered {
  fileprivate func rangeTerm() throws(DatabaseError) -> PredicateTerm {
    .range(
      lower: try Value(queryConstant: lowerBound), upper: try Value(queryConstant: upperBound),
      includesUpper: false)
  }
}

extension ClosedRange: PredicateRange where Bound: _QueryOrdered {
  fileprivate func rangeTerm() throws(DatabaseError) -> PredicateTerm {
    .range(
      lower: try Value(queryConstant: lowerBound), upper: try Value(queryConstant: upperBound),
      includesUpper: true)
  }
}
