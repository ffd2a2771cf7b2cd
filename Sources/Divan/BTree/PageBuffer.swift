internal import DivanLog

/// A buffer in which one page for a file is built.
@safe
final class PageBuffer {
  private let memory: UnsafeMutableRawBufferPointer

  /// Allocates memory for a page of `size` bytes.
  init(size: Int) {
    precondition(size <= NodePageWriter.capacityLimit, "The page is too large for two-byte offsets")
    unsafe memory = .allocate(byteCount: size, alignment: 16)
  }

  deinit { unsafe memory.deallocate() }

  /// Begins a new page, which is zero where nothing is written to it.
  func clear(level: Int) {
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    writer.clear(level: level)
  }

  /// The page, which lives as long as this buffer.
  var writer: NodePageWriter {
    unsafe NodePageWriter(
      base: memory.baseAddress.unsafelyUnwrapped, capacity: memory.count)
  }

  /// Appends an entry; returns false if it does not fit.
  func append(_ key: BorrowedBytes, _ value: BorrowedBytes) -> Bool {
    let writer = self.writer
    guard writer.fits(keyLength: key.count, valueLength: value.count) else { return false }
    writer.insert(key, value, at: writer.page.count)
    return true
  }

  /// Appends a separator and the page right of it; returns false if they do not fit.
  func append(_ separator: BorrowedBytes, child: UInt32) -> Bool {
    unsafe withUnsafeBytes(of: child.littleEndian) {
      // The copy of the number lives as long as the closure runs.
      unsafe append(
        separator, BorrowedBytes(base: $0.baseAddress.unsafelyUnwrapped, count: $0.count))
    }
  }

  /// Calls `body` with the page's bytes.
  func withSpan<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    unsafe try body(Span(_unsafeBytes: UnsafeRawBufferPointer(memory)))
  }

  /// A copy of the page's bytes.
  var sharedCopy: SharedBytes {
    unsafe SharedBytes(copying: UnsafeRawBufferPointer(memory))
  }
}
