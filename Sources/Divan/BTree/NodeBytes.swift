internal import DivanLog

/// Bytes that their owner keeps alive while they are read, such as keys and values in look-ups.
///
/// A `Span` would express this in its type, but without experimental features it cannot be returned
/// from a page or stored in a structure. Values of this type are therefore passed down and never
/// kept. They are created inside a `withUnsafeBytes`, or from a page that the caller retains.
///
/// Invariant: `base` points at `count` readable bytes that do not change while the value is in use.
@safe
struct BorrowedBytes {
  let base: UnsafeRawPointer
  let count: Int

  init(base: UnsafeRawPointer, count: Int) {
    unsafe self.base = base
    self.count = count
  }
}

extension BorrowedBytes {
  /// Calls `body` with the borrowed bytes of a span.
  @inline(__always)
  static func borrow<R, E: Error>(
    _ span: Span<UInt8>, _ body: (BorrowedBytes) throws(E) -> R
  ) throws(E) -> R {
    unsafe try span.withUnsafeBytes { (buffer) throws(E) -> R in
      // The span outlives `body`. An empty span may have no address: any address will do, as none
      // is read.
      unsafe try body(BorrowedBytes(base: buffer.baseAddress ?? noAddress, count: buffer.count))
    }
  }

  /// Calls `body` with the borrowed bytes of an array.
  @inline(__always)
  static func borrow<R, E: Error>(
    _ bytes: [UInt8], _ body: (BorrowedBytes) throws(E) -> R
  ) throws(E) -> R {
    try borrow(bytes.span, body)
  }

  /// An address for empty bytes, which is never read from.
  private static var noAddress: UnsafeRawPointer {
    unsafe UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped
  }

  /// Returns the four bytes from `offset` on as a big-endian number; missing bytes are zero.
  @inline(__always)
  func head(at offset: Int) -> UInt32 {
    if count - offset >= 4 {
      // Four bytes are readable at `offset`.
      return UInt32(
        bigEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    return shortHead(at: offset)
  }

  @inline(never)
  private func shortHead(at offset: Int) -> UInt32 {
    var head: UInt32 = 0
    for index in 0..<4 {
      head <<= 8
      // Within `count`, which is checked.
      if offset + index < count {
        head |= UInt32(unsafe base.load(fromByteOffset: offset + index, as: UInt8.self))
      }
    }
    return head
  }

  /// Returns the eight bytes from `offset` on as a little-endian number; missing bytes are zero.
  func littleEndianWord(at offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset < count, "The offset is outside the bytes")
    // Within `count`, which is checked here or by `min`.
    if count - offset >= 8 { return UInt64(littleEndian: unsafe word(offset)) }
    var word: UInt64 = 0
    for index in 0..<min(8, count - offset) {
      word |= UInt64(unsafe byte(offset + index)) << UInt64(8 * index)
    }
    return word
  }

  /// The byte at `offset`.
  @inline(__always)
  subscript(offset: Int) -> UInt8 {
    precondition(offset >= 0 && offset < count, "The offset is outside the bytes")
    return unsafe byte(offset)
  }

  /// Whether the bytes are the same.
  @inline(__always)
  func equals(_ other: BorrowedBytes) -> Bool {
    guard count == other.count else { return false }
    // Every load stays below `count`: whole words first, then a last one that overlaps.
    if count >= 8 {
      var offset = 0
      while offset + 8 <= count {
        if unsafe word(offset) != other.word(offset) { return false }
        offset += 8
      }
      return unsafe word(count - 8) == other.word(count - 8)
    }
    for offset in 0..<count where unsafe byte(offset) != other.byte(offset) { return false }
    return true
  }

  /// Compares the bytes: returns less than zero, zero, or more, as in `memcmp`.
  @inline(__always)
  func compare(_ other: BorrowedBytes) -> Int {
    let common = commonPrefixLength(with: other)
    let shorter = min(count, other.count)
    if common == shorter { return count - other.count }
    // `common` is less than both counts.
    return unsafe Int(byte(common)) - Int(other.byte(common))
  }

  /// Returns the length of the common prefix.
  @inline(__always)
  func commonPrefixLength(with other: BorrowedBytes) -> Int {
    let shorter = min(count, other.count)
    var offset = 0
    // Every load stays below `shorter`.
    while offset + 8 <= shorter {
      let difference = unsafe word(offset) ^ other.word(offset)
      if difference != 0 { return offset + difference.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < shorter, unsafe byte(offset) == other.byte(offset) { offset += 1 }
    return offset
  }

  /// Returns the first `count` bytes; there must be at least as many.
  func prefix(_ count: Int) -> BorrowedBytes {
    assert(count <= self.count)
    return unsafe BorrowedBytes(base: base, count: count)
  }

  /// Returns these bytes and others that follow them in memory.
  func joined(with next: BorrowedBytes) -> BorrowedBytes {
    assert(unsafe base + count == next.base)
    // Both are readable for the same time.
    return unsafe BorrowedBytes(base: base, count: count + next.count)
  }

  /// Calls `body` with the bytes as a span.
  @inline(__always)
  func withSpan<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    // The owner of the bytes keeps them alive until `body` returns.
    unsafe try body(
      Span(_unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count))
  }

  /// A copy of the bytes.
  var array: [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Returns these bytes, kept alive by `owner`, which must own them.
  @inline(__always)
  func shared(by owner: AnyObject) -> SharedBytes {
    unsafe SharedBytes(unsafeBase: base, count: count, owner: owner)
  }

  @inline(__always)
  @unsafe private func word(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  @unsafe private func byte(_ offset: Int) -> UInt8 {
    unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }
}

extension SharedBytes {
  /// Calls `body` with the borrowed bytes.
  @inline(__always)
  func borrow<R, E: Error>(_ body: (BorrowedBytes) throws(E) -> R) throws(E) -> R {
    unsafe try withUnsafeBytes { (buffer) throws(E) -> R in
      // `self` outlives the call, and a shared address is never nil.
      unsafe try body(
        BorrowedBytes(base: buffer.baseAddress.unsafelyUnwrapped, count: buffer.count))
    }
  }
}
