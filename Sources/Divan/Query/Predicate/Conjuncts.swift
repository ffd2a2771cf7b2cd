/// The parts of a filter that must all be true, which are matched with indexes.
struct Conjuncts {
  let parts: [FilterExpression]
  /// Other conditions that all matching documents meet, and that another part of the plan tests.
  let given: [FilterExpression]

  init(_ parts: [FilterExpression], given: [FilterExpression] = []) {
    self.parts = parts
    self.given = given
  }

  /// Whether no document can match all parts.
  var areNothing: Bool { parts.contains { if case .nothing = $0 { true } else { false } } }

  /// Returns the residual predicate: the parts that are not covered.
  ///
  /// Parts that search text come last, because analysing text takes longer than any other test.
  func residual(without covered: ConjunctSet) -> FilterExpression {
    var residual: [FilterExpression] = []
    var searches: [FilterExpression] = []
    for (number, part) in parts.enumerated() where !covered.contains(number) {
      if part.searchesText { searches.append(part) } else { residual.append(part) }
    }
    return .joining(residual + searches)
  }

  /// Whether documents that match all parts meet a condition.
  func imply(_ condition: IndexCondition) -> Bool {
    parts.contains { $0.implies(condition) } || given.contains { $0.implies(condition) }
  }

  /// Whether documents that match all parts have a property, which may be null.
  func implyProperty(_ path: [String]) -> Bool {
    let isPresent = IndexCondition(path: path, .isPresent)
    func implies(_ part: FilterExpression) -> Bool {
      if case .not(.test(let other, .isMissing)) = part { return other.leads(to: path) }
      return part.implies(isPresent)
    }
    return parts.contains(where: implies) || given.contains(where: implies)
  }

  /// Returns the constant that a property must equal, if there is one.
  func constant(_ path: QueryPath) -> Value? {
    func constant(_ part: FilterExpression) -> Value? {
      if case .test(path, .equal(let value)) = part, !value.isNotANumber { value } else { nil }
    }
    for part in parts { if let value = constant(part) { return value } }
    for part in given { if let value = constant(part) { return value } }
    return nil
  }
}

/// A set of parts of a filter, by their numbers.
///
/// A set contains only the first 64 parts. A later part is therefore tested for every document,
/// even if an index has covered it.
struct ConjunctSet: Equatable, Sendable {
  private var bits: UInt64 = 0

  init() {}
  init(_ number: Int) { insert(number) }
  init(_ numbers: some Sequence<Int>) { for number in numbers { insert(number) } }

  private static func bit(_ number: Int) -> UInt64 { number < 64 ? 1 << UInt64(number) : 0 }

  var count: Int { bits.nonzeroBitCount }
  var isEmpty: Bool { bits == 0 }

  func contains(_ number: Int) -> Bool { bits & ConjunctSet.bit(number) != 0 }
  func isSubset(of other: ConjunctSet) -> Bool { bits & ~other.bits == 0 }
  func subtracting(_ other: ConjunctSet) -> ConjunctSet {
    var set = self
    set.bits &= ~other.bits
    return set
  }

  mutating func insert(_ number: Int) { bits |= ConjunctSet.bit(number) }
  mutating func remove(_ number: Int) { bits &= ~ConjunctSet.bit(number) }
  mutating func formUnion(_ other: ConjunctSet) { bits |= other.bits }
}

extension ConjunctSet: Sequence {
  /// The numbers, ascending.
  struct Iterator: IteratorProtocol {
    fileprivate var left: UInt64

    mutating func next() -> Int? {
      guard left != 0 else { return nil }
      defer { left &= left - 1 }
      return left.trailingZeroBitCount
    }
  }

  func makeIterator() -> Iterator { Iterator(left: bits) }
}
