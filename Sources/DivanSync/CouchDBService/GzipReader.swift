import Foundation

/// Decompresses gzip (RFC 1952, RFC 1951) a piece at a time.
///
/// CouchDB sends attachments of text so. In memory are the compressed bytes that were added and not
/// read, and of the content a piece and the 32 KiB before it, which later bytes may repeat.
///
/// ```swift
/// var reader = GzipReader()
/// while let data = try await body.next() {
///   reader.add(data)
///   while let piece = try reader.next() { content.append(piece) }
/// }
/// reader.end()
/// while let piece = try reader.next() { content.append(piece) }
/// ```
struct GzipReader: Sendable {
  struct Invalid: Error {}

  private enum State: Sendable {
    case header
    case block
    case stored(rest: Int)
    case compressed(literals: HuffmanCode, distances: HuffmanCode)
    case end
  }

  private static let pieceSize = 64 << 10
  private static let windowSize = 32 << 10
  /// The size of the header with a name and a comment at most, unless all bytes are there.
  ///
  /// It is read from its beginning for each piece.
  private static let headerSizeLimit = 4 << 10
  /// The most bytes that the beginning of a block, or the end of the last one, can have.
  ///
  /// The codes of a block are 17 bits, 19 lengths of 3 bits, and 320 lengths of 14 bits at most.
  private static let blockHeaderSize = 600
  /// The most bytes that a symbol with what belongs to it can have: 48 bits.
  private static let symbolSize = 8

  private var bits = BitReader()
  private var state = State.header
  private var isLastBlock = false
  /// Whether no more bytes are added.
  private var isEnded = false
  /// The bytes before the next piece, and those of the next piece.
  private var window: [UInt8] = []
  /// The number of bytes in the window that were returned.
  private var returnedCount = 0
  private var checksum = CRC32()
  private var size: UInt32 = 0

  init() {}

  /// Creates a reader of all bytes.
  init(_ data: Data) {
    add(data)
    end()
  }

  /// Adds the compressed bytes that follow; what is after the end is ignored.
  mutating func add(_ data: Data) {
    if case .end = state { return }
    bits.add(data)
  }

  /// Says that no more bytes follow.
  mutating func end() { isEnded = true }

  /// Returns the next piece of the content; nil if that needs more bytes, or at the end.
  ///
  /// - Throws: ``Invalid`` if it is no gzip, if its checksum is wrong, or if it ends too early.
  mutating func next() throws -> Data? {
    while window.count - returnedCount < Self.pieceSize {
      if case .end = state { break }
      guard try step(until: returnedCount + Self.pieceSize) else { break }
    }
    guard window.count > returnedCount else { return nil }
    let piece = Data(window[returnedCount...])
    if window.count > Self.windowSize { window.removeFirst(window.count - Self.windowSize) }
    returnedCount = window.count
    return piece
  }

  /// Whether a number of bytes can be read, or as many as there are.
  private func has(_ count: Int) -> Bool { isEnded || bits.availableCount >= count }

  /// Reads the header; returns false if that needs more bytes.
  private mutating func readHeader() throws -> Bool {
    let before = bits
    do {
      guard try bits.byte() == 0x1F, try bits.byte() == 0x8B, try bits.byte() == 8 else {
        throw Invalid()
      }
      let flags = try bits.byte()
      for _ in 0..<6 { _ = try bits.byte() }
      if flags & 4 != 0 {
        let count = Int(try bits.byte()) | Int(try bits.byte()) << 8
        for _ in 0..<count { _ = try bits.byte() }
      }
      // A name and a comment end with a zero.
      for flag: UInt8 in [8, 16] where flags & flag != 0 {
        while try bits.byte() != 0 {}
      }
      if flags & 2 != 0 { for _ in 0..<2 { _ = try bits.byte() } }
    } catch {
      // It is read once more when all of it is there.
      guard bits.availableCount == 0, before.availableCount < Self.headerSizeLimit, !isEnded else {
        throw error
      }
      bits = before
      return false
    }
    state = .block
    return true
  }

  /// Decompresses until the window has a count of bytes or the block ends.
  ///
  /// It returns false if that needs more bytes.
  private mutating func step(until end: Int) throws -> Bool {
    switch state {
    case .header: return try readHeader()
    case .end: return true
    case .block:
      guard has(Self.blockHeaderSize) else { return false }
      if isLastBlock {
        try checkTrailer()
        state = .end
      } else {
        try beginBlock()
      }
    case .stored(let rest):
      let count = min(rest, end - window.count, isEnded ? .max : bits.availableCount)
      guard count > 0 else { return false }
      for _ in 0..<count { append(try bits.byte()) }
      state = rest > count ? .stored(rest: rest - count) : .block
    case .compressed(let literals, let distances):
      while window.count < end {
        guard has(Self.symbolSize) else { return false }
        let symbol = try literals.symbol(&bits)
        if symbol < 256 {
          append(UInt8(symbol))
        } else if symbol == 256 {
          state = .block
          return true
        } else {
          try copy(symbol - 257, distances)
        }
      }
    }
    return true
  }

  private mutating func append(_ byte: UInt8) {
    window.append(byte)
    checksum.add(byte)
    size &+= 1
  }

  private mutating func beginBlock() throws {
    isLastBlock = try bits.bits(1) == 1
    switch try bits.bits(2) {
    case 0:
      bits.skipToByte()
      let count = Int(try bits.byte()) | Int(try bits.byte()) << 8
      let complement = Int(try bits.byte()) | Int(try bits.byte()) << 8
      guard count == ~complement & 0xFFFF else { throw Invalid() }
      state = count > 0 ? .stored(rest: count) : .block
    case 1:
      state = .compressed(literals: .fixedLiterals, distances: .fixedDistances)
    case 2: try readCodes()
    default: throw Invalid()
    }
  }

  private static let lengths: [(base: Int, bits: Int)] =
    pairs(
      [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5], 3)
    + [(258, 0)]
  private static let distances: [(base: Int, bits: Int)] = pairs(
    [0, 0] + (0..<14).flatMap { [$0, $0] }, 1)

  /// The bases of codes that have more and more bits behind them.
  private static func pairs(_ bits: [Int], _ start: Int) -> [(base: Int, bits: Int)] {
    var base = start
    return bits.map { count in
      defer { base += 1 << count }
      return (base, count)
    }
  }

  private mutating func copy(_ symbol: Int, _ code: HuffmanCode) throws {
    guard symbol < Self.lengths.count else { throw Invalid() }
    let length = Self.lengths[symbol]
    let count = length.base + Int(try bits.bits(length.bits))
    let distanceSymbol = try code.symbol(&bits)
    guard distanceSymbol < Self.distances.count else { throw Invalid() }
    let entry = Self.distances[distanceSymbol]
    let distance = entry.base + Int(try bits.bits(entry.bits))
    guard distance <= min(window.count, Self.windowSize) else { throw Invalid() }
    for _ in 0..<count { append(window[window.count - distance]) }
  }

  /// Reads the codes of a block, which are compressed themselves.
  private mutating func readCodes() throws {
    let literalCount = Int(try bits.bits(5)) + 257
    let distanceCount = Int(try bits.bits(5)) + 1
    let codeCount = Int(try bits.bits(4)) + 4
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var codeLengths = [Int](repeating: 0, count: order.count)
    for index in order.prefix(codeCount) { codeLengths[index] = Int(try bits.bits(3)) }
    let code = try HuffmanCode(codeLengths)
    var lengths: [Int] = []
    while lengths.count < literalCount + distanceCount {
      switch try code.symbol(&bits) {
      case let length where length < 16: lengths.append(length)
      case 16:
        guard let last = lengths.last else { throw Invalid() }
        lengths += [Int](repeating: last, count: 3 + Int(try bits.bits(2)))
      case 17: lengths += [Int](repeating: 0, count: 3 + Int(try bits.bits(3)))
      default: lengths += [Int](repeating: 0, count: 11 + Int(try bits.bits(7)))
      }
    }
    guard lengths.count == literalCount + distanceCount, lengths[256] > 0 else { throw Invalid() }
    state = .compressed(
      literals: try HuffmanCode(Array(lengths[..<literalCount])),
      distances: try HuffmanCode(Array(lengths[literalCount...])))
  }

  private mutating func checkTrailer() throws {
    bits.skipToByte()
    func number(_ bits: inout BitReader) throws -> UInt32 {
      try (0..<4).reduce(0) { $0 | UInt32(try bits.byte()) << UInt32(8 * $1) }
    }
    guard try number(&bits) == checksum.value, try number(&bits) == size else { throw Invalid() }
  }
}
