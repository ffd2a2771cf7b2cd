extension AttachmentFiles {
  /// Stores a body that is in memory.
  ///
  /// A file that this opening has stored already is not written again.
  package func store(_ body: SharedBytes) throws(LogError) -> StoredAttachment {
    let writer = makeWriter(digest: SHA256.digest(of: body))
    try writer.append(body)
    return try writer.finish()
  }

  /// Stores what a file holds, which is read from `fileSystem` a piece at a time.
  ///
  /// Throws ``LogError/sourceChanged(path:reason:)`` if it does not have the length at the end that it had
  /// at the beginning. Bytes that are exchanged meanwhile are not noticed: what was read is stored.
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

  /// Stores the bytes that `nextPiece` gives, one piece after the other, until it gives nil.
  ///
  /// What it throws is thrown, and nothing is left of what was written.
  package func store(
    pieces nextPiece: () throws -> SharedBytes?
  ) throws -> StoredAttachment {
    let writer = makeWriter()
    while let piece = try nextPiece() { try writer.append(piece) }
    return try writer.finish()
  }
}
