/// A cursor over untrusted bytes.
///
/// Each method moves past the bytes that it reads, or throws an error with the offset. None of them
/// traps for any bytes.
@usableFromInline
package struct ByteReader {
  @usableFromInline let bytes: SharedBytes
  /// The number of bytes read so far.
  @usableFromInline package var offset: Int

  @inlinable
  package init(_ bytes: SharedBytes) {
    self.bytes = bytes
    self.offset = 0
  }
}

/// An error that says why bytes could not be decoded.
@usableFromInline
package struct ByteError: Error, Equatable, Sendable {
  /// The offset of the error, counted from the reader's first byte.
  @usableFromInline package let offset: Int
  @usableFromInline package let reason: String

  @inlinable
  package init(offset: Int, reason: String) {
    self.offset = offset
    self.reason = reason
  }
}

extension ByteReader {
  /// The number of bytes left.
  @inlinable
  package var remaining: Int { bytes.count - offset }

  @inlinable
  package var isAtEnd: Bool { offset == bytes.count }

  /// Calls `body` with the bytes and the offset, and moves the offset unless it throws.
  @inlinable
  package mutating func read<R>(
    _ body: (Span<UInt8>, inout Int) throws(ByteError) -> R
  ) throws(ByteError) -> R {
    var offset = self.offset
    let result = try bytes.withSpan { (bytes) throws(ByteError) in try body(bytes, &offset) }
    self.offset = offset
    return result
  }

  /// Reads a little-endian integer of fixed width.
  @inlinable
  package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type
  ) throws(ByteError) -> T {
    try read { (bytes, offset) throws(ByteError) in try bytes.read(type, at: &offset) }
  }

  /// Reads a varint: groups of seven bits, least significant first (LEB128), in the shortest form.
  @inlinable
  package mutating func readVarint() throws(ByteError) -> UInt64 {
    try read { (bytes, offset) throws(ByteError) in try bytes.readVarint(at: &offset) }
  }

  /// Reads a varint that is a count or a size, and throws if it exceeds `limit`.
  @inlinable
  package mutating func readCount(limit: Int) throws(ByteError) -> Int {
    try read { (bytes, offset) throws(ByteError) in
      try bytes.readCount(limit: limit, at: &offset)
    }
  }

  /// Reads the next `count` bytes, sharing their memory.
  @inlinable
  package mutating func readBytes(_ count: Int) throws(ByteError) -> SharedBytes {
    guard let slice = bytes.slice(offset, count) else { throw ByteError.pastTheEnd(offset) }
    offset += count
    return slice
  }

  /// Reads bytes that follow their length, which is a varint.
  @inlinable
  package mutating func readPrefixedBytes() throws(ByteError) -> SharedBytes {
    try readBytes(try readCount(limit: remaining))
  }

  /// Reads all bytes that are left.
  @inlinable
  package mutating func readRest() -> SharedBytes {
    let rest = bytes.suffix(from: offset)
    offset = bytes.count
    return rest
  }
}
