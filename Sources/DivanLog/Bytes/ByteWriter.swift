/// A growing run of bytes, the mirror of ``ByteReader``.
///
/// It takes integers of explicit width only, so that a layout never depends on the machine.
/// Appending costs amortised constant time per byte; ``removeAll()`` keeps the capacity.
@safe
@usableFromInline
package struct ByteWriter: ~Copyable {
  // Owned by this value alone, which cannot be copied; freed in `deinit`.
  @usableFromInline var memory: UnsafeMutableRawBufferPointer
  /// The number of bytes written.
  @usableFromInline package var count: Int

  @inlinable
  package init(capacity: Int = 256) {
    unsafe memory = .allocate(byteCount: max(capacity, 16), alignment: 16)
    count = 0
  }

  @inlinable
  deinit { unsafe memory.deallocate() }
}

extension ByteWriter {
  /// Reserves room for `extra` more bytes.
  @inlinable
  package mutating func reserve(_ extra: Int) {
    if unsafe extra > memory.count - count { grow(extra) }
  }

  @usableFromInline
  mutating func grow(_ extra: Int) {
    let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + extra), alignment: 16)
    unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    unsafe memory.deallocate()
    unsafe memory = larger
  }

  /// Appends an integer, little-endian.
  @inlinable
  package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    unsafe memory.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  @available(
    *, unavailable, message: "Use a type of explicit width: the size of Int depends on the machine"
  )
  package mutating func append(_ value: Int) {}

  /// Appends an unsigned integer in groups of seven bits, in its shortest form.
  @inlinable
  package mutating func appendVarint(_ value: UInt64) {
    reserve(10)
    var rest = value
    while rest >= 0x80 {
      unsafe memory[count] = UInt8(truncatingIfNeeded: rest) | 0x80
      count += 1
      rest >>= 7
    }
    unsafe memory[count] = UInt8(truncatingIfNeeded: rest)
    count += 1
  }

  /// Appends a count or a size, which is not negative.
  @inlinable
  package mutating func appendVarint(_ value: Int) {
    precondition(value >= 0, "The count is negative")
    appendVarint(UInt64(value))
  }

  @inlinable
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let source = bytes.baseAddress {
      // `reserve` made room, and the source is not this writer's own memory.
      unsafe memory.baseAddress.unsafelyUnwrapped.advanced(by: count)
        .copyMemory(from: source, byteCount: bytes.count)
    }
    count += bytes.count
  }

  @inlinable
  package mutating func append(_ bytes: SharedBytes) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  @inlinable
  package mutating func append(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  @inlinable
  package mutating func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  /// Appends the UTF-8 bytes of a text, without its length.
  @inlinable
  package mutating func append(utf8 text: String) {
    var text = text
    text.withUTF8 { buffer in
      unsafe append(UnsafeRawBufferPointer(buffer))
    }
  }

  /// Appends `count` zero bytes.
  @inlinable
  package mutating func appendZeros(_ count: Int) {
    reserve(count)
    for index in self.count..<self.count + count { unsafe memory[index] = 0 }
    self.count += count
  }

  /// Appends zero bytes until the count is a multiple of `alignment`.
  @inlinable
  package mutating func pad(to alignment: Int) {
    let excess = count % alignment
    if excess != 0 { appendZeros(alignment - excess) }
  }

  /// Overwrites the integer at `offset`.
  @inlinable
  package mutating func replace<T: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, with value: T
  ) {
    precondition(
      offset >= 0 && offset <= count - MemoryLayout<T>.size,
      "The offset is outside the written bytes")
    unsafe memory.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// Overwrites `width` bytes at `offset` with a varint of exactly that width.
  package mutating func replaceVarint(at offset: Int, width: Int, with value: Int) {
    precondition(
      value >= 0 && offset >= 0 && width > 0 && offset <= count - width,
      "The offset is outside the written bytes")
    var rest = value
    for index in 0..<width - 1 {
      unsafe memory[offset + index] = UInt8(truncatingIfNeeded: rest) | 0x80
      rest >>= 7
    }
    precondition(rest < 0x80, "The number does not fit the width")
    unsafe memory[offset + width - 1] = UInt8(truncatingIfNeeded: rest)
  }

  /// Returns a copy of the bytes from `offset` on: all of them, or `size` bytes.
  package func copy(from offset: Int, count size: Int? = nil) -> SharedBytes {
    let end = size.map { offset + $0 } ?? count
    precondition(
      offset >= 0 && offset <= end && end <= count, "The offset is outside the written bytes")
    return unsafe SharedBytes(copying: UnsafeRawBufferPointer(rebasing: memory[offset..<end]))
  }

  /// Removes the bytes from `count` on.
  @inlinable
  package mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count, "The count exceeds the number of written bytes")
    self.count = count
  }

  /// Removes all bytes, and keeps the capacity.
  @inlinable
  package mutating func removeAll() { count = 0 }

  /// Calls `body` with the bytes as a buffer, which must not outlive the call.
  @inlinable
  package func withUnsafeBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    unsafe try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }

  /// Calls `body` with the bytes as a span, which must not outlive the call.
  @inlinable
  package func withSpan<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    unsafe try body(
      Span(
        _unsafeStart: UnsafePointer(
          memory.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)),
        count: count))
  }

  /// A copy of the bytes as shared bytes.
  package var sharedCopy: SharedBytes {
    unsafe withUnsafeBytes { unsafe SharedBytes(copying: $0) }
  }

  /// A copy of the bytes as an array.
  package var array: [UInt8] {
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }
}
