/// The header of a frame, the envelope of everything in segments and checkpoints.
///
/// ```
/// offset 0       4      5       6         8         12          16       24      28      32
///        magic   type   flags   zero      size      payload     commit   chain   header  payload …
///                                         u32       CRC u32     u64      u32     CRC u32
/// ```
///
/// The header's own checksum is checked first: `payloadSize` is trusted only if it is right. The
/// checksum is seeded with the file's salt and the frame's offset, so that a frame that was copied,
/// misplaced or left over from an earlier life of the file does not pass. The payload is padded
/// with zeros to a multiple of eight bytes, and its checksum covers the padding. FILE_FORMAT.md §4
package struct FrameHeader: Equatable, Sendable {
  package enum Kind: UInt8, Sendable {
    /// Records of one transaction, or a part of them.
    case transaction = 1
    /// Records of several commits that a compaction kept.
    case compacted = 3
    /// The end of a compacted segment.
    case footer = 4
    /// A page of a checkpoint, or rows in a view's file.
    case page = 5
    /// The table of contents of a checkpoint, or the identity of the view whose rows follow.
    case directory = 6
  }

  /// The position of a frame in its transaction.
  package struct Flags: OptionSet, Equatable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let first = Flags(rawValue: 1)
    /// The last frame of a transaction commits it, and ends with a ``CommitTrailer``.
    package static let last = Flags(rawValue: 2)
    static let known: Flags = [.first, .last]
  }

  package var kind: Kind
  package var flags: Flags
  /// The size of the payload without the padding.
  package var payloadSize: Int
  package var payloadChecksum: UInt32
  package var commit: UInt64
  /// The checksum of the header before this one; see ``LogEnd/chain``.
  package var chain: UInt32

  package init(
    kind: Kind, flags: Flags, payloadSize: Int, payloadChecksum: UInt32, commit: UInt64,
    chain: UInt32
  ) {
    self.kind = kind
    self.flags = flags
    self.payloadSize = payloadSize
    self.payloadChecksum = payloadChecksum
    self.commit = commit
    self.chain = chain
  }

  package static let size = 32
  package static let alignment = 8
  static let magic: UInt32 = 0x4D52_4676  // "vFRM"
  /// The limit of a frame's payload: room for the largest record and its transaction's trailer.
  package static let payloadSizeLimit = 32 << 20
}

extension FrameHeader {
  /// The size of the payload with its padding.
  package var paddedSize: Int { FrameHeader.padded(payloadSize) }
  /// The size of the whole frame.
  package var frameSize: Int { FrameHeader.size + paddedSize }

  package static func padded(_ size: Int) -> Int { (size + alignment - 1) & ~(alignment - 1) }

  /// Returns the payload of a frame of a checkpoint or of a view's file, checked.
  ///
  /// Every payload of such a file that is read passes here. `padded` is the payload with its
  /// padding, `offset` the frame's, and `salt` and `encryption` those of the file.
  func payload(
    in padded: SharedBytes, at offset: Int, salt: UInt64, encryptedBy encryption: FileEncryption?
  ) throws(ByteError) -> SharedBytes {
    guard padded.count == paddedSize, CRC32C.checksum(padded) == payloadChecksum else {
      throw ByteError(offset: 0, reason: "the frame's payload does not match its checksum")
    }
    return try padded.prefix(payloadSize)
      .opened(.frame(kind: kind.rawValue, offset: offset, salt: salt), by: encryption)
  }

  /// Writes the header at `position` of a writer, and returns the next frame's chain value.
  ///
  /// The header overwrites 32 bytes. The frame will be at `offset` of a file with this salt.
  package func encode(
    into writer: inout ByteWriter, at position: Int, offset: Int, salt: UInt64
  ) -> UInt32 {
    precondition(
      payloadSize <= FrameHeader.payloadSizeLimit, "The payload is too large for a frame")
    writer.replace(at: position, with: FrameHeader.magic)
    writer.replace(at: position + 4, with: kind.rawValue)
    writer.replace(at: position + 5, with: flags.rawValue)
    writer.replace(at: position + 6, with: 0 as UInt16)
    writer.replace(at: position + 8, with: UInt32(payloadSize))
    writer.replace(at: position + 12, with: payloadChecksum)
    writer.replace(at: position + 16, with: commit)
    writer.replace(at: position + 24, with: chain)
    var check = FrameHeader.check(offset: offset, salt: salt)
    check.add(writer, in: position..<position + 28)
    writer.replace(at: position + 28, with: check.checksum)
    var chain = CRC32C()
    chain.add(writer, in: position..<position + FrameHeader.size)
    return chain.checksum
  }

  /// Decodes the header at the start of `bytes`, which are at `offset` of a file with this salt.
  ///
  /// Returns nil if there are too few bytes, or no frame header of this offset and salt.
  package static func decode(_ bytes: SharedBytes, offset: Int, salt: UInt64) -> FrameHeader? {
    guard bytes.count >= size, bytes.load(UInt32.self, at: 0) == magic else { return nil }
    var check = check(offset: offset, salt: salt)
    check.add(bytes.prefix(28))
    guard check.checksum == bytes.load(UInt32.self, at: 28) else { return nil }
    let payloadSize = bytes.load(UInt32.self, at: 8)
    let flags = Flags(rawValue: bytes[5])
    guard let kind = Kind(rawValue: bytes[4]), Flags.known.isSuperset(of: flags),
      bytes.load(UInt16.self, at: 6) == 0, payloadSize <= payloadSizeLimit,
      bytes.load(UInt64.self, at: 16) <= counterLimit
    else { return nil }
    return FrameHeader(
      kind: kind, flags: flags, payloadSize: Int(payloadSize),
      payloadChecksum: bytes.load(UInt32.self, at: 12),
      commit: bytes.load(UInt64.self, at: 16), chain: bytes.load(UInt32.self, at: 24))
  }

  /// Returns the chain value of the frame after the one with these 32 header bytes.
  package static func chain(after header: SharedBytes) -> UInt32 {
    CRC32C.checksum(header.prefix(size))
  }

  /// Begins a header's checksum with two values that the header does not contain.
  private static func check(offset: Int, salt: UInt64) -> CRC32C {
    var check = CRC32C()
    check.add(salt)
    check.add(UInt64(offset))
    return check
  }
}
