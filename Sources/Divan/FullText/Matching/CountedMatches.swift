internal import DivanLog

/// The documents with any of many terms, such as all that have a prefix, or with a frequent one.
///
/// A short prefix has thousands of terms. So their postings are counted at once, without a cursor
/// for each: a byte for each document and property, in which more than 255 occurrences count as
/// 255. It has no places, and so no phrases.
final class CountedMatches: MatchCursor {
  /// The numbers of the documents, in ascending order.
  private var numbers: [UInt64] = []
  /// The counts of the properties of each document.
  private var counts: [UInt8] = []
  private var index = 0
  private let fieldCount: Int
  private let part: Int?

  /// The greatest number of bytes for the counts of all documents.
  static let sizeLimit: UInt64 = 64 << 20

  init(
    _ counter: OccurrenceCounter, fieldCount: Int, part: Int?
  ) {
    (self.fieldCount, self.part) = (fieldCount, part)
    (numbers, counts) = counter.result()
  }

  /// Calls a closure with the number and the counts of each document, in ascending order, that has
  /// one occurrence, or that has several.
  func forEach<Failure: Error>(
    withSeveral: Bool, _ body: (UInt64, ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    for index in numbers.indices {
      let places = index * fieldCount..<(index + 1) * fieldCount
      var total = 0
      for place in places { total += Int(counts[place]) }
      if (total > 1) == withSeveral { try body(numbers[index], counts[places]) }
    }
  }

  var document: UInt64 { index < numbers.count ? numbers[index] : DocumentNumber.end }
  var cost: Int { numbers.count }

  func advance(to target: UInt64) {
    guard document < target else { return }
    index += 1
    var step = 1
    while index + step < numbers.count, numbers[index + step] < target {
      index += step
      step *= 2
    }
    var end = min(index + step, numbers.count)
    while index < end {
      let middle = (index + end) / 2
      if numbers[middle] < target { index = middle + 1 } else { end = middle }
    }
  }

  func mark(_ window: inout DocumentWindow) {
    while index < numbers.count, numbers[index] < window.end {
      window.insert(numbers[index])
      index += 1
    }
  }

  func countRest() -> Int {
    defer { index = numbers.count }
    return numbers.count - index
  }

  func appendSpans(to spans: inout [MatchSpan]) {
    preconditionFailure("the words of a phrase were counted")
  }

  func addFrequencies(to frequencies: inout TermFrequencies) {
    guard let part, index < numbers.count else { return }
    for field in 0..<fieldCount {
      frequencies.add(Int(counts[index * fieldCount + field]), part: part, field: field)
    }
  }
}

/// Counts the occurrences of many terms together.
struct OccurrenceCounter {
  private let fieldCount: Int
  private let fields: FieldSet
  /// All documents have numbers below this one.
  private let numberLimit: UInt64
  /// The counts of each property of each document, by number.
  private var counts: [UInt8]

  /// Creates a counter for documents with numbers below `numberLimit`.
  init(numberLimit: UInt64, fieldCount: Int, fields: FieldSet) {
    (self.numberLimit, self.fieldCount, self.fields) = (numberLimit, fieldCount, fields)
    counts = Array(repeating: 0, count: Int(numberLimit) * fieldCount)
  }

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
    let (fields, fieldCount, numberLimit) = (fields, fieldCount, numberLimit)
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
          let place = Int(truncatingIfNeeded: document) &* fieldCount &+ field
          counts[place] = UInt8(min(255, UInt64(counts[place]) + min(255, further + 1)))
        }
        if entry & 1 == 1 { break }
      }
    }
    try PostingsBlock.requireEnd(header, next, offset)
    return header.last
  }

  /// Returns the numbers of the documents in ascending order, and the counts of each.
  fileprivate func result() -> (numbers: [UInt64], counts: [UInt8]) {
    let span = counts.span
    var numbers: [UInt64] = []
    var found: [UInt8] = []
    var offset = 0
    // Most have no term, or all of them may have one.
    while let place = span.firstNonzero(from: offset) {
      let number = place / fieldCount
      numbers.append(UInt64(number))
      for field in 0..<fieldCount { found.append(span[number * fieldCount + field]) }
      offset = (number + 1) * fieldCount
    }
    return (numbers, found)
  }
}

extension Span<UInt8> {
  /// Returns the offset of the first byte from an offset on that is not zero; nil if all are.
  fileprivate func firstNonzero(from start: Int) -> Int? {
    var offset = start
    while offset <= count - 8 {
      let word = word(at: offset)
      if word != 0 { return offset + word.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count {
      if self[offset] != 0 { return offset }
      offset += 1
    }
    return nil
  }
}
