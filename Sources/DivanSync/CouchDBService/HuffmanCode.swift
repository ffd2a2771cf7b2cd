import Foundation

/// Reads bits of bytes that arrive in pieces, the lowest of each byte first.
struct BitReader: Sendable {
  private var bytes: [UInt8] = []
  private var offset = 0
  private var buffer: UInt32 = 0
  private var count = 0

  /// The number of whole bytes that can be read.
  var availableCount: Int { bytes.count - offset + count / 8 }

  /// Adds the bytes that follow; those that were read are released.
  mutating func add(_ data: Data) {
    bytes.removeFirst(offset)
    offset = 0
    bytes.append(contentsOf: data)
  }

  /// Returns a number of up to 16 bits.
  mutating func bits(_ wanted: Int) throws -> UInt32 {
    while count < wanted {
      guard offset < bytes.count else { throw GzipReader.Invalid() }
      buffer |= UInt32(bytes[offset]) << UInt32(count)
      offset += 1
      count += 8
    }
    let result = buffer & ((1 << UInt32(wanted)) - 1)
    buffer >>= UInt32(wanted)
    count -= wanted
    return result
  }

  mutating func byte() throws -> UInt8 { UInt8(truncatingIfNeeded: try bits(8)) }

  mutating func skipToByte() {
    buffer >>= UInt32(count % 8)
    count -= count % 8
  }
}

/// A code in which frequent symbols are shorter.
struct HuffmanCode: Sendable {
  private static let longest = 15

  /// The number of codes of each length.
  private var counts = [Int](repeating: 0, count: longest + 1)
  /// The symbols in the order of their codes.
  private var symbols: [Int] = []

  static let fixedLiterals = HuffmanCode(
    valid: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  static let fixedDistances = HuffmanCode(valid: [Int](repeating: 5, count: 30))

  /// Creates a code from the lengths of its symbols.
  ///
  /// - Throws: ``GzipReader/Invalid`` if there are more codes than their lengths allow.
  init(_ lengths: [Int]) throws {
    self.init(valid: lengths)
    var left = 1
    for length in 1...Self.longest {
      left = left * 2 - counts[length]
      guard left >= 0 else { throw GzipReader.Invalid() }
    }
  }

  private init(valid lengths: [Int]) {
    for length in 1...Self.longest {
      let found = lengths.indices.filter { lengths[$0] == length }
      counts[length] = found.count
      symbols += found
    }
  }

  func symbol(_ bits: inout BitReader) throws -> Int {
    var (code, first, index) = (0, 0, 0)
    for length in 1...Self.longest {
      code |= Int(try bits.bits(1))
      let count = counts[length]
      if code - count < first { return symbols[index + code - first] }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw GzipReader.Invalid()
  }
}

/// The checksum of gzip (CRC-32 of ISO 3309).
struct CRC32: Sendable {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
    }
  }

  private var state: UInt32 = .max

  var value: UInt32 { ~state }

  mutating func add(_ byte: UInt8) {
    state = state >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)]
  }
}
