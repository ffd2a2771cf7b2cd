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

  /// Reads by a function that is lent the bytes, and moves the offset.
  @inlinable
  package mutating func read<R>(
    _ body: (Span<UInt8>, inout Int) throws(ByteError) -> R
  ) throws(ByteError) -> R {
    var offset = self.offset
    let result = try bytes.withSpan { (bytes) throws(ByteError) in try body(bytes, &offset) }
    self.offset = offset
    return result
  }

  /// A little-endian integer of fixed width.
  @inlinable
  package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type
  ) throws(ByteError) -> T {
    try read { (bytes, offset) throws(ByteError) in try bytes.read(type, at: &offset) }
  }

  /// An unsigned integer in groups of seven bits, least significant first (LEB128), in its
  /// shortest form.
  @inlinable
  package mutating func readVarint() throws(ByteError) -> UInt64 {
    try read { (bytes, offset) throws(ByteError) in try bytes.readVarint(at: &offset) }
  }

  /// A varint that counts or measures something, refused above `limit`.
  @inlinable
  package mutating func readCount(limit: Int) throws(ByteError) -> Int {
    try read { (bytes, offset) throws(ByteError) in
      try bytes.readCount(limit: limit, at: &offset)
    }
  }

  /// The next `count` bytes, shared.
  @inlinable
  package mutating func readBytes(_ count: Int) throws(ByteError) -> SharedBytes {
    guard let slice = bytes.slice(offset, count) else { throw ByteError.pastTheEnd(offset) }
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
    guard count >= 0, count <= remaining else { throw ByteError.pastTheEnd(offset) }
    offset += count
  }
}
