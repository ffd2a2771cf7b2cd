extension ByteWriter {
  /// Replaces the bytes in `range` with `bytes`, and moves the bytes that follow.
  package mutating func replace(_ range: Range<Int>, with bytes: Span<UInt8>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= count, "The range is outside the written bytes")
    let growth = bytes.count - range.count
    if growth > 0 { reserve(growth) }
    let followingCount = count - range.upperBound
    unsafe bytes.withUnsafeBytes { bytes in
      // The bytes that follow stay within the capacity, which `reserve` ensured; `copyMemory`
      // allows the overlap. `bytes` is not this writer's own memory, and fits before them.
      let base = unsafe memory.baseAddress.unsafelyUnwrapped
      if growth != 0, followingCount > 0 {
        unsafe (base + range.upperBound + growth).copyMemory(
          from: base + range.upperBound, byteCount: followingCount)
      }
      if let source = bytes.baseAddress {
        unsafe (base + range.lowerBound).copyMemory(from: source, byteCount: bytes.count)
      }
    }
    count += growth
  }

  /// Appends the bytes in `range` of another writer.
  package mutating func append(_ other: borrowing ByteWriter, _ range: Range<Int>) {
    other.withSpan { append($0.extracting(range)) }
  }

  /// Appends up to `count` bytes that `fill` writes into a buffer; both return how many.
  package mutating func append<E: Error>(
    upTo count: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> Int {
    reserve(count)
    // `reserve` made room for `count` bytes, and only this writer owns the memory.
    let filled = unsafe try fill(
      UnsafeMutableRawBufferPointer(rebasing: memory[self.count..<self.count + count]))
    precondition(filled >= 0 && filled <= count, "More bytes were filled than there is room for")
    self.count += filled
    return filled
  }

  /// Overwrites the last `other.count` bytes with the bytes of `other`.
  package mutating func overwriteEnd(with other: borrowing ByteWriter) {
    precondition(other.count <= count, "There are fewer written bytes than bytes to overwrite")
    let start = count - other.count
    other.withSpan { replace(start..<start + $0.count, with: $0) }
  }

  /// The byte at `offset`.
  @inlinable
  package subscript(offset: Int) -> UInt8 {
    get {
      precondition(offset >= 0 && offset < count, "The offset is outside the written bytes")
      return unsafe memory[offset]
    }
    set {
      precondition(offset >= 0 && offset < count, "The offset is outside the written bytes")
      unsafe memory[offset] = newValue
    }
  }
}
