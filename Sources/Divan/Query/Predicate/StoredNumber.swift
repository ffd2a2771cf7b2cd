import DivanLog

/// A number with the precision of its stored form.
enum StoredNumber: Sendable, Hashable {
  case int(Int64)
  /// A number greater than any `Int64`.
  case unsigned(UInt64)
  case double(Double)

  /// Creates a number; nil if the value is not one.
  init?(_ value: Value) {
    switch value {
    case .int(let number): self = .int(number)
    case .unsigned(let number): self = .unsigned(number)
    case .double(let number): self = .double(number)
    default: return nil
    }
  }

  /// Creates the number in `range` of stored bytes; nil if another value is there.
  init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    if let number = ValueFormat.int64(bytes, range) {
      self = .int(number)
    } else if !range.isEmpty, bytes[range.lowerBound] & 0xF8 == ValueFormat.Tag.positive {
      guard
        let number = ValueFormat.integer(bytes, at: range.lowerBound + 1, width: range.count - 1)
      else { return nil }
      self = .unsigned(number)
    } else {
      guard let number = ValueFormat.double(bytes, at: range.lowerBound) else { return nil }
      self = .double(number)
    }
  }

  /// Returns a negative number, zero or a positive number as this is less, equal or greater.
  ///
  /// The comparison does not round. It returns nil if one of the numbers is NaN.
  func order(to other: StoredNumber) -> Int? {
    switch (self, other) {
    case (.int(let a), .int(let b)): return a < b ? -1 : a == b ? 0 : 1
    case (.double(let a), .double(let b)):
      return a < b ? -1 : a == b ? 0 : a > b ? 1 : nil
    case (.double(let a), _): return other.whole.flatMap { StoredNumber.order($0, a) }.map { -$0 }
    case (_, .double(let b)): return whole.flatMap { StoredNumber.order($0, b) }
    default:
      guard let a = whole, let b = other.whole else { return nil }
      return a < b ? -1 : a == b ? 0 : 1
    }
  }

  private var whole: Int128? {
    switch self {
    case .int(let number): Int128(number)
    case .unsigned(let number): Int128(number)
    case .double: nil
    }
  }

  private static func order(_ whole: Int128, _ number: Double) -> Int? {
    if number.isNaN { return nil }
    // Integers have less than 65 bits.
    if abs(number) > 0x1p70 { return number > 0 ? -1 : 1 }
    let truncated = number.rounded(.towardZero)
    let other = Int128(truncated)
    if whole != other { return whole < other ? -1 : 1 }
    return truncated < number ? -1 : truncated > number ? 1 : 0
  }
}
