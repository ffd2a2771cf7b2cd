import DivanLog

/// The slot of a record in the index.
enum TreeSlot {
  /// The newest record of a document.
  case newest(id: SharedBytes, DocumentEntry)
  /// A record in ``Version/retained``, by its key.
  case retained([UInt8])
  /// A record in ``Version/catalog``, by its key.
  case catalog([UInt8])

  /// Creates the slot that a record of the log belongs in; nil if the index has no such record.
  init?(of record: LogRecord, in view: ReadView) throws(DatabaseError) {
    guard case .document(let record) = record else {
      guard let key = record.catalogKey else { return nil }
      self = .catalog(key)
      return
    }
    // Records are in the order of their sequence numbers. So a lookup by sequence number finds its
    // page in the processor's caches, and one by ID does not.
    let key = record.sequence.bigEndianBytes
    if let locator = try view.locator(in: \.sequences, key) {
      self = .newest(id: record.idBytes, DocumentEntry(record, at: locator))
    } else if try view.entry(record.idBytes)?.traits.contains(.mayRetainOlder) == true {
      self = .retained(RetainedKey.bytes(record.idBytes, record.sequence))
    } else {
      return nil
    }
  }

  /// Returns the locator that the index has in this slot now.
  func locator(in view: ReadView) throws(DatabaseError) -> RecordLocator? {
    switch self {
    case .newest(_, let entry): entry.locator
    case .retained(let key): try view.locator(in: \.retained, key)
    case .catalog(let key): try view.locator(in: \.catalog, key)
    }
  }
}
