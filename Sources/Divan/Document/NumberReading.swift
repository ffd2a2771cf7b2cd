import DivanLog

/// Which stored numbers fit which Swift type: the one place that says so, for models, `Codable` types and sums.
///
/// - A whole-number type takes every number that it has, however that is stored: `2`, `2.0` and `2e0` are the same one.
/// - `Double` takes every number, `Float` every one that is not too large for it; both round to the nearest that they have.
///
/// Filters compare stored numbers by what they are, so that they find what is read where nothing was rounded. The guide has
/// this as a table, which a test makes.
enum NumberReading {
  /// The number that fills `range`; nil if something else does.
  ///
  /// - Throws: `range` if the type does not have it.
  static func integer<I: FixedWidthInteger>(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(Misfit) -> I? {
    if let small = ValueFormat.int64(bytes, range) { return try require(I(exactly: small)) }
    if let large = unsigned(bytes, range) { return try require(I(exactly: large)) }
    if let double = ValueFormat.double(bytes, range) { return try require(I(exactly: double)) }
    return nil
  }

  /// The number that fills `range`; nil if something else does.
  static func double(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Misfit) -> Double? {
    if let number = ValueFormat.double(bytes, range) {
      guard number.isFinite else { throw .damaged }
      return number
    }
    if let small = ValueFormat.int64(bytes, range) { return Double(small) }
    return unsigned(bytes, range).map { Double($0) }
  }

  /// The number that fills `range`; nil if something else does.
  ///
  /// - Throws: `range` if it is too large.
  static func float(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Misfit) -> Float? {
    guard let number = try double(bytes, range).map({ Float($0) }) else { return nil }
    return try require(number.isFinite ? number : nil)
  }

  /// The whole number beyond `Int64` that fills `range`; nil if something else does.
  static func unsigned(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
    guard range.count == 9, bytes[range.lowerBound] == ValueFormat.Tag.positive + 7 else {
      return nil
    }
    return ValueFormat.integer(bytes, at: range.lowerBound + 1, width: 8)
  }

  private static func require<N>(_ number: N?) throws(Misfit) -> N {
    guard let number else { throw .range }
    return number
  }
}

/// What stored numbers count for where they are added up as ones of a type.
enum NumberCounting: Sendable {
  /// All, as they are.
  case all
  /// Those that `Float` has.
  case float
  /// Those that a type has whose numbers are whole and in a range.
  case whole(ClosedRange<Int128>)

  /// How the numbers of a type count, or those that are in an optional of it.
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

  /// The number that a value counts for; nil if it is none, or does not fit the type.
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
      // What cannot be stored as a whole number is added as what it is.
      if let small = Int64(exactly: number) { return .int(small) }
      return UInt64(exactly: number).map { .unsigned($0) } ?? value
    default: return nil
    }
  }
}

/// An optional of whatever type.
private protocol OptionalNumber {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalNumber {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
}
