import DivanLog

extension Record.Kind {
  /// A document, or one of its records, was purged: ``PurgeRecord``.
  static let purge = Record.Kind(rawValue: 4)
  /// A document that is not versioned: ``LocalDocumentRecord``.
  static let local = Record.Kind(rawValue: 5)
  /// A version of the store with a name: ``SnapshotNameRecord``.
  static let named = Record.Kind(rawValue: 6)
  /// The end of a commit: ``CommitPointRecord``.
  static let moment = Record.Kind(rawValue: 7)
  /// An index of documents by a property: ``IndexDefinitionRecord``.
  static let index = Record.Kind(rawValue: 8)

  /// Whether this version of Divan can read such records.
  var isKnown: Bool { rawValue >= 1 && rawValue <= 8 }
}

/// The purge of a document, or of one of its records.
///
/// A merge keeps it as long as an older file may hold the purged records. FILE_FORMAT.md §10
struct PurgeRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// The sequence number of the one record that is purged; nil if the whole document is.
  var sequence: UInt64?
  /// The newest record of a document that is purged as a whole.
  var superseded: DocumentRecord.Superseded?
  var supersededExpiry: UInt64?
  /// Whether other records of the document may have been held.
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
    if let superseded {
      writer.appendVarint(superseded.sequence)
      superseded.locator.encode(to: &writer)
    }
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
        throw ByteError(offset: reader.offset, reason: "a purge with a horizon that says nothing")
      }
    }
    return try reader.finishing(record)
  }
}

/// The new state of a local document, which has no revisions and is not in change feeds.
struct LocalDocumentRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// The locator of the record that this one supersedes.
  var superseded: RecordLocator?
  /// The properties in their binary form; nil if the document was removed.
  var body: SharedBytes?

  func encode(to writer: inout ByteWriter) {
    writer.append((body == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    superseded?.encode(to: &writer)
    if let body { writer.append(body) }
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> LocalDocumentRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a local document with unknown flags")
    }
    var record = LocalDocumentRecord(idBytes: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.body = reader.readRest() }
    return try reader.finishing(record)
  }
}

/// A version of the store: its last change and commit, and its document count.
struct CommitPoint: Sendable, Equatable {
  /// The last sequence number in it.
  var sequence: UInt64
  /// The last commit in it.
  var commit: UInt64
  /// The time of that commit, in milliseconds since 1970.
  var time: UInt64
  var documentCount: UInt64

  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(sequence)
    writer.appendVarint(commit)
    writer.appendVarint(time)
    writer.appendVarint(documentCount)
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> CommitPoint {
    CommitPoint(
      sequence: try reader.readSequence(), commit: try reader.readSequence(),
      time: try reader.readSequence(), documentCount: try reader.readSequence())
  }
}

/// A named version of the store.
struct SnapshotNameRecord: Sendable, Equatable {
  var name: SharedBytes
  /// The locator of the record that this one supersedes.
  var superseded: RecordLocator?
  /// The version; nil if it is no longer kept.
  var moment: CommitPoint?

  /// The greatest size of a name in bytes of UTF-8.
  static let nameSizeLimit = 240

  func encode(to writer: inout ByteWriter) {
    writer.append((moment == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    moment?.encode(to: &writer)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> SnapshotNameRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a named snapshot with unknown flags")
    }
    var record = SnapshotNameRecord(name: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.moment = try CommitPoint.decode(&reader) }
    return try reader.finishing(record)
  }
}

/// The end of the commit that contains it.
///
/// It is written while history is kept, so that the version can be found again by its sequence
/// number or its time.
struct CommitPointRecord: Sendable, Equatable {
  var moment: CommitPoint
  /// The last sequence number in the version before this one.
  ///
  /// Nothing changed between it and this commit. If no moment has that number, the versions before
  /// it are not known.
  /// are not known.
  var previous: UInt64

  func encode(to writer: inout ByteWriter) {
    moment.encode(to: &writer)
    writer.appendVarint(previous)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> CommitPointRecord {
    var reader = ByteReader(payload)
    let moment = try CommitPoint.decode(&reader)
    let record = CommitPointRecord(moment: moment, previous: try reader.readSequence())
    guard record.previous < moment.sequence else {
      throw ByteError(offset: reader.offset, reason: "a moment that is not after the one before it")
    }
    return try reader.finishing(record)
  }
}

extension ByteReader {
  /// Reads an ID or a name, preceded by its size in one byte.
  mutating func readID() throws(ByteError) -> SharedBytes {
    let bytes = try readBytes(Int(try read(UInt8.self)))
    guard !bytes.isEmpty else { throw ByteError(offset: offset, reason: "an ID that is empty") }
    return bytes
  }

  /// Returns `record`, if no bytes follow it.
  func finishing<R>(_ record: R) throws(ByteError) -> R {
    guard isAtEnd else { throw ByteError(offset: offset, reason: "bytes behind a record's end") }
    return record
  }
}
