import DivanLog

extension Record.Kind {
  /// A document, or one of its records, is gone for good: ``PurgeRecord``.
  static let purge = Record.Kind(rawValue: 4)
  /// A document that is not versioned: ``LocalRecord``.
  static let local = Record.Kind(rawValue: 5)
  /// A version of the store that has a name: ``NamedRecord``.
  static let named = Record.Kind(rawValue: 6)
  /// The end of a commit: ``MomentRecord``.
  static let moment = Record.Kind(rawValue: 7)
  /// An index of documents by a property: ``IndexRecord``.
  static let index = Record.Kind(rawValue: 8)

  /// Whether this version of Divan can read such records.
  var isKnown: Bool { rawValue >= 1 && rawValue <= 8 }
}

/// Says that nothing of a document is left, or nothing of one of its records.
///
/// A merge keeps it for as long as an older file may hold what it took away. FILE_FORMAT.md §10
struct PurgeRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// The one record that is gone; all of the document's if this is nil.
  var sequence: UInt64?
  /// The newest record of a document that is gone as a whole.
  var superseded: DocumentRecord.Superseded?
  var supersededExpiry: UInt64?
  /// Whether other records of the document may have been held.
  var mayHoldOlder = false
  /// Versions before this commit may be incomplete from then on; 0 if it says nothing of that.
  var historyFloor: UInt64 = 0

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let sequence = Flags(rawValue: 1)
    static let superseding = Flags(rawValue: 2)
    static let expiry = Flags(rawValue: 4)
    static let mayHoldOlder = Flags(rawValue: 8)
    static let historyFloor = Flags(rawValue: 16)
    static let known: Flags = [.sequence, .superseding, .expiry, .mayHoldOlder, .historyFloor]
  }

  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if sequence != nil { flags.insert(.sequence) }
    if superseded != nil { flags.insert(.superseding) }
    if supersededExpiry != nil { flags.insert(.expiry) }
    if mayHoldOlder { flags.insert(.mayHoldOlder) }
    if historyFloor > 0 { flags.insert(.historyFloor) }
    writer.append(flags.rawValue)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    if let sequence { writer.appendVarint(sequence) }
    if let superseded {
      writer.appendVarint(superseded.sequence)
      superseded.locator.encode(to: &writer)
    }
    if let supersededExpiry { writer.appendVarint(supersededExpiry) }
    if historyFloor > 0 { writer.appendVarint(historyFloor) }
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
    record.mayHoldOlder = flags.contains(.mayHoldOlder)
    if flags.contains(.historyFloor) {
      record.historyFloor = try reader.readSequence()
      guard record.historyFloor > 0 else {
        throw ByteError(offset: reader.offset, reason: "a purge with a floor that says nothing")
      }
    }
    return try reader.finishing(record)
  }
}

/// A local document as it is from now on: it has no revisions, and nobody is told of its changes.
struct LocalRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// Where the record stands that this one takes the place of.
  var superseded: RecordLocator?
  /// The properties in their binary form; nil if there is no such document any more.
  var body: SharedBytes?

  func encode(to writer: inout ByteWriter) {
    writer.append((body == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    superseded?.encode(to: &writer)
    if let body { writer.append(body) }
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> LocalRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a local document with unknown flags")
    }
    var record = LocalRecord(idBytes: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.body = reader.readRest() }
    return try reader.finishing(record)
  }
}

/// A version of the store: how far it reaches, and what it counted.
struct Moment: Sendable, Equatable {
  /// The last sequence number in it.
  var sequence: UInt64
  /// The last commit in it.
  var commit: UInt64
  /// When that was, in milliseconds since 1970.
  var time: UInt64
  var documentCount: UInt64

  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(sequence)
    writer.appendVarint(commit)
    writer.appendVarint(time)
    writer.appendVarint(documentCount)
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> Moment {
    Moment(
      sequence: try reader.readSequence(), commit: try reader.readSequence(),
      time: try reader.readSequence(), documentCount: try reader.readSequence())
  }
}

/// A version of the store that is kept, under a name.
struct NamedRecord: Sendable, Equatable {
  var name: SharedBytes
  /// Where the record stands that this one takes the place of.
  var superseded: RecordLocator?
  /// Which version; nil if it is not kept any more.
  var moment: Moment?

  /// The greatest size of a name in bytes of UTF-8.
  static let nameSizeLimit = 240

  func encode(to writer: inout ByteWriter) {
    writer.append((moment == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    moment?.encode(to: &writer)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> NamedRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a named snapshot with unknown flags")
    }
    var record = NamedRecord(name: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.moment = try Moment.decode(&reader) }
    return try reader.finishing(record)
  }
}

/// The end of the commit that holds it, noted while history is kept, so that the version can be found
/// again by its sequence number or its time.
struct MomentRecord: Sendable, Equatable {
  var moment: Moment
  /// The last sequence number in the version before this one.
  ///
  /// From there up to this commit nothing changed. If no moment has that number, the versions before it
  /// are not known.
  var previous: UInt64

  func encode(to writer: inout ByteWriter) {
    moment.encode(to: &writer)
    writer.appendVarint(previous)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> MomentRecord {
    var reader = ByteReader(payload)
    let moment = try Moment.decode(&reader)
    let record = MomentRecord(moment: moment, previous: try reader.readSequence())
    guard record.previous < moment.sequence else {
      throw ByteError(offset: reader.offset, reason: "a moment that is not after the one before it")
    }
    return try reader.finishing(record)
  }
}

extension ByteReader {
  /// Reads an ID or a name with its size, one byte, before it.
  mutating func readID() throws(ByteError) -> SharedBytes {
    let bytes = try readBytes(Int(try read(UInt8.self)))
    guard !bytes.isEmpty else { throw ByteError(offset: offset, reason: "an ID that is empty") }
    return bytes
  }

  /// Gives `record` back, if nothing stands behind it.
  func finishing<R>(_ record: R) throws(ByteError) -> R {
    guard isAtEnd else { throw ByteError(offset: offset, reason: "bytes behind a record's end") }
    return record
  }
}
