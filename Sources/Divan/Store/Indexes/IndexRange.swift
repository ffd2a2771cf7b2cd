import DivanLog

/// Which values of an index are meant.
///
/// A range holds values of one type only: no text is greater than a number, and null is in no range but
/// ``all`` and ``equal(to:)``.
public struct IndexRange: Sendable, Hashable {
  /// One end of a range.
  struct End: Sendable, Hashable {
    var value: Value
    var isIncluded: Bool
  }

  enum Kind: Sendable, Hashable {
    case all
    case equal(Value)
    case between(End?, End?)
    case prefix(String)
  }

  let kind: Kind

  /// Whether a bound is no number, to which nothing is equal, and than which nothing is less or greater.
  private var isNothing: Bool {
    func isNaN(_ value: Value?) -> Bool {
      if case .double(let number) = value { number.isNaN } else { false }
    }
    return switch kind {
    case .all, .prefix: false
    case .equal(let value): isNaN(value)
    case .between(let lower, let upper): isNaN(lower?.value) || isNaN(upper?.value)
    }
  }

  /// Whether no document can have two entries in it.
  var isOneValue: Bool { if case .equal = kind { true } else { false } }

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
}

extension IndexRange {
  /// The keys between which the entries lie, behind what all entries of the index begin with; nil if there
  /// can be none.
  ///
  /// Values that are cut may lie there and not be meant: see ``contains(_:)``.
  func bounds(_ prefix: [UInt8]) -> (lower: KeyBound, upper: KeyBound)? {
    guard !isNothing else { return nil }
    switch kind {
    case .all: return (.inclusive(prefix), .end(ofPrefix: prefix))
    case .equal(let value):
      let key = prefix + IndexedValue(value).bytes
      return (.inclusive(key), .end(ofPrefix: key))
    case .prefix(let text):
      let key = prefix + IndexedValue.prefix(ofTexts: text)
      return (.inclusive(key), .end(ofPrefix: key))
    case .between(let lower, let upper):
      let types = [lower, upper].compactMap { $0.map { IndexedValue.type(of: $0.value) } }
      guard let type = types.first, types.allSatisfy({ $0 == type }),
        type != IndexedValue.type(of: .null)
      else { return nil }
      // All that begins like a value that is cut must be looked at.
      func key(_ end: End) -> [UInt8] {
        prefix + IndexedValue.whole(end.value).prefix(IndexedValue.cutSize)
      }
      return (
        lower.map { .inclusive(key($0)) } ?? .inclusive(prefix + [type]),
        upper.map { .end(ofPrefix: key($0)) } ?? .exclusive(prefix + [type + 0x10])
      )
    }
  }

  /// Whether a value with these bytes is meant; nil if that cannot be told, since something was cut off.
  func contains(_ bytes: SharedBytes) -> Bool? {
    func order(_ end: End) -> Int? {
      let whole = IndexedValue.whole(end.value)
      let value = bytes.array
      if value.count == IndexedValue.sizeLimit,
        value.prefix(IndexedValue.cutSize) == whole.prefix(IndexedValue.cutSize)
      {
        return nil
      }
      return value == whole ? 0 : value.lexicographicallyPrecedes(whole) ? -1 : 1
    }
    switch kind {
    case .all: return true
    // The bytes are those of this value, or the walk would not have come here.
    case .equal(let value): return bytes.array == IndexedValue(value).bytes
    case .prefix(let text):
      return IndexedValue.prefixSize(ofTexts: text) > IndexedValue.cutSize ? nil : true
    case .between(let lower, let upper):
      if let lower {
        guard let order = order(lower) else { return nil }
        if order < 0 || order == 0 && !lower.isIncluded { return false }
      }
      if let upper {
        guard let order = order(upper) else { return nil }
        if order > 0 || order == 0 && !upper.isIncluded { return false }
      }
      return true
    }
  }

  /// Whether a value is meant.
  func contains(_ value: Value) -> Bool {
    guard !isNothing else { return false }
    func order(_ end: End) -> Int {
      let (one, other) = (IndexedValue.whole(value), IndexedValue.whole(end.value))
      return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
    }
    switch kind {
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
