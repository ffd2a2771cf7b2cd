/// The documents that a part of a query matches, in ascending order.
///
/// A cursor begins at its first document. Cursors are built of each other like the query, and each
/// object belongs to one of them. Except for ``CountedMatches``, each keeps a block of each of its
/// terms in memory.
protocol MatchCursor: AnyObject {
  /// The current document, or ``DocumentNumber/end``.
  var document: UInt64 { get }
  /// An upper bound of the number of documents, to begin an intersection with the smallest.
  var cost: Int { get }

  /// Moves to the first document that is not before `target`; stays if the current one is not.
  func advance(to target: UInt64) throws(DatabaseError)

  /// Sets the bits of the documents in a window from the current one on, and moves behind them.
  ///
  /// The current document is not before the window.
  func mark(_ window: inout DocumentWindow) throws(DatabaseError)

  /// Moves to the end, and returns the number of documents from the current one on.
  func countRest() throws(DatabaseError) -> Int

  /// Appends where the current document matches, in the order of ``MatchSpan/precedes(_:_:)``.
  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError)

  /// Appends where each match of the current document begins, in ascending order.
  func appendOccurrences(to occurrences: inout [Occurrence]) throws(DatabaseError)

  /// Adds how often the parts of the query that are ranked occur in the current document.
  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError)
}

extension MatchCursor {
  /// Moves to the next document; at the end, it stays.
  func advance() throws(DatabaseError) {
    if document != DocumentNumber.end { try advance(to: document + 1) }
  }

  func appendOccurrences(to occurrences: inout [Occurrence]) throws(DatabaseError) {
    var spans: [MatchSpan] = []
    try appendSpans(to: &spans)
    for span in spans { occurrences.append(Occurrence(field: span.field, position: span.start)) }
  }

  func mark(_ window: inout DocumentWindow) throws(DatabaseError) {
    while document < window.end {
      window.insert(document)
      try advance(to: document + 1)
    }
  }

  func countRest() throws(DatabaseError) -> Int {
    var count = 0
    while document != DocumentNumber.end {
      var window = DocumentWindow(around: document)
      try mark(&window)
      count += window.count
    }
    return count
  }
}

/// How often each ranked part of a query occurs in each property of one document.
struct TermFrequencies {
  let fieldCount: Int
  /// The counts of the first part in all properties, then those of the second, and so on.
  private(set) var counts: [Int]

  init(partCount: Int, fieldCount: Int) {
    self.fieldCount = fieldCount
    counts = Array(repeating: 0, count: partCount * fieldCount)
  }

  subscript(part: Int, field: Int) -> Int { counts[part * fieldCount + field] }

  mutating func add(_ count: Int, part: Int, field: Int) {
    counts[part * fieldCount + field] += count
  }

  mutating func reset() {
    for index in counts.indices { counts[index] = 0 }
  }
}
