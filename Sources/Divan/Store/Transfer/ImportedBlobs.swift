import DivanLog

/// A store of attachment contents that come in pieces, until their documents are committed.
struct ImportedBlobs {
  private let database: Database
  /// The content that is currently arriving.
  private var current: Incoming?
  private var complete: [SHA256.Digest: Document.Attachment] = [:]

  private struct Incoming {
    let digest: SHA256.Digest
    let length: Int
    let writer: AttachmentWriter
  }

  init(_ database: Database) { self.database = database }
}

extension ImportedBlobs {
  /// A complete content that was received; nil if there is none.
  subscript(digest: SHA256.Digest) -> Document.Attachment? { complete[digest] }

  /// Returns the number of bytes in the log that a document's contents from earlier lines take.
  ///
  /// Larger contents have files of their own.
  func sizeInLog(of document: ImportedDocument) -> Int {
    let limit = database.store.configuration.attachmentInlineLimit
    var size = 0
    for attachment in document.attachments where attachment.content == nil {
      if let digest = attachment.digest, let known = complete[digest], known.length <= limit {
        size += known.length
      }
    }
    return size
  }

  /// Adds a piece, which must continue the previous one.
  mutating func append(_ piece: ImportedChunk) throws(DatabaseError) {
    let incoming = try continuation(piece)
    try translating { () throws(LogError) in try incoming.writer.append(piece.content) }
    let size = incoming.writer.length
    if size < incoming.length {
      current = incoming
      return
    }
    // The document has the content type.
    let attachment = try database.storeAttachment("") { (_) throws(LogError) in
      try incoming.writer.finish()
    }
    guard case .stored(incoming.digest, _) = attachment.body, size == incoming.length else {
      throw DatabaseError(
        .invalidAttachment, "the content of an attachment does not match its digest and length",
        hint: "Export it again")
    }
    complete[incoming.digest] = attachment
  }

  private mutating func continuation(_ piece: ImportedChunk) throws(DatabaseError) -> Incoming {
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
        .invalidAttachment, "the previous piece of the attachment's content is missing",
        hint: "The lines with the pieces must follow each other, from the first piece on")
    }
    return current
  }

  /// Drops contents that documents now refer to; later lines find them in the store.
  mutating func release(_ digests: some Sequence<SHA256.Digest>) {
    for digest in digests { complete[digest] = nil }
  }
}
