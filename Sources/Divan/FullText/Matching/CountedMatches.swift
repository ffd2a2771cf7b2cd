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
  /// The counts of each property of each document, by number.
  private var counts: [UInt8]
  /// A bit for each document with a term.
  private var bits: [UInt64]

  /// Creates a counter for documents with numbers below `numberLimit`.
  init(numberLimit: UInt64, fieldCount: Int, fields: FieldSet) {
    (self.fieldCount, self.fields) = (fieldCount, fields)
    counts = Array(repeating: 0, count: Int(numberLimit) * fieldCount)
    bits = Array(repeating: 0, count: Int(numberLimit) / 64 + 1)
  }

  /// Adds the occurrences in a block, and returns the number of its last document.
  mutating func add(_ block: Span<UInt8>, first: UInt64) throws(DatabaseError) -> UInt64 {
    var last = first
    do throws(ByteError) {
      try PostingsBlock.forEachCount(of: block, fieldCount: fieldCount) { number, frequency in
        last = first &+ number
        add(last, frequency)
      }
    } catch {
      throw DatabaseError(postings: error)
    }
    return last
  }

  /// Adds the occurrences of a term in a property of a document.
  private mutating func add(_ number: UInt64, _ frequency: FieldFrequency) {
    guard let number = Int(exactly: number), fields.contains(frequency.field) else { return }
    let place = number * fieldCount + frequency.field
    // A number that no document has yet is that of a malformed block.
    guard place < counts.count else { return }
    counts[place] = UInt8(min(255, Int(counts[place]) + min(255, frequency.count)))
    bits[number / 64] |= 1 << UInt64(number % 64)
  }

  /// Returns the numbers of the documents in ascending order, and the counts of each.
  fileprivate func result() -> (numbers: [UInt64], counts: [UInt8]) {
    let total = bits.reduce(0) { $0 + $1.nonzeroBitCount }
    var numbers: [UInt64] = []
    var found: [UInt8] = []
    numbers.reserveCapacity(total)
    found.reserveCapacity(total * fieldCount)
    for (index, word) in bits.enumerated() where word != 0 {
      var rest = word
      while rest != 0 {
        let number = index * 64 + rest.trailingZeroBitCount
        numbers.append(UInt64(number))
        for field in 0..<fieldCount { found.append(counts[number * fieldCount + field]) }
        rest &= rest - 1
      }
    }
    return (numbers, found)
  }
}
