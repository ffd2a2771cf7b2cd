// Comparing bytes and texts as `memcmp` would, eight bytes at a time.

/// Whether two runs of bytes are the same.
@inlinable
package func areEqual(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
  a.count == b.count && areEqual(a, at: 0, b)
}

/// Whether the bytes of `a` from `offset` on begin with all of `b`.
///
/// Precondition: `offset` is within `a`.
@inlinable
package func areEqual(_ a: Span<UInt8>, at offset: Int, _ b: Span<UInt8>) -> Bool {
  precondition(offset >= 0 && offset <= a.count, "The offset is outside the bytes")
  guard b.count <= a.count - offset else { return false }
  return unsafe a.withUnsafeBytes { a in
    unsafe b.withUnsafeBytes { b in
      // Both have `b.count` readable bytes, `a` from `offset` on.
      var index = 0
      if b.count >= 8 {
        // The last word overlaps the one before it.
        let last = b.count &- 8
        while index < last {
          let x = unsafe a.loadUnaligned(fromByteOffset: offset &+ index, as: UInt64.self)
          let y = unsafe b.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          if x != y { return false }
          index &+= 8
        }
        let x = unsafe a.loadUnaligned(fromByteOffset: offset &+ last, as: UInt64.self)
        return unsafe x == b.loadUnaligned(fromByteOffset: last, as: UInt64.self)
      }
      while index < b.count {
        if unsafe a[offset + index] != b[index] { return false }
        index += 1
      }
      return true
    }
  }
}

/// Compares two runs of bytes lexicographically.
///
/// The result is negative if `a` sorts before `b`, zero if they are equal, and positive if `a`
/// sorts after `b`. A prefix of a run sorts before the run.
@inlinable
package func compare(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Int {
  unsafe a.withUnsafeBytes { a in
    unsafe b.withUnsafeBytes { b in
      // Every index is below both counts.
      let common = min(a.count, b.count)
      var index = 0
      while common - index >= 8 {
        let x = unsafe a.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let y = unsafe b.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if x != y { return x.bigEndian < y.bigEndian ? -1 : 1 }
        index += 8
      }
      while index < common {
        let (x, y) = unsafe (a[index], b[index])
        if x != y { return x < y ? -1 : 1 }
        index += 1
      }
      return a.count - b.count
    }
  }
}

/// Compares two runs of shared bytes in the same way.
@inlinable
package func compare(_ a: SharedBytes, _ b: SharedBytes) -> Int {
  a.withSpan { a in b.withSpan { b in compare(a, b) } }
}

/// Compares two texts by their UTF-8 bytes, which is the order of their Unicode scalars.
@inlinable
package func compareUTF8(_ a: String, _ b: String) -> Int {
  withUTF8(of: a) { a in withUTF8(of: b) { b in compare(a, b) } }
}

/// Whether two texts have the same UTF-8 bytes.
///
/// Swift's `==` also equates canonical equivalents.
@inlinable
package func haveSameUTF8(_ a: String, _ b: String) -> Bool {
  withUTF8(of: a) { a in withUTF8(of: b) { b in areEqual(a, b) } }
}

extension Span<UInt8> {
  /// The eight bytes from `offset` on as a little-endian integer.
  ///
  /// Precondition: there are eight bytes from `offset` on.
  @inlinable
  package func word(at offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset <= count - 8, "The offset is outside the bytes")
    // The precondition guarantees eight bytes at `offset`.
    return unsafe UInt64(
      littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

/// The offset of the first invalid UTF-8 sequence in `bytes`, or nil if there is none.
package func firstInvalidUTF8(in bytes: Span<UInt8>) -> Int? {
  let count = bytes.count
  let aboveASCII: UInt64 = 0x8080_8080_8080_8080
  var index = 0
  while index < count {
    if count - index >= 8 {
      if bytes.word(at: index) & aboveASCII == 0 {
        index += 8
        continue
      }
    } else if count >= 8, bytes.word(at: count - 8) & aboveASCII == 0 {
      // The remaining bytes are the end of the last word.
      return nil
    }
    let first = bytes[index]
    if first < 0x80 {
      index += 1
      continue
    }
    // Unicode 16, table 3-7: the number of following bytes, and the valid range of the second byte.
    let following: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: following = 1
    case 0xE0: (following, second) = (2, 0xA0...0xBF)
    case 0xED: (following, second) = (2, 0x80...0x9F)
    case 0xE1...0xEF: following = 2
    case 0xF0: (following, second) = (3, 0x90...0xBF)
    case 0xF1...0xF3: following = 3
    case 0xF4: (following, second) = (3, 0x80...0x8F)
    default: return index
    }
    guard count - index > following, second.contains(bytes[index + 1]) else { return index }
    var tail = index + 2
    while tail <= index + following {
      guard bytes[tail] & 0xC0 == 0x80 else { return index }
      tail += 1
    }
    index += 1 + following
  }
  return nil
}

extension String {
  /// Creates a text from UTF-8 bytes, or returns nil if they are not valid UTF-8.
  ///
  /// The standard library's `String(validating:as:)` takes five times as long.
  package init?(utf8 bytes: Span<UInt8>) {
    guard firstInvalidUTF8(in: bytes) == nil else { return nil }
    self.init(validUTF8: bytes)
  }

  /// Creates a text from bytes that are known to be valid UTF-8.
  package init(validUTF8 bytes: Span<UInt8>) {
    self = unsafe bytes.withUnsafeBufferPointer { buffer in
      // The buffer is read before the closure returns.
      unsafe String(decoding: buffer, as: UTF8.self)
    }
  }
}
