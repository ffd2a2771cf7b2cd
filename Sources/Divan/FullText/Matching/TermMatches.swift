internal import DivanLog

/// The documents with one term, in some properties.
final class TermMatches: MatchCursor {
  private var cursor: PostingsCursor
  private let fields: FieldSet
  /// The number of the ranked part of the query that the term belongs to; nil if it is not ranked.
  private let part: Int?
  let cost: Int
  private var occurrences: [Occurrence] = []

  /// Creates a cursor over postings, with the number of documents that the list has.
  init(
    _ postings: [UInt8], documentCount: Int, fieldCount: Int, fields: FieldSet = .all,
    part: Int? = nil
  ) throws(ByteError) {
    cursor = try PostingsCursor(postings, fieldCount: fieldCount)
    (self.fields, self.part, cost) = (fields, part, documentCount)
    try skipOtherFields()
  }

  var document: UInt64 { cursor.document }

  func advance(to target: UInt64) throws(ByteError) {
    guard document < target else { return }
    try cursor.advance(to: target)
    try skipOtherFields()
  }

  private func skipOtherFields() throws(ByteError) {
    guard fields != .all else { return }
    while cursor.document != DocumentNumber.end {
      var isFound = false
      try cursor.forEachField { isFound = isFound || fields.contains($0.field) }
      if isFound { return }
      try cursor.advance(to: cursor.document + 1)
    }
  }

  func appendSpans(to spans: inout [MatchSpan]) throws(ByteError) {
    occurrences.removeAll(keepingCapacity: true)
    try cursor.appendOccurrences(to: &occurrences)
    for occurrence in occurrences where fields.contains(occurrence.field) {
      spans.append(MatchSpan(field: occurrence.field, start: occurrence.position, length: 1))
    }
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(ByteError) {
    guard let part else { return }
    try cursor.forEachField { frequency in
      guard fields.contains(frequency.field) else { return }
      frequencies.add(frequency.count, part: part, field: frequency.field)
    }
  }
}
