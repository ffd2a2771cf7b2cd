import DivanLog

/// A record of the log, decoded: one case for each kind that this version of Divan can read.
///
/// To add a kind, add a case, and a type that encodes and decodes its payload; decode it in
/// ``init(_:)``. Without that, `default:` refuses the kind when a record of it is read. The
/// compiler then lists the code that has to handle the case: what replay does with it, its key in
/// the catalog, whether it removes that, and what tools show of it. FILE_FORMAT.md §9 and §10
///
/// The numbers 1 to 3 are in `Format/Record.swift` of DivanLog, 4 to 8 in
/// `Store/Records/Record+Kinds.swift`; the next free one is 9. Number 2, the commit mark of
/// compacted segments, has no case: ``RecordScan`` takes the commit from it and does not pass it
/// on.
enum LogRecord {
  case document(DocumentRecord)
  case attachment(AttachmentRecord)
  case purge(PurgeRecord)
  case localDocument(LocalDocumentRecord)
  case snapshotName(SnapshotNameRecord)
  case commitPoint(CommitPointRecord)
  case indexDefinition(IndexDefinitionRecord)
  /// A record of a later version of Divan, which this one may skip. FILE_FORMAT.md §6
  case skipped

  /// Decodes a record.
  ///
  /// - Throws: an error if the payload is malformed, or if the kind is unknown and may not be
  ///   skipped.
  init(_ record: Record) throws(ByteError) {
    let payload = record.payload
    switch record.kind {
    case .document: self = .document(try DocumentRecord.decode(payload))
    case .attachment: self = .attachment(try AttachmentRecord.decode(payload))
    case .purge: self = .purge(try PurgeRecord.decode(payload))
    case .localDocument: self = .localDocument(try LocalDocumentRecord.decode(payload))
    case .snapshotName: self = .snapshotName(try SnapshotNameRecord.decode(payload))
    case .commitPoint: self = .commitPoint(try CommitPointRecord.decode(payload))
    case .indexDefinition: self = .indexDefinition(try IndexDefinitionRecord.decode(payload))
    default:
      guard record.kind.maySkip else {
        throw ByteError(offset: 0, reason: "a record of the unknown kind \(record.kind.rawValue)")
      }
      self = .skipped
    }
  }

  /// The key of the catalog that leads to the record; nil if another tree does, or none.
  var catalogKey: [UInt8]? {
    switch self {
    case .attachment(let record): CatalogKey.attachment(record.digest)
    case .localDocument(let record): record.catalogKey
    case .snapshotName(let record): record.catalogKey
    case .indexDefinition(let record): record.catalogKey
    case .commitPoint(let record): CatalogKey.commitPoint(record.commitPoint.sequence)
    case .document, .purge, .skipped: nil
    }
  }

  /// Whether the record removes the value of its key in the catalog.
  var isCatalogRemoval: Bool {
    switch self {
    case .localDocument(let record): record.isRemoval
    case .snapshotName(let record): record.isRemoval
    case .indexDefinition(let record): record.isRemoval
    case .document, .attachment, .purge, .commitPoint, .skipped: false
    }
  }
}
