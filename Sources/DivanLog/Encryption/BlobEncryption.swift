/// The form of a sealed blob in a file of its own.
///
/// ```
/// 0    key ID u64
/// 8    sealed: salt 16 bytes · length of the blob u64
/// 60   CRC-32C of the bytes before
/// 64   sealed pieces of 65,536 bytes, the last one shorter
/// ```
///
/// The digest is known only after the last byte of a blob that comes as a stream. So the pieces are
/// bound to the salt, and the head, which is written last, binds salt and length to the digest.
/// FILE_FORMAT.md §21
struct BlobEncryption: Sendable {
  private let encryption: FileEncryption
  private let salt: BlobSalt
}

extension BlobEncryption {
  /// The size of the head, and the offset of the first piece, in bytes.
  static let headSize = 64
  /// The number of a blob's bytes in a piece.
  static let pieceSize = 1 << 16
  private static let sealedPieceSize = pieceSize + FileEncryption.overhead

  /// Begins a blob that is written, with the cipher's key for new files.
  init(_ cipher: any Cipher, random: () -> UInt64) {
    encryption = FileEncryption(cipher, keyID: cipher.keyID, storeID: nil)
    salt = BlobSalt(high: random(), low: random())
  }

  /// Returns the size of the file of a blob, in bytes.
  static func fileSize(ofLength length: Int) -> Int {
    headSize + length + FileEncryption.overhead * ((length + pieceSize - 1) / pieceSize)
  }

  /// Returns the offset of a piece in the file.
  static func offset(ofPiece index: Int) -> Int { headSize + index * sealedPieceSize }

  /// Returns the head of the file of a blob.
  func head(of digest: SHA256.Digest, length: Int) -> SharedBytes {
    var content = ByteWriter(capacity: 24)
    content.append(salt.high)
    content.append(salt.low)
    content.append(UInt64(length))
    var writer = ByteWriter(capacity: BlobEncryption.headSize)
    writer.append(encryption.keyID)
    encryption.seal(content.sharedCopy, as: .blob(digest), to: &writer)
    var check = CRC32C()
    check.add(writer, in: 0..<writer.count)
    writer.append(check.checksum)
    return writer.sharedCopy
  }

  /// Reads the head of the file of a blob, and returns the blob's length with it.
  static func decode(
    _ head: SharedBytes, of digest: SHA256.Digest, _ cipher: any Cipher, path: String
  ) throws(LogError) -> (BlobEncryption, length: Int) {
    guard head.count == headSize,
      CRC32C.checksum(head.prefix(headSize - 4)) == head.load(UInt32.self, at: headSize - 4)
    else {
      throw .damaged(
        Damage(path: path, offset: 0, reason: "the head of the attachment's file is damaged"))
    }
    let keyID = head.load(UInt64.self, at: 0)
    guard cipher.hasKey(keyID) else { throw .missingKey(path: path, keyID: keyID) }
    let encryption = FileEncryption(cipher, keyID: keyID, storeID: nil)
    do throws(ByteError) {
      let content = try head.prefix(headSize - 4).suffix(from: 8)
        .opened(.blob(digest), by: encryption)
      var reader = ByteReader(content)
      let salt = BlobSalt(high: try reader.read(UInt64.self), low: try reader.read(UInt64.self))
      let length = try reader.read(UInt64.self)
      return (BlobEncryption(encryption: encryption, salt: salt), Int(clamping: length))
    } catch {
      throw .damaged(Damage(path: path, offset: 0, size: headSize, reason: error.reason))
    }
  }

  /// Appends the sealed pieces of bytes that begin with the piece of an index.
  func seal(_ bytes: SharedBytes, fromPiece index: Int, to writer: inout ByteWriter) {
    var index = index
    var rest = bytes
    while !rest.isEmpty {
      let piece = rest.prefix(min(rest.count, BlobEncryption.pieceSize))
      encryption.seal(piece, as: .piece(index: index, salt: salt), to: &writer)
      rest = rest.suffix(from: piece.count)
      index += 1
    }
  }

  /// Returns a piece that was sealed.
  func open(_ sealed: SharedBytes, index: Int) throws(ByteError) -> SharedBytes {
    try sealed.opened(.piece(index: index, salt: salt), by: encryption)
  }
}
