import Divan

/// A condition of a selector on what a path leads to.
///
/// CouchDB rewrites selectors before it evaluates them, and some results follow from that only. It
/// moves each negation down to the tests: `{"$not": {"a": 1}}` becomes `{"a": {"$ne": 1}}`, which a
/// document without `a` does not match. It does not look into `$elemMatch`, `$allMatch` and
/// `$keyMapMatch`, so negations in there remain. ``rewritten`` does the same.
indirect enum SelectorCondition: Sendable {
  /// All of these; true if there are none.
  case all([SelectorCondition])
  /// Any of these; true if there are none, as in CouchDB.
  case any([SelectorCondition])
  /// `$nor`, which exists before the rewriting, and in the conditions on elements.
  case none([SelectorCondition])
  /// `$not`, which exists before the rewriting, and in the conditions on elements.
  case not(SelectorCondition)
  /// A condition on what a path leads to from here.
  case field([String], SelectorCondition)
  /// A test of a value.
  case test(SelectorTest)
  /// A test that a value must fail.
  case failedTest(SelectorTest)
}

extension SelectorCondition {
  /// The condition with its negations moved down to the tests.
  var rewritten: SelectorCondition {
    switch self {
    case .all(let conditions): .all(conditions.map(\.rewritten))
    case .any(let conditions): .any(conditions.map(\.rewritten))
    case .none(let conditions): .all(conditions.map(\.negated))
    case .not(let condition): condition.negated
    case .field(let path, let condition): .field(path, condition.rewritten)
    case .test, .failedTest: self
    }
  }

  private var negated: SelectorCondition {
    switch self {
    case .all(let conditions): .any(conditions.map(\.negated))
    case .any(let conditions): .all(conditions.map(\.negated))
    case .none(let conditions): .any(conditions.map(\.rewritten))
    case .not(let condition): condition.rewritten
    case .field(let path, let condition): .field(path, condition.negated)
    case .test(let test): test.opposite.map(SelectorCondition.test) ?? .failedTest(test)
    case .failedTest(let test): .test(test)
    }
  }

  /// Whether the condition is an empty combination and nothing else.
  var isEmptyCombination: Bool {
    switch self {
    case .all(let conditions), .any(let conditions): conditions.isEmpty
    case .field(_, let condition): condition.isEmptyCombination
    case .none, .not, .test, .failedTest: false
    }
  }

  /// The number of steps of all regular expressions that are matched in linear time.
  var patternSize: Int {
    switch self {
    case .all(let conditions), .any(let conditions), .none(let conditions):
      conditions.reduce(0) { $0 + $1.patternSize }
    case .not(let condition), .field(_, let condition): condition.patternSize
    case .test(let test), .failedTest(let test): test.patternSize
    }
  }

  /// Whether the condition is a test of the document itself, without a property.
  var lacksField: Bool {
    switch self {
    case .test, .failedTest: true
    case .all, .any, .none, .not, .field: false
    }
  }
}

// MARK: - Evaluation

extension SelectorCondition {
  func matches(
    _ target: SelectorTarget, _ clock: inout SelectorClock
  ) throws(SelectorFailure) -> Bool {
    try clock.step()
    switch self {
    case .all(let conditions):
      for condition in conditions where try !condition.matches(target, &clock) { return false }
      return true
    case .any(let conditions):
      for condition in conditions where try condition.matches(target, &clock) { return true }
      return conditions.isEmpty
    case .none: throw .unevaluated
    case .not(let condition): return try !condition.matches(target, &clock)
    case .field(let path, let condition):
      return try condition.matches(target.descended(path), &clock)
    case .test(let test):
      switch target {
      case .found(let value): return try test.accepts(value, &clock)
      case .missing: return test.wantsMissing
      case .unreachable: return false
      }
    case .failedTest(let test):
      guard case .found(let value) = target else { return false }
      return try !test.accepts(value, &clock)
    }
  }
}

/// What a path leads to.
enum SelectorTarget {
  case found(Value)
  /// An object on the path does not have the name.
  case missing
  /// The path leads through something that is not an object, or past the end of an array.
  case unreachable

  /// Returns what a path leads to from here: names, and indexes of elements.
  func descended(_ path: [String]) -> SelectorTarget {
    guard case .found(var value) = self else { return self }
    for name in path {
      switch value {
      case .object(let members):
        guard let member = members[name] else { return .missing }
        value = member
      case .array(let elements):
        guard let index = Int(name), elements.indices.contains(index) else { return .unreachable }
        value = elements[index]
      default: return .unreachable
      }
    }
    return .found(value)
  }
}
