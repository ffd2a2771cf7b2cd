import DivanLog

extension ReadView {
  /// Returns the location of the document whose newest record is at a locator, and its winning
  /// record.
  func changedDocument(
    _ sequence: UInt64, at locator: RecordLocator
  ) throws(DatabaseError) -> (DocumentLocation, StoredDocument?) {
    do throws(DatabaseError) {
      let record = try stored(at: locator)
      guard record.sequence == sequence, record.hasTextAsID
      else { throw damage(at: locator, StoredDocument.wrongRecord) }
      // Most records are all that their documents have.
      guard record.hasDetails else {
        let location = DocumentLocation(
          locator: locator, sequence: sequence, winningSequence: nil, isDeleted: record.isDeleted)
        return (location, record)
      }
      let entry = DocumentEntry(record, at: locator)
      guard entry.winningSequence != nil, !entry.isDeleted else { return (entry.location, record) }
      return (entry.location, try winningRecord(at: entry.location, record.idBytes))
    } catch {
      guard error.code == .damaged else { throw error }
      // The damaged record may not be the winning one, and the index by ID also names its document.
      guard let (id, entry) = try document(at: locator) else { return (.unknown, nil) }
      return (entry.location, entry.isDeleted ? nil : try winningRecord(at: entry.location, id))
    }
  }

  /// Returns the document whose newest record is at a locator, after a scan of all; nil if none.
  private func document(
    at locator: RecordLocator
  ) throws(DatabaseError) -> (id: SharedBytes, entry: DocumentEntry)? {
    var cursor = EntryCursor(self, .all, descending: false, includesDeleted: true)
    while let (id, entry) = try cursor.next() {
      if entry.locator == locator { return (id, entry) }
    }
    return nil
  }
}
