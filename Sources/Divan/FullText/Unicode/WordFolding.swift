/// Makes words that differ in case, in compatible forms or in how they are composed equal.
///
/// The result is Unicode's toNFKC_Casefold of the canonical decomposition: `Straße` and `STRASSE`
/// become `strasse`, `ﬁlm` becomes `film`, and invisible scalars are dropped. The tables are
/// Divan's own, so the result is the same on every system. Bytes that are not UTF-8 become U+FFFD.
///
/// Apostrophes of typography become `'`, which the stemmers know.
struct WordFolding {
  /// Whether marks above, below and across letters are removed.
  ///
  /// These are the combining marks of the classes 10 to 36 (points of Hebrew, Arabic and Syriac)
  /// and of 200 and above. The signs for vowels of other scripts, and the voiced sound marks of
  /// Japanese, make other letters, and are kept. Letters with a stroke lose it: `ø` becomes `o`.
  var removesDiacritics: Bool

  private let tables = FoldingTables.shared
  // Kept for their memory.
  private var scalars: [UInt32] = []
  private var classes: [UInt8] = []

  init(removesDiacritics: Bool) { self.removesDiacritics = removesDiacritics }

  /// Appends the folded form of a range of a text.
  ///
  /// It takes time proportional to the range, except that marks of one letter that are out of order
  /// are sorted.
  mutating func fold(_ text: [UInt8], _ range: Range<Int>, into result: inout [UInt8]) {
    let start = result.count
    for offset in range {
      let byte = text[offset]
      guard byte < 0x80 else {
        result.removeSubrange(start...)
        return foldScalars(text, range, into: &result)
      }
      result.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
    }
  }

  private mutating func foldScalars(
    _ text: [UInt8], _ range: Range<Int>, into result: inout [UInt8]
  ) {
    scalars.removeAll(keepingCapacity: true)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let read = text.scalar(at: offset)
      tables.appendFold(of: read.value, to: &scalars)
      offset = read.end
    }
    orderMarks()
    if removesDiacritics { removeMarks() }
    compose()
    for scalar in scalars { result.append(scalar: scalar) }
  }

  /// Sorts the marks after each letter by their combining classes, and keeps the order of equals.
  private mutating func orderMarks() {
    classes.removeAll(keepingCapacity: true)
    for scalar in scalars { classes.append(tables.combiningClass(scalar)) }
    var index = 0
    while index < scalars.count {
      guard classes[index] != 0 else {
        index += 1
        continue
      }
      var end = index
      var isOrdered = true
      while end < scalars.count, classes[end] != 0 {
        isOrdered = isOrdered && (end == index || classes[end - 1] <= classes[end])
        end += 1
      }
      if !isOrdered { sortMarks(index..<end) }
      index = end
    }
    // Iota below a letter is a mark until here, and a letter when folded.
    for index in scalars.indices where scalars[index] == 0x345 && !removesDiacritics {
      (scalars[index], classes[index]) = (0x3B9, 0)
    }
  }

  private mutating func sortMarks(_ range: Range<Int>) {
    let order = range.sorted { classes[$0] == classes[$1] ? $0 < $1 : classes[$0] < classes[$1] }
    let sorted = order.map { (scalars[$0], classes[$0]) }
    for (index, (scalar, combiningClass)) in zip(range, sorted) {
      (scalars[index], classes[index]) = (scalar, combiningClass)
    }
  }

  private mutating func removeMarks() {
    var count = 0
    for index in scalars.indices {
      let combiningClass = classes[index]
      if combiningClass >= 200 || (10...36).contains(combiningClass) { continue }
      (scalars[count], classes[count]) = (WordFolding.withoutStroke(scalars[index]), combiningClass)
      count += 1
    }
    scalars.removeSubrange(count...)
    classes.removeSubrange(count...)
  }

  private static func withoutStroke(_ scalar: UInt32) -> UInt32 {
    switch scalar {
    case 0x111: 0x64  // đ
    case 0x127: 0x68  // ħ
    case 0x131: 0x69  // ı
    case 0x142: 0x6C  // ł
    case 0xF8: 0x6F  // ø
    case 0x167: 0x74  // ŧ
    default: scalar
    }
  }

  /// Composes letters and marks, as Unicode's canonical composition does.
  private mutating func compose() {
    var starter: Int?
    var lastClass: UInt8 = 0
    var count = 0
    for index in scalars.indices {
      var scalar = scalars[index]
      if scalar == 0x2018 || scalar == 0x2019 { scalar = 0x27 }
      let combiningClass = classes[index]
      if let starter {
        // Blocked by a mark of the same or a higher class, or by another letter between.
        let isAdjacent = lastClass == 0 ? starter == count - 1 : lastClass < combiningClass
        if isAdjacent, let composite = tables.composition(scalars[starter], scalar) {
          scalars[starter] = composite
          continue
        }
      }
      if combiningClass == 0 { starter = count }
      lastClass = combiningClass
      scalars[count] = scalar
      count += 1
    }
    scalars.removeSubrange(count...)
  }
}
