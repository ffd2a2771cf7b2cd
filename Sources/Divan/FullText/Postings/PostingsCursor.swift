internal import DivanLog

/// Reads the documents of one block, and the places of its term in each.
///
/// The numbers of documents are decoded at once, at most 128, and all else when it is asked for.
/// Any bytes can be read: what is no block throws, and nothing is allocated for counts that the
/// bytes cannot have.
struct PostingsCursor {
  private var bytes: [UInt8] = []
  private let fieldCount: Int
  private var documents: [UInt64] = []
  /// The offset of the properties of each document.
  private var fields: [Int] = []
  private var index = 0
  /// The document whose positions begin at ``positionsOffset``.
  private var positionsIndex = 0
  private var positionsOffset = 0

  /// The current document, or ``DocumentNumber/end``.
  var document: UInt64 { index < documents.count ? documents[index] : DocumentNumber.end }
  /// The number of documents from the current one on.
  var remainingCount: Int { max(0, documents.count - index) }

  /// Creates a cursor without documents.
  init(fieldCount: Int) { self.fieldCount = fieldCount }

  /// Creates a cursor at the first document of a block, whose numbers count from `first`.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  init(_ bytes: [UInt8], first: UInt64, fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    try read(bytes, first: first)
  }

  /// Moves to the first document of another block, and uses the memory again.
  mutating func read(_ bytes: [UInt8], first: UInt64) throws(ByteError) {
    self.bytes = bytes
    (index, positionsIndex) = (0, 0)
    documents.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    let span = bytes.span
    let header = try PostingsBlock.header(of: span)
    positionsOffset = header.positionsStart
    var offset = header.documentsStart
    let (last, overflows) = first.addingReportingOverflow(header.last)
    guard !overflows, last < DocumentNumber.end else {
      throw ByteError(offset: offset, reason: "a document number is too great")
    }
    documents.reserveCapacity(header.documentCount)
    fields.reserveCapacity(header.documentCount)
    var next: UInt64 = 0
    for _ in 0..<header.documentCount {
      let number = try PostingsBlock.readNumber(of: span, notBefore: next, at: &offset)
      next = number &+ 1
      // Numbers ascend to the last one, or the block is malformed.
      documents.append(first &+ number)
      fields.append(offset)
      while try span.readVarint(at: &offset) & 1 == 0 {}
    }
    try PostingsBlock.requireEnd(header, next, offset)
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
  /// Sets the bits of the documents in a window from the current one on, and moves behind them.
  ///
  /// The current document is in the window. Returns the last one whose bit is set.
  mutating func mark(_ window: inout DocumentWindow) -> UInt64 {
    let end = window.end
    while index < documents.count, documents[index] < end {
      window.insert(documents[index])
      index += 1
    }
    return documents[index - 1]
  }

  /// Calls a closure with each property that the term occurs in, and how often it does.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  func forEachField(_ body: (FieldFrequency) -> Void) throws(ByteError) {
    guard index < documents.count else { return }
    try forEachField(of: index) { (frequency) throws(ByteError) in body(frequency) }
  }

  private func forEachField(
    of index: Int, _ body: (FieldFrequency) throws(ByteError) -> Void
  ) throws(ByteError) {
    let span = bytes.span
    var offset = fields[index]
    var nextField = 0
    while true {
      let entry = try span.readVarint(at: &offset)
      let (field, further) = PostingsBlock.field(of: entry, fieldCount)
      guard field >= nextField else {
        throw ByteError(offset: offset, reason: "the properties of a posting do not ascend")
      }
      nextField = field + 1
      try body((field, try PostingsBlock.count(further, limit: bytes.count, at: offset)))
      if entry & 1 == 1 { return }
    }
  }

  /// Appends the places of the term in the current document, in ascending order.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  mutating func appendOccurrences(
    to result: inout [Occurrence], in wanted: FieldSet = .all
  ) throws(ByteError) {
    guard index < documents.count else { return }
    try skipPositions()
    // Mostly the next document follows; this one's positions are read once.
    positionsOffset = try appendOccurrences(to: &result, in: wanted, from: positionsOffset)
    positionsIndex = index + 1
  }

  /// Appends the places whose positions begin at an offset, and returns the offset behind them.
  private func appendOccurrences(
    to result: inout [Occurrence], in wanted: FieldSet, from start: Int
  ) throws(ByteError) -> Int {
    let span = bytes.span
    var offset = start
    try forEachField(of: index) { (frequency) throws(ByteError) in
      let isWanted = wanted.contains(frequency.field)
      var next: UInt64 = 0
      for _ in 0..<frequency.count {
        let distance = try span.readVarint(at: &offset)
        guard distance <= UInt64(UInt32.max), next + distance <= UInt64(UInt32.max) else {
          throw ByteError(offset: offset, reason: "a position is too great")
        }
        if isWanted {
          result.append(Occurrence(field: frequency.field, position: Int(next + distance)))
        }
        next += distance + 1
      }
    }
    return offset
  }

  /// Moves to the positions of the current document.
  private mutating func skipPositions() throws(ByteError) {
    guard positionsIndex != index else { return }
    if positionsIndex > index {
      positionsIndex = 0
      positionsOffset = try PostingsBlock.header(of: bytes.span).positionsStart
    }
    var passed = 0
    while positionsIndex < index {
      try forEachField(of: positionsIndex) { (frequency) throws(ByteError) in
        passed += frequency.count
      }
      positionsIndex += 1
    }
    try PostingsBlock.skip(passed, of: bytes, &positionsOffset)
  }
}
