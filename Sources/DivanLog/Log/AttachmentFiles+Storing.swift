extension AttachmentFiles {
  /// Stores a blob that is in memory.
  ///
  /// A file that this opening has stored already is not written again.
  package func store(_ blob: SharedBytes) throws(LogError) -> StoredAttachment {
    let writer = makeWriter(digest: SHA256.digest(of: blob))
    try writer.append(blob)
    return try writer.finish()
  }

  /// Stores the contents of a file, which is read from `fileSystem` a piece at a time.
  ///
  /// Throws ``LogError/sourceChanged(path:reason:)`` if the file's length has changed at the end.
  /// Bytes that are overwritten meanwhile are not noticed: the bytes that were read are stored.
  package func store(
    contentsOf path: String, on fileSystem: any FileSystem
  ) throws(LogError) -> StoredAttachment {
    let file = try attempt { () throws(SystemError) in try fileSystem.open(path, .reading) }
    defer { try? file.close() }
    let size = try attempt { () throws(SystemError) in try file.size() }
    let writer = makeWriter()
    while try writer.append(settings.bufferSize, of: file, at: writer.length) > 0 {
      guard writer.length <= size else { break }
    }
    let newSize = try attempt { () throws(SystemError) in try file.size() }
    guard writer.length == size, newSize == size else {
      throw .sourceChanged(
        path: path,
        reason:
          "the file had \(size) bytes, of which \(writer.length) were read; now it has \(newSize)"
      )
    }
    return try writer.finish()
  }
}
