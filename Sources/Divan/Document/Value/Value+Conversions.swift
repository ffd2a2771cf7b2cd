#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Values from Swift's types, and back. Literals need no conversion: `["year": 1927]`.

extension Value {
  /// Creates a string.
  ///
  /// ```swift
  /// document["title"] = Value(title)
  /// document["seen"] = Value(Date.now)
  /// ```
  public init(_ text: some StringProtocol) { self = .string(String(text)) }

  /// Creates a truth value.
  public init(_ flag: Bool) { self = .bool(flag) }

  /// Creates a whole number; one beyond the 64-bit types becomes the nearest floating-point number.
  public init(_ number: some BinaryInteger) {
    if let signed = Int64(exactly: number) {
      self = .int(signed)
    } else if let unsigned = UInt64(exactly: number) {
      self = .unsigned(unsigned)
    } else {
      self = .double(Double(number))
    }
  }

  /// Creates a number.
  ///
  /// A number that is not finite cannot be stored: storing its document throws.
  public init(_ number: some BinaryFloatingPoint) { self = .double(Double(number)) }

  /// Creates the text of a date, in UTC with milliseconds: `2026-03-01T12:00:00.000Z`.
  ///
  /// This is how models and `Codable` types store dates, so texts sort and compare like the dates.
  /// It is null for a date before the year 0 or after 9999, which has no such text.
  public init(_ date: Date) {
    self = ISO8601Date.text(of: date).map { .string(String(decoding: $0, as: UTF8.self)) } ?? .null
  }

  /// Creates an array.
  public init(_ values: some Sequence<Value>) { self = .array(Array(values)) }

  /// The date, if this is the text of one in ISO 8601 with a time and a zone.
  public var dateValue: Date? {
    guard let text = stringValue else { return nil }
    return ISO8601Date.date(of: Array(text.utf8).span)
  }
}
