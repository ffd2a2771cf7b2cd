/// A scalar that was read from UTF-8, and where the next one begins.
struct ReadScalar {
  /// The scalar's number; U+FFFD for a byte that is not UTF-8.
  let value: UInt32
  let end: Int
}

extension [UInt8] {
  /// Reads the scalar at an offset, which is less than the count.
  ///
  /// A byte that does not begin a whole scalar in its shortest form reads as U+FFFD, so that any
  /// bytes can be read.
  func scalar(at offset: Int) -> ReadScalar {
    let first = UInt32(self[offset])
    if first < 0x80 { return ReadScalar(value: first, end: offset + 1) }
    let invalid = ReadScalar(value: 0xFFFD, end: offset + 1)
    let length: Int
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF: length = 3
    case 0xF0...0xF4: length = 4
    default: return invalid
    }
    guard count - offset >= length else { return invalid }
    var value = first & (0x7F >> UInt32(length))
    for index in offset + 1..<offset + length {
      let byte = UInt32(self[index])
      guard byte & 0xC0 == 0x80 else { return invalid }
      value = value << 6 | byte & 0x3F
    }
    let isShortest = length == 2 || value >= (length == 3 ? 0x800 : 0x10000)
    guard isShortest, value < 0x110000, !(0xD800...0xDFFF).contains(value) else { return invalid }
    return ReadScalar(value: value, end: offset + length)
  }

  /// Appends a scalar in UTF-8.
  mutating func append(scalar value: UInt32) {
    switch value {
    case ..<0x80: append(UInt8(value))
    case ..<0x800:
      append(UInt8(0xC0 | value >> 6))
      append(UInt8(0x80 | value & 0x3F))
    case ..<0x10000:
      append(UInt8(0xE0 | value >> 12))
      append(UInt8(0x80 | value >> 6 & 0x3F))
      append(UInt8(0x80 | value & 0x3F))
    default:
      append(UInt8(0xF0 | value >> 18))
      append(UInt8(0x80 | value >> 12 & 0x3F))
      append(UInt8(0x80 | value >> 6 & 0x3F))
      append(UInt8(0x80 | value & 0x3F))
    }
  }

  /// The greatest offset up to `limit` that is not within a scalar, after `start`.
  func scalarBoundary(from start: Int, upTo limit: Int) -> Int {
    guard limit < count else { return count }
    var end = limit
    // A scalar has at most three bytes after its first. Other bytes are no UTF-8, and are cut.
    while end > start, limit - end < 3, self[end] & 0xC0 == 0x80 { end -= 1 }
    return end > start && self[end] & 0xC0 != 0x80 ? end : limit
  }
}
