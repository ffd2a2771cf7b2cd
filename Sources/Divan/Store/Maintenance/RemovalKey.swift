import DivanLog

/// The key that a removal removed.
struct RemovalKey: Hashable {
  private let kind: Record.Kind
  private let name: [UInt8]
  /// The sequence number, if one record of a document was removed.
  private let sequence: UInt64?

  private init(_ kind: Record.Kind, _ name: SharedBytes, _ sequence: UInt64? = nil) {
    self.kind = kind
    self.name = name.array
    self.sequence = sequence
  }

  /// Returns the key that a record removes; nil if it is not a removal.
  init?(removedBy record: Record) {
    switch record.kind {
    case .purge:
      guard let purge = try? PurgeRecord.decode(record.payload) else { return nil }
      self.init(.document, purge.idBytes, purge.sequence)
    case .local:
      guard let local = try? LocalDocumentRecord.decode(record.payload), local.body == nil else {
        return nil
      }
      self.init(.local, local.idBytes)
    case .named:
      guard let named = try? SnapshotNameRecord.decode(record.payload), named.commitPoint == nil
      else {
        return nil
      }
      self.init(.named, named.name)
    case .index:
      guard let index = try? IndexDefinitionRecord.decode(record.payload), index.definition == nil
      else {
        return nil
      }
      self.init(.index, index.name)
    default: return nil
    }
  }

  /// Returns the keys that would remove a record of an older file; none if it cannot be read.
  static func keys(of record: Record) -> [RemovalKey] {
    switch record.kind {
    case .document:
      if let document = try? DocumentRecord.decode(record.payload) {
        return [
          RemovalKey(.document, document.idBytes),
          RemovalKey(.document, document.idBytes, document.sequence),
        ]
      }
    case .local:
      if let local = try? LocalDocumentRecord.decode(record.payload) {
        return [RemovalKey(.local, local.idBytes)]
      }
    case .named:
      if let named = try? SnapshotNameRecord.decode(record.payload) {
        return [RemovalKey(.named, named.name)]
      }
    case .index:
      if let index = try? IndexDefinitionRecord.decode(record.payload) {
        return [RemovalKey(.index, index.name)]
      }
    default: break
    }
    return []
  }
}
