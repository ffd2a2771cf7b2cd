internal import DivanLog

/// The blocks of the postings of one term, in the order of their documents.
protocol PostingsSource: AnyObject {
  /// The number of documents with the term.
  var documentCount: Int { get }

  /// Returns the first block that has a document which is not before `target`; nil at the end.
  ///
  /// Targets ascend. The numbers in the block count from `first`.
  func block(notBefore target: UInt64) throws(DatabaseError) -> (bytes: [UInt8], first: UInt64)?

  /// Moves to the end, and returns the number of documents in the blocks after the last one
  /// returned.
  func countRest() -> Int
}

/// The documents with one term, in some properties.
///
/// It keeps one block of the postings in memory.
final class TermMatches: MatchCursor {
  private let source: any PostingsSource
  private let fieldCount: Int
  private let fields: FieldSet
  /// The number of the ranked part of the query that the term belongs to; nil if it is not ranked.
  private let part: Int?
  /// The documents of the current block; at the end, none.
  private var cursor: PostingsCursor
  private(set) var document: UInt64 = 0

  /// Creates a cursor over the postings of a term.
  init(
    _ source: any PostingsSource, fieldCount: Int, fields: FieldSet = .all, part: Int? = nil
  ) throws(DatabaseError) {
    (self.source, self.fieldCount, self.fields, self.part) = (source, fieldCount, fields, part)
    cursor = PostingsCursor(fieldCount: fieldCount)
    try move(to: 0)
  }

  var cost: Int { source.documentCount }

  func advance(to target: UInt64) throws(DatabaseError) {
    if document < target { try move(to: target) }
  }

  private func move(to target: UInt64) throws(DatabaseError) {
    var target = target
    while true {
      cursor.advance(to: target)
      document = cursor.document
      if document == DocumentNumber.end {
        guard let block = try source.block(notBefore: target) else {
          cursor = PostingsCursor(fieldCount: fieldCount)
          return
        }
        do throws(ByteError) {
          try cursor.read(block.bytes, first: block.first)
        } catch {
          throw DatabaseError(postings: error)
        }
        cursor.advance(to: target)
        document = cursor.document
      }
      if try hasField() { return }
      target = document + 1
    }
  }

  func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    while document < window.end {
      if fields == .all {
        let last = cursor.mark(&window)
        try move(to: last + 1)
      } else {
        window.insert(document)
        try move(to: document + 1)
      }
    }
  }

  func countRest() throws(DatabaseError) -> Int {
    var count = 0
    // Which properties a document has the term in is in its posting only.
    while fields != .all, document != DocumentNumber.end {
      count += 1
      try move(to: document + 1)
    }
    guard document != DocumentNumber.end else { return count }
    count = cursor.remainingCount + source.countRest()
    cursor = PostingsCursor(fieldCount: fieldCount)
    document = DocumentNumber.end
    return count
  }

  /// Whether the term is in one of the properties in the current document.
  private func hasField() throws(DatabaseError) -> Bool {
    guard fields != .all, document != DocumentNumber.end else { return true }
    var isFound = false
    do throws(ByteError) {
      try cursor.forEachField { isFound = isFound || fields.contains($0.field) }
    } catch {
      throw DatabaseError(postings: error)
    }
    return isFound
  }

  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    var occurrences: [Occurrence] = []
    try appendOccurrences(to: &occurrences)
    for occurrence in occurrences {
      spans.append(MatchSpan(field: occurrence.field, start: occurrence.position, length: 1))
    }
  }

  func appendOccurrences(to occurrences: inout [Occurrence]) throws(DatabaseError) {
    do throws(ByteError) {
      try cursor.appendOccurrences(to: &occurrences, in: fields)
    } catch {
      throw DatabaseError(postings: error)
    }
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    guard let part else { return }
    do throws(ByteError) {
      try cursor.forEachField { frequency in
        guard fields.contains(frequency.field) else { return }
        frequencies.add(frequency.count, part: part, field: frequency.field)
      }
    } catch {
      throw DatabaseError(postings: error)
    }
  }
}

/// Postings in memory.
final class PostingsList: PostingsSource {
  let documentCount: Int
  private let blocks: [PostingsBuilder.Block]
  private var next = 0

  init(_ list: PostingsBuilder.List?) {
    blocks = list?.blocks ?? []
    documentCount = list?.documentCount ?? 0
  }

  func block(notBefore target: UInt64) -> (bytes: [UInt8], first: UInt64)? {
    while next < blocks.count {
      let block = blocks[next]
      if block.first + block.postings.header.last >= target {
        return (block.postings.bytes, block.first)
      }
      next += 1
    }
    return nil
  }

  func countRest() -> Int {
    let rest = blocks[min(next + 1, blocks.count)...]
    next = blocks.count
    return rest.reduce(0) { $0 + $1.postings.header.documentCount }
  }
}
