internal import DivanLog

/// A position in the documents with one term, in some properties.
///
/// It keeps one block of the postings in memory. Copies share the source of the blocks, so only one
/// of them is used.
struct TermCursor {
  private let source: any PostingsSource
  private let fieldCount: Int
  private let fields: FieldSet
  /// The number of the ranked part of the query that the term belongs to; nil if it is not ranked.
  private let part: Int?
  /// The documents of the current block; at the end, none.
  private var postings: PostingsCursor
  /// The current document, or ``DocumentNumber/end``.
  private(set) var document: UInt64 = 0

  /// Creates a cursor at the first document.
  init(
    _ source: any PostingsSource, fieldCount: Int, fields: FieldSet, part: Int?
  ) throws(DatabaseError) {
    (self.source, self.fieldCount, self.fields, self.part) = (source, fieldCount, fields, part)
    postings = PostingsCursor(fieldCount: fieldCount)
    try move(to: 0)
  }

  /// An upper bound of the number of documents.
  var cost: Int { source.documentCount }

  /// Moves to the first document that is not before `target`, and returns it; stays if the current
  /// one is not.
  @discardableResult
  mutating func advance(to target: UInt64) throws(DatabaseError) -> UInt64 {
    if document < target { try move(to: target) }
    return document
  }

  private mutating func move(to target: UInt64) throws(DatabaseError) {
    var target = target
    while true {
      postings.advance(to: target)
      if postings.document == DocumentNumber.end { try readBlock(notBefore: target) }
      document = postings.document
      if document == DocumentNumber.end || fields == .all { return }
      if try hasField() { return }
      target = document + 1
    }
  }

  /// Moves into the block that has the next document; at the end, there is none.
  private mutating func readBlock(notBefore target: UInt64) throws(DatabaseError) {
    guard let block = try source.block(notBefore: target) else {
      postings = PostingsCursor(fieldCount: fieldCount)
      return
    }
    do throws(ByteError) {
      try postings.read(block.bytes, first: block.first)
    } catch {
      throw DatabaseError(postings: error)
    }
    postings.advance(to: target)
  }

  /// Whether the term is in one of the properties in the current document.
  private func hasField() throws(DatabaseError) -> Bool {
    var isFound = false
    try forEachField { _ in isFound = true }
    return isFound
  }

  /// Sets the bits of the documents in a window from the current one on, and moves behind them.
  mutating func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    while document < window.end {
      if fields == .all {
        let last = postings.mark(&window)
        try move(to: last + 1)
      } else {
        window.insert(document)
        try move(to: document + 1)
      }
    }
  }

  /// Moves to the end, and returns the number of documents from the current one on.
  mutating func countRest() throws(DatabaseError) -> Int {
    var count = 0
    // Which properties a document has the term in is in its posting only.
    while fields != .all, document != DocumentNumber.end {
      count += 1
      try move(to: document + 1)
    }
    guard document != DocumentNumber.end else { return count }
    count = postings.remainingCount + source.countRest()
    postings = PostingsCursor(fieldCount: fieldCount)
    document = DocumentNumber.end
    return count
  }

  /// Returns the signature of the places in the current document, in any property.
  mutating func signature() throws(DatabaseError) -> PlaceSignature {
    do throws(ByteError) {
      return try postings.signature()
    } catch {
      throw DatabaseError(postings: error)
    }
  }

  /// Appends the places in the current document, in ascending order.
  mutating func appendOccurrences(to occurrences: inout [Occurrence]) throws(DatabaseError) {
    do throws(ByteError) {
      try postings.appendOccurrences(to: &occurrences, in: fields)
    } catch {
      throw DatabaseError(postings: error)
    }
  }

  /// Appends the places in the current document, in ascending order, as spans of one word.
  mutating func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    var occurrences: [Occurrence] = []
    try appendOccurrences(to: &occurrences)
    for occurrence in occurrences {
      spans.append(MatchSpan(field: occurrence.field, start: occurrence.position, length: 1))
    }
  }

  /// Adds how often each property of the current document has the term, if it is ranked.
  mutating func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    guard let part else { return }
    try forEachField { frequencies.add($0.count, part: part, field: $0.field) }
  }

  /// Calls a closure with each of the properties that has the term in the current document.
  private func forEachField(_ body: (FieldFrequency) -> Void) throws(DatabaseError) {
    do throws(ByteError) {
      try postings.forEachField { if fields.contains($0.field) { body($0) } }
    } catch {
      throw DatabaseError(postings: error)
    }
  }
}
