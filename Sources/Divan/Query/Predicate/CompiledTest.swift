import DivanLog

/// A test of one value, prepared to run on stored bytes.
///
/// The types of values are null, truth value, number, text, array and object. Values of different
/// types are neither equal nor ordered.
struct CompiledTest: Sendable {
  private enum Kind: Sendable {
    case equal(ComparedValue)
    case order(ComparisonOperator.Order, ComparedValue)
    case oneOf(ComparedValues)
    case text(TextMatcher)
    case isMissing
  }

  private let kind: Kind

  init(_ test: ComparisonOperator) {
    kind =
      switch test {
      case .equal(let value): .equal(ComparedValue(value))
      case .order(let order, let value): .order(order, ComparedValue(value))
      case .oneOf(let values): .oneOf(ComparedValues(values))
      case .text(let match, let text, let ignored): .text(TextMatcher(match, text, ignored))
      case .isMissing: .isMissing
      }
  }

  /// Whether a missing property passes.
  var acceptsMissing: Bool {
    switch kind {
    case .equal(let constant): constant.value.isNull
    case .order, .text: false
    case .oneOf(let constants): constants.containsNull
    case .isMissing: true
    }
  }

  /// Whether the value in `range` passes.
  func accepts(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(DatabaseError) -> Bool {
    switch kind {
    case .equal(let constant): return try constant.order(of: bytes, range) == 0
    case .order(let order, let constant):
      guard !constant.value.isNull, let found = try constant.order(of: bytes, range) else {
        return false
      }
      return order.allows(found)
    case .oneOf(let constants): return try constants.contains(bytes, range)
    case .text(let matcher):
      guard let text = ValueFormat.text(bytes, range) else { return false }
      return matcher.matches(bytes.extracting(text))
    case .isMissing: return false
    }
  }

  /// Whether a text that is not part of a value passes: a document's ID.
  func accepts(text: Span<UInt8>) -> Bool {
    switch kind {
    case .equal(let constant): return constant.order(ofText: text) == 0
    case .order(let order, let constant):
      return constant.order(ofText: text).map { order.allows($0) } ?? false
    case .oneOf(let constants): return constants.contains(text: text)
    case .text(let matcher): return matcher.matches(text)
    case .isMissing: return false
    }
  }

  /// Whether a number that is not part of a value passes: the number of elements.
  func accepts(count: Int) -> Bool {
    let number = StoredNumber.int(Int64(count))
    switch kind {
    case .equal(let constant): return constant.order(of: number) == 0
    case .order(let order, let constant):
      return constant.order(of: number).map { order.allows($0) } ?? false
    case .oneOf(let constants): return constants.contains(number: number)
    case .text, .isMissing: return false
    }
  }
}

extension ComparisonOperator.Order {
  fileprivate func allows(_ order: Int) -> Bool {
    switch self {
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }
}

/// A constant that values are compared with.
///
/// It is a class, so that passing a test on does not copy it.
final class ComparedValue: Sendable {
  let value: Value
  private let number: StoredNumber?
  private let text: SharedBytes?

  init(_ value: Value) {
    self.value = value
    number = StoredNumber(value)
    text = value.stringValue.map { SharedBytes(utf8: $0) }
  }

  /// Returns how the value in `range` compares to this one; nil if their types differ.
  func order(of bytes: Span<UInt8>, _ range: Range<Int>) throws(DatabaseError) -> Int? {
    guard !range.isEmpty else { throw EncodedValue.damage(at: range.lowerBound) }
    if number != nil {
      return StoredNumber(bytes, range).flatMap { order(of: $0) }
    }
    if text != nil {
      return ValueFormat.text(bytes, range).flatMap { order(ofText: bytes.extracting($0)) }
    }
    let tag = bytes[range.lowerBound]
    switch value {
    case .null: return tag == ValueFormat.Tag.null ? 0 : nil
    case .bool(let isSo):
      guard tag == ValueFormat.Tag.no || tag == ValueFormat.Tag.yes else { return nil }
      return (tag == ValueFormat.Tag.yes ? 1 : 0) - (isSo ? 1 : 0)
    case .array, .object:
      let isArray = if case .array = value { true } else { false }
      guard tag & 0xF0 == (isArray ? ValueFormat.Tag.array : ValueFormat.Tag.object) else {
        return nil
      }
      let found = IndexedValue.whole(try EncodedValue.decode(bytes.extracting(range)))
      let whole = IndexedValue.whole(value)
      return compare(found.span, whole.span)
    default: return nil
    }
  }

  func order(of number: StoredNumber) -> Int? { self.number.flatMap { number.order(to: $0) } }

  func order(ofText bytes: Span<UInt8>) -> Int? {
    text.map { text in text.withSpan { compare(bytes, $0) } }
  }
}

/// A set of constants, one of which a value must equal, found by hashing.
struct ComparedValues: Sendable {
  private let members: Set<[UInt8]>
  let containsNull: Bool

  init(_ values: [Value]) {
    // Nothing equals NaN.
    let equals = values.filter { value in
      if case .double(let number) = value { !number.isNaN } else { true }
    }
    members = Set(equals.map { IndexedValue.whole($0) })
    containsNull = values.contains { $0.isNull }
  }

  func contains(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(DatabaseError) -> Bool {
    members.contains(IndexedValue.whole(try EncodedValue.decode(bytes.extracting(range))))
  }

  func contains(text: Span<UInt8>) -> Bool {
    members.contains(IndexedValue.whole(.string(String(validUTF8: text))))
  }

  func contains(number: StoredNumber) -> Bool {
    guard case .int(let number) = number else { return false }
    return members.contains(IndexedValue.whole(.int(number)))
  }
}
