import Foundation

/// Decompresses a stream of the deflate format (RFC 1951).
///
/// Bytes are added as they arrive, and ``next()`` returns content as far as they suffice.
struct Inflater {
  /// The bits that are needed are not there yet.
  private struct NeedsInput: Error {}

  private enum Step {
    case blockHeader
    case stored(Int)
    case codes(PrefixCode, PrefixCode)
    case end
  }

  private var step = Step.blockHeader
  private var isLastBlock = false
  private var bits = BitReader()
  /// The last bytes of the content, which later ones can repeat, and then those to return.
  private var output: [UInt8] = []
  private var returnedCount = 0

  /// How far back content can be repeated.
  private static let windowSize = 1 << 15
  /// How many bytes are returned at once, about.
  private static let pieceSize = 1 << 16

  /// Adds compressed bytes.
  mutating func add(_ bytes: [UInt8]) { bits.add(bytes) }

  /// Whether the whole content was returned.
  var isAtEnd: Bool {
    if case .end = step { return returnedCount == output.count }
    return false
  }

  /// The bytes that follow the end.
  var unreadBytes: ArraySlice<UInt8> { bits.unreadBytes }

  /// Returns the next bytes of the content; none if more input is needed, or at the end.
  mutating func next() throws -> [UInt8] {
    do {
      while output.count - returnedCount < Self.pieceSize, try advance() {}
    } catch is NeedsInput {
      // What was begun is done again when there is more.
    }
    let piece = Array(output[returnedCount...])
    output.removeFirst(max(0, output.count - Self.windowSize))
    returnedCount = output.count
    return piece
  }

  /// Reads the header of a block, or a part of its content; returns false at the end.
  private mutating func advance() throws -> Bool {
    switch step {
    case .blockHeader: try whole { try $0.readBlockHeader() }
    case .stored(0): endBlock()
    case .stored(let count):
      output.append(UInt8(try bits.read(8)))
      step = .stored(count - 1)
    case .codes(let literals, let distances):
      while output.count - returnedCount < Self.pieceSize {
        guard try whole({ try $0.readSymbol(literals, distances) }) else {
          endBlock()
          break
        }
      }
    case .end: return false
    }
    return true
  }

  /// Reads something as a whole, or not at all if there is not enough input.
  private mutating func whole<R>(_ body: (inout Inflater) throws -> R) throws -> R {
    let before = bits.position
    do {
      return try body(&self)
    } catch let error as NeedsInput {
      bits.position = before
      throw error
    }
  }

  private mutating func endBlock() {
    step = isLastBlock ? .end : .blockHeader
    if isLastBlock { bits.skipToByte() }
  }

  private mutating func readBlockHeader() throws {
    let isLast = try bits.read(1) == 1
    switch try bits.read(2) {
    case 0:
      bits.skipToByte()
      let (length, complement) = (try bits.read(16), try bits.read(16))
      guard length == complement ^ 0xFFFF else { throw Self.invalid("a block has another length") }
      step = .stored(length)
    case 1: step = .codes(PrefixCode.fixedLiterals, PrefixCode.fixedDistances)
    case 2: step = try readCodes()
    default: throw Self.invalid("a block is of no known kind")
    }
    isLastBlock = isLast
  }

  /// The order in which lengths of code lengths are stored.
  private static let lengthOrder = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
  ]

  private mutating func readCodes() throws -> Step {
    let literalCount = try bits.read(5) + 257
    let distanceCount = try bits.read(5) + 1
    let lengthCount = try bits.read(4) + 4
    guard literalCount <= 286, distanceCount <= 30 else {
      throw Self.invalid("a code is too large")
    }
    var lengths = [Int](repeating: 0, count: 19)
    for index in 0..<lengthCount { lengths[Self.lengthOrder[index]] = try bits.read(3) }
    let code = try PrefixCode(lengths)
    lengths = []
    while lengths.count < literalCount + distanceCount {
      let symbol = try read(code)
      let (length, count): (Int, Int)
      switch symbol {
      case 16:
        guard let last = lengths.last else { throw Self.invalid("a code repeats nothing") }
        (length, count) = (last, 3 + (try bits.read(2)))
      case 17: (length, count) = (0, 3 + (try bits.read(3)))
      case 18: (length, count) = (0, 11 + (try bits.read(7)))
      default: (length, count) = (symbol, 1)
      }
      lengths += [Int](repeating: length, count: count)
    }
    guard lengths.count == literalCount + distanceCount, lengths[256] > 0 else {
      throw Self.invalid("a code has another length")
    }
    return .codes(
      try PrefixCode(Array(lengths[..<literalCount])),
      try PrefixCode(Array(lengths[literalCount...])))
  }

  private mutating func read(_ code: PrefixCode) throws -> Int {
    // The number of the first code of each length, and of its symbol.
    var (value, first, index) = (0, 0, 0)
    for length in 1...PrefixCode.lengthLimit {
      value |= try bits.read(1)
      let count = code.counts[length]
      if value - first < count { return code.symbols[index + value - first] }
      index += count
      first = (first + count) << 1
      value <<= 1
    }
    throw Self.invalid("a code is unknown")
  }

  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]

  /// Reads a byte or a repetition; returns false at the end of a block.
  private mutating func readSymbol(
    _ literals: PrefixCode, _ distances: PrefixCode
  ) throws -> Bool {
    let symbol = try read(literals)
    guard symbol > 256 else {
      if symbol < 256 { output.append(UInt8(symbol)) }
      return symbol < 256
    }
    let index = symbol - 257
    guard index < Self.lengthBases.count else { throw Self.invalid("a length is unknown") }
    // Four lengths share each number of further bits; the longest has none.
    let lengthBits = index < 8 || index == 28 ? 0 : index / 4 - 1
    let length = Self.lengthBases[index] + (try bits.read(lengthBits))
    let distanceSymbol = try read(distances)
    guard distanceSymbol < Self.distanceBases.count else {
      throw Self.invalid("a distance is unknown")
    }
    let distanceBits = distanceSymbol < 4 ? 0 : distanceSymbol / 2 - 1
    let distance = Self.distanceBases[distanceSymbol] + (try bits.read(distanceBits))
    guard distance <= output.count else { throw Self.invalid("it repeats what is not there") }
    // The repetition can include itself.
    for _ in 0..<length { output.append(output[output.count - distance]) }
    return true
  }

  static func invalid(_ reason: String) -> ReplicationError {
    ReplicationError(.invalidAnswer, "compressed content is invalid: \(reason)")
  }

  // MARK: Bits

  /// The bits of bytes, the lowest one first.
  private struct BitReader {
    private var bytes: [UInt8] = []
    /// The number of bits before the next one.
    var position = 0

    mutating func add(_ more: [UInt8]) {
      bytes.removeFirst(position >> 3)
      position &= 7
      bytes += more
    }

    /// Reads up to sixteen bits.
    mutating func read(_ count: Int) throws -> Int {
      guard position + count <= bytes.count << 3 else { throw NeedsInput() }
      let first = position >> 3
      var word = 0
      for index in first..<min(first + 3, bytes.count) {
        word |= Int(bytes[index]) << (8 * (index - first))
      }
      defer { position += count }
      return word >> (position & 7) & ((1 << count) - 1)
    }

    mutating func skipToByte() { position = (position + 7) & ~7 }

    var unreadBytes: ArraySlice<UInt8> { bytes[min(bytes.count, (position + 7) >> 3)...] }
  }
}

/// A prefix code of deflate: codes of the same length are consecutive numbers (RFC 1951, 3.2.2).
private struct PrefixCode {
  static let lengthLimit = 15

  /// The number of codes of each length.
  var counts = [Int](repeating: 0, count: lengthLimit + 1)
  /// The symbols in the order of their codes.
  var symbols: [Int] = []

  /// Creates a code from the lengths of its symbols; 0 is a symbol without a code.
  init(_ lengths: [Int]) throws {
    for length in lengths { counts[length] += 1 }
    counts[0] = 0
    var free = 1
    for length in 1...Self.lengthLimit {
      free = free << 1 - counts[length]
      guard free >= 0 else { throw Inflater.invalid("a code has too many symbols") }
    }
    for length in 1...Self.lengthLimit {
      symbols += lengths.indices.filter { lengths[$0] == length }
    }
  }

  private init(counts: [Int: Int], symbols: [Int]) {
    for (length, count) in counts { self.counts[length] = count }
    self.symbols = symbols
  }

  static let fixedLiterals = PrefixCode(
    counts: [7: 24, 8: 152, 9: 112],
    symbols: Array(256...279) + Array(0...143) + Array(280...287) + Array(144...255))
  static let fixedDistances = PrefixCode(counts: [5: 30], symbols: Array(0...29))
}
