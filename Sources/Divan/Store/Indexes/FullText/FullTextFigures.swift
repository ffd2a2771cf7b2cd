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
  /// Whether there may be postings with numbers that no document has any more.
  ///
  /// They stay when a document changes whose old text cannot be read. Without them, a search need
  /// not look up whether a number has a document.
  var hasOrphans = false
  /// The number of documents with a term in each property.
  var fieldCounts: [Int]
  /// The number of terms of each property in all documents.
  var totalLengths: [Int]

  init(fieldCount: Int) {
    fieldCounts = Array(repeating: 0, count: fieldCount)
    totalLengths = fieldCounts
  }

  /// The average number of terms of each property, in the documents that have one there.
  var averageLengths: [Double] {
    zip(totalLengths, fieldCounts).map { Double($0) / Double(max(1, $1)) }
  }

  /// Whether the index has to be built again.
  var isOutdated: Bool { rules != AnalysisOptions.version }

  /// Counts a document, or with a negative count takes one away.
  mutating func add(_ count: Int, _ lengths: [Int]) {
    documentCount = max(0, documentCount + count)
    for field in totalLengths.indices {
      totalLengths[field] = max(0, totalLengths[field] + count * lengths[field])
      if lengths[field] > 0 { fieldCounts[field] = max(0, fieldCounts[field] + count) }
    }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(rules))
    bytes.append(varint: nextNumber)
    bytes.append(varint: UInt64(documentCount))
    bytes.append(hasOrphans ? 1 : 0)
    for (count, length) in zip(fieldCounts, totalLengths) {
      bytes.append(varint: UInt64(count))
      bytes.append(varint: UInt64(length))
    }
    return bytes
  }

  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    let span = bytes.span
    var offset = 0
    rules = try span.readCount(limit: .max, at: &offset)
    // So small that no sum of them overflows.
    let limit = Int(counterLimit)
    nextNumber = UInt64(try span.readCount(limit: limit, at: &offset))
    documentCount = try span.readCount(limit: limit, at: &offset)
    hasOrphans = try span.readCount(limit: 1, at: &offset) == 1
    for field in 0..<fieldCount {
      fieldCounts[field] = try span.readCount(limit: limit, at: &offset)
      totalLengths[field] = try span.readCount(limit: limit, at: &offset)
    }
  }
}
