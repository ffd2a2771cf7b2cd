/// Immutable bytes that are kept alive by whoever owns the memory: a heap block, a mapped file.
///
/// Copying and slicing never copies the bytes. Every access is checked against the bounds.
///
/// Invariants:
/// - `base` points at `count` readable bytes for as long as `owner` lives, and nobody writes to
///   them; `count == 0` may have any `base`.
///
/// `@unchecked Sendable`: the bytes are immutable and `owner` is only retained and released.
@safe
@usableFromInline
package struct SharedBytes: @unchecked Sendable {
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// Who keeps the memory alive; nil if it lives for ever.
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
    // Any address will do: nothing is read from it, and nobody need keep it.
    unsafeBase: UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped, count: 0, owner: nil)

  /// Copies an array into memory of its own.
  package init(copying array: [UInt8]) {
    self = unsafe array.withUnsafeBytes { unsafe SharedBytes(copying: $0) }
  }

  /// Copies `bytes` into memory of its own.
  package init(copying bytes: UnsafeRawBufferPointer) {
    // The block is written here only, before anybody else can see it.
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

  /// Makes `count` bytes that `fill` writes; it returns how many of them it filled.
  package init<E: Error>(
    capacity: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) {
    let block = HeapBlock(capacity: capacity)
    let filled = unsafe try fill(block.memory)
    precondition(filled >= 0 && filled <= capacity, "Filled more bytes than there is room for")
    unsafe self.init(
      unsafeBase: UnsafeRawPointer(block.memory.baseAddress.unsafelyUnwrapped), count: filled,
      owner: block)
  }

  @inlinable
  package var isEmpty: Bool { count == 0 }

  /// The byte at `offset`.
  @inlinable
  package subscript(offset: Int) -> UInt8 {
    precondition(offset >= 0 && offset < count, "Offset outside the bytes")
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// The `count` bytes from `offset` on, sharing this memory, or nil if they are not all here.
  ///
  /// Takes unchecked numbers from a file: nothing is computed that could overflow.
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
    precondition(offset >= 0 && offset <= count, "Offset outside the bytes")
    return unsafe SharedBytes(unsafeBase: base + offset, count: count - offset, owner: owner)
  }

  /// The first `count` bytes.
  ///
  /// There must be as many.
  @inlinable
  package func prefix(_ count: Int) -> SharedBytes {
    precondition(count >= 0 && count <= self.count, "More bytes asked for than there are")
    return unsafe SharedBytes(unsafeBase: base, count: count, owner: owner)
  }

  /// Reads one byte of each cache line, so that all of them come in at the same time, and not one
  /// after the other as they are checksummed.
  ///
  /// The result says nothing; it keeps the compiler from leaving the work out.
  package func touchEachCacheLine() -> UInt8 { touchEachCacheLine(0, count) }

  /// The same of the `size` bytes from `offset` on, as far as they are here.
  @inlinable
  package func touchEachCacheLine(_ offset: Int, _ size: Int) -> UInt8 {
    guard offset >= 0, offset < count else { return 0 }
    let end = offset &+ min(size, count &- offset)
    var touched: UInt8 = 0
    var next = offset
    // Each offset is less than `count`.
    while next < end {
      touched ^= unsafe base.load(fromByteOffset: next, as: UInt8.self)
      next &+= 64
    }
    return touched
  }

  /// Does nothing that the compiler knows of, so that it does not leave out what made the byte.
  @inline(never)
  package static func keep(_ byte: UInt8) {}

  /// The bytes as a buffer that must not outlive `body`.
  @inlinable
  package func withUnsafeBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    // `self.owner` is alive for the whole call, because `self` is.
    unsafe try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The bytes as a span that must not outlive `body`.
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
      offset >= 0 && offset <= count - MemoryLayout<T>.size, "Offset outside the bytes")
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

/// Lends the UTF-8 bytes of `text` to `body`, without a copy where the text is stored so already.
@inlinable
package func withUTF8<R, E: Error>(
  of text: String, _ body: (Span<UInt8>) throws(E) -> R
) throws(E) -> R {
  // `withUTF8` of the standard library needs a variable: a copy, for which a reference is counted.
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

/// Apart, so that what few texts need does not stand where every text is read.
@inline(never) @usableFromInline
func withCopiedUTF8<R, E: Error>(
  of text: String, _ body: (Span<UInt8>) throws(E) -> R
) throws(E) -> R {
  try body(Array(text.utf8).span)
}

extension UInt64 {
  /// Lends the eight bytes of the number, the most significant first, which sort as numbers do.
  package func withBigEndianBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R
  {
    try unsafe Swift.withUnsafeBytes(of: bigEndian) { (bytes) throws(E) -> R in
      // The number lives on the stack until `body` returns.
      unsafe try body(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }
  }
}
