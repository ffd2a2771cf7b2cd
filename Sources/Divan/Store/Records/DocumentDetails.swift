import DivanLog

/// The optional details of a document's record: attachments, several leaves, an expiry, history.
///
/// Most records have none of them, and omit this part. FILE_FORMAT.md §9
struct DocumentDetails: Sendable, Equatable {
  /// The attachments of the record's revision, in the order of the bytes of their names.
  var attachments: [AttachmentEntry] = []
  /// The revision tree (``RevisionTree``), if it is more than the record's own line of revisions.
  var tree: SharedBytes?
  /// The winning revision, if it is not the record's own.
  var winner: Winner?
  /// The time at which the document is to be purged, in milliseconds since 1970.
  var expiry: UInt64?
  /// The expiry of the superseded record.
  var supersededExpiry: UInt64?
  /// The origin of the change, if another store made it.
  var origin: String?
  /// The sequence numbers of retained records that this one releases.
  var released: [UInt64] = []
  /// Whether the superseded record is retained: its revision is still a leaf, or history is kept.
  var keepsSuperseded = false
  /// Whether other records of the document may be retained.
  var mayRetainOlder = false
  /// Whether another store computed the revision's ID, which then proves nothing about the content.
  var isForeignEdit = false
  /// Whether this record releases all retained records of the document.
  var releasesOlder = false

  /// The winning revision and its record, if that is not the newest record.
  struct Winner: Sendable, Equatable {
    var revision: RevisionID
    var isDeleted: Bool
    var sequence: UInt64
  }
}

/// A revision's entry for an attachment; its content is found by its digest.
struct AttachmentEntry: Sendable, Equatable {
  var name: String
  var contentType: String
  /// The size of the content in bytes.
  var length: UInt64
  var digest: SHA256.Digest
  /// The generation of the revision that added it.
  var generation: UInt64
  /// The digest that the attachment has in the store from which it came.
  var foreignDigest: Document.Attachment.ForeignDigest?

  /// The greatest size of a name or of a content type, in bytes of UTF-8.
  static let textSizeLimit = 1024
  /// The greatest number of attachments of a document.
  static let countLimit = 10_000
}

extension DocumentDetails {
  private struct Flags: OptionSet {
    let rawValue: UInt64
    static let attachments = Flags(rawValue: 1)
    static let tree = Flags(rawValue: 2)
    static let winner = Flags(rawValue: 4)
    static let expiry = Flags(rawValue: 8)
    static let supersededExpiry = Flags(rawValue: 16)
    static let origin = Flags(rawValue: 32)
    static let released = Flags(rawValue: 64)
    static let keepsSuperseded = Flags(rawValue: 128)
    static let mayRetainOlder = Flags(rawValue: 256)
    static let foreignEdit = Flags(rawValue: 512)
    static let releasesOlder = Flags(rawValue: 1024)
    static let foreignDigests = Flags(rawValue: 2048)
    static let known = Flags(rawValue: 4095)
  }

  private var flags: Flags {
    var flags: Flags = []
    if !attachments.isEmpty { flags.insert(.attachments) }
    if tree != nil { flags.insert(.tree) }
    if winner != nil { flags.insert(.winner) }
    if expiry != nil { flags.insert(.expiry) }
    if supersededExpiry != nil { flags.insert(.supersededExpiry) }
    if origin != nil { flags.insert(.origin) }
    if !released.isEmpty { flags.insert(.released) }
    if keepsSuperseded { flags.insert(.keepsSuperseded) }
    if mayRetainOlder { flags.insert(.mayRetainOlder) }
    if isForeignEdit { flags.insert(.foreignEdit) }
    if releasesOlder { flags.insert(.releasesOlder) }
    if attachments.contains(where: { $0.foreignDigest != nil }) { flags.insert(.foreignDigests) }
    return flags
  }

  /// Whether there are no details; then the record is written without them.
  var isEmpty: Bool { flags.isEmpty }

  /// Whether the record releases others, which must then be looked up.
  var releasesSomething: Bool { releasesOlder || !released.isEmpty }

  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(flags.rawValue)
    if !attachments.isEmpty {
      writer.appendVarint(attachments.count)
      for attachment in attachments { attachment.encode(to: &writer) }
    }
    if let tree {
      writer.appendVarint(tree.count)
      writer.append(tree)
    }
    if let winner {
      writer.append((winner.isDeleted ? 1 : 0) | (winner.revision.isForeign ? 2 : 0) as UInt8)
      writer.appendVarint(winner.revision.generation)
      winner.revision.digest.encode(to: &writer, isForeign: winner.revision.isForeign)
      writer.appendVarint(winner.sequence)
    }
    if let expiry { writer.appendVarint(expiry) }
    if let supersededExpiry { writer.appendVarint(supersededExpiry) }
    if let origin { writer.appendPrefixed(origin) }
    if !released.isEmpty {
      writer.appendVarint(released.count)
      for sequence in released { writer.appendVarint(sequence) }
    }
    if flags.contains(.foreignDigests) {
      for attachment in attachments {
        AttachmentEntry.encode(attachment.foreignDigest, to: &writer)
      }
    }
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> DocumentDetails {
    let flags = Flags(rawValue: try reader.readVarint())
    guard Flags.known.isSuperset(of: flags), !flags.isEmpty else {
      throw ByteError(offset: reader.offset, reason: "a document record with unknown details")
    }
    var details = DocumentDetails()
    if flags.contains(.attachments) {
      details.attachments = try AttachmentEntry.decodeAll(&reader)
    }
    if flags.contains(.tree) { details.tree = try reader.readPrefixedBytes() }
    if flags.contains(.winner) { details.winner = try Winner.decode(&reader) }
    if flags.contains(.expiry) { details.expiry = try reader.readVarint() }
    if flags.contains(.supersededExpiry) { details.supersededExpiry = try reader.readVarint() }
    if flags.contains(.origin) { details.origin = try reader.readPrefixedText() }
    if flags.contains(.released) {
      let count = try reader.readCount(limit: reader.remaining)
      for _ in 0..<count { details.released.append(try reader.readSequence()) }
    }
    if flags.contains(.foreignDigests) {
      for index in details.attachments.indices {
        details.attachments[index].foreignDigest = try AttachmentEntry.decodeForeignDigest(&reader)
      }
    }
    details.keepsSuperseded = flags.contains(.keepsSuperseded)
    details.mayRetainOlder = flags.contains(.mayRetainOlder)
    details.isForeignEdit = flags.contains(.foreignEdit)
    details.releasesOlder = flags.contains(.releasesOlder)
    guard details.flags == flags else {
      throw ByteError(offset: reader.offset, reason: "document details with an empty part")
    }
    guard details.mayRetainOlder || !details.keepsSuperseded else {
      throw ByteError(
        offset: reader.offset,
        reason: "a document record that retains another one without saying that it may")
    }
    return details
  }
}

extension DocumentDetails.Winner {
  fileprivate static func decode(_ reader: inout ByteReader) throws(ByteError) -> Self {
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: reader.offset, reason: "a winning revision with unknown flags")
    }
    let generation = try reader.readVarint()
    let digest = try reader.read { (bytes, offset) throws(ByteError) in
      try RevisionID.Digest.read(bytes, at: &offset, isForeign: flags & 2 != 0)
    }
    guard let revision = RevisionID.read(generation, digest) else {
      throw ByteError(offset: reader.offset, reason: "a revision of generation 0")
    }
    return Self(
      revision: revision, isDeleted: flags & 1 != 0, sequence: try reader.readSequence())
  }
}

extension AttachmentEntry {
  /// The part of the entry that goes into the ID of a revision.
  var forRevision: RevisionID.AttachmentDigest {
    RevisionID.AttachmentDigest(
      name: name, contentType: contentType, length: length, digest: digest)
  }

  fileprivate func encode(to writer: inout ByteWriter) {
    writer.appendPrefixed(name)
    writer.appendPrefixed(contentType)
    writer.appendVarint(length)
    writer.append(digest)
    writer.appendVarint(generation)
  }

  fileprivate static func decodeAll(
    _ reader: inout ByteReader
  ) throws(ByteError) -> [AttachmentEntry] {
    // Each takes at least 36 bytes.
    let count = try reader.readCount(limit: min(countLimit, reader.remaining / 36))
    var all: [AttachmentEntry] = []
    for _ in 0..<count {
      let entry = AttachmentEntry(
        name: try reader.readPrefixedText(), contentType: try reader.readPrefixedText(),
        length: try reader.readVarint(), digest: try reader.readDigest(),
        generation: try reader.readVarint())
      guard entry.length <= counterLimit, entry.name.utf8.count <= textSizeLimit,
        entry.contentType.utf8.count <= textSizeLimit,
        all.last.map({ compareUTF8($0.name, entry.name) < 0 }) ?? true
      else { throw ByteError(offset: reader.offset, reason: "an invalid attachment entry") }
      all.append(entry)
    }
    return all
  }
}

extension AttachmentEntry {
  /// Encodes the digest that another store gave the attachment.
  ///
  /// Writes an empty text if there is none. Otherwise the text, then the encoding or an empty text.
  /// With an encoding the length follows: 0 if it is not known, or else the length plus one.
  fileprivate static func encode(
    _ digest: Document.Attachment.ForeignDigest?, to writer: inout ByteWriter
  ) {
    writer.appendPrefixed(digest?.text ?? "")
    guard let digest else { return }
    writer.appendPrefixed(digest.encoding ?? "")
    if digest.encoding != nil { writer.appendVarint(digest.encodedLength.map { $0 + 1 } ?? 0) }
  }

  fileprivate static func decodeForeignDigest(
    _ reader: inout ByteReader
  ) throws(ByteError) -> Document.Attachment.ForeignDigest? {
    let text = try reader.readPrefixedText()
    guard !text.isEmpty else { return nil }
    let encoding = try reader.readPrefixedText()
    var digest = Document.Attachment.ForeignDigest(
      text, encoding: encoding.isEmpty ? nil : encoding)
    if digest.encoding != nil {
      let length = try reader.readVarint()
      guard length <= counterLimit else {
        throw ByteError(offset: reader.offset, reason: "an encoded length beyond all limits")
      }
      digest.encodedLength = length == 0 ? nil : Int(length - 1)
    }
    guard text.utf8.count <= textSizeLimit, encoding.utf8.count <= textSizeLimit else {
      throw ByteError(offset: reader.offset, reason: "an invalid attachment entry")
    }
    return digest
  }
}

extension ByteWriter {
  /// Appends a text's size, as a varint, and its UTF-8.
  mutating func appendPrefixed(_ text: String) {
    withUTF8(of: text) { (bytes: Span<UInt8>) in
      appendVarint(bytes.count)
      append(bytes)
    }
  }
}

extension ByteReader {
  /// Reads a text that follows its size.
  mutating func readPrefixedText() throws(ByteError) -> String {
    let start = offset
    guard let text = try readPrefixedBytes().text else {
      throw ByteError(offset: start, reason: "a text that is not UTF-8")
    }
    return text
  }

  /// Reads a sequence number, and refuses one that no store can have assigned.
  mutating func readSequence() throws(ByteError) -> UInt64 {
    let number = try readVarint()
    guard number <= counterLimit else {
      throw ByteError(offset: offset, reason: "a sequence number beyond all limits")
    }
    return number
  }
}
