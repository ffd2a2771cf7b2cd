/// A small number for each Unicode scalar; most scalars have zero.
///
/// The scalars are in blocks of 128. Blocks without a difference are stored once for each value.
struct ScalarTable: Sendable {
  private static let blockSize = 128

  /// The offset of each block in ``values``.
  private var blocks: [Int32]
  private var values: [UInt16]

  /// Creates a table from ranges, written as ``TableReader`` reads them: the gap after the last
  /// range, the length less one, the value.
  init(ranges text: String) {
    blocks = Array(repeating: 0, count: 0x110000 / ScalarTable.blockSize)
    values = Array(repeating: 0, count: ScalarTable.blockSize)
    var reader = TableReader(text)
    var uniform: [UInt16: Int32] = [0: 0]
    var end = 0
    while let gap = reader.next(), let extra = reader.next(), let value = reader.next() {
      let range = (end + gap)..<(end + gap + extra + 1)
      set(range, UInt16(value), &uniform)
      end = range.upperBound
    }
  }

  /// Creates a table from the values of ascending scalars.
  init(_ entries: [(scalar: Int, value: UInt16)]) {
    blocks = Array(repeating: 0, count: 0x110000 / ScalarTable.blockSize)
    values = Array(repeating: 0, count: ScalarTable.blockSize)
    var uniform: [UInt16: Int32] = [0: 0]
    for (scalar, value) in entries { set(scalar..<scalar + 1, value, &uniform) }
  }

  private mutating func set(_ range: Range<Int>, _ value: UInt16, _ uniform: inout [UInt16: Int32])
  {
    let size = ScalarTable.blockSize
    var scalar = range.lowerBound
    while scalar < range.upperBound {
      let block = scalar / size
      let stop = min(range.upperBound, (block + 1) * size)
      if stop - scalar == size {
        blocks[block] = uniformBlock(value, &uniform)
      } else {
        if blocks[block] == 0 { blocks[block] = appendBlock(0) }
        for index in scalar..<stop { values[Int(blocks[block]) + index % size] = value }
      }
      scalar = stop
    }
  }

  private mutating func uniformBlock(_ value: UInt16, _ uniform: inout [UInt16: Int32]) -> Int32 {
    if let offset = uniform[value] { return offset }
    let offset = appendBlock(value)
    uniform[value] = offset
    return offset
  }

  private mutating func appendBlock(_ value: UInt16) -> Int32 {
    let offset = Int32(values.count)
    values.append(contentsOf: repeatElement(value, count: ScalarTable.blockSize))
    return offset
  }

  /// The value of a scalar, which is less than 0x110000.
  subscript(scalar: UInt32) -> UInt16 {
    values[Int(blocks[Int(scalar >> 7)]) + Int(scalar & 127)]
  }
}

/// Reads the numbers of a generated table.
///
/// A number is written in groups of five bits, least significant first. Each group is one of 64
/// characters; the last group of a number is one of the first 32. Line ends do not count.
struct TableReader {
  private static let digits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_".utf8)
  private static let digitValues: [UInt8] = {
    var values = [UInt8](repeating: 0xFF, count: 256)
    for (index, digit) in digits.enumerated() { values[Int(digit)] = UInt8(index) }
    return values
  }()

  private let bytes: [UInt8]
  private let digitValues = TableReader.digitValues
  private var offset = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Returns the next number; nil at the end.
  mutating func next() -> Int? {
    var value = 0
    var shift = 0
    while offset < bytes.count {
      let digit = digitValues[Int(bytes[offset])]
      offset += 1
      guard digit != 0xFF else { continue }
      value |= Int(digit & 31) << shift
      if digit < 32 { return value }
      shift += 5
    }
    return nil
  }

  /// Returns the next number that may be negative; nil at the end.
  mutating func nextSigned() -> Int? {
    next().map { $0 & 1 == 0 ? $0 / 2 : -($0 + 1) / 2 }
  }
}
