/// The documents with any of many terms, such as all that have a prefix, or with a frequent one.
///
/// A short prefix has thousands of terms. So their postings are counted at once, without a cursor
/// for each, by an ``OccurrenceCounter``. It has no places, and so no phrases.
final class CountedMatches: MatchCursor {
  private(set) var cursor: CountedCursor

  init(_ counter: OccurrenceCounter, part: Int?) { cursor = CountedCursor(counter, part: part) }

  var counter: OccurrenceCounter { cursor.counter }
  var document: UInt64 { cursor.document }
  var cost: Int { cursor.cost }

  func advance(to target: UInt64) { cursor.advance(to: target) }
  func mark(_ window: inout DocumentWindow) { cursor.mark(&window) }
  func countRest() -> Int { cursor.countRest() }

  func appendSpans(to spans: inout [MatchSpan]) {
    preconditionFailure("the words of a phrase were counted")
  }

  func addFrequencies(to frequencies: inout TermFrequencies) {
    cursor.addFrequencies(to: &frequencies)
  }
}

/// A position in the documents that an ``OccurrenceCounter`` has counted.
struct CountedCursor {
  let counter: OccurrenceCounter
  /// The number of the ranked part of the query that is counted; nil if it is not ranked.
  private let part: Int?
  /// The current document, or ``DocumentNumber/end``.
  private(set) var document: UInt64
  /// The number of documents.
  let cost: Int

  /// Creates a cursor at the first document.
  init(_ counter: OccurrenceCounter, part: Int?) {
    (self.counter, self.part) = (counter, part)
    cost = counter.documentCount
    document = counter.document(from: 0) ?? DocumentNumber.end
  }

  /// Moves to the first document that is not before `target`, and returns it; stays if the current
  /// one is not.
  @discardableResult
  mutating func advance(to target: UInt64) -> UInt64 {
    if document < target { document = counter.document(from: target) ?? DocumentNumber.end }
    return document
  }

  /// Sets the bits of the documents in a window from the current one on, and moves behind them.
  mutating func mark(_ window: inout DocumentWindow) {
    while document < window.end {
      window.insert(document)
      advance(to: document + 1)
    }
  }

  /// Moves to the end, and returns the number of documents from the current one on.
  mutating func countRest() -> Int {
    if document == counter.document(from: 0) {
      document = DocumentNumber.end
      return cost
    }
    var count = 0
    while document != DocumentNumber.end {
      count += 1
      advance(to: document + 1)
    }
    return count
  }

  /// Adds how often each property of the current document has an occurrence.
  mutating func addFrequencies(to frequencies: inout TermFrequencies) {
    guard let part, document != DocumentNumber.end else { return }
    for field in 0..<counter.fieldCount {
      frequencies.add(counter.count(of: document, field), part: part, field: field)
    }
  }
}
