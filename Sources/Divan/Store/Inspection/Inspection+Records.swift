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

  /// Decodes a record; nil if it is a document's or an attachment's, or may be skipped.
  package init?(_ record: Record) throws(ByteError) {
    switch try LogRecord(record) {
    case .purge(let purge):
      self = .purge(id: try Self.text(purge.idBytes), sequence: purge.sequence)
    case .localDocument(let local):
      self = .local(id: try Self.text(local.idBytes), isDeleted: local.isRemoval)
    case .snapshotName(let named):
      self = .named(name: try Self.text(named.name), named.commitPoint.map(NamedVersion.init))
    case .indexDefinition(let index):
      self = .index(
        name: try Self.text(index.name), index.definition?.index,
        isReady: index.definition?.isReady ?? false)
    case .commitPoint(let record): self = .commitPoint(NamedVersion(record.commitPoint))
    case .document, .attachment, .skipped: return nil
    }
  }

  private static func text(_ bytes: SharedBytes) throws(ByteError) -> String {
    guard let text = bytes.text else {
      throw ByteError(offset: 1, reason: "an ID or name that is not UTF-8")
    }
    return text
  }
}
