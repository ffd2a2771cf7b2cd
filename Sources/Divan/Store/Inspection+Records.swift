package import DivanLog

/// A record that is not a document's, as tools look at it.
package enum InspectedRecord: Sendable, Equatable {
  /// A document is gone, or one record of it.
  case purge(id: String, sequence: UInt64?)
  case local(id: String, isDeleted: Bool)
  /// A version has a name from here on, or has it no longer.
  case named(name: String, Version?)
  /// There is an index from here on, perhaps not whole yet; or none of that name any more.
  case index(name: String, DocumentIndex?, isReady: Bool)
  /// A commit ended here while history was kept.
  case moment(Version)

  /// A version of the store.
  package struct Version: Sendable, Equatable {
    package let sequence: UInt64
    package let commit: UInt64
    package let time: UInt64
    package let documentCount: UInt64

    fileprivate init(_ moment: Moment) {
      sequence = moment.sequence
      commit = moment.commit
      time = moment.time
      documentCount = moment.documentCount
    }
  }

  /// Reads a record; nil if it is of a kind that is none of these.
  package init?(_ record: Record) throws(ByteError) {
    switch record.kind {
    case .purge:
      let purge = try PurgeRecord.decode(record.payload)
      self = .purge(id: try Self.text(purge.idBytes), sequence: purge.sequence)
    case .local:
      let local = try LocalRecord.decode(record.payload)
      self = .local(id: try Self.text(local.idBytes), isDeleted: local.body == nil)
    case .named:
      let named = try NamedRecord.decode(record.payload)
      self = .named(name: try Self.text(named.name), named.moment.map(Version.init))
    case .index:
      let index = try IndexRecord.decode(record.payload)
      self = .index(
        name: try Self.text(index.name), index.kept?.index, isReady: index.kept?.isReady ?? false)
    case .moment:
      self = .moment(Version(try MomentRecord.decode(record.payload).moment))
    default: return nil
    }
  }

  private static func text(_ bytes: SharedBytes) throws(ByteError) -> String {
    guard let text = bytes.text else {
      throw ByteError(offset: 1, reason: "an ID or a name that is no text")
    }
    return text
  }

  /// Whether a record of this kind is known to this version, whatever it holds.
  package static func isKnown(_ kind: Record.Kind) -> Bool { kind.isKnown }
}
