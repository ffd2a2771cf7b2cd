internal import DivanLog

/// Reads the documents of one block, and the places of its term in each.
///
/// The documents are decoded at once, at most 128, and positions only when asked. Any bytes can be
/// read: what is no block throws, and nothing is allocated for counts that the bytes cannot have.
struct PostingsCursor {
  private let bytes: [UInt8]
  private let fieldCount: Int
  private var documents: [UInt64] = []
  /// The offset of the fields of each document, and the number of occurrences.
  private var fields: [Int] = []
  private var counts: [Int] = []
  private var index = 0
  /// The document whose positions begin at ``positionsOffset``.
  private var positionsIndex = 0
  private var positionsOffset: Int

  /// The current document, or ``DocumentNumber/end``.
  var document: UInt64 { index < documents.count ? documents[index] : DocumentNumber.end }
  /// The number of documents from the current one on.
  var remainingCount: Int { max(0, documents.count - index) }

  /// Creates a cursor at the first document of a block, whose numbers count from `first`.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  init(_ bytes: [UInt8], first: UInt64, fieldCount: Int) throws(ByteError) {
    (self.bytes, self.fieldCount) = (bytes, fieldCount)
    let header = try PostingsBlock.header(of: bytes.span)
    positionsOffset = header.positionsStart
    try decode(header, first)
  }

  private mutating func decode(
    _ header: PostingsBlock.Header, _ first: UInt64
  ) throws(ByteError) {
    let bytes = bytes
    let span = bytes.span
    let positionsSize = bytes.count - header.positionsStart
    var offset = header.documentsStart
    var before: UInt64?
    var total = 0
    documents.reserveCapacity(header.documentCount)
    fields.reserveCapacity(header.documentCount)
    counts.reserveCapacity(header.documentCount)
    for _ in 0..<header.documentCount {
      let distance = try span.readVarint(at: &offset)
      let number = try PostingsBlock.number(distance, after: before, at: offset)
      before = number
      let (document, overflows) = first.addingReportingOverflow(number)
      guard !overflows, document < DocumentNumber.end else {
        throw ByteError(offset: offset, reason: "a document number is too great")
      }
      documents.append(document)
      fields.append(offset)
      var own = 0
      var nextField: UInt64 = 0
      while true {
        let entry = try span.readVarint(at: &offset)
        let field = entry >> 1 % UInt64(fieldCount)
        guard field >= nextField else {
          throw ByteError(offset: offset, reason: "the properties of a posting do not ascend")
        }
        nextField = field + 1
        own += try PostingsBlock.occurrences(entry, fieldCount, limit: positionsSize, at: offset)
        if entry & 1 == 1 { break }
      }
      counts.append(own)
      total += own
    }
    guard offset == header.positionsStart, before == header.last, total <= positionsSize else {
      throw ByteError(offset: offset, reason: "a block of postings differs from its figures")
    }
  }

  /// Moves to the first document that is not before `target`; stays if the current one is not.
  mutating func advance(to target: UInt64) {
    guard document < target else { return }
    index += 1
    // Near targets are the rule, so the distance is doubled before it is halved.
    var step = 1
    while index + step < documents.count, documents[index + step] < target {
      index += step
      step *= 2
    }
    var end = Swift.min(index + step, documents.count)
    while index < end {
      let middle = (index + end) / 2
      if documents[middle] < target { index = middle + 1 } else { end = middle }
    }
  }
}

extension PostingsCursor {
  /// Calls a closure with each property that the term occurs in, and how often it does.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  func forEachField(_ body: (FieldFrequency) -> Void) throws(ByteError) {
    guard index < documents.count else { return }
    let span = bytes.span
    var offset = fields[index]
    while true {
      let entry = try span.readVarint(at: &offset)
      let field = Int(entry >> 1 % UInt64(fieldCount))
      body(
        (field, try PostingsBlock.occurrences(entry, fieldCount, limit: bytes.count, at: offset)))
      if entry & 1 == 1 { return }
    }
  }

  /// Appends the places of the term in the current document, in ascending order.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  mutating func appendOccurrences(to result: inout [Occurrence]) throws(ByteError) {
    guard index < documents.count else { return }
    if positionsIndex < index {
      try PostingsBlock.skip(
        counts[positionsIndex..<index].reduce(0, +), of: bytes, &positionsOffset)
      positionsIndex = index
    }
    var offset = positionsOffset
    let span = bytes.span
    var fieldsOffset = fields[index]
    while true {
      let entry = try span.readVarint(at: &fieldsOffset)
      let field = Int(entry >> 1 % UInt64(fieldCount))
      let count = try PostingsBlock.occurrences(
        entry, fieldCount, limit: bytes.count, at: fieldsOffset)
      var next: UInt64 = 0
      for _ in 0..<count {
        let distance = try span.readVarint(at: &offset)
        guard distance <= UInt64(UInt32.max), next + distance <= UInt64(UInt32.max) else {
          throw ByteError(offset: offset, reason: "a position is too great")
        }
        result.append(Occurrence(field: field, position: Int(next + distance)))
        next += distance + 1
      }
      if entry & 1 == 1 { return }
    }
  }
}
