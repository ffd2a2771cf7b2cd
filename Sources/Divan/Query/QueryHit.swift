import DivanLog

/// A document that a query may mean, and then does.
///
/// One is lent to all who look at it, and changed for the next: copying it for each would cost more than most filters.
struct QueryHit: ~Copyable {
  /// The document as filters see it; without its properties until it was read.
  private(set) var row: QueryRow
  private(set) var place = DocumentPlace.unknown
  /// Whether the document was read.
  private(set) var isRead = false

  init(references: QueryReferences?) { row = QueryRow(references: references) }

  var id: SharedBytes { row.id }

  /// Stands for another document from now on.
  @inline(__always)
  mutating func become(_ id: consuming SharedBytes, _ place: DocumentPlace) {
    row.id = id
    self.place = place
    isRead = false
  }

  /// Keeps what was read.
  mutating func take(_ record: consuming StoredDocument) {
    row.bodyStart = Int(record.layout.bodyStart)
    row.payload = record.takePayload()
    isRead = true
  }
}
