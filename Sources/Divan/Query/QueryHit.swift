import DivanLog

/// A document that a query may mean, and then does.
///
/// One is lent to all who look at it, and changed for the next: copying it for each would cost more than most filters.
struct QueryHit {
  private(set) var id = SharedBytes.empty
  private(set) var place = DocumentPlace.unknown
  /// Whether the document was read.
  private(set) var isRead = false
  /// What the document's record holds, if it was read.
  private(set) var payload = SharedBytes.empty
  /// Where the properties begin in it.
  private var bodyStart = 0

  /// Stands for another document from now on.
  @inline(__always)
  mutating func become(_ id: consuming SharedBytes, _ place: DocumentPlace) {
    self.id = id
    self.place = place
    isRead = false
  }

  /// Keeps what was read.
  mutating func take(_ record: consuming StoredDocument) {
    bodyStart = record.bodyStart
    payload = record.takePayload()
    isRead = true
  }

  /// The properties in their stored form, if they were read.
  var body: SharedBytes { payload.suffix(from: bodyStart) }
}
