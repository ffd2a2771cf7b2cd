import DivanLog

/// A range of the values of an index.
///
/// ```swift
/// try database.addIndex(DocumentIndex("by list and date", on: "list", "due"))
/// let range = IndexRange.equal(to: "home").then("2026-01-01"..<"2027-01-01")
/// let ids = try database.snapshot().ids(by: "by list and date", range).collect()
/// ```
///
/// A range contains values of one type only: no string is greater than a number, and null is only
/// in ``all`` and ``equal(to:)``.
///
/// In an index of several properties, a range constrains the first one, and ``then(_:)`` adds the
/// next: `.equal(to: "home").then(..<date)`. A property without a constraint can have any
/// value.
public struct IndexRange: Sendable, Hashable {
  /// One end of a range.
  struct End: Sendable, Hashable {
    var value: Value
    var isIncluded: Bool
  }

  /// A constraint on one property.
  enum Kind: Sendable {
    case all
    case equal(Value)
    case between(End?, End?)
    case prefix(String)
  }

  /// The constraints on the first property of the index, the second, and so on; at least one.
  ///
  /// Only the last one can be more than one value; otherwise the entries would not be contiguous. A
  /// violation is refused when the range is used.
  let parts: [Kind]

  /// Constrains the first property.
  init(kind: Kind) { parts = [kind] }

  /// Constrains the first properties, at least one.
  init(parts: [Kind]) { self.parts = parts }

  /// Creates the range of the values from `first`, if given, up to `end`, which is not included.
  ///
  /// The values are of the type of the bounds. The range is empty if these have different types, or
  /// are in the wrong order. Without bounds it is ``all``.
  public init(from first: Value? = nil, upTo end: Value? = nil) {
    let lower = first.map { End(value: $0, isIncluded: true) }
    let upper = end.map { End(value: $0, isIncluded: false) }
    self.init(kind: lower == nil && upper == nil ? .all : .between(lower, upper))
  }

  /// Creates the range of the values from `first`, if given, through `last`, which is included.
  ///
  /// The values are of the type of the bounds. The range is empty if these have different types, or
  /// are in the wrong order.
  public init(from first: Value? = nil, through last: Value) {
    let lower = first.map { End(value: $0, isIncluded: true) }
    self.init(kind: .between(lower, End(value: last, isIncluded: true)))
  }

  /// The constraint on the last constrained property.
  var kind: Kind { parts[parts.count - 1] }

  /// Every document that has the property.
  public static let all = IndexRange(kind: .all)

  /// The documents with this value; numbers compare by value, however they are written.
  public static func equal(to value: Value) -> IndexRange { IndexRange(kind: .equal(value)) }

  /// The values greater than `value`, of the same type.
  public static func greater(than value: Value) -> IndexRange {
    IndexRange(kind: .between(End(value: value, isIncluded: false), nil))
  }

  /// The strings that begin with `prefix`, compared by UTF-8 bytes.
  public static func prefix(_ prefix: String) -> IndexRange {
    IndexRange(kind: .prefix(prefix))
  }

  /// Returns this range, with the next property of the index constrained to another range.
  ///
  /// ```swift
  /// let range = IndexRange.equal(to: "home").then("2026-01-01"..<"2027-01-01")
  /// ```
  ///
  /// Costs no more than a range of one property: the entries are contiguous. Therefore this range
  /// must be ``equal(to:)``, and all parts of `next` except the last must be too. Another range, or
  /// one with more properties than the index, is refused with ``DatabaseError/Code/invalidQuery``
  /// when it is used.
  ///
  /// - Parameter next: The range of the next property; a missing property counts as null.
  /// - Returns: A range with that many more properties.
  public func then(_ next: some IndexRangeExpression) -> IndexRange {
    IndexRange(parts: parts + next.indexRange.parts)
  }
}

extension IndexRange.Kind: Hashable {
  // Strings are compared by their bytes, as in documents.
  static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.all, .all): true
    case (.equal(let a), .equal(let b)): a == b
    case (.between(let a, let b), .between(let c, let d)): a == c && b == d
    case (.prefix(let a), .prefix(let b)): haveSameUTF8(a, b)
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .all: hasher.combine(0)
    case .equal(let value): hasher.combine(value)
    case .between(let lower, let upper):
      hasher.combine(lower)
      hasher.combine(upper)
    case .prefix(let text): hasher.combine(text)
    }
  }
}

// MARK: - Checking values

extension IndexRange {
  /// Throws if an index does not support this range.
  func check(against index: DocumentIndex) throws(DatabaseError) {
    guard parts.count <= index.paths.count else {
      throw DatabaseError(
        .invalidQuery,
        "the range has \(parts.count) properties, and the index \(index.name.debugDescription) has "
          + "\(index.paths.count)")
    }
    for number in 0..<parts.count - 1 where !parts[number].isOneValue {
      throw DatabaseError(
        .invalidQuery,
        "the range allows several values of a property before the last one",
        hint: "Put `equal(to:)` before each `then`")
    }
  }

  /// Whether the range is empty because a bound is NaN.
  var isNothing: Bool {
    for number in parts.indices where parts[number].isNothing { return true }
    return false
  }

  /// Whether the values of an entry, one for each property, are in the range.
  func contains(_ values: [Value]) -> Bool {
    values.count >= parts.count && zip(parts, values).allSatisfy { $0.contains($1) }
  }

  /// Whether a value of the first property is in the range, if no others are constrained.
  func contains(_ value: Value) -> Bool { contains([value]) }
}

extension IndexRange.Kind {
  /// Whether the constraint is a single value.
  var isOneValue: Bool { if case .equal = self { true } else { false } }

  /// Whether a bound is NaN, which no value equals, is less than or is greater than.
  fileprivate var isNothing: Bool {
    func isNaN(_ value: Value?) -> Bool {
      if case .double(let number) = value { number.isNaN } else { false }
    }
    return switch self {
    case .all, .prefix: false
    case .equal(let value): isNaN(value)
    case .between(let lower, let upper): isNaN(lower?.value) || isNaN(upper?.value)
    }
  }

  /// Whether a value is in the range.
  fileprivate func contains(_ value: Value) -> Bool {
    guard !isNothing else { return false }
    func order(_ end: IndexRange.End) -> Int {
      let (one, other) = (IndexedValue.whole(value), IndexedValue.whole(end.value))
      return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
    }
    switch self {
    case .all: return true
    case .equal(let other): return IndexedValue.whole(value) == IndexedValue.whole(other)
    case .prefix(let prefix):
      guard case .string(let text) = value else { return false }
      return text.utf8.starts(with: prefix.utf8)
    case .between(let lower, let upper):
      let type = IndexedValue.type(of: value)
      guard type != IndexedValue.type(of: .null) else { return false }
      if let lower {
        guard IndexedValue.type(of: lower.value) == type else { return false }
        let order = order(lower)
        if order < 0 || order == 0 && !lower.isIncluded { return false }
      }
      if let upper {
        guard IndexedValue.type(of: upper.value) == type else { return false }
        let order = order(upper)
        if order > 0 || order == 0 && !upper.isIncluded { return false }
      }
      return true
    }
  }
}
