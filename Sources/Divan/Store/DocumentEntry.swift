import DivanLog

/// What the index knows of a document: enough to answer what needs no body, and where the body is.
///
/// Its bytes are the value under the document's ID in the index. FILE_FORMAT.md §10
struct DocumentEntry: Equatable, Sendable {
  var revision: RevisionID
  var isDeleted: Bool
  var sequence: UInt64
  var locator: RecordLocator
}

extension DocumentEntry {
  private static let deletedFlag: UInt8 = 1
  private static let foreignFlag: UInt8 = 2

  func encode(to writer: inout ByteWriter) {
    writer.append(
      (isDeleted ? DocumentEntry.deletedFlag : 0)
        | (revision.isForeign ? DocumentEntry.foreignFlag : 0))
    revision.digest.encode(to: &writer, isForeign: revision.isForeign)
    writer.appendVarint(revision.generation)
    writer.appendVarint(sequence)
    locator.encode(to: &writer)
  }

  static func decode(_ bytes: SharedBytes) throws(ByteError) -> DocumentEntry {
    var reader = ByteReader(bytes)
    let flags = try reader.read(UInt8.self)
    let digest = try RevisionID.Digest.decode(
      &reader, isForeign: flags & foreignFlag != 0)
    let generation = try reader.readVarint()
    guard let revision = RevisionID.read(generation, digest) else {
      throw ByteError(offset: 0, reason: "a revision of generation 0")
    }
    return DocumentEntry(
      revision: revision, isDeleted: flags & deletedFlag != 0,
      sequence: try reader.readVarint(), locator: try RecordLocator.decode(&reader))
  }
}

extension RecordLocator {
  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(fileID)
    writer.appendVarint(offset)
    writer.appendVarint(UInt64(size))
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> RecordLocator {
    RecordLocator(
      fileID: try reader.readVarint(), offset: try reader.readVarint(),
      size: UInt32(try reader.readCount(limit: Record.sizeLimit)))
  }
}
