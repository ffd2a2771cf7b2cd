/// A file in `attachments/` that is named like a blob.
package struct AttachmentFileEntry: Sendable {
  package let digest: SHA256.Digest
  /// The size in bytes.
  package let size: Int
}

extension AttachmentFiles {
  /// Calls `visit` with every file, in the order of digests.
  ///
  /// Returns the paths, in the store's directory, of entries that are not the store's; they are
  /// left alone. Files that are added or removed meanwhile may or may not be visited. Takes memory
  /// for the names of one folder.
  package func forEachFile(
    _ visit: (AttachmentFileEntry) throws(LogError) -> Void
  ) throws(LogError) -> [String] {
    var foreign: [String] = []
    for folder in try list(root) {
      let relativePath = "\(FileName.attachments)/\(folder)"
      guard AttachmentName.isFolder(folder), try isDirectory(path(ofFolder: folder)) else {
        foreign.append(relativePath)
        continue
      }
      for file in try list(path(ofFolder: folder)) {
        guard let name = AttachmentName(folder: folder, file: file) else {
          foreign.append("\(relativePath)/\(file)")
          continue
        }
        guard let status = try status("\(path(ofFolder: folder))/\(file)") else { continue }
        guard status.kind == .file else {
          foreign.append("\(relativePath)/\(file)")
          continue
        }
        try visit(AttachmentFileEntry(digest: digest(of: name), size: status.size))
      }
    }
    return foreign
  }

  /// Whether there is any file with the name of a blob; its content is not checked.
  func hasFiles() throws(LogError) -> Bool {
    for folder in try list(root) where AttachmentName.isFolder(folder) {
      guard try isDirectory(path(ofFolder: folder)) else { continue }
      for file in try list(path(ofFolder: folder)) {
        guard AttachmentName(folder: folder, file: file) != nil else { continue }
        if try status("\(path(ofFolder: folder))/\(file)")?.kind == .file { return true }
      }
    }
    return false
  }

  /// Whether there is a file with the name of a blob; its content is not checked.
  package func hasFile(of digest: SHA256.Digest) throws(LogError) -> Bool {
    try status(path(of: digest)) != nil
  }

  private func isDirectory(_ path: String) throws(LogError) -> Bool {
    // A folder that was removed meanwhile has no files, and need not be reported.
    try status(path).map { $0.kind == .directory } ?? true
  }

  private func status(_ path: String) throws(LogError) -> FileStatus? {
    do throws(SystemError) {
      return try directory.fileSystem.entry(path)
    } catch  where error.code == .notFound {
      return nil
    } catch {
      throw .system(error)
    }
  }

  /// Makes the record of a blob by reading its whole file; nil if there is none.
  ///
  /// Throws ``LogError/damaged(_:)`` if the file's bytes do not match its name.
  package func record(of digest: SHA256.Digest) throws(LogError) -> AttachmentRecord? {
    let path = path(of: digest)
    guard let bytes = try openBlob(of: digest) else { return nil }
    defer { bytes.close() }
    var hash = SHA256()
    var chunks = AttachmentChunks.Maker(settings.chunks)
    var length = 0
    var buffer = ByteWriter(capacity: settings.bufferSize)
    while true {
      buffer.removeAll()
      let count = try bytes.read(settings.bufferSize, at: length, into: &buffer)
      guard count > 0 else { break }
      length += count
      guard length <= settings.chunks.lengthLimit else {
        throw .damaged(
          Damage(path: path, offset: length, reason: "the file is longer than any attachment"))
      }
      buffer.withSpan { bytes in
        hash.add(bytes)
        chunks.add(bytes)
      }
    }
    guard length > 0, hash.digest == digest else {
      throw .damaged(
        Damage(
          path: path, offset: 0, size: length,
          reason: "the attachment's bytes do not match its digest"))
    }
    return AttachmentRecord(digest: digest, length: length, content: .file(chunks.finish()))
  }

  /// Adopts the blob of a file that has no record; nil if there is no file.
  ///
  /// The file is read as a whole, and it and its names are flushed.
  package func adopt(_ digest: SHA256.Digest) throws(LogError) -> StoredAttachment? {
    let pin = pin(digest)
    let found = try noting(digest) { () throws(LogError) in try record(of: digest) }
    guard let record = found else { return nil }
    if !isDurable(digest) {
      try flushFile(of: digest)
      try flushNames(of: digest, in: session)
    }
    return StoredAttachment(record: record, pin: pin)
  }

  private func flushFile(of digest: SHA256.Digest) throws(LogError) {
    try attempt { () throws(SystemError) in
      let file = try directory.fileSystem.open(path(of: digest), .readingOwn)
      try file.flush()
      try file.close()
    }
  }
}
