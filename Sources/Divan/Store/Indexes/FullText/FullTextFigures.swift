import DivanLog

/// The figures of a full-text index that relevance needs, and the next number of a document.
///
/// An index whose terms follow another version of the rules is built again at the next opening.
struct FullTextFigures: Equatable {
  /// The version of the rules that made the terms: ``AnalysisOptions/version``.
  private(set) var rules = AnalysisOptions.version
  /// The number that the next new document gets; numbers are not used again.
  var nextNumber: UInt64 = 0
  /// The number of documents with a term.
  var documentCount = 0
  /// The number of terms of each property in all documents.
  var totalLengths: [Int]

  init(fieldCount: Int) { totalLengths = Array(repeating: 0, count: fieldCount) }

  /// Whether the index has to be built again.
  var isOutdated: Bool { rules != AnalysisOptions.version }

  /// Counts a document, or with a negative count takes one away.
  mutating func add(_ count: Int, _ lengths: [Int]) {
    documentCount = max(0, documentCount + count)
    for field in totalLengths.indices {
      totalLengths[field] = max(0, totalLengths[field] + count * lengths[field])
    }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(rules))
    bytes.append(varint: nextNumber)
    bytes.append(varint: UInt64(documentCount))
    for length in totalLengths { bytes.append(varint: UInt64(length)) }
    return bytes
  }

  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    let span = bytes.span
    var offset = 0
    rules = try span.readCount(limit: .max, at: &offset)
    nextNumber = try span.readVarint(at: &offset)
    documentCount = try span.readCount(limit: .max, at: &offset)
    for field in 0..<fieldCount {
      totalLengths[field] = try span.readCount(limit: .max, at: &offset)
    }
  }
}

/// The number of terms in each property, of documents with neighbouring numbers.
///
/// In bytes: a bit for each document that there is, as a 64-bit number, and then the lengths of
/// each, as varints.
struct TextLengths {
  private let fieldCount: Int
  /// The lengths of each document; empty for numbers without a document.
  private var lengths: [[Int]]

  init(fieldCount: Int) {
    self.fieldCount = fieldCount
    lengths = Array(repeating: [], count: Int(FullTextKeys.lengthsPerBlock))
  }

  private static func slot(_ number: UInt64) -> Int {
    Int(number % FullTextKeys.lengthsPerBlock)
  }

  var isEmpty: Bool { lengths.allSatisfy(\.isEmpty) }

  /// The lengths of a document; nil if the number has none.
  subscript(number: UInt64) -> [Int]? {
    get {
      let found = lengths[TextLengths.slot(number)]
      return found.isEmpty ? nil : found
    }
    set { lengths[TextLengths.slot(number)] = newValue ?? [] }
  }

  var bytes: [UInt8] {
    var bits: UInt64 = 0
    var bytes: [UInt8] = []
    for (slot, own) in lengths.enumerated() where !own.isEmpty {
      bits |= 1 << UInt64(slot)
      for length in own { bytes.append(varint: UInt64(length)) }
    }
    return bits.bigEndianBytes + bytes
  }

  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    guard bytes.count >= 8 else {
      throw ByteError(offset: 0, reason: "lengths of documents without their bits")
    }
    let bits = bytes[..<8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let span = bytes.span
    var offset = 8
    for slot in lengths.indices where bits >> UInt64(slot) & 1 == 1 {
      var own: [Int] = []
      for _ in 0..<fieldCount { own.append(try span.readCount(limit: .max, at: &offset)) }
      lengths[slot] = own
    }
  }
}
