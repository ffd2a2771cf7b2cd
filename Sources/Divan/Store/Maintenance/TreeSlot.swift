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
  init?(of item: RecordScan.Entry, in view: ReadView) throws(DatabaseError) {
    switch item.record.kind {
    case .document:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try DocumentRecord.decode(payload)
      }
      guard let entry = try view.entry(record.idBytes) else { return nil }
      if entry.sequence == record.sequence {
        self = .newest(id: record.idBytes, entry)
      } else if entry.traits.contains(.mayRetainOlder) {
        self = .retained(RetainedKey.bytes(record.idBytes, record.sequence))
      } else {
        return nil
      }
    case .local:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try LocalDocumentRecord.decode(payload)
      }
      self = .catalog(CatalogKey.local(record.idBytes))
    case .named:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try SnapshotNameRecord.decode(payload)
      }
      self = .catalog(CatalogKey.named(record.name))
    case .index:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try IndexDefinitionRecord.decode(payload)
      }
      self = .catalog(CatalogKey.index(record.name))
    case .attachment:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try AttachmentRecord.decode(payload)
      }
      self = .catalog(CatalogKey.attachment(record.digest))
    case .commitPoint:
      let record = try view.decode(item) { (payload) throws(ByteError) in
        try CommitPointRecord.decode(payload)
      }
      self = .catalog(CatalogKey.commitPoint(record.commitPoint.sequence))
    default:
      // Only a purge that `RemovalKey` could not decode gets here.
      throw view.damage(at: item.locator, "a purge that cannot be read")
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
