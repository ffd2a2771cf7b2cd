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

  @usableFromInline
  mutating func readLongVarint() throws(ByteError) -> UInt64 {
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
