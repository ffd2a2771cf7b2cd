import DivanLog

/// The newest record of each document, in the order of changes, in which most of them lie, too: for whoever reads all
/// documents in any order.
///
/// `while try cursor.advance() { … cursor.place … cursor.takeRecord() }`
struct ChangedDocumentCursor {
  private let view: StoreView
  private var scan: LayeredScan
  /// Where the present document is; it may be deleted.
  private(set) var place = DocumentPlace.unknown
  /// The record of its winning revision; nil once it was taken.
  private var record: StoredDocument?

  /// Begins before the first document of the newest version that a view knows.
  init(_ view: StoreView) {
    precondition(
      view.past == nil, "A past version has changes that are in no order of the newest one")
    self.view = view
    scan = view.state.sequences.scan()
  }
}

extension ChangedDocumentCursor {
  /// Moves to the next document; returns false at the end.
  mutating func advance() throws(DatabaseError) -> Bool {
    guard let item = try view.step(&scan) else { return false }
    try read(item)
    return true
  }

  /// Moves to the next document that is not passed, as `isPassed` says of the sequence number of its newest record; returns
  /// false at the end.
  ///
  /// Most that are passed are not even taken out of their leaf of the index. `isPassed` may be asked twice of one that is not.
  @inline(__always)
  mutating func advance(passing isPassed: (UInt64) -> Bool) throws(DatabaseError) -> Bool {
    while true {
      scan.pass { key, _ in key.withSpan { isPassed(ChangedDocumentCursor.sequence($0)) } }
      guard let item = try view.step(&scan) else { return false }
      if isPassed(item.withKey { ChangedDocumentCursor.sequence($0) }) { continue }
      try read(item)
      return true
    }
  }

  private mutating func read(_ item: IndexEntry) throws(DatabaseError) {
    let sequence = item.withKey { ChangedDocumentCursor.sequence($0) }
    let locator = try view.decodeLocator(item)
    (place, record) = try view.changedDocument(sequence, at: locator)
    // Otherwise that document would come twice, and the one whose change this was not at all.
    guard place.sequence == sequence || place == .unknown else {
      throw view.damage(at: locator, StoredDocument.isOfOther)
    }
  }

  /// Takes out the record of the present document's winning revision, which nobody else asks for.
  mutating func takeRecord() -> StoredDocument? { record.take() }

  @inline(__always)
  private static func sequence(_ key: Span<UInt8>) -> UInt64 {
    // What is no key of this order leads to no record that it should.
    key.count == 8 ? key.word(at: 0).byteSwapped : 0
  }
}

extension StoreView {
  /// Where the document is whose newest record should stand at a place, and the record of its winning revision.
  func changedDocument(
    _ sequence: UInt64, at locator: RecordLocator
  ) throws(DatabaseError) -> (DocumentPlace, StoredDocument?) {
    do throws(DatabaseError) {
      let record = try stored(at: locator)
      guard record.sequence == sequence, record.hasTextAsID
      else { throw damage(at: locator, StoredDocument.isOfOther) }
      // Most records are all that there is of their documents.
      guard record.hasDetails else {
        let place = DocumentPlace(
          locator: locator, sequence: sequence, winningSequence: nil, isDeleted: record.isDeleted)
        return (place, record)
      }
      let entry = DocumentEntry(record, at: locator)
      guard entry.winningSequence != nil, !entry.isDeleted else { return (entry.place, record) }
      return (entry.place, try winningRecord(of: entry, record.idBytes))
    } catch {
      guard error.code == .damaged else { throw error }
      // It need not be the record that counts, and whose it is stands elsewhere, too.
      guard let (id, entry) = try document(at: locator) else { return (.unknown, nil) }
      return (entry.place, entry.isDeleted ? nil : try winningRecord(of: entry, id))
    }
  }

  /// The document whose newest record should stand at a place, of which all are asked; nil if there is none.
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
