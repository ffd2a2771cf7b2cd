import DivanLog

/// A document that is a candidate of a query, and possibly a result.
///
/// All users borrow one value, which is changed for the next document: copying it for each would
/// cost more than most filters.
struct QueryCandidate: ~Copyable {
  /// The document as filters see it; without its properties until it is read.
  private(set) var row: QueryRow
  private(set) var location = DocumentLocation.unknown
  /// Whether the document was read.
  private(set) var isRead = false

  init(references: QueryReferences?, attachments: RowAttachments = .unused) {
    row = QueryRow(references: references, attachments: attachments)
  }

  var id: SharedBytes { row.id }

  /// Makes this represent another document.
  @inline(__always)
  mutating func become(_ id: consuming SharedBytes, _ location: DocumentLocation) {
    row.id = id
    self.location = location
    isRead = false
  }

  /// Keeps the record that was read.
  mutating func take(_ record: consuming StoredDocument) {
    row.propertiesStart = Int(record.layout.propertiesStart)
    row.payload = record.takePayload()
    isRead = true
  }
}
