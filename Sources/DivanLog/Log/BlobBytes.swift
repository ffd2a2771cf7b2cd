/// The bytes of a blob in a file of its own: as they are, or sealed.
///
/// Every byte of a blob that is read from a file passes here.
struct BlobBytes: Sendable {
  private let file: any OpenFile
  /// Nil if the file contains the blob and nothing else.
  private let sealed: Sealed?

  private struct Sealed: Sendable {
    let encryption: BlobEncryption
    /// The length of the blob, in bytes.
    let length: Int
  }

  /// Opens the file of a blob; `cipher` is that of its store.
  init(
    _ file: any OpenFile, of digest: SHA256.Digest, _ cipher: (any Cipher)?
  ) throws(LogError) {
    self.file = file
    guard let cipher else {
      sealed = nil
      return
    }
    let head = try attempt { () throws(SystemError) in try file.read(BlobEncryption.headSize, at: 0)
    }
    let (encryption, length) = try BlobEncryption.decode(head, of: digest, cipher, path: file.path)
    sealed = Sealed(encryption: encryption, length: length)
  }

  var path: String { file.path }
  /// Whether the file may be read as a memory map.
  var isMappable: Bool { sealed == nil }
}

extension BlobBytes {
  /// The length of the blob in bytes, as the file's size shows it.
  func length() throws(LogError) -> Int {
    let size = try attempt { () throws(SystemError) in try file.size() }
    guard let sealed else { return size }
    let expected = BlobEncryption.fileSize(ofLength: sealed.length)
    guard size == expected else {
      throw .damaged(
        Damage(
          path: path, offset: min(size, expected),
          reason: "the attachment's file has \(size) bytes instead of \(expected)"))
    }
    return sealed.length
  }

  /// Returns `count` bytes from `offset` on; fewer only at the end of the blob.
  func read(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    guard let sealed else {
      return try attempt { () throws(SystemError) in try file.read(count, at: offset) }
    }
    return try open(min(count, max(0, sealed.length - offset)), at: offset, sealed)
  }

  /// Appends up to `count` bytes from `offset` on, and returns how many; 0 only at the end.
  func read(
    _ count: Int, at offset: Int, into writer: inout ByteWriter
  ) throws(LogError) -> Int {
    guard sealed == nil else {
      let bytes = try read(count, at: offset)
      writer.append(bytes)
      return bytes.count
    }
    do throws(SystemError) {
      return try file.read(count, at: offset, into: &writer)
    } catch {
      throw .system(error)
    }
  }

  /// Returns `count` bytes of a sealed blob, which has them.
  private func open(
    _ count: Int, at offset: Int, _ sealed: Sealed
  ) throws(LogError) -> SharedBytes {
    guard count > 0 else { return .empty }
    let first = offset / BlobEncryption.pieceSize
    let last = (offset + count - 1) / BlobEncryption.pieceSize
    let start = BlobEncryption.offset(ofPiece: first)
    let end = min(
      BlobEncryption.offset(ofPiece: last + 1), BlobEncryption.fileSize(ofLength: sealed.length))
    var rest = try attempt { () throws(SystemError) in try file.read(end - start, at: start) }
    var writer = ByteWriter(capacity: rest.count)
    for index in first...last {
      let place = BlobEncryption.offset(ofPiece: index)
      let piece = rest.prefix(min(rest.count, BlobEncryption.offset(ofPiece: index + 1) - place))
      do throws(ByteError) {
        writer.append(try sealed.encryption.open(piece, index: index))
      } catch {
        throw .damaged(
          Damage(
            path: path, offset: place, size: piece.count,
            reason: "a part of the attachment: \(error.reason)"))
      }
      rest = rest.suffix(from: piece.count)
    }
    let skipped = offset - first * BlobEncryption.pieceSize
    guard writer.count >= skipped + count else {
      throw .damaged(
        Damage(path: path, offset: end, reason: "the attachment's file ends too early"))
    }
    return writer.copy(from: skipped, count: count)
  }

  /// Returns the first `count` bytes as a memory map; nil if the system has no room for it.
  func map(_ count: Int) -> SharedBytes? {
    guard isMappable else { return nil }
    return try? file.map(count)
  }

  func close() { try? file.close() }
}
