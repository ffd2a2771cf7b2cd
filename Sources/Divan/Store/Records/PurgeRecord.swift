import DivanLog

/// The purge of a document, or of one of its records.
///
/// A compaction keeps it as long as an older file may contain the purged records.
/// FILE_FORMAT.md §10
struct PurgeRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// The sequence number of the one record that is purged; nil if the whole document is.
  var sequence: UInt64?
  /// The newest record of a document that is purged as a whole.
  var superseded: DocumentRecord.Superseded?
  var supersededExpiry: UInt64?
  /// Whether other records of the document may have been retained.
  var mayRetainOlder = false
  /// The commit before which versions may be incomplete from now on; 0 if there is no change.
  var historyHorizon: UInt64 = 0

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let sequence = Flags(rawValue: 1)
    static let superseding = Flags(rawValue: 2)
    static let expiry = Flags(rawValue: 4)
    static let mayRetainOlder = Flags(rawValue: 8)
    static let historyHorizon = Flags(rawValue: 16)
    static let known: Flags = [.sequence, .superseding, .expiry, .mayRetainOlder, .historyHorizon]
  }

  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if sequence != nil { flags.insert(.sequence) }
    if superseded != nil { flags.insert(.superseding) }
    if supersededExpiry != nil { flags.insert(.expiry) }
    if mayRetainOlder { flags.insert(.mayRetainOlder) }
    if historyHorizon > 0 { flags.insert(.historyHorizon) }
    writer.append(flags.rawValue)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    if let sequence { writer.appendVarint(sequence) }
    superseded?.encode(to: &writer)
    if let supersededExpiry { writer.appendVarint(supersededExpiry) }
    if historyHorizon > 0 { writer.appendVarint(historyHorizon) }
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> PurgeRecord {
    var reader = ByteReader(payload)
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    guard Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "a purge with unknown flags")
    }
    var record = PurgeRecord(idBytes: try reader.readID())
    if flags.contains(.sequence) { record.sequence = try reader.readSequence() }
    if flags.contains(.superseding) {
      record.superseded = DocumentRecord.Superseded(
        sequence: try reader.readSequence(), locator: try RecordLocator.decode(&reader))
    }
    if flags.contains(.expiry) { record.supersededExpiry = try reader.readVarint() }
    record.mayRetainOlder = flags.contains(.mayRetainOlder)
    if flags.contains(.historyHorizon) {
      record.historyHorizon = try reader.readSequence()
      guard record.historyHorizon > 0 else {
        throw ByteError(offset: reader.offset, reason: "a purge with a history horizon of 0")
      }
    }
    return try reader.finishing(record)
  }
}
