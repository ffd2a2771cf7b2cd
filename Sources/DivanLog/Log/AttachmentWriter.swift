/// A stored blob; if it has a file, that is durable.
package struct StoredAttachment: Sendable {
  /// The record to write to the log before anything refers to the blob.
  package let record: AttachmentRecord
  /// Keeps the file until the caller has committed a reference to it; nil if there is no file.
  package let pin: AttachmentPin?
}

/// Takes the bytes of a blob in pieces of any size, and stores it.
///
/// A small blob is stored in its record. For a larger one, a temporary file is written as the bytes
/// come, and gets its name after the last byte. Takes ``AttachmentFiles/Settings/bufferSize`` bytes
/// of memory, and four for each chunk. The written bytes are removed if the writer is released
/// without ``finish()``, after an error, and when the store is closed or suspended. After that last
/// case, calls throw ``LogError/closed`` or ``LogError/suspended``.
///
/// Use it from one thread at a time.
package final class AttachmentWriter {
  private let files: AttachmentFiles
  /// The session in which this writer began.
  private let session: Int
  private let knownDigest: SHA256.Digest?
  private var hash = SHA256()
  private var chunks: AttachmentChunks.Maker
  /// Bytes that are not written yet.
  private var buffer: ByteWriter
  private var temporary: (any OpenFile)?
  /// The encryption of the file; nil if the store is not encrypted.
  private let encryption: BlobEncryption?
  private var writtenSize = 0
  private var isFinished = false
  /// The number of bytes added.
  package private(set) var length = 0

  fileprivate init(_ files: AttachmentFiles, digest: SHA256.Digest?) {
    self.files = files
    session = files.session
    knownDigest = digest
    encryption = files.makeEncryption()
    chunks = AttachmentChunks.Maker(files.settings.chunks)
    buffer = ByteWriter(capacity: files.settings.bufferSize)
  }

  deinit { discard() }
}

extension AttachmentFiles {
  /// Begins to store a blob, whose digest may be known.
  package func makeWriter(digest: SHA256.Digest? = nil) -> AttachmentWriter {
    AttachmentWriter(self, digest: digest)
  }
}

extension AttachmentWriter {
  /// Adds bytes at the end.
  ///
  /// After an error the writer is finished, and the bytes that it wrote are removed.
  package func append(_ bytes: SharedBytes) throws(LogError) {
    try bytes.withSpan { (bytes) throws(LogError) in try append(bytes) }
  }

  /// Adds bytes at the end.
  ///
  /// After an error the writer is finished, and the bytes that it wrote are removed.
  package func append(_ bytes: Span<UInt8>) throws(LogError) {
    precondition(!isFinished, "The attachment writer is finished and takes no more bytes")
    do throws(LogError) {
      try checkLength(adding: bytes.count)
      var rest = bytes
      while !rest.isEmpty {
        let piece = rest.extracting(first: min(rest.count, try room()))
        buffer.append(piece)
        rest = rest.extracting(droppingFirst: piece.count)
        add(piece)
      }
    } catch {
      discard()
      throw error
    }
  }

  /// Adds up to `count` bytes of a file, from `offset` on, and returns how many there were.
  ///
  /// After an error the writer is finished, and the bytes that it wrote are removed.
  func append(_ count: Int, of file: any OpenFile, at offset: Int) throws(LogError) -> Int {
    precondition(!isFinished, "The attachment writer is finished and takes no more bytes")
    do throws(LogError) {
      let room = min(count, try room())
      let start = buffer.count
      let read: Int
      do throws(SystemError) {
        read = try file.read(room, at: offset, into: &buffer)
      } catch {
        throw .system(error)
      }
      try checkLength(adding: read)
      buffer.withSpan { add($0.extracting(droppingFirst: start)) }
      return read
    } catch {
      discard()
      throw error
    }
  }

  /// Returns the room in the buffer, which is never zero, since a full buffer is written first.
  private func room() throws(LogError) -> Int {
    if buffer.count == files.settings.bufferSize { try writeOut() }
    return files.settings.bufferSize - buffer.count
  }

  private func checkLength(adding count: Int) throws(LogError) {
    guard count <= files.settings.chunks.lengthLimit - length else {
      let path = temporary?.path ?? files.root
      throw .system(SystemError(call: "write", path: path, code: .fileTooLarge))
    }
  }

  /// Accounts for bytes that are in the buffer now.
  private func add(_ bytes: Span<UInt8>) {
    if knownDigest == nil { hash.add(bytes) }
    chunks.add(bytes)
    length += bytes.count
  }

  private func writeOut() throws(LogError) {
    let file: any OpenFile
    if let temporary {
      try files.requireOpen(session)
      file = temporary
    } else {
      file = try files.makeTemporary(in: session)
      temporary = file
    }
    do throws(SystemError) {
      if let encryption {
        try write(encryptedBy: encryption, to: file)
      } else {
        try file.write(buffer, at: writtenSize)
      }
    } catch {
      throw .system(error)
    }
    writtenSize += buffer.count
    buffer.removeAll()
  }

  /// Writes the buffer, which begins with a piece, and contains whole ones or ends the blob.
  private func write(encryptedBy encryption: BlobEncryption, to file: any OpenFile)
    throws(SystemError)
  {
    let index = writtenSize / BlobEncryption.pieceSize
    var sealed = ByteWriter(capacity: BlobEncryption.fileSize(ofLength: buffer.count))
    encryption.seal(buffer.sharedCopy, fromPiece: index, to: &sealed)
    try file.write(sealed, at: BlobEncryption.offset(ofPiece: index))
  }

  /// Makes the blob durable, unless its record contains it, and returns it.
  ///
  /// The writer is finished afterwards.
  package func finish() throws(LogError) -> StoredAttachment {
    precondition(!isFinished, "The attachment writer is finished already")
    defer { discard() }
    let digest = knownDigest ?? hash.digest
    if length <= files.settings.inlineSizeLimit, writtenSize == 0 {
      return StoredAttachment(
        record: AttachmentRecord(inline: buffer.sharedCopy, digest: digest), pin: nil)
    }
    let stored = StoredAttachment(
      record: AttachmentRecord(digest: digest, length: length, content: .file(chunks.finish())),
      pin: files.pin(digest))
    // From here on the pin keeps a file of this name from being removed.
    if files.isDurable(digest) { return stored }
    if buffer.count > 0 { try writeOut() }
    guard let file = temporary else { preconditionFailure("A blob that was written has a file") }
    try attempt { () throws(SystemError) in
      if let encryption { try file.write(encryption.head(of: digest, length: length), at: 0) }
      try file.flush()
      // Some systems report only now that bytes could not be written.
      try file.close()
    }
    try files.install(file.path, as: digest, in: session)
    temporary = nil
    return stored
  }

  /// Ends the writer, and removes its temporary file unless that got its name.
  private func discard() {
    isFinished = true
    guard let file = temporary else { return }
    temporary = nil
    try? file.close()
    files.removeTemporary(file.path)
  }
}
