import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Values that are written without calling their `encode(to:)`.
extension EncodingPage {
  /// Writes a value of a type with its own stored form; returns false for other types.
  static func write<T: Encodable>(
    _ value: T, to encoder: inout ValueEncoder
  ) throws(DatabaseError) -> Bool {
    if let value = same(value, as: String.self) {
      try write(value, to: &encoder)
    } else if let value = same(value, as: Int.self) {
      encoder.add(Int64(value))
    } else if let value = same(value, as: Double.self) {
      try write(value, to: &encoder)
    } else if let value = same(value, as: Bool.self) {
      encoder.add(value)
    } else if let value = same(value, as: [String].self) {
      try write(value, to: &encoder) { (value, encoder) throws(DatabaseError) in
        try write(value, to: &encoder)
      }
    } else if let value = same(value, as: Date.self) {
      guard let text = ISO8601Date.text(of: value) else {
        throw DatabaseError(.invalidValue, "the date is outside the years 0 to 9999")
      }
      encoder.add(text: text.span)
    } else if let value = same(value, as: Data.self) {
      // Base64 takes four characters for three bytes: throw before encoding.
      guard value.count <= DocumentLimits.sizeInBytes / 4 * 3 else {
        throw DocumentLimits.sizeError
      }
      try write(value.base64EncodedString(), to: &encoder)
    } else if let value = same(value, as: URL.self) {
      try write(value.absoluteString, to: &encoder)
    } else if let value = same(value, as: UUID.self) {
      try write(value.uuidString, to: &encoder)
    } else if let value = same(value, as: Decimal.self) {
      guard let text = StoredText.text(of: value) else { throw notFinite }
      try write(text, to: &encoder)
    } else {
      return try writeRarer(value, to: &encoder)
    }
    return true
  }

  private static func writeRarer<T: Encodable>(
    _ value: T, to encoder: inout ValueEncoder
  ) throws(DatabaseError) -> Bool {
    if let value = same(value, as: [Int].self) {
      try write(value, to: &encoder) { value, encoder in encoder.add(Int64(value)) }
    } else if let value = same(value, as: [Double].self) {
      try write(value, to: &encoder) { (value, encoder) throws(DatabaseError) in
        try write(value, to: &encoder)
      }
    } else if let value = same(value, as: Value.self) {
      switch value {
      // These encode themselves, so that their depth counts.
      case .array, .object: return false
      default: try ValueWalk.feed(value, into: &encoder, .stored)
      }
    } else {
      return false
    }
    return true
  }

  @inline(__always)
  private static func write<Element>(
    _ elements: [Element], to encoder: inout ValueEncoder,
    _ add: (Element, inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    encoder.beginArray()
    for element in elements {
      try add(element, &encoder)
      guard !encoder.isTooLarge else { throw DocumentLimits.sizeError }
    }
    encoder.endArray()
  }

  static func write(_ text: String, to encoder: inout ValueEncoder) throws(DatabaseError) {
    guard text.utf8.count <= DocumentLimits.sizeInBytes else { throw DocumentLimits.sizeError }
    withUTF8(of: text) { encoder.add(text: $0) }
  }

  static func write(_ number: Double, to encoder: inout ValueEncoder) throws(DatabaseError) {
    guard number.isFinite else { throw notFinite }
    encoder.add(number)
  }

  static func write(_ number: Float, to encoder: inout ValueEncoder) throws(DatabaseError) {
    guard number.isFinite else { throw notFinite }
    encoder.add(number.shortestDouble)
  }

  static func write(_ number: Int128, to encoder: inout ValueEncoder) throws(DatabaseError) {
    if let small = Int64(exactly: number) {
      encoder.add(small)
    } else if let large = UInt64(exactly: number) {
      encoder.add(unsigned: large)
    } else {
      throw outOfRange
    }
  }

  static func write(_ number: UInt128, to encoder: inout ValueEncoder) throws(DatabaseError) {
    guard let number = UInt64(exactly: number) else { throw outOfRange }
    encoder.add(unsigned: number)
  }

  private static var notFinite: DatabaseError {
    DatabaseError(.invalidValue, "the number is not finite", hint: "Store nil, or a text.")
  }

  private static var outOfRange: DatabaseError {
    DatabaseError(
      .invalidValue, "the whole number is outside the ranges of Int64 and UInt64",
      hint: "Store it as a text.")
  }
}
