import DivanLog

/// A document's entry in the index: its winning revision, and the location of its newest record.
///
/// Requests that need no properties read only this. Its bytes are the value of the document's ID.
/// FILE_FORMAT.md §10
struct DocumentEntry: Equatable, Sendable {
  /// The winning revision.
  var revision: RevisionID
  /// The part of the entry that is needed to read the document.
  var location: DocumentLocation
  var traits: Traits = []

  /// Properties of a document that must be checked before it is written again.
  struct Traits: OptionSet, Sendable {
    let rawValue: UInt8
    /// There is more than one leaf, or was.
    static let tree = Traits(rawValue: 1)
    static let expiry = Traits(rawValue: 2)
    static let mayRetainOlder = Traits(rawValue: 4)
    static let attachments = Traits(rawValue: 8)
  }
}

extension DocumentEntry {
  /// Whether the winning revision says that the document is deleted.
  var isDeleted: Bool {
    get { location.isDeleted }
    set { location.isDeleted = newValue }
  }

  /// The sequence number of the document's newest record.
  var sequence: UInt64 { location.sequence }

  /// The locator of that record.
  var locator: RecordLocator {
    get { location.locator }
    set { location.locator = newValue }
  }

  /// What the document's next record supersedes.
  var superseded: DocumentRecord.Superseded { .init(sequence: sequence, locator: locator) }

  /// The sequence number of the winning revision's record, if that is not the newest one.
  var winningSequence: UInt64? {
    get { location.winningSequence }
    set { location.winningSequence = newValue }
  }
}

/// What is decoded of a document's index entry: all of it, or only its location.
protocol DecodedEntry {
  /// The locator of the document's newest record.
  var locator: RecordLocator { get }
  /// Whether the winning revision says that the document is deleted.
  var isDeleted: Bool { get }

  static func decode(_ bytes: Span<UInt8>) throws(ByteError) -> Self
}

extension DocumentEntry: DecodedEntry {
  fileprivate static let deletedFlag: UInt8 = 1
  fileprivate static let foreignFlag: UInt8 = 2
  fileprivate static let winnerFlag: UInt8 = 4
  /// The traits are the bits above the flags.
  private static let traitsShift: UInt8 = 3

  /// Creates the entry of a document whose newest record is at a locator.
  init(_ record: some DocumentContent, at locator: RecordLocator) {
    self.init(
      revision: record.revision,
      location: DocumentLocation(
        locator: locator, sequence: record.sequence, winningSequence: nil,
        isDeleted: record.isDeleted))
    guard let details = record.details else { return }
    if details.tree != nil { traits.insert(.tree) }
    if details.expiry != nil { traits.insert(.expiry) }
    if !details.attachments.isEmpty { traits.insert(.attachments) }
    if details.mayRetainOlder { traits.insert(.mayRetainOlder) }
    if let winner = details.winner {
      revision = winner.revision
      isDeleted = winner.isDeleted
      winningSequence = winner.sequence
    }
  }

  func encode(to writer: inout ByteWriter) {
    writer.append(
      (isDeleted ? DocumentEntry.deletedFlag : 0)
        | (revision.isForeign ? DocumentEntry.foreignFlag : 0)
        | (winningSequence != nil ? DocumentEntry.winnerFlag : 0)
        | traits.rawValue << DocumentEntry.traitsShift)
    revision.digest.encode(to: &writer, isForeign: revision.isForeign)
    writer.appendVarint(revision.generation)
    writer.appendVarint(sequence)
    locator.encode(to: &writer)
    if let winningSequence { writer.appendVarint(winningSequence) }
  }

  static func decode(_ bytes: SharedBytes) throws(ByteError) -> DocumentEntry {
    try bytes.withSpan { (bytes) throws(ByteError) in try decode(bytes) }
  }

  static func decode(_ bytes: Span<UInt8>) throws(ByteError) -> DocumentEntry {
    var offset = 0
    let flags = try bytes.read(UInt8.self, at: &offset)
    let digest = try RevisionID.Digest.read(
      bytes, at: &offset, isForeign: flags & foreignFlag != 0)
    let generation = try bytes.readVarint(at: &offset)
    guard let revision = RevisionID.read(generation, digest) else {
      throw ByteError(offset: 0, reason: "a revision of generation 0")
    }
    return DocumentEntry(
      revision: revision, location: try DocumentLocation(bytes, at: offset, flags: flags),
      traits: Traits(rawValue: flags >> traitsShift))
  }
}

extension DocumentLocation: DecodedEntry {
  /// Reads the part of a ``DocumentEntry`` that is needed to read the document.
  ///
  /// It skips the revision, which the record has, too.
  static func decode(_ bytes: Span<UInt8>) throws(ByteError) -> DocumentLocation {
    var offset = 0
    let flags = try bytes.read(UInt8.self, at: &offset)
    try RevisionID.Digest.skip(
      bytes, at: &offset, isForeign: flags & DocumentEntry.foreignFlag != 0)
    _ = try bytes.readVarint(at: &offset)
    return try DocumentLocation(bytes, at: offset, flags: flags)
  }

  /// Reads the bytes after the revision.
  @inline(__always)
  fileprivate init(_ bytes: Span<UInt8>, at start: Int, flags: UInt8) throws(ByteError) {
    var offset = start
    sequence = try bytes.readVarint(at: &offset)
    locator = try RecordLocator.read(bytes, at: &offset)
    winningSequence =
      flags & DocumentEntry.winnerFlag != 0 ? try bytes.readVarint(at: &offset) : nil
    isDeleted = flags & DocumentEntry.deletedFlag != 0
  }
}

extension RecordLocator {
  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(fileID)
    writer.appendVarint(offset)
    writer.appendVarint(UInt64(size))
  }

  static func read(
    _ bytes: Span<UInt8>, at offset: inout Int
  ) throws(ByteError) -> RecordLocator {
    RecordLocator(
      fileID: try bytes.readVarint(at: &offset), offset: try bytes.readVarint(at: &offset),
      size: UInt32(try bytes.readCount(limit: Record.sizeLimit, at: &offset)))
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> RecordLocator {
    try reader.read { (bytes, offset) throws(ByteError) in try read(bytes, at: &offset) }
  }
}
