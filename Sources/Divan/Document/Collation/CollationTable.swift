/// The weights of each Unicode scalar in the order of texts.
///
/// A scalar represents a letter, two letters, or a mark on the letter before it. A letter has a
/// *weight* among all letters, digits and signs, which is compared first; then its marks are
/// compared, then its *form*. The table is built once, from ``CollationLetters``.
struct CollationTable: Sendable {
  static let shared = CollationTable(Maker())

  /// One to four bytes that are in the order of letters, the first of them in the highest bits.
  ///
  /// The first byte determines their number, so no weight is a prefix of another; it is at least 2.
  /// Zero means no letter.
  typealias Weight = UInt32

  /// Distinguishes letters of one weight with the same marks.
  enum Form {
    static let small: UInt8 = 2
    static let capital: UInt8 = 3
    /// Added for another form of a letter, such as ς.
    static let variant: UInt8 = 2
    /// Added for a letter that is written instead of two.
    static let pair: UInt8 = 4
  }

  /// The letters and marks of one scalar.
  struct Entry: Sendable, Hashable {
    /// Zero if the scalar is a mark.
    var weight: Weight = 0
    var form = Form.small
    /// The weight of the second letter, if the scalar represents two.
    var secondWeight: Weight = 0
    var secondForm = Form.small
    /// The marks on the last letter, eight bits each, the first one in the lowest.
    var marks: UInt32 = 0
    /// Whether no other scalar has these letters, forms and marks.
    var isAlone = true

    mutating func add(marks more: UInt32) {
      var used = 0
      while used < 32, marks >> UInt32(used) & 0xFF != 0 { used += 8 }
      if used < 32 { marks |= more << UInt32(used) }
    }

    /// The same entry with the marks in the order of their numbers, in which texts are compared.
    var withSortedMarks: Entry {
      var sorted = self
      sorted.marks = 0
      let bytes = (0..<4).map { (position: UInt32) -> UInt32 in marks >> (position * 8) & 0xFF }
      for mark in bytes.sorted() where mark != 0 { sorted.add(marks: mark) }
      return sorted
    }
  }

  private var low: [Entry] = []
  private var high: [Entry] = []

  private static let lowEnd: UInt32 = 0x530
  private static let highRange: Range<UInt32> = 0x1E00..<0x2000

  /// The entry of a scalar.
  @inline(__always)
  subscript(scalar: UInt32) -> Entry {
    if scalar < CollationTable.lowEnd { return low[Int(scalar)] }
    if CollationTable.highRange.contains(scalar) {
      return high[Int(scalar - CollationTable.highRange.lowerBound)]
    }
    return Entry(weight: CollationTable.weight(byNumber: scalar))
  }

  /// The marks: U+0300 to U+036F.
  static func isMark(_ scalar: UInt32) -> Bool { 0x300..<0x370 ~= scalar }

  /// Returns the weight of a mark: one byte, above the bytes that end a letter.
  static func weight(ofMark scalar: UInt32) -> UInt32 { scalar - 0x300 + 3 }
}

// MARK: - Weights

extension CollationTable {
  /// The first bytes of weights.
  private enum Lead {
    static let controls: UInt32 = 0x02
    static let sign: UInt32 = 0x03
    static let otherSigns: UInt32 = 0x30
    static let digit: UInt32 = 0x31
    static let latin: UInt32 = 0x40
    static let otherLatin: UInt32 = 0x6F
    static let greek: UInt32 = 0x70
    static let otherGreek: UInt32 = 0x8F
    static let cyrillic: UInt32 = 0x90
    static let otherCyrillic: UInt32 = 0xEF
    static let others: UInt32 = 0xF0
  }

  /// Returns the number of bytes of a weight.
  @inline(__always)
  static func size(of weight: Weight) -> Int {
    switch weight >> 24 {
    case Lead.controls, Lead.otherSigns, Lead.otherLatin, Lead.otherGreek, Lead.otherCyrillic,
      Lead.others:
      4
    default: 1
    }
  }

  /// Returns the weight of a scalar that no alphabet lists.
  private static func weight(byNumber scalar: UInt32) -> Weight {
    let lead =
      switch scalar {
      case 0x00...0x1F, 0x7F...0x9F: Lead.controls
      case 0xA0...0xBF, 0xD7, 0xF7, 0x2B0...0x2FF, 0x2000...0x2BFF, 0x3000...0x303F,
        0x1F000...0x1FAFF:
        Lead.otherSigns
      case 0xC0...0x2AF, 0x1E00...0x1EFF, 0x2C60...0x2C7F, 0xA720...0xA7FF, 0xAB30...0xAB6F:
        Lead.otherLatin
      case 0x370...0x3FF, 0x1F00...0x1FFF: Lead.otherGreek
      case 0x400...0x52F, 0x1C80...0x1C8F, 0x2DE0...0x2DFF, 0xA640...0xA69F: Lead.otherCyrillic
      default: Lead.others
      }
    return lead << 24 | scalar
  }

  /// Returns the letter that a letter and a mark form, if it is a letter of its own in an alphabet.
  @inline(__always)
  static func joined(_ weight: Weight, _ mark: UInt8) -> Weight? {
    guard weight >> 24 >= Lead.cyrillic else { return nil }
    return joinedWeights[JoinedKey(weight: weight, mark: mark)]
  }

  private struct JoinedKey: Hashable {
    var weight: Weight
    var mark: UInt8
  }

  private static let joinedWeights: [JoinedKey: Weight] = {
    var weights: [JoinedKey: Weight] = [:]
    let named = namedWeights()
    for (letter, mark, whole) in CollationLetters.joined {
      guard let letterWeight = named[letter] else { continue }
      weights[JoinedKey(weight: letterWeight, mark: UInt8(weight(ofMark: mark)))] = named[whole]
    }
    return weights
  }()

  /// Returns the weights of the scalars in the lists of signs, digits and alphabets.
  private static func namedWeights() -> [UInt32: Weight] {
    var weights: [UInt32: Weight] = [:]
    for (lead, letters, end) in [
      (Lead.sign, CollationLetters.signs, Lead.otherSigns),
      (Lead.digit, CollationLetters.digits, Lead.latin),
      (Lead.latin, CollationLetters.latin, Lead.otherLatin),
      (Lead.greek, CollationLetters.greek, Lead.otherGreek),
      (Lead.cyrillic, CollationLetters.cyrillic, Lead.otherCyrillic),
    ] {
      for (weight, scalar) in zip(lead..<end, letters.unicodeScalars) {
        weights[scalar.value] = weight << 24
      }
    }
    return weights
  }
}

// MARK: - Making the table

extension CollationTable {
  private init(_ maker: Maker) {
    var maker = maker
    low = (0..<CollationTable.lowEnd).map { maker.entry(of: $0) }
    high = CollationTable.highRange.map { maker.entry(of: $0) }
    // ǖ and ṻ have the same marks, one in either order.
    var seen: Set<Entry> = []
    for index in low.indices where !seen.insert(low[index].withSortedMarks).inserted {
      low[index].isAlone = false
    }
    for index in high.indices where !seen.insert(high[index].withSortedMarks).inserted {
      high[index].isAlone = false
    }
  }

  /// The data from which entries are made.
  private struct Maker {
    let weights = CollationTable.namedWeights()
    var entries: [UInt32: Entry] = [:]
    var small: [UInt32: UInt32] = [:]
    var variants: [UInt32: UInt32] = [:]
    var pairs: [UInt32: [UInt32]] = [:]
    /// The canonical decomposition of a scalar.
    var parts: [UInt32: [UInt32]] = [:]

    init() {
      for pair in Maker.groups(of: 2, in: CollationLetters.capitals) { small[pair[0]] = pair[1] }
      for pair in Maker.groups(of: 2, in: CollationLetters.variants) { variants[pair[0]] = pair[1] }
      for group in Maker.groups(of: 3, in: CollationLetters.pairs) {
        pairs[group[0]] = [group[1], group[2]]
      }
      for (scalar, same) in CollationLetters.equivalents { parts[scalar] = same }
      for (mark, letters) in CollationLetters.accents {
        for pair in Maker.groups(of: 2, in: letters) { parts[pair[1]] = [pair[0], mark] }
      }
    }

    private static func groups(of size: Int, in text: String) -> [[UInt32]] {
      let scalars = text.unicodeScalars.map(\.value).filter { $0 != 0x20 && $0 != 0x0A }
      return stride(from: 0, through: scalars.count - size, by: size).map {
        Array(scalars[$0..<$0 + size])
      }
    }

    mutating func entry(of scalar: UInt32) -> Entry {
      if let entry = entries[scalar] { return entry }
      let made = make(scalar)
      entries[scalar] = made
      return made
    }

    private mutating func make(_ scalar: UInt32) -> Entry {
      if let parts = parts[scalar] {
        var made = entry(of: parts[0])
        for mark in parts.dropFirst() { made.add(marks: entry(of: mark).marks) }
        // A mark that decomposes is equal to the mark that it decomposes to.
        if CollationTable.isMark(scalar) { made.isAlone = false }
        return made
      }
      if let pair = pairs[scalar] {
        let (first, second) = (entry(of: pair[0]), entry(of: pair[1]))
        var made = first
        made.form += Form.pair
        made.secondWeight = second.weight
        made.secondForm = second.form + Form.pair
        made.marks = second.marks
        return made
      }
      if let plain = variants[scalar] {
        var made = entry(of: plain)
        made.form += Form.variant
        return made
      }
      if let letter = small[scalar] {
        var made = entry(of: letter)
        made.form = Form.capital
        return made
      }
      if CollationTable.isMark(scalar) {
        return Entry(marks: CollationTable.weight(ofMark: scalar), isAlone: false)
      }
      return Entry(weight: weights[scalar] ?? CollationTable.weight(byNumber: scalar))
    }
  }
}
