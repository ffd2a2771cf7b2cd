/// Finds whole records among bytes of which nobody knows any more where records begin.
///
/// Any byte may seem to begin a record that reaches to the end, so that a checksum for each would take time in
/// proportion to the square of the bytes. But the checksum of a stretch follows from those of the bytes before its
/// beginning and before its end: a cyclic redundancy check is a remainder, and bytes that come before add to it
/// independently (``CRC32C/Joint``). These are computed once for all places; then each place takes the same time,
/// whatever size it claims, and all of them take time in proportion to the bytes. Memory: four bytes for each.
package struct RecordSearch {
  private let bytes: SharedBytes
  /// The remainder of so many of the first bytes, beginning with 0.
  private let remainders: [UInt32]
  private let shift = ZeroBytes.shared

  package init(_ bytes: SharedBytes) {
    self.bytes = bytes
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

  /// The first whole record that begins at `start` or later, and before `end`; nil if there is none.
  package func next(
    from start: Int, before end: Int = .max
  ) -> (position: Int, record: Record, size: Int)? {
    let position = bytes.withSpan { bytes in
      var position = start
      while position < min(end, bytes.count) {
        if isWholeRecord(at: position, of: bytes) { return position as Int? }
        position += 1
      }
      return nil
    }
    guard let position, let (record, size) = record(at: position) else { return nil }
    return (position, record, size)
  }

  /// The whole record that begins at a place; nil if none does.
  package func record(at position: Int) -> (record: Record, size: Int)? {
    guard position < bytes.count, bytes.withSpan({ isWholeRecord(at: position, of: $0) }) else {
      return nil
    }
    // Its checksum holds, as was found without it.
    return try? Record.decode(bytes.suffix(from: position))
  }

  /// As ``Record/check(_:)``, without reading what the record holds.
  private func isWholeRecord(at position: Int, of bytes: Span<UInt8>) -> Bool {
    var offset = position
    // A record holds its checksum and its kind at least, and most bytes begin none for that alone.
    guard bytes[position] >= 5, let size = try? bytes.readVarint(at: &offset),
      size <= UInt64(Record.sizeLimit), Int(size) <= bytes.count - offset
    else { return false }
    let end = offset + Int(size)
    guard size >= 5, let expected = try? bytes.read(UInt32.self, at: &offset) else { return false }
    let before = remainders[offset] ^ ~UInt32(size)
    return ~(shift.after(end - offset, before) ^ remainders[end]) == expected
  }
}

/// What becomes of a remainder when zero bytes are added to it.
private struct ZeroBytes: Sendable {
  /// By how many bytes: up to a block, and in whole blocks.
  private let few: [UInt32]
  private let blocks: [UInt32]

  private static let blockSize = 4096
  private static let polynomial: UInt32 = 0x82F6_3B78
  /// The polynomial 1, whose coefficients stand the lowest power first.
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

  /// After one zero byte.
  static func afterOne(_ remainder: UInt32) -> UInt32 {
    byteTable[Int(remainder & 0xFF)] ^ (remainder >> 8)
  }

  /// After so many, at most ``Record/sizeLimit``.
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
