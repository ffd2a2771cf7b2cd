/// The tables of normalisation: what scalars fold to, their combining classes, and compositions.
struct FoldingTables: Sendable {
  /// The tables, decoded from ``FoldingData`` when they are first used.
  static let shared = FoldingTables()

  /// The number of each scalar's fold, or zero if the scalar folds to itself.
  private let foldNumbers: ScalarTable
  /// The scalars of all folds, and where each fold begins; the last entry is the end.
  private let foldScalars: [UInt32]
  private let foldStarts: [Int32]
  private let classes: ScalarTable
  private let compositions: [UInt64: UInt32]

  private init() {
    var (numbers, scalars, starts): ([(scalar: Int, value: UInt16)], [UInt32], [Int32]) =
      ([], [], [0, 0])
    var reader = TableReader(FoldingData.folds)
    var end = 0
    while let gap = reader.next(), let lengths = reader.next() {
      let first = end + gap
      let runLength = lengths & 1 == 0 ? 1 : reader.next() ?? 0
      var scalar = first
      for _ in 0..<lengths / 2 {
        scalar += reader.nextSigned() ?? 0
        scalars.append(UInt32(scalar))
      }
      for member in first..<first + runLength {
        numbers.append((member, UInt16(starts.count - 1)))
      }
      starts.append(Int32(scalars.count))
      end = first + runLength
    }
    (foldNumbers, foldScalars, foldStarts) = (ScalarTable(numbers), scalars, starts)
    classes = ScalarTable(ranges: FoldingData.classes)
    compositions = FoldingTables.readCompositions()
  }

  private static func readCompositions() -> [UInt64: UInt32] {
    var compositions: [UInt64: UInt32] = [:]
    var reader = TableReader(FoldingData.compositions)
    var first = 0
    while let gap = reader.next(), let second = reader.next(), let change = reader.nextSigned() {
      first += gap
      compositions[UInt64(first) << 32 | UInt64(second)] = UInt32(first + change)
    }
    return compositions
  }

  /// The canonical combining class of a scalar.
  func combiningClass(_ scalar: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: classes[scalar]) }

  /// Appends what a scalar folds to, decomposed, except that syllables of Hangul stay whole.
  func appendFold(of scalar: UInt32, to scalars: inout [UInt32]) {
    let number = Int(foldNumbers[scalar])
    if number == 0 { return scalars.append(scalar) }
    scalars.append(
      contentsOf: foldScalars[Int(foldStarts[number])..<Int(foldStarts[number + 1])])
  }

  /// The scalar that two scalars are composed to; nil if they are not.
  func composition(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if (0x1100..<0x1113).contains(first), (0x1161..<0x1176).contains(second) {
      return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
    }
    if (0x11A8..<0x11C3).contains(second), (0xAC00..<0xD7A4).contains(first),
      (first - 0xAC00) % 28 == 0
    {
      return first + second - 0x11A7
    }
    return compositions[UInt64(first) << 32 | UInt64(second)]
  }
}
