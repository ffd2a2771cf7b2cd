/// A body that was stored, and is durable as far as it has a file.
package struct StoredAttachment: Sendable {
  /// What is to be written to the log before anything refers to the body.
  package let record: AttachmentRecord
  /// Keeps the file until the caller has committed what refers to it; nil if there is none.
  package let hold: AttachmentHold?
}

/// Takes the bytes of a body in pieces, of whatever sizes, and stores it.
///
/// A small body ends up in its record. Of a larger one a temporary file is written as the bytes come, and
/// given its name when the last one did. Memory: ``AttachmentFiles/Settings/bufferSize``, and four bytes
/// for each chunk. Whatever is written is gone when the writer goes without ``finish()``, or with an
/// error, or when the store is closed: then what comes next throws ``LogError/closed``.
///
/// Used by one thread at a time.
package final class AttachmentWriter {
  private let files: AttachmentFiles
  private let knownDigest: SHA256.Digest?
  private var hash = SHA256()
  private var chunks: AttachmentChunks.Maker
  /// What is not written yet.
  private var buffer: ByteWriter
  private var temporary: (any OpenFile)?
  private var writtenSize = 0
  private var isOver = false
  /// How many bytes were added.
  package private(set) var length = 0

  fileprivate init(_ files: AttachmentFiles, digest: SHA256.Digest?) {
    self.files = files
    knownDigest = digest
    chunks = AttachmentChunks.Maker(files.settings.chunks)
    buffer = ByteWriter(capacity: files.settings.bufferSize)
  }

  deinit { discard() }
}

extension AttachmentFiles {
  /// Begins to store a body.
  package func makeWriter() -> AttachmentWriter { AttachmentWriter(self, digest: nil) }

  func makeWriter(digest: SHA256.Digest) -> AttachmentWriter {
    AttachmentWriter(self, digest: digest)
  }
}

extension AttachmentWriter {
  /// Adds bytes at the end.
  ///
  /// After an error the writer is over, and nothing is left of what it wrote.
  package func append(_ bytes: SharedBytes) throws(LogError) {
    try bytes.withSpan { (bytes) throws(LogError) in try append(bytes) }
  }

  /// Adds bytes at the end.
  ///
  /// After an error the writer is over, and nothing is left of what it wrote.
  package func append(_ bytes: Span<UInt8>) throws(LogError) {
    precondition(!isOver, "An attachment's writer that is over was given more bytes")
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
  /// After an error the writer is over, and nothing is left of what it wrote.
  func append(_ count: Int, of file: any OpenFile, at offset: Int) throws(LogError) -> Int {
    precondition(!isOver, "An attachment's writer that is over was given more bytes")
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

  /// How many bytes the buffer takes: more than none, since a full one is written.
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

  /// Takes bytes into account that are in the buffer now.
  private func add(_ bytes: Span<UInt8>) {
    if knownDigest == nil { hash.add(bytes) }
    chunks.add(bytes)
    length += bytes.count
  }

  private func writeOut() throws(LogError) {
    let file: any OpenFile
    if let temporary {
      guard !files.isClosed else { throw .closed }
      file = temporary
    } else {
      file = try files.makeTemporary()
      temporary = file
    }
    do throws(SystemError) {
      try file.write(buffer, at: writtenSize)
    } catch {
      throw .system(error)
    }
    writtenSize += buffer.count
    buffer.removeAll()
  }

  /// Makes the body durable, as far as its record does not hold it, and returns it.
  ///
  /// The writer is over then.
  package func finish() throws(LogError) -> StoredAttachment {
    precondition(!isOver, "An attachment's writer was finished twice")
    defer { discard() }
    let digest = knownDigest ?? hash.digest
    if length <= files.settings.inlineSizeLimit, writtenSize == 0 {
      return StoredAttachment(
        record: AttachmentRecord(inline: buffer.sharedCopy, digest: digest), hold: nil)
    }
    let stored = StoredAttachment(
      record: AttachmentRecord(digest: digest, length: length, content: .file(chunks.finish())),
      hold: files.hold(digest))
    // From here on nobody removes a file of this name.
    if files.isDurable(digest) { return stored }
    if buffer.count > 0 { try writeOut() }
    guard let file = temporary else { preconditionFailure("A body that was written has a file") }
    try attempt { () throws(SystemError) in
      try file.flush()
      // Some systems tell only now of what they could not write.
      try file.close()
    }
    try files.install(file.path, as: digest)
    temporary = nil
    return stored
  }

  /// Ends the writer, and removes what it wrote unless that got its name.
  private func discard() {
    isOver = true
    guard let file = temporary else { return }
    temporary = nil
    try? file.close()
    files.removeTemporary(file.path)
  }
}
