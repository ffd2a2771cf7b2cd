// Reads from borrowed bytes, without counting a reference. Callers must not keep the bytes.
// ``ByteReader`` uses these functions, too.
//
// Each function moves `offset`, which is within the bytes or at their end, past the bytes that it
// reads, or throws an error with the offset. None of them traps for any bytes.

extension Span where Element == UInt8 {
  /// Reads a little-endian integer of fixed width.
  @inlinable
  package func read<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type, at offset: inout Int
  ) throws(ByteError) -> T {
    guard count - offset >= MemoryLayout<T>.size else { throw ByteError.pastTheEnd(offset) }
    // The guard ensures that the bytes are within the span.
    let value = unsafe T(
      littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    offset += MemoryLayout<T>.size
    return value
  }

  /// Reads a varint: groups of seven bits, least significant first (LEB128), in the shortest form.
  @inlinable
  package func readVarint(at offset: inout Int) throws(ByteError) -> UInt64 {
    guard offset < count else { throw ByteError.pastTheEnd(offset) }
    let first = self[offset]
    if first < 0x80 {
      offset += 1
      return UInt64(first)
    }
    return try readLongVarint(at: &offset)
  }

  /// Reads a varint of several bytes; most have at most eight.
  @usableFromInline
  func readLongVarint(at offset: inout Int) throws(ByteError) -> UInt64 {
    guard count >= 8 else { return try readVarintByBytes(at: &offset) }
    let word: UInt64
    let excess = offset - (count - 8)
    if excess <= 0 {
      word = self.word(at: offset)
    } else {
      // The bytes before the number are shifted out. Ones are shifted in, which end no number.
      word = ~(~self.word(at: count - 8) &>> UInt64(8 * excess))
    }
    // The last byte is the first whose highest bit is not set.
    let lastMarks = ~word & 0x8080_8080_8080_8080
    guard lastMarks != 0 else { return try readVarintByBytes(at: &offset) }
    let bitCount = lastMarks.trailingZeroBitCount + 1
    guard word >> UInt64(bitCount - 8) & 0xFF != 0 else {
      return try readVarintByBytes(at: &offset)
    }
    // Two groups of seven bits become one of fourteen, two of these one of 28, and these the
    // number.
    var groups = word & (~0 >> UInt64(64 - bitCount)) & 0x7F7F_7F7F_7F7F_7F7F
    groups = groups & 0x007F_007F_007F_007F | (groups & 0x7F00_7F00_7F00_7F00) >> 1
    groups = groups & 0x0000_3FFF_0000_3FFF | (groups & 0x3FFF_0000_3FFF_0000) >> 2
    offset += bitCount / 8
    return groups & 0x0FFF_FFFF | (groups & 0x0FFF_FFFF_0000_0000) >> 4
  }

  /// Reads a varint of any size, up to the end of the bytes, or throws the reason why it is
  /// invalid.
  @inline(never)
  private func readVarintByBytes(at offset: inout Int) throws(ByteError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    var position = offset
    while true {
      guard position < count else { throw ByteError.pastTheEnd(offset) }
      let byte = self[position]
      position += 1
      // The tenth byte has the last of the 64 bits.
      guard shift < 63 || byte <= 1 else {
        throw ByteError(offset: offset, reason: "a number has more than 64 bits")
      }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else {
          throw ByteError(offset: offset, reason: "a number is not in its shortest form")
        }
        offset = position
        return value
      }
      shift += 7
    }
  }

  /// Reads a varint that is a count or a size, and throws if it exceeds `limit`.
  @inlinable
  package func readCount(limit: Int, at offset: inout Int) throws(ByteError) -> Int {
    let start = offset
    let value = try readVarint(at: &offset)
    guard value <= UInt64(limit) else {
      throw ByteError(offset: start, reason: "the value \(value) exceeds the limit of \(limit)")
    }
    return Int(truncatingIfNeeded: value)
  }

  /// Moves past `count` bytes, and returns their range.
  @inlinable
  package func readRange(_ count: Int, at offset: inout Int) throws(ByteError) -> Range<Int> {
    guard count >= 0, count <= self.count - offset else { throw ByteError.pastTheEnd(offset) }
    let start = offset
    offset += count
    return start..<offset
  }
}

extension ByteError {
  @usableFromInline
  static func pastTheEnd(_ offset: Int) -> ByteError {
    ByteError(offset: offset, reason: "the bytes end too early")
  }
}
