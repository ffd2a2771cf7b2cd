import DivanLog

/// Takes the content of attachments that comes in lines of pieces, and keeps what is complete until a
/// document that has it is committed.
struct ImportedBodies {
  private let database: Database
  /// The content that is coming in.
  private var current: Incoming?
  private var complete: [SHA256.Digest: Document.Attachment] = [:]

  private struct Incoming {
    let digest: SHA256.Digest
    let length: Int
    let writer: AttachmentWriter
  }

  init(_ database: Database) { self.database = database }
}

extension ImportedBodies {
  /// Content that came in, if it is complete.
  subscript(digest: SHA256.Digest) -> Document.Attachment? { complete[digest] }

  /// Takes a piece, which goes on where the one before it ended.
  mutating func append(_ piece: ImportedPiece) throws(DatabaseError) {
    let incoming = try continuation(piece)
    try translating { () throws(LogError) in try incoming.writer.append(piece.content) }
    let size = incoming.writer.length
    if size < incoming.length {
      current = incoming
      return
    }
    // The type is told by the document.
    let attachment = try database.storeAttachment("") { (_) throws(LogError) in
      try incoming.writer.finish()
    }
    guard case .stored(incoming.digest, _) = attachment.body, size == incoming.length else {
      throw DatabaseError(
        .invalidAttachment, "the content of an attachment is not what its digest and length say",
        hint: "Export it again")
    }
    complete[incoming.digest] = attachment
  }

  private mutating func continuation(_ piece: ImportedPiece) throws(DatabaseError) -> Incoming {
    defer { current = nil }
    if piece.offset == 0 {
      try database.store.beginWriting()
      return Incoming(
        digest: piece.digest, length: piece.length, writer: database.store.attachments.makeWriter())
    }
    guard let current, current.digest == piece.digest, current.length == piece.length,
      current.writer.length == piece.offset
    else {
      throw DatabaseError(
        .invalidAttachment, "the piece before this one of an attachment's content is missing",
        hint: "Pieces stand one after the other, from the beginning")
    }
    return current
  }

  /// Lets go of content to which documents refer now; what later lines refer to again is in the store.
  mutating func release(_ digests: some Sequence<SHA256.Digest>) {
    for digest in digests { complete[digest] = nil }
  }
}
