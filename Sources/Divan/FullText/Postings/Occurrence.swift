/// A place of a term in a document: the number of a property, and the position in its text.
struct Occurrence: Hashable, Comparable, Sendable {
  /// The greatest number of properties that an index can have.
  static let fieldLimit = 64

  /// The property in the high half, the position in the low half.
  let bits: UInt64

  init(field: Int, position: Int) {
    bits =
      UInt64(UInt32(truncatingIfNeeded: field)) << 32
      | UInt64(UInt32(truncatingIfNeeded: position))
  }

  /// The number of the property, in the order of the index.
  var field: Int { Int(bits >> 32) }
  /// The position of the term among the words of the property, counted from 0.
  var position: Int { Int(bits & 0xFFFF_FFFF) }

  /// The place some words behind, or before if the distance is negative; there is such a position.
  func moved(by distance: Int) -> Occurrence {
    Occurrence(field: field, position: position + distance)
  }

  static func < (left: Occurrence, right: Occurrence) -> Bool { left.bits < right.bits }
}

/// A part of a document that matches: neighbouring words of one property.
struct MatchSpan: Hashable, Sendable {
  let field: Int
  /// The position of the first word.
  let start: Int
  /// The number of words.
  let length: Int
  /// The position after the last word.
  var end: Int { start + length }

  /// Whether a span comes before another: by property, start and length.
  static func precedes(_ left: MatchSpan, _ right: MatchSpan) -> Bool {
    (left.field, left.start, left.length) < (right.field, right.start, right.length)
  }
}

/// Numbers of documents in an index.
enum DocumentNumber {
  /// The position of a cursor at its end; no document has this number.
  static let end = UInt64.max
}

/// How often terms occur in each property.
typealias FieldFrequency = (field: Int, count: Int)

extension [UInt8] {
  /// Appends a varint: groups of seven bits, least significant first (LEB128).
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
