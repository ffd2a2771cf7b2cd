internal import DivanLog

/// The postings of one term in documents whose numbers are near each other: which, and where.
///
/// ```
/// block      number of documents, last number, greatest frequency, size of the documents
///            documents, positions
/// document   number − number before (−1 at first), then an entry for each property with the term:
///            ((count − 1) × number of properties + property) × 2 + whether it is the last one
/// position   position − position before in the same property − 1; of the first: the position
/// ```
///
/// All numbers are varints, and those of documents count from the block's first number, which is
/// in its key. The positions come last, so a query without phrases does not read them. The greatest
/// frequency is at least that of each document: after a removal, it may be greater.
///
/// A block is edited without decoding what stays as it is.
struct PostingsBlock: Sendable {
  /// A block takes no further document when it has this many.
  static let documentLimit = 128
  /// A block takes no further document when it has this many bytes.
  static let sizeLimit = 640

  /// The figures that a block begins with.
  struct Header: Sendable {
    var documentCount = 0
    /// The number of the last document, from the block's first number.
    var last: UInt64 = 0
    /// The most occurrences that a document has, or more.
    var greatestFrequency = 0
    /// The offsets of the documents and the positions in the block's bytes.
    fileprivate(set) var documentsStart = 0
    fileprivate(set) var positionsStart = 0
  }

  /// The number of properties of the index.
  let fieldCount: Int
  private(set) var header = Header()
  private var documents: [UInt8] = []
  private var positions: [UInt8] = []

  /// Creates an empty block.
  init(fieldCount: Int) {
    precondition((1...Occurrence.fieldLimit).contains(fieldCount), "\(fieldCount) properties")
    self.fieldCount = fieldCount
  }

  /// Decodes a block.
  ///
  /// - Throws: `ByteError` if the bytes are no block.
  init(_ bytes: [UInt8], fieldCount: Int) throws(ByteError) {
    self.init(fieldCount: fieldCount)
    header = try PostingsBlock.header(of: bytes.span)
    documents = Array(bytes[header.documentsStart..<header.positionsStart])
    positions = Array(bytes[header.positionsStart...])
  }
}

extension PostingsBlock {
  /// Reads the figures that a block begins with, and checks them against its size.
  static func header(of span: Span<UInt8>) throws(ByteError) -> Header {
    let header = try figures(of: span)
    guard header.positionsStart <= span.count else {
      throw ByteError(offset: 0, reason: "a block of postings is too short")
    }
    return header
  }

  /// Reads the figures that a block begins with, of which the rest may be missing.
  static func figures(of span: Span<UInt8>) throws(ByteError) -> Header {
    var offset = 0
    var header = Header()
    header.documentCount = try span.readCount(limit: documentLimit, at: &offset)
    header.last = try span.readVarint(at: &offset)
    header.greatestFrequency = try span.readCount(limit: .max, at: &offset)
    let size = try span.readCount(limit: Int(Int32.max), at: &offset)
    guard header.documentCount > 0, header.last < DocumentNumber.end else {
      throw ByteError(offset: 0, reason: "a block of postings with invalid figures")
    }
    header.documentsStart = offset
    header.positionsStart = offset + size
    return header
  }

  /// Throws if documents that were read differ from the figures of a block.
  ///
  /// `next` follows their last number, and `offset` is behind them.
  static func requireEnd(_ header: Header, _ next: UInt64, _ offset: Int) throws(ByteError) {
    guard offset == header.positionsStart, next == header.last + 1 else {
      throw ByteError(offset: offset, reason: "a block of postings differs from its figures")
    }
  }

  var isEmpty: Bool { header.documentCount == 0 }
  /// Whether another document belongs in a block of its own.
  var isFull: Bool {
    header.documentCount >= PostingsBlock.documentLimit || size >= PostingsBlock.sizeLimit
  }
  /// Whether a document was put between others that the block has no room for.
  var isOverfull: Bool {
    header.documentCount > 1
      && (header.documentCount > PostingsBlock.documentLimit
        || size > PostingsBlock.sizeLimit + PostingsBlock.sizeLimit / 4)
  }
  private var size: Int { documents.count + positions.count }

  /// The block's bytes.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(documents.count + positions.count + 12)
    bytes.append(varint: UInt64(header.documentCount))
    bytes.append(varint: header.last)
    bytes.append(varint: UInt64(header.greatestFrequency))
    bytes.append(varint: UInt64(documents.count))
    bytes += documents
    bytes += positions
    return bytes
  }

  /// Appends a document that comes after all others.
  ///
  /// `number` counts from the block's first number. The occurrences ascend, and there is at least
  /// one.
  mutating func append(_ number: UInt64, _ occurrences: some Collection<Occurrence>) {
    precondition(isEmpty || number > header.last, "the documents do not ascend")
    documents.append(varint: isEmpty ? number : number - header.last - 1)
    PostingsBlock.encode(occurrences, fieldCount, into: &documents, &positions)
    header.documentCount += 1
    header.last = number
    header.greatestFrequency = max(header.greatestFrequency, occurrences.count)
  }

  private static func encode(
    _ occurrences: some Collection<Occurrence>, _ fieldCount: Int, into documents: inout [UInt8],
    _ positions: inout [UInt8]
  ) {
    precondition(!occurrences.isEmpty, "a posting without an occurrence")
    var index = occurrences.startIndex
    while index < occurrences.endIndex {
      let field = occurrences[index].field
      precondition(field < fieldCount, "property \(field) of \(fieldCount)")
      var count = 0
      var expected = 0
      while index < occurrences.endIndex, occurrences[index].field == field {
        let position = occurrences[index].position
        precondition(position >= expected, "the positions do not ascend")
        positions.append(varint: UInt64(position - expected))
        expected = position + 1
        count += 1
        index = occurrences.index(after: index)
      }
      let isLast = index == occurrences.endIndex
      documents.append(varint: UInt64((count - 1) * fieldCount + field) << 1 | (isLast ? 1 : 0))
    }
  }
}

// MARK: - Changing a document

extension PostingsBlock {
  /// The place of a document in a block, or where it belongs.
  private struct Place {
    /// The bytes of the document without its number, after ``numberStart``.
    var entries: Range<Int>
    /// The offset of the document's number.
    var numberStart: Int
    /// The least number that the document may have: the one after the document before.
    var least: UInt64 = 0
    /// The document's number; nil if all documents come before.
    var number: UInt64?
    /// The number of positions before, and of its own.
    var positionsBefore = 0
    var positionCount = 0
  }

  /// Finds the first document that is not before a number.
  private func place(of target: UInt64) throws(ByteError) -> Place {
    let span = documents.span
    var offset = 0
    var place = Place(entries: 0..<0, numberStart: 0)
    while offset < documents.count {
      place.numberStart = offset
      let number = try PostingsBlock.readNumber(of: span, notBefore: place.least, at: &offset)
      let start = offset
      let count = try skipEntries(&offset)
      if number >= target {
        place.number = number
        place.entries = start..<offset
        place.positionCount = count
        return place
      }
      place.least = number + 1
      place.positionsBefore += count
    }
    place.numberStart = offset
    place.entries = offset..<offset
    return place
  }

  /// Reads the number of a document, whose distance to the least that it can be is in the block.
  @inline(__always)
  static func readNumber(
    of span: Span<UInt8>, notBefore least: UInt64, at offset: inout Int
  ) throws(ByteError) -> UInt64 {
    let distance: UInt64
    // Many distances have two bytes, which are not worth a call.
    if offset < span.count - 1, span[offset] >= 0x80, 1..<0x80 ~= span[offset + 1] {
      distance = UInt64(span[offset] & 0x7F) | UInt64(span[offset + 1]) << 7
      offset += 2
    } else {
      distance = try span.readVarint(at: &offset)
    }
    let (number, overflows) = least.addingReportingOverflow(distance)
    guard !overflows, number < DocumentNumber.end else {
      throw ByteError(offset: offset, reason: "a document number is too great")
    }
    return number
  }

  /// Passes the entries of a document's properties, and returns the number of occurrences.
  private func skipEntries(_ offset: inout Int) throws(ByteError) -> Int {
    let span = documents.span
    var count = 0
    while true {
      let entry = try span.readVarint(at: &offset)
      count += try PostingsBlock.occurrences(
        entry, fieldCount, limit: positions.count, at: offset)
      if entry & 1 == 1 { return count }
    }
  }

  /// Returns the property in an entry, and how often the term occurs in it besides once.
  @inline(__always)
  static func field(of entry: UInt64, _ fieldCount: Int) -> (field: Int, further: UInt64) {
    let value = entry >> 1
    // Mostly it occurs once, and a division takes longer than all else.
    if value < UInt64(fieldCount) { return (Int(value), 0) }
    if fieldCount == 1 { return (0, value) }
    let (further, field) = value.quotientAndRemainder(dividingBy: UInt64(fieldCount))
    return (Int(field), further)
  }

  /// The number of occurrences in an entry of a property.
  static func occurrences(
    _ entry: UInt64, _ fieldCount: Int, limit: Int, at offset: Int
  ) throws(ByteError) -> Int {
    try count(field(of: entry, fieldCount).further, limit: limit, at: offset)
  }

  /// Returns a number of occurrences, which each take a byte at least.
  @inline(__always)
  static func count(
    _ further: UInt64, limit: Int, at offset: Int
  ) throws(ByteError) -> Int {
    guard further < UInt64(limit) else {
      throw ByteError(offset: offset, reason: "a term occurs more often than there are bytes")
    }
    return Int(further) + 1
  }

  /// Passes some varints.
  static func skip(_ count: Int, of bytes: [UInt8], _ offset: inout Int) throws(ByteError) {
    let span = bytes.span
    var left = count
    // The last byte of a varint is the one whose highest bit is not set.
    while left > 8, offset <= span.count - 8 {
      var end = offset
      let word = try span.read(UInt64.self, at: &end)
      left -= (~word & 0x8080_8080_8080_8080).nonzeroBitCount
      offset = end
    }
    while left > 0 {
      guard offset < span.count else {
        throw ByteError(offset: offset, reason: "a block of postings is too short")
      }
      if span[offset] < 0x80 { left -= 1 }
      offset += 1
    }
  }

  /// Replaces the occurrences of a document, or adds it, or removes it if there are none.
  ///
  /// - Throws: `ByteError` if the block is malformed.
  mutating func set(
    _ number: UInt64, _ occurrences: some Collection<Occurrence>
  ) throws(ByteError) {
    if isEmpty || number > header.last {
      if !occurrences.isEmpty { append(number, occurrences) }
      return
    }
    let place = try place(of: number)
    let isThere = place.number == number
    guard isThere || !occurrences.isEmpty else { return }
    var newDocuments: [UInt8] = []
    var newPositions: [UInt8] = []
    if !occurrences.isEmpty {
      newDocuments.append(varint: number - place.least)
      PostingsBlock.encode(occurrences, fieldCount, into: &newDocuments, &newPositions)
    }
    var positionsStart = 0
    try PostingsBlock.skip(place.positionsBefore, of: positions, &positionsStart)
    var positionsEnd = positionsStart
    var end = place.numberStart
    if isThere {
      try PostingsBlock.skip(place.positionCount, of: positions, &positionsEnd)
      end = place.entries.upperBound
    }
    try replaceNumber(
      least: occurrences.isEmpty ? place.least : number + 1,
      oldLeast: isThere ? number + 1 : place.least, at: &end, in: &newDocuments)
    documents.replaceSubrange(place.numberStart..<end, with: newDocuments)
    positions.replaceSubrange(positionsStart..<positionsEnd, with: newPositions)
    header.documentCount += (occurrences.isEmpty ? 0 : 1) - (isThere ? 1 : 0)
    header.greatestFrequency = max(header.greatestFrequency, occurrences.count)
    if number == header.last, occurrences.isEmpty { header.last = max(1, place.least) - 1 }
  }

  /// Writes the number of the document at an offset again, because another one comes before it.
  private func replaceNumber(
    least: UInt64, oldLeast: UInt64, at offset: inout Int, in bytes: inout [UInt8]
  ) throws(ByteError) {
    guard offset < documents.count else { return }
    let number = try PostingsBlock.readNumber(
      of: documents.span, notBefore: oldLeast, at: &offset)
    bytes.append(varint: number - least)
  }

  /// Moves the second half of the documents to another block.
  ///
  /// Returns it with the number that it begins with, counted from this block's first number.
  mutating func split() throws(ByteError) -> (block: PostingsBlock, first: UInt64) {
    precondition(header.documentCount > 1, "one document is not split")
    var upper = PostingsBlock(fieldCount: fieldCount)
    var offset = 0
    var least: UInt64 = 0
    var positionCount = 0
    let kept = header.documentCount / 2
    for _ in 0..<kept {
      least =
        try PostingsBlock.readNumber(of: documents.span, notBefore: least, at: &offset) + 1
      positionCount += try skipEntries(&offset)
    }
    let end = offset
    let first = try PostingsBlock.readNumber(of: documents.span, notBefore: least, at: &offset)
    guard first <= header.last else {
      throw ByteError(offset: offset, reason: "a block of postings differs from its figures")
    }
    upper.documents.append(varint: 0)
    upper.documents += documents[offset...]
    var positionsEnd = 0
    try PostingsBlock.skip(positionCount, of: positions, &positionsEnd)
    upper.positions = Array(positions[positionsEnd...])
    upper.header.documentCount = header.documentCount - kept
    upper.header.last = header.last - first
    upper.header.greatestFrequency = header.greatestFrequency
    documents.removeSubrange(end...)
    positions.removeSubrange(positionsEnd...)
    header.documentCount = kept
    header.last = least - 1
    return (upper, first)
  }

  /// Appends the documents of a block that come after all others; its numbers count from `first`.
  mutating func append(contentsOf other: PostingsBlock, first: UInt64) throws(ByteError) {
    precondition(!isEmpty && !other.isEmpty && first > header.last, "the documents do not ascend")
    var offset = 0
    let distance = try other.documents.span.readVarint(at: &offset)
    documents.append(varint: first &+ distance &- header.last &- 1)
    documents += other.documents[offset...]
    positions += other.positions
    header.documentCount += other.header.documentCount
    header.last = first + other.header.last
    header.greatestFrequency = max(header.greatestFrequency, other.header.greatestFrequency)
  }

  /// Whether the documents of another block have room behind those of this one.
  func hasRoom(for other: PostingsBlock) -> Bool {
    header.documentCount + other.header.documentCount <= PostingsBlock.documentLimit
      && size + other.size <= PostingsBlock.sizeLimit
  }

  /// Returns all documents and the places of the term in each, of a block that was made in memory.
  func documents(first: UInt64) -> [(number: UInt64, occurrences: [Occurrence])] {
    guard var cursor = try? PostingsCursor(bytes, first: first, fieldCount: fieldCount) else {
      preconditionFailure("a block that was made in memory is malformed")
    }
    var found: [(number: UInt64, occurrences: [Occurrence])] = []
    while cursor.document != DocumentNumber.end {
      var occurrences: [Occurrence] = []
      guard (try? cursor.appendOccurrences(to: &occurrences)) != nil else {
        preconditionFailure("a block that was made in memory is malformed")
      }
      found.append((cursor.document, occurrences))
      cursor.advance(to: cursor.document + 1)
    }
    return found
  }

  /// Makes numbers count from another first number, which is smaller by a distance.
  mutating func moveStart(back distance: UInt64) throws(ByteError) {
    guard !isEmpty else { return }
    var offset = 0
    let first = try documents.span.readVarint(at: &offset)
    var bytes: [UInt8] = []
    bytes.append(varint: first &+ distance)
    documents.replaceSubrange(0..<offset, with: bytes)
    header.last &+= distance
  }
}
