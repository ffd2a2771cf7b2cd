package import DivanLog

/// A record that is not a document's, for tools.
package enum InspectedRecord: Sendable, Equatable {
  /// A purge of a document, or of one record of it.
  case purge(id: String, sequence: UInt64?)
  case local(id: String, isDeleted: Bool)
  /// A version gets a name, or loses it.
  case named(name: String, NamedVersion?)
  /// An index is created, perhaps not complete yet, or removed.
  case index(name: String, DocumentIndex?, isReady: Bool)
  /// The end of a commit while history was kept.
  case commitPoint(NamedVersion)

  /// A version of the store.
  package struct NamedVersion: Sendable, Equatable {
    package let sequence: UInt64
    package let commit: UInt64
    package let time: UInt64
    package let documentCount: UInt64

    fileprivate init(_ commitPoint: CommitPoint) {
      sequence = commitPoint.sequence
      commit = commitPoint.commit
      time = commitPoint.time
      documentCount = commitPoint.documentCount
    }
  }

  /// Decodes a record; nil if it is of another kind.
  package init?(_ record: Record) throws(ByteError) {
    switch record.kind {
    case .purge:
      let purge = try PurgeRecord.decode(record.payload)
      self = .purge(id: try Self.text(purge.idBytes), sequence: purge.sequence)
    case .local:
      let local = try LocalDocumentRecord.decode(record.payload)
      self = .local(id: try Self.text(local.idBytes), isDeleted: local.body == nil)
    case .named:
      let named = try SnapshotNameRecord.decode(record.payload)
      self = .named(name: try Self.text(named.name), named.commitPoint.map(NamedVersion.init))
    case .index:
      let index = try IndexDefinitionRecord.decode(record.payload)
      self = .index(
        name: try Self.text(index.name), index.definition?.index,
        isReady: index.definition?.isReady ?? false)
    case .commitPoint:
      self = .commitPoint(NamedVersion(try CommitPointRecord.decode(record.payload).commitPoint))
    default: return nil
    }
  }

  private static func text(_ bytes: SharedBytes) throws(ByteError) -> String {
    guard let text = bytes.text else {
      throw ByteError(offset: 1, reason: "an ID or name that is not UTF-8")
    }
    return text
  }

  /// Whether this version of Divan knows records of this kind.
  package static func isKnown(_ kind: Record.Kind) -> Bool { kind.isKnown }
}
