/// Finds whole records in bytes where the record boundaries are unknown.
///
/// Any byte may seem to begin a record that reaches to the end, so a checksum for each would take
/// quadratic time. But the checksum of a range follows from the checksums of the bytes before its
/// start and before its end: a cyclic redundancy check is a remainder, and bytes that come before
/// add to it independently (``CRC32C/Joint``). These are computed once for all positions. Each
/// position then takes constant time for any size that it claims, and the whole search takes linear
/// time. It takes four bytes of memory for each byte.
package struct RecordSearch {
  private let bytes: SharedBytes
  private let encryption: FileEncryption?
  /// At index `n`, the remainder of the first `n` bytes.
  private let remainders: [UInt32]
  private let shift = ZeroBytes.shared

  /// Prepares the search; `encryption` is that of the file that the bytes are from.
  package init(_ bytes: SharedBytes, encryptedBy encryption: FileEncryption?) {
    self.bytes = bytes
    self.encryption = encryption
    var remainders: [UInt32] = [0]
    remainders.reserveCapacity(bytes.count + 1)
    bytes.withSpan { bytes in
      var remainder: UInt32 = 0
      for index in bytes.indices {
        remainder = ZeroBytes.afterOne(remainder ^ UInt32(bytes[index]))
        remainders.append(remainder)
      }
    }
    self.remainders = remainders
  }

  /// Returns the first whole record that begins at `start` or later and before `end`, or nil.
  package func next(
    from start: Int, before end: Int = .max
  ) -> (position: Int, record: Record, size: Int)? {
    var start = start
    while let position = nextWhole(from: start, before: end) {
      if let (record, size) = record(at: position) { return (position, record, size) }
      // In an encrypted file, only a forged record is whole and cannot be decrypted.
      start = position + 1
    }
    return nil
  }

  /// Returns the first position from `start` on where a record with a right checksum begins.
  private func nextWhole(from start: Int, before end: Int) -> Int? {
    bytes.withSpan { bytes in
      var position = start
      while position < min(end, bytes.count) {
        if isWholeRecord(at: position, of: bytes) { return position }
        position += 1
      }
      return nil
    }
  }

  /// Returns the whole record that begins at `position`; nil if none does.
  package func record(at position: Int) -> (record: Record, size: Int)? {
    guard position < bytes.count, bytes.withSpan({ isWholeRecord(at: position, of: $0) }) else {
      return nil
    }
    // The search has already proved that the checksum is right.
    return try? Record.decode(bytes.suffix(from: position), encryptedBy: encryption)
  }

  /// Checks as ``Record/check(_:)`` does, without reading the record's content.
  private func isWholeRecord(at position: Int, of bytes: Span<UInt8>) -> Bool {
    var offset = position
    // A record contains at least its checksum and its kind. This alone rules out most bytes.
    guard bytes[position] >= 5, let size = try? bytes.readVarint(at: &offset),
      size <= UInt64(Record.sizeLimit), Int(size) <= bytes.count - offset
    else { return false }
    let end = offset + Int(size)
    guard size >= 5, let expected = try? bytes.read(UInt32.self, at: &offset) else { return false }
    let before = remainders[offset] ^ ~UInt32(size)
    return ~(shift.after(end - offset, before) ^ remainders[end]) == expected
  }
}

/// The effect on a remainder of appended zero bytes.
private struct ZeroBytes: Sendable {
  /// The factors for less than one block of zero bytes, and for whole blocks.
  private let few: [UInt32]
  private let blocks: [UInt32]

  private static let blockSize = 4096
  private static let polynomial: UInt32 = 0x82F6_3B78
  /// The polynomial 1; the highest bit is the coefficient of the lowest power.
  private static let one: UInt32 = 1 << 31
  private static let byteTable: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { crc, _ in (crc >> 1) ^ (crc & 1 == 0 ? 0 : polynomial) }
  }

  static let shared = ZeroBytes()

  private init() {
    var few = [ZeroBytes.one]
    for _ in 0..<ZeroBytes.blockSize { few.append(ZeroBytes.afterOne(few[few.count - 1])) }
    let block = few.removeLast()
    var blocks = [ZeroBytes.one]
    for _ in 0..<Record.sizeLimit / ZeroBytes.blockSize {
      blocks.append(ZeroBytes.product(block, blocks[blocks.count - 1]))
    }
    self.few = few
    self.blocks = blocks
  }

  /// Returns the remainder after one more zero byte.
  static func afterOne(_ remainder: UInt32) -> UInt32 {
    byteTable[Int(remainder & 0xFF)] ^ (remainder >> 8)
  }

  /// Returns the remainder after `count` more zero bytes, at most ``Record/sizeLimit``.
  func after(_ count: Int, _ remainder: UInt32) -> UInt32 {
    let (block, rest) = count.quotientAndRemainder(dividingBy: ZeroBytes.blockSize)
    let after = ZeroBytes.product(few[rest], remainder)
    return block == 0 ? after : ZeroBytes.product(blocks[block], after)
  }

  /// The product of two remainders.
  private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
    var (rest, power, product) = (a, b, UInt32(0))
    while rest != 0 {
      if rest & one != 0 { product ^= power }
      rest <<= 1
      power = (power >> 1) ^ (power & 1 == 0 ? 0 : polynomial)
    }
    return product
  }
}
