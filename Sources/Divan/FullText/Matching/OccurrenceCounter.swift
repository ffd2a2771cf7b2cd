internal import DivanLog

/// Counts the occurrences of many terms together: a byte for each document and property, in which
/// more than 255 occurrences count as 255.
struct OccurrenceCounter {
  let fieldCount: Int
  private let fields: FieldSet
  /// All documents have numbers below this one.
  private let numberLimit: UInt64
  /// The counts of the properties of each document, by number, and zeros up to a power of two.
  private var counts: [UInt8]
  /// The binary logarithm of the number of bytes for a document.
  private let strideBits: Int

  /// Creates a counter for documents with numbers below `numberLimit`; nil if there are so many
  /// that ``size`` would exceed a limit.
  init?(numberLimit: UInt64, fieldCount: Int, fields: FieldSet, sizeLimit: Int) {
    (self.numberLimit, self.fieldCount, self.fields) = (numberLimit, fieldCount, fields)
    strideBits = Int.bitWidth - (fieldCount - 1).leadingZeroBitCount
    guard numberLimit <= UInt64(max(sizeLimit, 0)) >> UInt64(strideBits) else { return nil }
    // Whole words, which are looked at together.
    counts = Array(repeating: 0, count: (Int(numberLimit) << strideBits + 7) & ~7)
  }

  /// The memory in use, in bytes.
  var size: Int { counts.count }

  /// Adds the occurrences in a block, and returns the number of its last document.
  mutating func add(_ block: Span<UInt8>, first: UInt64) throws(DatabaseError) -> UInt64 {
    do throws(ByteError) {
      return try first &+ countOccurrences(in: block, first: first)
    } catch {
      throw DatabaseError(postings: error)
    }
  }

  /// Counts the occurrences in a block, and returns the last of its numbers, from the first on.
  private mutating func countOccurrences(
    in block: Span<UInt8>, first: UInt64
  ) throws(ByteError) -> UInt64 {
    let header = try PostingsBlock.header(of: block)
    let (fields, fieldCount, strideBits) = (fields, fieldCount, strideBits)
    let numberLimit = numberLimit
    // Once for all, so that no step asks whether the array is shared.
    var counts = self.counts.mutableSpan
    var offset = header.documentsStart
    var next: UInt64 = 0
    for _ in 0..<header.documentCount {
      let number = try PostingsBlock.readNumber(of: block, notBefore: next, at: &offset)
      next = number &+ 1
      let document = first &+ number
      while true {
        let entry = try block.readVarint(at: &offset)
        let (field, further) = PostingsBlock.field(of: entry, fieldCount)
        // A number that no document has yet is that of a malformed block.
        if fields.contains(field), document < numberLimit {
          let place = Int(truncatingIfNeeded: document) &<< strideBits &+ field
          counts[place] = UInt8(min(255, UInt64(counts[place]) + min(255, further + 1)))
        }
        if entry & 1 == 1 { break }
      }
    }
    try PostingsBlock.requireEnd(header, next, offset)
    return header.last
  }
}

extension OccurrenceCounter {
  /// How often the terms occur in a property of a document.
  func count(of document: UInt64, _ field: Int) -> Int {
    Int(counts[Int(document) << strideBits + field])
  }

  /// Returns the first document from a number on that has an occurrence; nil if none has.
  func document(from number: UInt64) -> UInt64? {
    guard number < numberLimit else { return nil }
    return counts.span.firstNonzero(from: Int(number) << strideBits).map {
      UInt64($0 >> strideBits)
    }
  }

  /// The number of documents that have an occurrence.
  var documentCount: Int {
    let span = counts.span
    var found = 0
    for offset in stride(from: 0, to: span.count, by: max(8, 1 << strideBits)) {
      found += span.nonzeroCount(at: offset, strideBits)
    }
    return found
  }

  /// Calls a closure with the number and the counts of each document, in ascending order, that has
  /// one occurrence, or that has several.
  func forEach<Failure: Error>(
    withSeveral: Bool, _ body: (UInt64, Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    var next: UInt64 = 0
    while let document = document(from: next) {
      next = document + 1
      let start = Int(document) << strideBits
      let own = counts.span.extracting(start..<start + fieldCount)
      var total = 0
      for field in own.indices { total += Int(own[field]) }
      if (total > 1) == withSeveral { try body(document, own) }
    }
  }
}

extension Span<UInt8> {
  /// Returns the offset of the first byte from an offset on that is not zero; nil if all are.
  fileprivate func firstNonzero(from start: Int) -> Int? {
    // Where most documents match, the next one does.
    if start < count, self[start] != 0 { return start }
    // The rest of the word at the start, and then word by word.
    var offset = start & ~7
    var mask = UInt64.max << UInt64(8 * (start & 7))
    while offset < count {
      let word = word(at: offset) & mask
      if word != 0 { return offset + word.trailingZeroBitCount / 8 }
      offset += 8
      mask = .max
    }
    return nil
  }

  /// Returns the number of groups that have a byte which is not zero, among those of the word at an
  /// offset, or of the one group that is longer.
  fileprivate func nonzeroCount(at offset: Int, _ groupBits: Int) -> Int {
    guard groupBits <= 3 else {
      return (0..<1 << (groupBits - 3)).contains { self.word(at: offset + 8 * $0) != 0 } ? 1 : 0
    }
    let word = self.word(at: offset)
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    // The highest bit of each byte that is not zero; then of the first byte of each group.
    var marks = ((word & low) &+ low | word) & ~low
    for bits in 0..<groupBits { marks |= marks >> UInt64(8 << bits) }
    return (marks & Self.firstBytes(groupBits)).nonzeroBitCount
  }

  /// The highest bit of the first byte of each group in a word.
  private static func firstBytes(_ groupBits: Int) -> UInt64 {
    switch groupBits {
    case 0: 0x8080_8080_8080_8080
    case 1: 0x0080_0080_0080_0080
    case 2: 0x0000_0080_0000_0080
    default: 0x80
    }
  }
}
