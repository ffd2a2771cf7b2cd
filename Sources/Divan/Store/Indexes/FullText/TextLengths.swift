import DivanLog

/// The number of terms in each property, of documents with neighbouring numbers.
///
/// In bytes: a bit for each document that there is, as a 64-bit number, and then the lengths of
/// each, as varints.
struct TextLengths {
  let fieldCount: Int
  /// A bit for each document that there is.
  private var bits: UInt64 = 0
  /// The lengths of all numbers; those of numbers without a document mean nothing.
  private(set) var lengths: [Int]

  init(fieldCount: Int) {
    self.fieldCount = fieldCount
    lengths = Array(repeating: 0, count: Int(FullTextKeys.lengthsPerBlock) * fieldCount)
  }

  private static func slot(_ number: UInt64) -> Int {
    Int(truncatingIfNeeded: number % FullTextKeys.lengthsPerBlock)
  }

  var isEmpty: Bool { bits == 0 }

  /// Whether there is a document with a number.
  func contains(_ number: UInt64) -> Bool { bits >> UInt64(TextLengths.slot(number)) & 1 == 1 }

  /// Removes all documents, and keeps the memory.
  mutating func removeAll() { bits = 0 }

  /// The index in ``lengths`` of the first length of a document.
  func start(of number: UInt64) -> Int { TextLengths.slot(number) * fieldCount }

  /// The lengths of a document; nil if the number has none.
  subscript(number: UInt64) -> [Int]? {
    get {
      let start = start(of: number)
      return contains(number) ? Array(lengths[start..<start + fieldCount]) : nil
    }
    set {
      let start = start(of: number)
      for field in 0..<fieldCount { lengths[start + field] = newValue?[field] ?? 0 }
      let bit: UInt64 = 1 << UInt64(TextLengths.slot(number))
      bits = newValue == nil ? bits & ~bit : bits | bit
    }
  }

  var bytes: [UInt8] {
    var bytes = bits.bigEndianBytes
    for slot in 0..<FullTextKeys.lengthsPerBlock where contains(slot) {
      let start = start(of: slot)
      for length in lengths[start..<start + fieldCount] { bytes.append(varint: UInt64(length)) }
    }
    return bytes
  }

  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    try read(bytes.span)
  }

  /// Replaces the lengths by others.
  mutating func read(_ span: Span<UInt8>) throws(ByteError) {
    guard span.count >= 8 else {
      throw ByteError(offset: 0, reason: "lengths of documents without their bits")
    }
    bits = 0
    for index in 0..<8 { bits = bits << 8 | UInt64(span[index]) }
    var offset = 8
    var rest = bits
    while rest != 0 {
      let start = rest.trailingZeroBitCount * fieldCount
      for field in 0..<fieldCount {
        lengths[start + field] = try span.readCount(limit: Int(UInt32.max), at: &offset)
      }
      rest &= rest - 1
    }
  }
}
