internal import DivanLog

/// Reads the postings of one term, which ``PostingsWriter`` wrote, in the order of documents.
///
/// It decodes the documents of one block at a time, at most 128, and positions only when asked.
/// ``advance(to:)`` skips long blocks by their headers. Any bytes can be read: what is not a list
/// throws, and nothing is allocated for counts that the bytes cannot have.
struct PostingsCursor {
  private let bytes: [UInt8]
  private let fieldCount: Int
  /// The offset of the next block.
  private var nextBlock = 0

  // The block that is decoded.
  private var documents: [UInt64] = []
  /// The offset of the fields of each document, and the number of occurrences.
  private var fields: [Int] = []
  private var counts: [Int] = []
  private var index = 0
  /// The first document that the next block can have.
  private var nextDocument: UInt64 = 0
  private var endOfPositions = 0
  /// The document of the block whose positions begin at ``positionsOffset``.
  private var positionsIndex = 0
  private var positionsOffset = 0

  /// The current document, or ``DocumentNumber/end``.
  private(set) var document = DocumentNumber.end

  /// Creates a cursor at the first document.
  ///
  /// - Throws: `ByteError` if the bytes are not a list.
  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    (self.bytes, self.fieldCount) = (bytes, fieldCount)
    try readBlock(from: 0)
  }

  /// Moves to the first document that is not before `target`; stays if the current one is not.
  ///
  /// - Throws: `ByteError` if the bytes are not a list.
  mutating func advance(to target: UInt64) throws(ByteError) {
    guard document < target else { return }
    index += 1
    if index < documents.count, documents[documents.count - 1] >= target {
      // Near targets are the rule, so the distance is doubled before it is halved.
      var step = 1
      while index + step < documents.count, documents[index + step] < target {
        index += step
        step *= 2
      }
      var end = Swift.min(index + step, documents.count - 1)
      while index < end {
        let middle = (index + end) / 2
        if documents[middle] < target { index = middle + 1 } else { end = middle }
      }
      document = documents[index]
    } else {
      try readBlock(from: target)
    }
  }

  /// The header of a block that can be skipped.
  private struct LongBlock {
    let last: UInt64
    let documentsSize: Int
    let positionsSize: Int
  }

  /// Reads blocks until one has a document that is not before `target`.
  private mutating func readBlock(from target: UInt64) throws(ByteError) {
    document = DocumentNumber.end
    documents.removeAll(keepingCapacity: true)
    let bytes = bytes
    while nextBlock < bytes.count {
      let span = bytes.span
      var offset = nextBlock
      let header = try span.readVarint(at: &offset)
      let count = Int(truncatingIfNeeded: header >> 1)
      guard header >> 1 > 0, header >> 1 <= PostingsWriter.blockCapacity else {
        throw ByteError(
          offset: nextBlock, reason: "a block of postings has \(header >> 1) documents")
      }
      var long: LongBlock?
      if header & 1 == 1 {
        let distance = try span.readVarint(at: &offset)
        let documentsSize = try span.readCount(limit: bytes.count, at: &offset)
        let positionsSize = try span.readCount(limit: bytes.count, at: &offset)
        guard documentsSize <= bytes.count - offset,
          positionsSize <= bytes.count - offset - documentsSize
        else { throw ByteError(offset: offset, reason: "a block of postings is too long") }
        let (last, overflows) = nextDocument.addingReportingOverflow(distance)
        guard !overflows, last < DocumentNumber.end else {
          throw ByteError(offset: offset, reason: "a document number is too great")
        }
        if last < target {
          nextBlock = offset + documentsSize + positionsSize
          nextDocument = last + 1
          continue
        }
        long = LongBlock(
          last: last, documentsSize: documentsSize, positionsSize: positionsSize)
      }
      try decode(count, at: offset, long)
      if let found = documents.firstIndex(where: { $0 >= target }) {
        (index, document) = (found, documents[found])
        return
      }
      documents.removeAll(keepingCapacity: true)
    }
  }

  private mutating func decode(
    _ count: Int, at start: Int, _ long: LongBlock?
  ) throws(ByteError) {
    let bytes = bytes
    let span = bytes.span
    var offset = start
    var occurrenceCount = 0
    documents.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    counts.removeAll(keepingCapacity: true)
    for _ in 0..<count {
      let (number, overflows) = nextDocument.addingReportingOverflow(
        try span.readVarint(at: &offset))
      guard !overflows, number < DocumentNumber.end else {
        throw ByteError(offset: offset, reason: "a document number is too great")
      }
      nextDocument = number + 1
      documents.append(number)
      fields.append(offset)
      var own = 0
      var isLast = false
      var nextField: UInt64 = 0
      while !isLast {
        let entry = try span.readVarint(at: &offset)
        let field = entry >> 1 % UInt64(fieldCount)
        guard field >= nextField else {
          throw ByteError(offset: offset, reason: "the properties of a posting do not ascend")
        }
        nextField = field + 1
        isLast = entry & 1 == 1
        own += try occurrences(entry, at: offset)
      }
      counts.append(own)
      occurrenceCount += own
    }
    if let long, offset - start != long.documentsSize || nextDocument - 1 != long.last {
      throw ByteError(offset: offset, reason: "a block of postings differs from its header")
    }
    (positionsIndex, positionsOffset) = (0, offset)
    nextBlock = try endOfPositions(occurrenceCount, at: offset, long?.positionsSize)
    endOfPositions = nextBlock
  }

  /// The number of occurrences in an entry of a property.
  private func occurrences(_ entry: UInt64, at offset: Int) throws(ByteError) -> Int {
    let count = entry >> 1 / UInt64(fieldCount)
    // Each occurrence takes a byte at least.
    guard count < bytes.count else {
      throw ByteError(offset: offset, reason: "a term occurs more often than there are bytes")
    }
    return Int(count) + 1
  }

  private func endOfPositions(
    _ count: Int, at start: Int, _ size: Int?
  ) throws(ByteError) -> Int {
    guard count <= bytes.count - start else {
      throw ByteError(offset: start, reason: "a block of postings is too short")
    }
    if let size { return start + size }
    // The header does not say where a short block ends.
    var offset = start
    try skip(count, &offset)
    return offset
  }

  private func skip(_ count: Int, _ offset: inout Int) throws(ByteError) {
    var left = count
    while left > 0 {
      guard offset < bytes.count else {
        throw ByteError(offset: offset, reason: "a block of postings is too short")
      }
      if bytes[offset] < 0x80 { left -= 1 }
      offset += 1
    }
  }
}

extension PostingsCursor {
  /// Calls a closure with each property that the term occurs in, and how often it does.
  ///
  /// - Throws: `ByteError` if the bytes are not a list.
  func forEachField(_ body: (FieldFrequency) -> Void) throws(ByteError) {
    guard document != DocumentNumber.end else { return }
    let span = bytes.span
    var offset = fields[index]
    while true {
      let entry = try span.readVarint(at: &offset)
      let field = Int(entry >> 1 % UInt64(fieldCount))
      body((field, try occurrences(entry, at: offset)))
      if entry & 1 == 1 { return }
    }
  }

  /// Appends the places of the term in the current document, in ascending order.
  ///
  /// - Throws: `ByteError` if the bytes are not a list.
  mutating func appendOccurrences(to result: inout [Occurrence]) throws(ByteError) {
    guard document != DocumentNumber.end else { return }
    var offset = positionsOffset
    if positionsIndex < index {
      try skip(counts[positionsIndex..<index].reduce(0, +), &offset)
      (positionsIndex, positionsOffset) = (index, offset)
    }
    let span = bytes.span
    var fieldsOffset = fields[index]
    while true {
      let entry = try span.readVarint(at: &fieldsOffset)
      let field = Int(entry >> 1 % UInt64(fieldCount))
      let count = try occurrences(entry, at: fieldsOffset)
      var next: UInt64 = 0
      for _ in 0..<count {
        let distance = try span.readVarint(at: &offset)
        guard offset <= endOfPositions, distance <= UInt64(UInt32.max),
          next + distance <= UInt64(UInt32.max)
        else { throw ByteError(offset: offset, reason: "a position is outside of its block") }
        result.append(Occurrence(field: field, position: Int(next + distance)))
        next += distance + 1
      }
      if entry & 1 == 1 { return }
    }
  }
}
