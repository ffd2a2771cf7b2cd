/// The documents with one term, in some properties.
final class TermMatches: MatchCursor {
  private(set) var cursor: TermCursor

  /// Creates a cursor over the postings of a term.
  init(
    _ source: any PostingsSource, fieldCount: Int, fields: FieldSet = .all, part: Int? = nil
  ) throws(DatabaseError) {
    cursor = try TermCursor(source, fieldCount: fieldCount, fields: fields, part: part)
  }

  var document: UInt64 { cursor.document }
  var cost: Int { cursor.cost }

  func advance(to target: UInt64) throws(DatabaseError) { try cursor.advance(to: target) }
  func mark(_ window: inout DocumentWindow) throws(DatabaseError) { try cursor.mark(&window) }
  func countRest() throws(DatabaseError) -> Int { try cursor.countRest() }

  func appendSpans(to spans: inout [MatchSpan]) throws(DatabaseError) {
    try cursor.appendSpans(to: &spans)
  }

  func appendOccurrences(to occurrences: inout [Occurrence]) throws(DatabaseError) {
    try cursor.appendOccurrences(to: &occurrences)
  }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    try cursor.addFrequencies(to: &frequencies)
  }
}
