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
  /// Where the places of each document begin, and their signature; none before they are needed.
  private var places: [(offset: Int, signature: PlaceSignature)] = []
  private var positionsStart = 0

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
    index = 0
    places.removeAll(keepingCapacity: true)
    documents.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    let span = bytes.span
    let header = try PostingsBlock.header(of: span)
    positionsStart = header.positionsStart
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

  @inline(__always)
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

  /// The signature of the places of the term in the current document; of no place at the end.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  mutating func signature() throws(ByteError) -> PlaceSignature {
    guard index < documents.count else { return PlaceSignature() }
    try readPlaces()
    return places[index].signature
  }

  /// Appends the places of the term in the current document, in ascending order.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  mutating func appendOccurrences(
    to result: inout [Occurrence], in wanted: FieldSet = .all
  ) throws(ByteError) {
    guard index < documents.count else { return }
    try readPlaces()
    let span = bytes.span
    var offset = places[index].offset
    try forEachField(of: index) { (frequency) throws(ByteError) in
      let isWanted = wanted.contains(frequency.field)
      var next: UInt64 = 0
      for _ in 0..<frequency.count {
        let position = try PostingsCursor.readPosition(of: span, &next, at: &offset)
        if isWanted {
          result.append(Occurrence(field: frequency.field, position: Int(position)))
        }
      }
    }
  }

  /// Finds the places of all documents of the block; once.
  ///
  /// They follow each other, so those of one document cannot be found without those before.
  private mutating func readPlaces() throws(ByteError) {
    guard places.isEmpty else { return }
    let bytes = bytes
    let span = bytes.span
    // All of them or none, also after an error.
    var places: [(offset: Int, signature: PlaceSignature)] = []
    swap(&places, &self.places)
    places.reserveCapacity(documents.count)
    var offset = positionsStart
    for index in documents.indices {
      let start = offset
      var signature = PlaceSignature()
      try forEachField(of: index) { (frequency) throws(ByteError) in
        var next: UInt64 = 0
        for _ in 0..<frequency.count {
          let position = try PostingsCursor.readPosition(of: span, &next, at: &offset)
          signature.insert(field: frequency.field, position: position)
        }
      }
      places.append((start, signature))
    }
    self.places = places
  }

  /// Reads a position, whose distance to the least that it can be is in the block.
  @inline(__always)
  private static func readPosition(
    of span: Span<UInt8>, _ least: inout UInt64, at offset: inout Int
  ) throws(ByteError) -> UInt64 {
    let distance = try span.readVarint(at: &offset)
    guard distance <= UInt64(UInt32.max), least + distance <= UInt64(UInt32.max) else {
      throw ByteError(offset: offset, reason: "a position is too great")
    }
    defer { least += distance + 1 }
    return least + distance
  }
}
