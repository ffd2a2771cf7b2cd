/// The Castagnoli cyclic redundancy check, as in iSCSI (RFC 3720, appendix B.4).
///
/// The polynomial is 0x82F63B78, reflected; the initial value and the final exclusive-or are all
/// ones. The check detects every error of up to three bits, and every burst of up to 32 bits, in
/// anything this project checks. It is no protection against forgery.
///
/// Eight bytes are processed at a time through eight tables ("slicing", Kounavis and Berry 2005),
/// and four such words side by side ("interleaving", Kadatch and Jenkins 2010). A word depends only
/// on the one 32 bytes before it, so the processor does the lookups of all four in parallel. The
/// tables that the loop uses take 8 KB.
@usableFromInline
package struct CRC32C: Sendable {
  @usableFromInline var state: UInt32

  /// Begins a check of no bytes.
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

  /// Adds the bytes in `range` of a writer.
  package mutating func add(_ writer: borrowing ByteWriter, in range: Range<Int>) {
    unsafe writer.withUnsafeBytes { unsafe add(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard var next = bytes.baseAddress else { return }
    let tables = CRC32C.tables
    var left = bytes.count
    var crc = state
    // `left` bytes are readable at `next`, and every load below is among them.
    if left >= 32 {
      // Each strand takes every fourth word, as if the others were zeros; the first strand is
      // `crc`.
      var (second, third, fourth) = (UInt32(0), UInt32(0), UInt32(0))
      while left >= 64 {
        crc = tables.effect(of: unsafe next.word(at: 0) ^ UInt64(crc), wordsAfter: 3)
        second = tables.effect(of: unsafe next.word(at: 8) ^ UInt64(second), wordsAfter: 3)
        third = tables.effect(of: unsafe next.word(at: 16) ^ UInt64(third), wordsAfter: 3)
        fourth = tables.effect(of: unsafe next.word(at: 24) ^ UInt64(fourth), wordsAfter: 3)
        unsafe next += 32
        left -= 32
      }
      // The last round joins the strands: each word counts with the words that really follow it.
      crc =
        tables.effect(of: unsafe next.word(at: 0) ^ UInt64(crc), wordsAfter: 3)
        ^ tables.effect(of: unsafe next.word(at: 8) ^ UInt64(second), wordsAfter: 2)
        ^ tables.effect(of: unsafe next.word(at: 16) ^ UInt64(third), wordsAfter: 1)
        ^ tables.effect(of: unsafe next.word(at: 24) ^ UInt64(fourth), wordsAfter: 0)
      unsafe next += 32
      left -= 32
    }
    while left >= 8 {
      crc = tables.effect(of: unsafe next.word(at: 0) ^ UInt64(crc), wordsAfter: 0)
      unsafe next += 8
      left -= 8
    }
    if left >= 4 {
      // Half a word is a whole word with leading zeros, which have no effect.
      let half = UInt32(littleEndian: unsafe next.loadUnaligned(as: UInt32.self)) ^ crc
      crc = tables.effect(of: UInt64(half) << 32, wordsAfter: 0)
      unsafe next += 4
      left -= 4
    }
    while left > 0 {
      let byte = unsafe next.load(as: UInt8.self) ^ UInt8(truncatingIfNeeded: crc)
      crc = tables.effect(of: byte) ^ (crc >> 8)
      unsafe next += 1
      left -= 1
    }
    state = crc
  }

  private static let tables = Tables()

  /// Table `k` contains, for each byte, its effect after `k` more zero bytes.
  ///
  /// `@unchecked Sendable`: written by the initializer only, and never freed.
  @safe
  private struct Tables: @unchecked Sendable {
    private static let count = 32
    private let base: UnsafePointer<UInt32>

    init() {
      let table = UnsafeMutablePointer<UInt32>.allocate(capacity: Tables.count * 256)
      for byte in 0..<256 {
        var crc = UInt32(byte)
        for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 0 ? 0 : 0x82F6_3B78) }
        unsafe table[byte] = crc
      }
      for index in 256..<Tables.count * 256 {
        let previous = unsafe table[index - 256]
        unsafe table[index] = (previous >> 8) ^ table[Int(previous & 0xFF)]
      }
      unsafe base = UnsafePointer(table)
    }

    /// The effect of a last byte.
    @inline(__always)
    func effect(of byte: UInt8) -> UInt32 {
      unsafe base[Int(byte)]
    }

    /// The effect of eight bytes, lowest first, after `wordsAfter` (0...3) more words of zeros.
    @inline(__always)
    func effect(of word: UInt64, wordsAfter: Int) -> UInt32 {
      // Each table's index is at most 3 · 8 + 7, and each byte's less than 256.
      let first = wordsAfter * 8 * 256
      let low =
        unsafe base[first + 7 * 256 + Int(word & 0xFF)]
        ^ base[first + 6 * 256 + Int((word >> 8) & 0xFF)]
        ^ base[first + 5 * 256 + Int((word >> 16) & 0xFF)]
        ^ base[first + 4 * 256 + Int((word >> 24) & 0xFF)]
      let high =
        unsafe base[first + 3 * 256 + Int((word >> 32) & 0xFF)]
        ^ base[first + 2 * 256 + Int((word >> 40) & 0xFF)]
        ^ base[first + 256 + Int((word >> 48) & 0xFF)]
        ^ base[first + Int(word >> 56)]
      return low ^ high
    }
  }
}

extension UnsafeRawPointer {
  /// The eight bytes at `offset`, lowest first.
  @inline(__always)
  fileprivate func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
