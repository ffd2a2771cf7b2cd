/// Immutable bytes in memory that an owner keeps alive: a heap block or a mapped file.
///
/// Copying and slicing never copies the bytes. Every access is checked against the bounds.
///
/// Invariants:
/// - `base` points at `count` readable bytes for as long as `owner` lives, and these never change;
///   `count == 0` may have any `base`.
///
/// `@unchecked Sendable`: the bytes are immutable and `owner` is only retained and released.
@safe
@usableFromInline
package struct SharedBytes: @unchecked Sendable {
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// The object that keeps the memory alive; nil if the memory is never freed.
  @usableFromInline package let owner: AnyObject?

  /// Wraps memory that `owner` keeps alive and unchanged.
  @inlinable
  package init(unsafeBase base: UnsafeRawPointer, count: Int, owner: AnyObject?) {
    unsafe self.base = base
    self.count = count
    self.owner = owner
  }
}

extension SharedBytes {
  /// No bytes.
  package static let empty = unsafe SharedBytes(
    // Any address will do: nothing is read from it, and nothing needs to keep it alive.
    unsafeBase: UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped, count: 0, owner: nil)

  /// Copies an array into memory of its own.
  package init(copying array: [UInt8]) {
    self = unsafe array.withUnsafeBytes { unsafe SharedBytes(copying: $0) }
  }

  /// Copies `bytes` into memory of its own.
  package init(copying bytes: UnsafeRawBufferPointer) {
    // The block is written only here, before it is shared.
    let block = HeapBlock(capacity: bytes.count)
    unsafe block.memory.copyMemory(from: bytes)
    unsafe self.init(
      unsafeBase: UnsafeRawPointer(block.memory.baseAddress.unsafelyUnwrapped), count: bytes.count,
      owner: block)
  }

  /// Copies `bytes` into memory of its own.
  package init(copying bytes: Span<UInt8>) {
    self = unsafe bytes.withUnsafeBytes { unsafe SharedBytes(copying: $0) }
  }

  /// The UTF-8 bytes of a text.
  package init(utf8 text: String) {
    self = withUTF8(of: text) { SharedBytes(copying: $0) }
  }

  /// Whether these are the UTF-8 bytes of `text`.
  package func isUTF8(of text: String) -> Bool {
    withUTF8(of: text) { other in withSpan { areEqual($0, other) } }
  }

  /// Creates bytes that `fill` writes into new memory; `fill` returns how many it wrote.
  package init<E: Error>(
    capacity: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) {
    let block = HeapBlock(capacity: capacity)
    let filled = unsafe try fill(block.memory)
    precondition(filled >= 0 && filled <= capacity, "More bytes were filled than there is room for")
    unsafe self.init(
      unsafeBase: UnsafeRawPointer(block.memory.baseAddress.unsafelyUnwrapped), count: filled,
      owner: block)
  }

  @inlinable
  package var isEmpty: Bool { count == 0 }

  /// The byte at `offset`.
  @inlinable
  package subscript(offset: Int) -> UInt8 {
    precondition(offset >= 0 && offset < count, "The offset is outside the bytes")
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// Returns the `count` bytes from `offset` on, sharing the memory; nil if out of bounds.
  ///
  /// The numbers may come from a file unchecked: no computation can overflow.
  @inlinable
  package func slice(_ offset: Int, _ count: Int) -> SharedBytes? {
    guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else {
      return nil
    }
    return unsafe SharedBytes(unsafeBase: base + offset, count: count, owner: owner)
  }

  /// The bytes from `offset` to the end.
  ///
  /// `offset` must be within the bytes.
  @inlinable
  package func suffix(from offset: Int) -> SharedBytes {
    precondition(offset >= 0 && offset <= count, "The offset is outside the bytes")
    return unsafe SharedBytes(unsafeBase: base + offset, count: count - offset, owner: owner)
  }

  /// The first `count` bytes.
  ///
  /// There must be at least `count` bytes.
  @inlinable
  package func prefix(_ count: Int) -> SharedBytes {
    precondition(count >= 0 && count <= self.count, "There are fewer bytes than requested")
    return unsafe SharedBytes(unsafeBase: base, count: count, owner: owner)
  }

  /// Reads one byte of each cache line, so that the lines are loaded in parallel.
  ///
  /// Otherwise the checksum would load them one after the other. The result has no meaning; it
  /// keeps the compiler from removing the reads.
  package func prefetchEachCacheLine() -> UInt8 { prefetchEachCacheLine(0, count) }

  /// Reads one byte of each cache line in the `size` bytes from `offset` on that are in bounds.
  @inlinable
  package func prefetchEachCacheLine(_ offset: Int, _ size: Int) -> UInt8 {
    guard offset >= 0, offset < count else { return 0 }
    let end = offset &+ min(size, count &- offset)
    var prefetched: UInt8 = 0
    var next = offset
    // Each offset is less than `count`.
    while next < end {
      prefetched ^= unsafe base.load(fromByteOffset: next, as: UInt8.self)
      next &+= 64
    }
    return prefetched
  }

  /// Does nothing, but hides that from the compiler, so that it keeps the reads behind `byte`.
  @inline(never)
  package static func keep(_ byte: UInt8) {}

  /// Calls `body` with the bytes as a buffer, which must not outlive the call.
  @inlinable
  package func withUnsafeBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    // `self.owner` is alive for the whole call, because `self` is.
    unsafe try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Calls `body` with the bytes as a span, which must not outlive the call.
  @inlinable
  package func withSpan<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    unsafe try body(
      Span(
        _unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count))
  }

  /// A little-endian integer at `offset`.
  @inlinable
  package func load<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, at offset: Int) -> T {
    precondition(
      offset >= 0 && offset <= count - MemoryLayout<T>.size, "The offset is outside the bytes")
    return T(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// A copy as an array.
  package var array: [UInt8] {
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }

  /// The text that these bytes spell in UTF-8, or nil if they are not valid UTF-8.
  package var text: String? {
    withSpan { String(utf8: $0) }
  }
}

extension SharedBytes: Equatable {
  @usableFromInline
  package static func == (a: SharedBytes, b: SharedBytes) -> Bool {
    guard a.count == b.count else { return false }
    return unsafe a.withUnsafeBytes { x in
      unsafe b.withUnsafeBytes { y in unsafe x.elementsEqual(y) }
    }
  }
}

/// A block of heap memory that is freed with its last reference.
@safe
@usableFromInline
final class HeapBlock {
  // Written only by the initializer that makes the block, before the block is shared.
  let memory: UnsafeMutableRawBufferPointer

  init(capacity: Int) {
    // At least one byte, so that there is always an address.
    unsafe memory = .allocate(byteCount: max(capacity, 1), alignment: 16)
  }

  deinit { unsafe memory.deallocate() }
}

/// Calls `body` with the UTF-8 bytes of `text`, without a copy if they are stored contiguously.
@inlinable
package func withUTF8<R, E: Error>(
  of text: String, _ body: (Span<UInt8>) throws(E) -> R
) throws(E) -> R {
  // The standard library's `withUTF8` needs a variable: a copy, which costs reference counting.
  let outcome: Result<R, E>? = unsafe text.utf8.withContiguousStorageIfAvailable { buffer in
    do throws(E) {
      return .success(try body(unsafe Span(_unsafeElements: buffer)))
    } catch {
      return .failure(error)
    }
  }
  if let outcome { return try outcome.get() }
  return try withCopiedUTF8(of: text, body)
}

/// A separate function, so that the rare slow path is not inlined where every text is read.
@inline(never) @usableFromInline
func withCopiedUTF8<R, E: Error>(
  of text: String, _ body: (Span<UInt8>) throws(E) -> R
) throws(E) -> R {
  try body(Array(text.utf8).span)
}

extension UInt64 {
  /// Calls `body` with the number's bytes, most significant first, which sort as numbers do.
  package func withBigEndianBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R
  {
    try unsafe Swift.withUnsafeBytes(of: bigEndian) { (bytes) throws(E) -> R in
      // The number lives on the stack until `body` returns.
      unsafe try body(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }
  }
}
