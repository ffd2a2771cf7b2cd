import DivanLog

/// Which values of an index are meant.
///
/// A range holds values of one type only: no text is greater than a number, and null is in no range but
/// ``all`` and ``equal(to:)``.
///
/// Of an index of several properties a range asks for the first one, and for the others what ``then(_:)`` adds:
/// `.equal(to: "home").then(.less(than: date))`. What nothing is asked of may be anything.
public struct IndexRange: Sendable, Hashable {
  /// One end of a range.
  struct End: Sendable, Hashable {
    var value: Value
    var isIncluded: Bool
  }

  /// What is asked of one property.
  enum Kind: Sendable {
    case all
    case equal(Value)
    case between(End?, End?)
    case prefix(String)
  }

  /// What is asked of the first property of the index, of the second, and so on; there is one part at least.
  ///
  /// Only the last one can be more than one value, or the entries would not lie together; what breaks that is refused
  /// when it is asked.
  let parts: [Kind]

  /// Asks something of the first property.
  init(kind: Kind) { parts = [kind] }

  /// Asks something of the first properties; of at least one.
  init(parts: [Kind]) { self.parts = parts }

  /// What is asked of the last property of which anything is asked.
  var kind: Kind { parts[parts.count - 1] }

  /// Every document that has the property.
  public static let all = IndexRange(kind: .all)

  /// The documents with this value; numbers are equal however they are written.
  public static func equal(to value: Value) -> IndexRange { IndexRange(kind: .equal(value)) }

  /// The values of the type of `first` from `first` on.
  public static func from(_ first: Value) -> IndexRange {
    IndexRange(kind: .between(End(value: first, isIncluded: true), nil))
  }

  /// The values from `first` up to `end`, which is not included.
  ///
  /// Of two types there are none between.
  public static func from(_ first: Value, upTo end: Value) -> IndexRange {
    IndexRange(
      kind: .between(End(value: first, isIncluded: true), End(value: end, isIncluded: false)))
  }

  /// The values from `first` through `last`, which is included.
  ///
  /// Of two types there are none between.
  public static func from(_ first: Value, through last: Value) -> IndexRange {
    IndexRange(
      kind: .between(End(value: first, isIncluded: true), End(value: last, isIncluded: true)))
  }

  /// The values of the type of `value` that are greater.
  public static func greater(than value: Value) -> IndexRange {
    IndexRange(kind: .between(End(value: value, isIncluded: false), nil))
  }

  /// The values of the type of `value` that are less.
  public static func less(than value: Value) -> IndexRange {
    IndexRange(kind: .between(nil, End(value: value, isIncluded: false)))
  }

  /// The values of the type of `last` through `last`, which is included.
  public static func through(_ last: Value) -> IndexRange {
    IndexRange(kind: .between(nil, End(value: last, isIncluded: true)))
  }

  /// The texts that begin with `prefix`, byte by byte of their UTF-8.
  public static func prefix(_ prefix: String) -> IndexRange {
    IndexRange(kind: .prefix(prefix))
  }

  /// What this range means, if the next property of the index is in another one.
  ///
  /// ```swift
  /// let range = IndexRange.equal(to: "home").then(.from("2026-01-01", upTo: "2027-01-01"))
  /// ```
  ///
  /// Costs no more than a range of one property: the entries lie together. Therefore this one must be
  /// ``equal(to:)``, and whatever `next` is made of but for its end; a range of which that is not true, or that asks for
  /// more properties than the index has, is refused with ``DatabaseError/Code/invalidQuery`` when an index is asked for it.
  ///
  /// - Parameter next: which values of the next property are meant; what a document lacks counts as null.
  /// - Returns: a range of that many properties more.
  public func then(_ next: IndexRange) -> IndexRange { IndexRange(parts: parts + next.parts) }
}

extension IndexRange.Kind: Hashable {
  // Texts are told apart by their bytes, as in documents.
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

// MARK: - Asking values

extension IndexRange {
  /// Throws if an index cannot be asked for this range.
  func check(against index: DocumentIndex) throws(DatabaseError) {
    guard parts.count <= index.paths.count else {
      throw DatabaseError(
        .invalidQuery,
        "the range asks for \(parts.count) properties, and the index \(index.name.debugDescription) has "
          + "\(index.paths.count)")
    }
    for number in 0..<parts.count - 1 where !parts[number].isOneValue {
      throw DatabaseError(
        .invalidQuery,
        "the range asks for more than one value of a property and for values of the next one",
        hint: "Put `equal(to:)` before each `then`")
    }
  }

  /// Whether no value is in it, since a bound is no number.
  var isNothing: Bool {
    for number in parts.indices where parts[number].isNothing { return true }
    return false
  }

  /// Whether the values of an entry are meant: of each property one.
  func contains(_ values: [Value]) -> Bool {
    values.count >= parts.count && zip(parts, values).allSatisfy { $0.contains($1) }
  }

  /// Whether a value of the first property is meant, if nothing is asked of others.
  func contains(_ value: Value) -> Bool { contains([value]) }
}

extension IndexRange.Kind {
  /// Whether it is one value.
  var isOneValue: Bool { if case .equal = self { true } else { false } }

  /// Whether a bound is no number, to which nothing is equal, and than which nothing is less or greater.
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

  /// Whether a value is meant.
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
