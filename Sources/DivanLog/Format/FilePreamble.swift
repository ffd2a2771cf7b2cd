/// The version of the file format that this build writes, and the newest that it reads.
package enum FormatVersion {
  /// A reader refuses files whose major version is above its own.
  package static let major: UInt16 = 1
  /// Files with a higher minor version can be read, but not everything in them is understood.
  package static let minor: UInt16 = 0
  /// The known features, a bit each; a reader must know every feature of a file.
  package static let knownFeatures: UInt64 = sealed
  /// The parts of the file are sealed with the key that its preamble names.
  package static let sealed: UInt64 = 1
}

/// The largest value of any counter or offset in a file.
///
/// A reader refuses larger values, so that adding to a value that was read cannot overflow.
package let counterLimit: UInt64 = 1 << 60

/// The first 64 bytes of segments, checkpoints, `HEAD`, `FLUSHED` and files of views.
///
/// FILE_FORMAT.md §2
package struct FilePreamble: Equatable, Sendable {
  package enum Kind: UInt32, Sendable {
    case segment = 1
    case checkpoint = 2
    case head = 3
    case view = 4
    case flushed = 5
  }

  package var kind: Kind
  /// The store that the file belongs to.
  ///
  /// A copy made by a backup is another store.
  package var storeID: StoreID
  /// A random number that seeds the checksum of every frame's header.
  ///
  /// Frames of another file, or of an earlier life of this one, therefore never pass.
  package var salt: UInt64
  /// Milliseconds since 1970 when the file was made, by the writer's clock; nothing depends on it.
  package var createdAt: UInt64
  /// The key with which the parts of the file are sealed; 0 if they are not.
  package var keyID: UInt64

  package init(
    kind: Kind, storeID: StoreID, salt: UInt64, createdAt: UInt64, keyID: UInt64 = 0
  ) {
    self.kind = kind
    self.storeID = storeID
    self.salt = salt
    self.createdAt = createdAt
    self.keyID = keyID
  }

  package static let size = 64
  /// As in PNG: a byte above 127 and line ends, which reveal a transfer as text.
  static let magic: [UInt8] = [0x89, 0x44, 0x49, 0x56, 0x0D, 0x0A, 0x1A, 0x0A]
}

extension FilePreamble {
  package func encode(to writer: inout ByteWriter) {
    writer.append(FilePreamble.magic)
    writer.append(FormatVersion.major)
    writer.append(FormatVersion.minor)
    writer.append(kind.rawValue)
    writer.append(keyID == 0 ? 0 : FormatVersion.sealed)
    writer.append(storeID.high)
    writer.append(storeID.low)
    writer.append(salt)
    writer.append(createdAt)
    writer.append(keyID)
  }

  /// Reads the preamble of a whole header block, whose last four bytes are its checksum.
  ///
  /// Magic and version are checked before the checksum, since a newer version may lay out the rest
  /// differently. If the checksum proves that they had other values once, the file is damaged.
  /// FILE_FORMAT.md §2
  static func decode(block: SharedBytes, kind expected: Kind, path: String) throws(LogError) -> Self
  {
    guard block.count >= size + 4 else {
      throw .damaged(Damage(path: path, offset: 0, reason: "the file ends within its header"))
    }
    try checkMagic(of: block, path: path)
    let major = block.load(UInt16.self, at: 8)
    let features = block.load(UInt64.self, at: 16)
    let checksum = CRC32C.checksum(block.prefix(block.count - 4))
    let isWhole = checksum == block.load(UInt32.self, at: block.count - 4)
    // Only a whole header is trusted. A segment is the exception: its version may be newer, and its
    // layout is then unknown but plausible. A store can be opened without the other kinds of file,
    // so damage to them must not prevent that.
    if major > FormatVersion.major, isWhole || major < 256 && expected == .segment {
      throw .newerFormat(path: path, version: "\(major).\(block.load(UInt16.self, at: 10))")
    }
    guard isWhole else {
      throw .damaged(Damage(path: path, offset: 0, reason: "the header's checksum is wrong"))
    }
    guard features & ~FormatVersion.knownFeatures == 0 else {
      throw .newerFormat(path: path, version: "features \(String(features, radix: 16))")
    }
    guard let kind = Kind(rawValue: block.load(UInt32.self, at: 12)), kind == expected else {
      throw .foreign(
        path: path, reason: "it is a file of Divan, but of another kind than its name states")
    }
    // Without the feature, the bytes of the ID are reserved, and ignored.
    let keyID = features & FormatVersion.sealed == 0 ? 0 : block.load(UInt64.self, at: 56)
    guard keyID != 0 || features & FormatVersion.sealed == 0 else {
      throw .damaged(
        Damage(path: path, offset: 56, reason: "the file is encrypted, and names no key"))
    }
    return FilePreamble(
      kind: kind,
      storeID: StoreID(
        high: block.load(UInt64.self, at: 24), low: block.load(UInt64.self, at: 32)),
      salt: block.load(UInt64.self, at: 40), createdAt: block.load(UInt64.self, at: 48),
      keyID: keyID)
  }

  /// Throws unless a header block begins with the magic bytes, and its version is not damaged.
  private static func checkMagic(of block: SharedBytes, path: String) throws(LogError) {
    let hasMagic = block.prefix(8).array == magic
    if !hasMagic || block.load(UInt16.self, at: 8) > FormatVersion.major, wasOurs(block) {
      throw .damaged(Damage(path: path, offset: 0, reason: "the file's first bytes are damaged"))
    }
    if hasMagic { return }
    if block.array.allSatisfy({ $0 == 0 }) {
      throw .damaged(Damage(path: path, offset: 0, reason: "the header is all zeros"))
    }
    throw .foreign(path: path, reason: "it does not begin with the magic bytes of Divan")
  }

  /// Whether a header block is whole except for its magic and major version.
  private static func wasOurs(_ block: SharedBytes) -> Bool {
    var writer = ByteWriter(capacity: block.count)
    writer.append(magic)
    writer.append(FormatVersion.major)
    writer.append(block.prefix(block.count - 4).suffix(from: 10))
    var check = CRC32C()
    check.add(writer, in: 0..<writer.count)
    return check.checksum == block.load(UInt32.self, at: block.count - 4)
  }

  /// Completes a header block of `size` bytes with zeros and the checksum of all bytes before it.
  static func finish(_ writer: inout ByteWriter, size: Int) {
    precondition(writer.count <= size - 4, "The header is larger than its block")
    writer.appendZeros(size - 4 - writer.count)
    var check = CRC32C()
    check.add(writer, in: 0..<writer.count)
    writer.append(check.checksum)
  }
}
