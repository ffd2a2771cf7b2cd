import DivanLog

/// A document's newest state as the log holds it: its whole index entry, and its body.
///
/// The entry is whole, so that replaying the log is putting one entry after the other into the index,
/// without looking anything up. FILE_FORMAT.md §9
struct DocumentRecord: Sendable {
  var id: String
  var sequence: UInt64
  var revision: RevisionID
  var isDeleted: Bool
  /// The digests of the revisions before this one, the nearest first; its generations count down
  /// from the one before this one's.
  var ancestors: [RevisionID.Digest]
  /// What stood in the index for this document until now.
  var superseded: Superseded?
  /// The properties in their binary form.
  var body: SharedBytes

  /// The entry that a record takes the place of.
  struct Superseded: Equatable, Sendable {
    var sequence: UInt64
    var locator: RecordLocator
  }

  /// How many revision IDs of a document are kept, its newest one included.
  static let historyDepth = 20
}

extension DocumentRecord {
  /// The ID of the revision that this one was made from; nil for a first one.
  var parent: RevisionID? {
    guard let digest = ancestors.first, revision.generation > 1 else { return nil }
    return RevisionID.read(revision.generation - 1, digest)
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let deleted = Flags(rawValue: 1)
    static let foreignRevision = Flags(rawValue: 2)
    static let superseding = Flags(rawValue: 4)
    static let ancestors = Flags(rawValue: 8)
    static let foreignAncestors = Flags(rawValue: 16)
    static let known: Flags = [
      .deleted, .foreignRevision, .superseding, .ancestors, .foreignAncestors,
    ]
  }

  /// Appends everything but the body.
  func encodeEntry(to writer: inout ByteWriter) {
    let hasForeignAncestors = ancestors.contains { $0.isForeign }
    var flags: Flags = []
    if isDeleted { flags.insert(.deleted) }
    if revision.isForeign { flags.insert(.foreignRevision) }
    if superseded != nil { flags.insert(.superseding) }
    if !ancestors.isEmpty { flags.insert(.ancestors) }
    if hasForeignAncestors { flags.insert(.foreignAncestors) }
    writer.append(flags.rawValue)
    withUTF8(of: id) { (bytes: Span<UInt8>) in
      writer.append(UInt8(bytes.count))
      writer.append(bytes)
    }
    writer.appendVarint(sequence)
    writer.appendVarint(revision.generation)
    revision.digest.encode(to: &writer, isForeign: revision.isForeign)
    if let superseded {
      writer.appendVarint(superseded.sequence)
      superseded.locator.encode(to: &writer)
    }
    if !ancestors.isEmpty {
      writer.appendVarint(ancestors.count)
      for digest in ancestors { digest.encode(to: &writer, isForeign: hasForeignAncestors) }
    }
  }

  func encode(to writer: inout ByteWriter) {
    encodeEntry(to: &writer)
    writer.append(body)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> DocumentRecord {
    var reader = ByteReader(payload)
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    guard Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "a document record with unknown flags")
    }
    let idSize = Int(try reader.read(UInt8.self))
    guard let id = try reader.readBytes(idSize).text, !id.isEmpty else {
      throw ByteError(offset: 1, reason: "a document ID that is no text")
    }
    let sequence = try reader.readVarint()
    guard sequence <= counterLimit else {
      throw ByteError(offset: reader.offset, reason: "a sequence number beyond all limits")
    }
    let generation = try reader.readVarint()
    let digest = try RevisionID.Digest.decode(
      &reader, isForeign: flags.contains(.foreignRevision))
    guard let revision = RevisionID.read(generation, digest) else {
      throw ByteError(offset: reader.offset, reason: "a revision of generation 0")
    }
    var superseded: Superseded?
    if flags.contains(.superseding) {
      superseded = Superseded(
        sequence: try reader.readVarint(), locator: try RecordLocator.decode(&reader))
    }
    var ancestors: [RevisionID.Digest] = []
    if flags.contains(.ancestors) {
      let count = try reader.readCount(limit: reader.remaining)
      ancestors.reserveCapacity(min(count, historyDepth))
      for _ in 0..<count {
        ancestors.append(
          try RevisionID.Digest.decode(
            &reader, isForeign: flags.contains(.foreignAncestors)))
      }
    }
    return DocumentRecord(
      id: id, sequence: sequence, revision: revision, isDeleted: flags.contains(.deleted),
      ancestors: ancestors, superseded: superseded, body: reader.readRest())
  }
}
