/// A cursor over bytes that came from outside.
///
/// Each method moves past what it read, or throws and says where; none of them traps, whatever the
/// bytes are.
@usableFromInline
package struct ByteReader {
  @usableFromInline let bytes: SharedBytes
  /// How many bytes were read.
  @usableFromInline package var offset: Int

  @inlinable
  package init(_ bytes: SharedBytes) {
    self.bytes = bytes
    self.offset = 0
  }
}

/// Why bytes could not be read as what they should be.
@usableFromInline
package struct ByteError: Error, Equatable, Sendable {
  /// Where in the bytes, counted from where the reader began.
  @usableFromInline package let offset: Int
  @usableFromInline package let reason: String

  @inlinable
  package init(offset: Int, reason: String) {
    self.offset = offset
    self.reason = reason
  }
}

extension ByteReader {
  /// How many bytes are left.
  @inlinable
  package var remaining: Int { bytes.count - offset }

  @inlinable
  package var isAtEnd: Bool { offset == bytes.count }

  /// A little-endian integer of fixed width.
  @inlinable
  package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type
  ) throws(ByteError) -> T {
    guard remaining >= MemoryLayout<T>.size else { throw pastTheEnd() }
    let value = bytes.load(type, at: offset)
    offset += MemoryLayout<T>.size
    return value
  }

  /// An unsigned integer in groups of seven bits, least significant first (LEB128), in its
  /// shortest form.
  @inlinable
  package mutating func readVarint() throws(ByteError) -> UInt64 {
    guard offset < bytes.count else { throw pastTheEnd() }
    let first = bytes[offset]
    if first < 0x80 {
      offset += 1
      return UInt64(first)
    }
    return try readLongVarint()
  }

  /// A varint of several bytes; most have at most eight, with as many to read.
  @usableFromInline
  mutating func readLongVarint() throws(ByteError) -> UInt64 {
    guard remaining >= 8 else { return try readVarintByBytes() }
    let word = bytes.load(UInt64.self, at: offset)
    // The last byte is the first whose highest bit is not set.
    let lastMarks = ~word & 0x8080_8080_8080_8080
    guard lastMarks != 0 else { return try readVarintByBytes() }
    let bitCount = lastMarks.trailingZeroBitCount + 1
    guard word >> UInt64(bitCount - 8) & 0xFF != 0 else { return try readVarintByBytes() }
    // Two groups of seven bits become one of fourteen, two of these one of 28, and these the number.
    var groups = word & (~0 >> UInt64(64 - bitCount)) & 0x7F7F_7F7F_7F7F_7F7F
    groups = groups & 0x007F_007F_007F_007F | (groups & 0x7F00_7F00_7F00_7F00) >> 1
    groups = groups & 0x0000_3FFF_0000_3FFF | (groups & 0x3FFF_0000_3FFF_0000) >> 2
    offset += bitCount / 8
    return groups & 0x0FFF_FFFF | (groups & 0x0FFF_FFFF_0000_0000) >> 4
  }

  /// The same of any size, up to the end of the bytes; says what is wrong with it.
  @inline(never)
  private mutating func readVarintByBytes() throws(ByteError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    var position = offset
    while true {
      guard position < bytes.count else { throw pastTheEnd() }
      let byte = bytes[position]
      position += 1
      // The tenth byte holds the last bit of 64.
      guard shift < 63 || byte <= 1 else {
        throw ByteError(offset: offset, reason: "a number of more than 64 bits")
      }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else {
          throw ByteError(offset: offset, reason: "a number with needless zero groups")
        }
        offset = position
        return value
      }
      shift += 7
    }
  }

  /// A varint that counts or measures something, refused above `limit`.
  @inlinable
  package mutating func readCount(limit: Int) throws(ByteError) -> Int {
    let start = offset
    let value = try readVarint()
    guard value <= UInt64(limit) else {
      throw ByteError(offset: start, reason: "\(value) where at most \(limit) is possible")
    }
    return Int(truncatingIfNeeded: value)
  }

  /// The next `count` bytes, shared.
  @inlinable
  package mutating func readBytes(_ count: Int) throws(ByteError) -> SharedBytes {
    guard let slice = bytes.slice(offset, count) else { throw pastTheEnd() }
    offset += count
    return slice
  }

  /// Bytes that follow their length, which is a varint.
  @inlinable
  package mutating func readPrefixedBytes() throws(ByteError) -> SharedBytes {
    try readBytes(try readCount(limit: remaining))
  }

  /// Everything that is left.
  @inlinable
  package mutating func readRest() -> SharedBytes {
    let rest = bytes.suffix(from: offset)
    offset = bytes.count
    return rest
  }

  /// Moves past `count` bytes.
  @inlinable
  package mutating func skip(_ count: Int) throws(ByteError) {
    guard count >= 0, count <= remaining else { throw pastTheEnd() }
    offset += count
  }

  @usableFromInline
  func pastTheEnd() -> ByteError {
    ByteError(offset: offset, reason: "the bytes end too early")
  }
}
