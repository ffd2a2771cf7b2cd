import DivanLog

/// The rules for which stored numbers fit which Swift type, for models, `Codable` types and sums.
///
/// - A whole-number type accepts every number in its range, however it is stored: `2`, `2.0` and
///   `2e0` are the same number.
/// - `Double` accepts every number, `Float` every one that is not too large for it; both round to
///   the nearest representable one.
///
/// Filters compare the exact stored numbers, so they find the values that are read where nothing
/// was rounded. The guide contains these rules as a table, which a test generates.
enum NumberReading {
  /// Returns the number that fills `range`; nil if it contains another kind of value.
  ///
  /// - Throws: `range` if the type cannot represent the number.
  static func integer<I: FixedWidthInteger>(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(TypeMismatch) -> I? {
    if let small = ValueFormat.int64(bytes, range) { return try require(I(exactly: small)) }
    if let large = unsigned(bytes, range) { return try require(I(exactly: large)) }
    if let double = ValueFormat.double(bytes, range) { return try require(I(exactly: double)) }
    return nil
  }

  /// Returns the number that fills `range`; nil if it contains another kind of value.
  static func double(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(TypeMismatch) -> Double? {
    if let number = ValueFormat.double(bytes, range) {
      guard number.isFinite else { throw .damaged }
      return number
    }
    if let small = ValueFormat.int64(bytes, range) { return Double(small) }
    return unsigned(bytes, range).map { Double($0) }
  }

  /// Returns the number that fills `range`; nil if it contains another kind of value.
  ///
  /// - Throws: `range` if the number is too large.
  static func float(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(TypeMismatch) -> Float? {
    guard let number = try double(bytes, range).map({ Float($0) }) else { return nil }
    return try require(number.isFinite ? number : nil)
  }

  /// Returns the whole number beyond `Int64` that fills `range`; nil if there is none.
  static func unsigned(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
    guard range.count == 9, bytes[range.lowerBound] == ValueFormat.Tag.positive + 7 else {
      return nil
    }
    return ValueFormat.integer(bytes, at: range.lowerBound + 1, width: 8)
  }

  private static func require<N>(_ number: N?) throws(TypeMismatch) -> N {
    guard let number else { throw .range }
    return number
  }
}

/// Selects the stored numbers that count when they are added up as numbers of a type.
enum NumberCounting: Sendable {
  /// All numbers, unchanged.
  case all
  /// The numbers that `Float` can represent.
  case float
  /// Whole numbers in a range.
  case whole(ClosedRange<Int128>)

  /// Selects the numbers that count for a type, or for the type that an optional wraps.
  init(_ type: Any.Type) {
    let type = (type as? any OptionalNumber.Type)?.wrapped ?? type
    if type == Float.self {
      self = .float
    } else if let integer = type as? any FixedWidthInteger.Type {
      self = .whole(NumberCounting.range(of: integer))
    } else {
      self = .all
    }
  }

  private static func range<I: FixedWidthInteger>(of _: I.Type) -> ClosedRange<Int128> {
    Int128(clamping: I.min)...Int128(clamping: I.max)
  }

  /// Returns the number to add for a value; nil if it is not a number, or does not fit the type.
  func number(_ value: Value) -> Value? {
    switch (self, value) {
    case (.all, .int), (.all, .unsigned), (.all, .double), (.float, .int), (.float, .unsigned):
      return value
    case (.float, .double(let number)): return Float(number).isFinite ? value : nil
    case (.whole(let range), .int(let number)): return range.contains(Int128(number)) ? value : nil
    case (.whole(let range), .unsigned(let number)):
      return range.contains(Int128(number)) ? value : nil
    case (.whole(let range), .double(let double)):
      guard let number = Int128(exactly: double), range.contains(number) else { return nil }
      // A number that cannot be stored as a whole number is added unchanged.
      if let small = Int64(exactly: number) { return .int(small) }
      return UInt64(exactly: number).map { .unsigned($0) } ?? value
    default: return nil
    }
  }
}

/// An optional of any type.
private protocol OptionalNumber {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalNumber {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}
