import DivanLog

/// The key that a removal removed.
enum RemovalKey: Hashable {
  /// A document with all its records.
  case document([UInt8])
  /// One record of a document.
  case record([UInt8], sequence: UInt64)
  /// A key of the catalog.
  case catalog([UInt8])

  /// Returns the key that a record removes; nil if it is not a removal.
  init?(removedBy record: LogRecord) {
    if case .purge(let purge) = record {
      let id = purge.idBytes.array
      self = purge.sequence.map { .record(id, sequence: $0) } ?? .document(id)
    } else {
      guard record.isCatalogRemoval, let key = record.catalogKey else { return nil }
      self = .catalog(key)
    }
  }

  /// Returns the keys that would remove a record of an older file.
  static func keys(of record: LogRecord) -> [RemovalKey] {
    if case .document(let document) = record {
      let id = document.idBytes.array
      return [.document(id), .record(id, sequence: document.sequence)]
    }
    return record.catalogKey.map { [.catalog($0)] } ?? []
  }
}
