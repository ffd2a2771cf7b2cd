/// Writes the postings of one term: in which documents it occurs, and where.
///
/// ```
/// list    block*
/// block   number of documents × 2 + whether it is long
///         long:  last document − last document of the block before (−1 at first)
///                size of the documents, size of the positions
///         documents, positions
/// document   number − number before (−1 at first), then an entry for each property with the term:
///            ((count − 1) × number of properties + property) × 2 + whether it is the last one
/// position   position − position before in the same property, plus 1 unless it is the first one
/// ```
///
/// Numbers are varints. A block has at most 128 documents, and is long if it has 16 or more. So a
/// cursor skips long blocks by their headers, and a term with one document has no header to skip by:
/// it takes four bytes in most cases.
struct PostingsWriter {
  static let blockCapacity = 128
  static let longBlockCount = 16

  /// The number of properties of the index; a reader must know it.
  let fieldCount: Int
  /// The number of documents so far.
  private(set) var documentCount = 0

  private var written: [UInt8] = []
  private var documents: [UInt8] = []
  private var positions: [UInt8] = []
  private var blockCount = 0
  /// The last document, and that of the block before, plus one each.
  private var nextDocument: UInt64 = 0
  private var blockStart: UInt64 = 0

  init(fieldCount: Int) {
    precondition((1...Occurrence.fieldLimit).contains(fieldCount), "\(fieldCount) properties")
    self.fieldCount = fieldCount
  }

  /// The number of bytes so far, without the headers of the last block.
  var byteCount: Int { written.count + documents.count + positions.count }

  /// Appends a document, whose number is greater than that of the one before.
  ///
  /// The occurrences are in ascending order, and there is at least one.
  mutating func append(document: UInt64, _ occurrences: some Collection<Occurrence>) {
    precondition(document >= nextDocument && document < DocumentNumber.end, "not ascending")
    precondition(!occurrences.isEmpty, "a posting without an occurrence")
    if blockCount == PostingsWriter.blockCapacity { endBlock() }
    documents.append(varint: document - nextDocument)
    nextDocument = document + 1
    blockCount += 1
    documentCount += 1
    appendFields(occurrences)
  }

  private mutating func appendFields(_ occurrences: some Collection<Occurrence>) {
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

  private mutating func endBlock() {
    guard blockCount > 0 else { return }
    let isLong = blockCount >= PostingsWriter.longBlockCount
    written.append(varint: UInt64(blockCount) << 1 | (isLong ? 1 : 0))
    if isLong {
      written.append(varint: nextDocument - 1 - blockStart)
      written.append(varint: UInt64(documents.count))
      written.append(varint: UInt64(positions.count))
    }
    written.append(contentsOf: documents)
    written.append(contentsOf: positions)
    documents.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    blockCount = 0
    blockStart = nextDocument
  }

  /// Ends the list and returns its bytes; the writer is empty again.
  mutating func finish() -> [UInt8] {
    endBlock()
    (documentCount, nextDocument, blockStart) = (0, 0, 0)
    defer { written = [] }
    return written
  }
}
