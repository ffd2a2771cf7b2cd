import DivanLog

/// A cursor over the newest record of each document, in the order of changes.
///
/// For callers that read all documents in any order: most records are in the log in this order,
/// too.
///
/// `while try cursor.advance() { … cursor.location … cursor.takeRecord() }`
struct SequenceCursor {
  private let view: ReadView
  private var scan: LayeredScan
  /// The location of the current document, which may be deleted.
  private(set) var location = DocumentLocation.unknown
  /// The record of its winning revision; nil once it was taken.
  private var record: StoredDocument?

  /// Creates a cursor before the first document of the newest version that a view knows.
  init(_ view: ReadView) {
    precondition(
      view.past == nil, "A past version cannot be read in the order of the newest one")
    self.view = view
    scan = view.state.sequences.scan()
  }
}

extension SequenceCursor {
  /// Moves to the next document; returns false at the end.
  mutating func advance() throws(DatabaseError) -> Bool {
    guard let item = try view.step(&scan) else { return false }
    try read(item)
    return true
  }

  /// Moves to the next document that `isPassed` does not skip; returns false at the end.
  ///
  /// `isPassed` gets the sequence number of a document's newest record. Most skipped entries are
  /// not even copied out of their leaf of the index. `isPassed` may be called twice for a document
  /// that it does not skip.
  @inline(__always)
  mutating func advance(passing isPassed: (UInt64) -> Bool) throws(DatabaseError) -> Bool {
    while true {
      scan.pass { key, _ in key.withSpan { isPassed(SequenceCursor.sequence($0)) } }
      guard let item = try view.step(&scan) else { return false }
      if isPassed(item.withKey { SequenceCursor.sequence($0) }) { continue }
      try read(item)
      return true
    }
  }

  private mutating func read(_ item: TreeEntry) throws(DatabaseError) {
    let sequence = item.withKey { SequenceCursor.sequence($0) }
    let locator = try view.decodeLocator(item)
    (location, record) = try view.changedDocument(sequence, at: locator)
    // Otherwise that document would come twice, and the document of this change not at all.
    guard location.sequence == sequence || location == .unknown else {
      throw view.damage(at: locator, StoredDocument.wrongRecord)
    }
  }

  /// Returns and releases the record of the current document's winning revision.
  mutating func takeRecord() -> StoredDocument? { record.take() }

  @inline(__always)
  private static func sequence(_ key: Span<UInt8>) -> UInt64 {
    // A key that does not belong in this tree leads to a record that fails the check of its
    // sequence number.
    key.count == 8 ? key.word(at: 0).byteSwapped : 0
  }
}
