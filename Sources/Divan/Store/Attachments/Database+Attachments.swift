import DivanLog
import Synchronization

extension Database {
  /// Stores the content of an attachment before a document refers to it.
  ///
  /// No transaction waits for it. The file is read a piece at a time. If no document refers to the
  /// content and the returned value is gone, the content is deleted when the database cleans up or
  /// is closed. If the database is closed during the call, this throws `closed`, and nothing is
  /// left.
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - file: the file's path.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `accessDenied`, `diskFull`, `readOnly`,
  ///   `inputOutput` or `closed`.
  public func storeAttachment(
    contentType: String, file: String
  ) throws -> Document.Attachment {
    try storeAttachment(contentType) { (files) throws(LogError) in
      try files.store(contentsOf: file, on: POSIXFileSystem())
    }
  }

  /// Stores the content of an attachment from a file, without blocking the calling thread.
  ///
  /// This is ``storeAttachment(contentType:file:)-53rov`` for asynchronous callers.
  public func storeAttachment(
    contentType: String, file: String
  ) async throws -> Document.Attachment {
    try await Database.run { _ in try self.storeAttachment(contentType: contentType, file: file) }
  }

  /// Stores the content of an attachment that comes in pieces, before a document refers to it.
  ///
  /// The pieces can have any size. If no document refers to the content and the returned value is
  /// gone, the content is deleted when the database cleans up or is closed. If the database is
  /// closed during the call, this throws `closed`, and nothing is left.
  ///
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - nextPiece: returns the next bytes, and nil at the end. An error that it throws is
  ///     rethrown, and nothing that was stored is left.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `diskFull`, `readOnly`, `inputOutput` or `closed`.
  public func storeAttachment(
    contentType: String, pieces nextPiece: () throws -> (some Sequence<UInt8>)?
  ) throws -> Document.Attachment {
    try store.beginWriting()
    let writer = store.attachments.makeWriter()
    while let piece = try nextPiece() {
      try translating { () throws(LogError) in
        try writer.append(SharedBytes(copying: Array(piece)))
      }
    }
    return try storeAttachment(contentType) { (_) throws(LogError) in try writer.finish() }
  }

  /// Stores the content of an attachment that comes in pieces, as from a network.
  ///
  /// It is stored before a document refers to it.
  ///
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - pieces: the content, in pieces of any size. Some kibibytes each are best, because each
  ///     piece is handed to another thread. An error that it throws is rethrown, and nothing that
  ///     was stored is left.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `diskFull`, `readOnly`, `inputOutput`, `closed`, or
  ///   `cancelled` if the task is cancelled; nothing is left then either.
  public func storeAttachment<Pieces: AsyncSequence>(
    contentType: String, pieces: Pieces
  ) async throws -> Document.Attachment where Pieces.Element: Sequence<UInt8> {
    let store = store
    try await Database.run { _ in try store.beginWriting() }
    let intake = AttachmentIntake(store.attachments)
    for try await piece in pieces {
      let bytes = SharedBytes(copying: Array(piece))
      try await Database.run { _ in try intake.append(bytes) }
    }
    // Some sequences just end when the task is cancelled. That is not the end of the content.
    guard !Task.isCancelled else {
      throw DatabaseError(.cancelled, "storing the attachment was cancelled")
    }
    return try await Database.run { _ in
      try self.storeAttachment(contentType) { (_) throws(LogError) in try intake.finish() }
    }
  }

  /// Stores the content of an attachment with `body`.
  func storeAttachment(
    _ contentType: String, _ body: (AttachmentFiles) throws(LogError) -> StoredAttachment
  ) throws(DatabaseError) -> Document.Attachment {
    try store.beginWriting()
    let stored: StoredAttachment
    do throws(LogError) {
      stored = try body(store.attachments)
    } catch {
      throw DatabaseError(error)
    }
    store.noteStored(stored)
    return Document.Attachment(
      contentType: contentType, length: stored.record.length, generation: 0,
      body: .stored(stored.record.digest, StoredSource(stored, store)))
  }
}
