import DivanLog

// Whether a partial index has all documents that match a filter.

extension FilterExpression {
  /// Whether every document that matches this meets the condition, if the two alone show it.
  func implies(_ condition: IndexCondition) -> Bool {
    switch self {
    case .nothing: true
    case .and(let parts): parts.contains { $0.implies(condition) }
    case .or(let parts): parts.allSatisfy { $0.implies(condition) }
    case .test(let path, let test):
      path.leads(to: condition.path) && test.implies(condition.test)
    case .not(.test(let path, .equal(.null))):
      path.leads(to: condition.path) && condition.test == .isPresent
    case .not(.or(let parts)):
      parts.contains { FilterExpression.not($0).implies(condition) }
    case .not(.not(let part)): part.implies(condition)
    // An array with such an element exists.
    case .anyElement(let path, _):
      path.leads(to: condition.path) && condition.test == .isPresent
    // Only text matches; that of attachments is no property.
    case .fullText(let text, _):
      condition.test == .isPresent && text.path.map { haveSameNames($0, condition.path) } ?? false
        && !haveSameNames(condition.path, DocumentIndex.attachmentsPath)
    case .all, .not, .everyElement, .custom, .refused: false
    }
  }

  /// Whether this and the condition are the same.
  func isSame(as condition: IndexCondition) -> Bool {
    switch self {
    case .test(let path, let test):
      path.leads(to: condition.path) && test.isSame(as: condition.test)
    case .not(.test(let path, .equal(.null))):
      path.leads(to: condition.path) && condition.test == .isPresent
    default: false
    }
  }
}

extension ComparisonOperator {
  /// Whether a value that passes this test meets a condition.
  fileprivate func implies(_ condition: IndexCondition.Test) -> Bool {
    switch self {
    case .equal(let value): value.isNotANumber || condition.accepts(value)
    case .oneOf(let values):
      values.allSatisfy { $0.isNotANumber || condition.accepts($0) }
    case .order(let order, let value): condition.holds(order, value)
    case .text(let match, let text, let ignored):
      switch condition {
      // Only texts pass.
      case .isPresent: true
      case .hasPrefix(let prefix):
        match == .beginning && ignored == [] && text.utf8.starts(with: prefix.utf8)
      default: false
      }
    case .isMissing: false
    }
  }

  fileprivate func isSame(as condition: IndexCondition.Test) -> Bool {
    func areSame(_ a: Value, _ b: Value) -> Bool {
      // Identical values decide at once; numbers may be equal without being identical.
      !a.isNotANumber && (a == b || IndexedValue.whole(a) == IndexedValue.whole(b))
    }
    return switch (self, condition) {
    case (.equal(let a), .equal(let b)): areSame(a, b)
    case (.order(.less, let a), .less(let b)),
      (.order(.lessOrEqual, let a), .lessOrEqual(let b)),
      (.order(.greater, let a), .greater(let b)),
      (.order(.greaterOrEqual, let a), .greaterOrEqual(let b)):
      areSame(a, b)
    case (.text(.beginning, let a, []), .hasPrefix(let b)): haveSameUTF8(a, b)
    case (.equal(let a), .isIn(let b)): b.count == 1 && areSame(a, b[0])
    case (.oneOf(let a), .isIn(let b)):
      a == b
        || a.count == b.count && Set(a.map(IndexedValue.whole)) == Set(b.map(IndexedValue.whole))
    default: false
    }
  }
}

extension IndexCondition.Test {
  /// The bound that a condition of order sets for values.
  private var bound: (order: ComparisonOperator.Order, value: Value)? {
    switch self {
    case .less(let value): (.less, value)
    case .lessOrEqual(let value): (.lessOrEqual, value)
    case .greater(let value): (.greater, value)
    case .greaterOrEqual(let value): (.greaterOrEqual, value)
    case .equal, .isPresent, .hasPrefix, .isIn: nil
    }
  }

  /// Whether the condition holds for every value that compares to `value` in this order.
  fileprivate func holds(_ order: ComparisonOperator.Order, _ value: Value) -> Bool {
    if value.isNotANumber || value.isNull { return true }
    if self == .isPresent { return true }
    guard let bound, let found = compared(value, bound.value) else { return false }
    return switch (order, bound.order) {
    case (.less, .less), (.less, .lessOrEqual), (.lessOrEqual, .lessOrEqual): found <= 0
    case (.lessOrEqual, .less): found < 0
    case (.greater, .greater), (.greater, .greaterOrEqual), (.greaterOrEqual, .greaterOrEqual):
      found >= 0
    case (.greaterOrEqual, .greater): found > 0
    default: false
    }
  }

  /// Returns how a value compares to another; nil if their types differ.
  private func compared(_ value: Value, _ other: Value) -> Int? {
    guard IndexedValue.type(of: value) == IndexedValue.type(of: other), !other.isNotANumber,
      !other.isNull
    else { return nil }
    let (one, two) = (IndexedValue.whole(value), IndexedValue.whole(other))
    return one == two ? 0 : one.lexicographicallyPrecedes(two) ? -1 : 1
  }
}
