/// The cyclic redundancy check of Castagnoli, as in iSCSI (RFC 3720, appendix B.4): reflected
/// polynomial 0x82F63B78, initial value and final exclusive-or of all ones.
///
/// It finds every error of up to three bits, and every burst of up to 32, in anything this project
/// checks. It is no protection against forgery.
///
/// Sixteen bytes are taken at a time through sixteen tables ("slicing", Kounavis and Berry 2005).
@usableFromInline
package struct CRC32C: Sendable {
  @usableFromInline var state: UInt32

  /// Begins with no bytes.
  package init() { state = ~0 }

  /// Continues a checksum, as if its bytes had just been added.
  package init(continuing checksum: UInt32) { state = ~checksum }

  /// The checksum of the bytes so far.
  package var checksum: UInt32 { ~state }
}

extension CRC32C {
  /// The checksum of `bytes`.
  package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var check = CRC32C()
    unsafe check.add(bytes)
    return check.checksum
  }

  /// The checksum of `bytes`.
  package static func checksum(_ bytes: SharedBytes) -> UInt32 {
    unsafe bytes.withUnsafeBytes { unsafe checksum($0) }
  }

  /// Adds an integer as its little-endian bytes.
  package mutating func add<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    var bytes = value.littleEndian
    unsafe Swift.withUnsafeBytes(of: &bytes) { unsafe add($0) }
  }

  package mutating func add(_ bytes: SharedBytes) {
    unsafe bytes.withUnsafeBytes { unsafe add($0) }
  }

  /// Adds the bytes in `range` of what a writer wrote so far.
  package mutating func add(_ writer: borrowing ByteWriter, in range: Range<Int>) {
    unsafe writer.withUnsafeBytes { unsafe add(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard var next = bytes.baseAddress else { return }
    // The tables are immutable and never freed.
    let t = unsafe CRC32C.tables.base
    var left = bytes.count
    var crc = state
    while left >= 16 {
      // `left` bytes are readable at `next`; each index below is less than 256 within its table.
      let a = UInt64(littleEndian: unsafe next.loadUnaligned(as: UInt64.self)) ^ UInt64(crc)
      let b = UInt64(littleEndian: unsafe next.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      let low0 = unsafe t[15 * 256 + Int(a & 0xFF)] ^ t[14 * 256 + Int((a >> 8) & 0xFF)]
      let low1 = unsafe t[13 * 256 + Int((a >> 16) & 0xFF)] ^ t[12 * 256 + Int((a >> 24) & 0xFF)]
      let low2 = unsafe t[11 * 256 + Int((a >> 32) & 0xFF)] ^ t[10 * 256 + Int((a >> 40) & 0xFF)]
      let low3 = unsafe t[9 * 256 + Int((a >> 48) & 0xFF)] ^ t[8 * 256 + Int(a >> 56)]
      let high0 = unsafe t[7 * 256 + Int(b & 0xFF)] ^ t[6 * 256 + Int((b >> 8) & 0xFF)]
      let high1 = unsafe t[5 * 256 + Int((b >> 16) & 0xFF)] ^ t[4 * 256 + Int((b >> 24) & 0xFF)]
      let high2 = unsafe t[3 * 256 + Int((b >> 32) & 0xFF)] ^ t[2 * 256 + Int((b >> 40) & 0xFF)]
      let high3 = unsafe t[256 + Int((b >> 48) & 0xFF)] ^ t[Int(b >> 56)]
      crc = ((low0 ^ low1) ^ (low2 ^ low3)) ^ ((high0 ^ high1) ^ (high2 ^ high3))
      unsafe next += 16
      left -= 16
    }
    while left > 0 {
      crc = unsafe (crc >> 8) ^ t[Int((crc ^ UInt32(next.load(as: UInt8.self))) & 0xFF)]
      unsafe next += 1
      left -= 1
    }
    state = crc
  }

  private static let tables = Tables()

  /// Table `k` holds, for each byte, its effect after `k` more zero bytes.
  ///
  /// `@unchecked Sendable`: written by the initializer only.
  @safe
  private final class Tables: @unchecked Sendable {
    let base: UnsafePointer<UInt32>

    init() {
      let table = UnsafeMutablePointer<UInt32>.allocate(capacity: 16 * 256)
      for byte in 0..<256 {
        var crc = UInt32(byte)
        for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 0 ? 0 : 0x82F6_3B78) }
        unsafe table[byte] = crc
      }
      for index in 256..<16 * 256 {
        let previous = unsafe table[index - 256]
        unsafe table[index] = (previous >> 8) ^ table[Int(previous & 0xFF)]
      }
      unsafe base = UnsafePointer(table)
    }
  }
}
