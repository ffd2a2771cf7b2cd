extension ByteWriter {
  /// Puts `bytes` in the place of what stands in `range`, and moves what follows.
  package mutating func replace(_ range: Range<Int>, with bytes: Span<UInt8>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= count, "Range outside what was written")
    let growth = bytes.count - range.count
    if growth > 0 { reserve(growth) }
    let followingCount = count - range.upperBound
    unsafe bytes.withUnsafeBytes { bytes in
      // The bytes that follow stay within the capacity, for which `reserve` made room; moving them
      // takes care of the overlap. `bytes` is not this writer's own memory, and fits before them.
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

  /// Appends what stands in `range` of another writer.
  package mutating func append(_ other: borrowing ByteWriter, _ range: Range<Int>) {
    other.withSpan { append($0.extracting(range)) }
  }

  /// Appends bytes that `fill` puts into the room that it is given; it returns how many, at most `count`.
  package mutating func append<E: Error>(
    upTo count: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> Int {
    reserve(count)
    // `reserve` made room for as many, and nobody else has this memory.
    let filled = unsafe try fill(
      UnsafeMutableRawBufferPointer(rebasing: memory[self.count..<self.count + count]))
    precondition(filled >= 0 && filled <= count, "Filled more bytes than there is room for")
    self.count += filled
    return filled
  }

  /// The last `count` bytes written are now `bytes`, which are as many.
  package mutating func overwriteEnd(with other: borrowing ByteWriter) {
    precondition(other.count <= count, "More bytes than were written")
    let start = count - other.count
    other.withSpan { replace(start..<start + $0.count, with: $0) }
  }

  /// The byte at `offset`.
  @inlinable
  package subscript(offset: Int) -> UInt8 {
    get {
      precondition(offset >= 0 && offset < count, "Offset outside what was written")
      return unsafe memory[offset]
    }
    set {
      precondition(offset >= 0 && offset < count, "Offset outside what was written")
      unsafe memory[offset] = newValue
    }
  }
}
