/// Reads the blob of an attachment: as a whole, in parts, or as a stream.
///
/// All bytes that it returns were checked: a part against the checksums of its chunks, and a whole
/// blob against its digest, too. An inline blob's checksum is its record's, which was checked when
/// the record was read. The reader keeps working after the file is removed.
///
/// Damage to a blob is thrown as ``LogError/damaged(_:)``, with the path and the offset.
package struct AttachmentReader: Sendable {
  package let record: AttachmentRecord
  fileprivate let blob: Blob

  fileprivate enum Blob: Sendable {
    case inline(SharedBytes)
    case file(BlobFile)
  }
}

/// An open file that contains a blob.
private struct BlobFile: Sendable {
  /// Where it is noted if the file proves bad.
  let files: AttachmentFiles
  let bytes: BlobBytes
  let chunks: AttachmentChunks
  let length: Int
  /// Whether the file may be mapped to be read as a whole.
  let isMappable: Bool
  /// The whole file as memory; empty if no map is kept.
  let mapped: SharedBytes
}

extension AttachmentFiles {
  /// Opens a blob for reading; of a file, the length is checked.
  package func open(_ record: AttachmentRecord) throws(LogError) -> AttachmentReader {
    switch record.content {
    case .inline(let bytes):
      return AttachmentReader(record: record, blob: .inline(bytes))
    case .file(let chunks):
      return try noting(record.digest) { () throws(LogError) in try open(record, chunks) }
    }
  }

  private func open(
    _ record: AttachmentRecord, _ chunks: AttachmentChunks
  ) throws(LogError) -> AttachmentReader {
    let path = path(of: record.digest)
    guard let bytes = try openBlob(of: record.digest) else {
      throw .damaged(
        Damage(
          path: path, offset: 0, size: record.length, reason: "the attachment's file is missing"))
    }
    let size = try bytes.length()
    guard size == record.length else {
      throw .damaged(
        Damage(
          path: path, offset: min(size, record.length),
          reason: "the attachment has \(size) bytes instead of \(record.length)"))
    }
    let isMappable = settings.isMapped && bytes.isMappable
    let isMapRetained = isMappable && size <= settings.retainedMapSizeLimit
    return AttachmentReader(
      record: record,
      blob: .file(
        BlobFile(
          files: self, bytes: bytes, chunks: chunks, length: size, isMappable: isMappable,
          // If the system has no room for the map, reads work without it.
          mapped: isMapRetained ? bytes.map(size) ?? .empty : .empty)))
  }

  /// Runs `body`, which reads a blob, and notes if its file proves bad.
  ///
  /// Otherwise storing the blob again would heal nothing: a durable file is not written again.
  func noting<R>(
    _ digest: SHA256.Digest, _ body: () throws(LogError) -> R
  ) throws(LogError) -> R {
    do throws(LogError) {
      return try body()
    } catch {
      switch error {
      case .damaged: distrust(digest)
      case .system(let system) where system.code == .inputOutput: distrust(digest)
      default: break
      }
      throw error
    }
  }

  /// Opens the file of a blob; nil if there is none.
  func openBlob(of digest: SHA256.Digest) throws(LogError) -> BlobBytes? {
    let file: any OpenFile
    do throws(SystemError) {
      file = try directory.fileSystem.open(path(of: digest), .readingOwn)
    } catch  where error.code == .notFound {
      return nil
    } catch {
      throw .system(error)
    }
    return try BlobBytes(file, of: digest, directory.cipher)
  }
}

extension AttachmentReader {
  /// Returns a reader of bytes in memory that have this digest.
  package static func inline(_ bytes: SharedBytes, digest: SHA256.Digest) -> AttachmentReader {
    AttachmentReader(record: AttachmentRecord(inline: bytes, digest: digest), blob: .inline(bytes))
  }

  /// The length of the blob, in bytes.
  package var length: Int { record.length }

  /// Returns the whole blob, checked against its digest.
  ///
  /// Takes as much memory as the blob is long, unless the file is mapped; ``stream()`` takes
  /// little.
  package func readAll() throws(LogError) -> SharedBytes {
    let bytes: SharedBytes
    switch blob {
    case .inline(let inline): bytes = inline
    case .file(let file):
      bytes = try file.files.noting(record.digest) { () throws(LogError) in try file.readAll() }
    }
    guard SHA256.digest(of: bytes) == record.digest else { throw noteWrongDigest() }
    return bytes
  }

  /// Returns a part of the blob; `range` is clamped to the blob's ends.
  ///
  /// Takes as much memory as the chunks that are read, unless the file is mapped.
  package func read(_ range: Range<Int>) throws(LogError) -> SharedBytes {
    try read(range, through: nil)
  }

  /// Returns a part as a piece of a stream, which is never read through a map.
  func readPiece(_ range: Range<Int>) throws(LogError) -> SharedBytes {
    try read(range, through: .empty)
  }

  private func read(
    _ range: Range<Int>, through map: SharedBytes?
  ) throws(LogError) -> SharedBytes {
    let range = range.clamped(to: 0..<length)
    guard !range.isEmpty else { return .empty }
    switch blob {
    case .inline(let bytes):
      return bytes.suffix(from: range.lowerBound).prefix(range.count)
    case .file(let file):
      return try file.files.noting(record.digest) { () throws(LogError) in
        try file.read(range, through: map ?? file.mapped)
      }
    }
  }

  /// Returns the error for right chunks with a wrong digest, and notes that the file is bad.
  ///
  /// Record and file are of different blobs.
  func noteWrongDigest() -> LogError {
    let path: String
    switch blob {
    case .inline: path = "\(AttachmentName(record.digest))"
    case .file(let blobFile):
      path = blobFile.bytes.path
      blobFile.files.distrust(record.digest)
    }
    return .damaged(
      Damage(
        path: path, offset: 0, size: length,
        reason: "the attachment's bytes do not match its digest"))
  }

  /// The number of bytes that a stream returns at a time; chunks are not split.
  var pieceSize: Int {
    switch blob {
    case .inline: length
    case .file(let file): max(file.chunks.size, 256 << 10)
    }
  }
}

extension BlobFile {
  func readAll() throws(LogError) -> SharedBytes {
    let map = mapped.isEmpty && isMappable ? bytes.map(length) ?? .empty : mapped
    return try read(0..<length, through: map)
  }

  /// Returns a part that is not empty, from the map if that contains it.
  func read(_ range: Range<Int>, through map: SharedBytes) throws(LogError) -> SharedBytes {
    let first = range.lowerBound / chunks.size
    let last = (range.upperBound - 1) / chunks.size
    let start = first * chunks.size
    let count = min((last + 1) * chunks.size, length) - start
    let read: SharedBytes
    if let slice = map.slice(start, count) {
      read = slice
    } else {
      read = try bytes.read(count, at: start)
    }
    guard read.count == count else {
      throw .damaged(
        Damage(
          path: bytes.path, offset: start + read.count,
          reason: "the attachment's file ends too early"))
    }
    for index in first...last {
      let offset = index * chunks.size - start
      let chunk = read.suffix(from: offset).prefix(min(chunks.size, count - offset))
      guard CRC32C.checksum(chunk) == chunks[index] else {
        throw .damaged(
          Damage(
            path: bytes.path, offset: start + offset, size: chunk.count,
            reason: "a part of the attachment does not match its checksum"))
      }
    }
    return read.suffix(from: range.lowerBound - start).prefix(range.count)
  }
}
