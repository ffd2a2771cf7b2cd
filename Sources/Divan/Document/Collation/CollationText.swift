import DivanLog

/// Splits a text into letters, each with its weight, marks and form in ``CollationTable``.
///
/// The bytes may be arbitrary: invalid UTF-8 counts as U+FFFD, byte by byte.
struct CollationText {
  /// The weight of the letter that was read last; zero before the first one.
  private(set) var weight: CollationTable.Weight = 0
  private(set) var form = CollationTable.Form.small
  /// Its marks, in the order of their numbers.
  private(set) var marks: [UInt8] = []
  /// Whether letters, marks and forms identify the text that was read so far.
  private(set) var isPlain = true

  private var position = 0
  private var hasBegun = false
  private var second: (weight: CollationTable.Weight, form: UInt8, marks: UInt32)?

  init(at position: Int = 0) { self.position = position }

  /// Moves to the next letter; false if there is none.
  ///
  /// The first one is not a letter; its marks are the marks at the beginning of the text.
  mutating func next(_ bytes: Span<UInt8>, _ table: CollationTable) -> Bool {
    if !marks.isEmpty { marks.removeAll(keepingCapacity: true) }
    var packed: UInt32 = 0
    if let (weight, form, marks) = second {
      (self.weight, self.form, packed) = (weight, form, marks)
      second = nil
    } else if hasBegun {
      guard position < bytes.count else { return false }
      let entry = table[readScalar(bytes)]
      (weight, form, packed) = (entry.weight, entry.form, entry.marks)
      if !entry.isAlone { isPlain = false }
      if entry.secondWeight != 0 {
        second = (entry.secondWeight, entry.secondForm, entry.marks)
        return true
      }
    } else {
      hasBegun = true
    }
    append(packed)
    while position < bytes.count, bytes[position] >= 0xCC {
      // Only marks belong to the letter before them.
      let before = position
      let entry = table[peekScalar(bytes)]
      guard entry.weight == 0 else {
        position = before
        break
      }
      append(entry.marks)
      isPlain = false
    }
    if !marks.isEmpty { settleMarks() }
    return true
  }

  private mutating func append(_ packed: UInt32) {
    var rest = packed
    while rest != 0 {
      marks.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  private mutating func settleMarks() {
    if marks.count > 1 { marks.sort() }
    for (index, mark) in marks.enumerated() {
      guard let joined = CollationTable.joined(weight, mark) else { continue }
      weight = joined
      marks.remove(at: index)
      return
    }
  }

  private mutating func peekScalar(_ bytes: Span<UInt8>) -> UInt32 {
    let wasPlain = isPlain
    let scalar = readScalar(bytes)
    isPlain = wasPlain
    return scalar
  }

  /// Reads one scalar; its first byte must be present.
  @inline(__always)
  private mutating func readScalar(_ bytes: Span<UInt8>) -> UInt32 {
    let first = bytes[position]
    position += 1
    if first < 0x80 { return UInt32(first) }
    let more =
      switch first {
      case 0xC2...0xDF: 1
      case 0xE0...0xEF: 2
      case 0xF0...0xF4: 3
      default: 0
      }
    var scalar = UInt32(first) & (0x3F >> UInt32(more))
    var isWhole = more > 0 && more <= bytes.count - position
    if isWhole {
      for index in position..<position + more {
        let byte = bytes[index]
        if byte & 0xC0 != 0x80 { isWhole = false }
        scalar = scalar << 6 | UInt32(byte & 0x3F)
      }
    }
    guard isWhole else {
      isPlain = false
      return 0xFFFD
    }
    position += more
    return scalar
  }
}

extension CollationText {
  /// The level down to which differences between texts count.
  enum Depth {
    /// Letters, digits and signs only: neither accents nor capitals.
    case letters
    /// Accents, too.
    case accents
    /// Everything: only identical texts are equal.
    case everything
  }

  /// Returns the order of two texts: below, at or above zero.
  static func compare(_ a: Span<UInt8>, _ b: Span<UInt8>, _ depth: Depth = .everything) -> Int {
    let table = CollationTable.shared
    // Most texts differ in their first letters, and have no accents there.
    var start = 0
    var byForm = 0
    while start < a.count, start < b.count, a[start] < 0x80, b[start] < 0x80,
      start + 1 == a.count || a[start + 1] < 0x80, start + 1 == b.count || b[start + 1] < 0x80
    {
      if a[start] != b[start] {
        let (one, other) = (table[UInt32(a[start])], table[UInt32(b[start])])
        if one.weight != other.weight { return one.weight < other.weight ? -1 : 1 }
        if byForm == 0 { byForm = Int(one.form) - Int(other.form) }
      }
      start += 1
    }
    var (one, other) = (CollationText(at: start), CollationText(at: start))
    var byMarks = 0
    while true {
      let (hasOne, hasOther) = (one.next(a, table), other.next(b, table))
      guard hasOne, hasOther else {
        if hasOne != hasOther { return hasOne ? 1 : -1 }
        break
      }
      if one.weight != other.weight { return one.weight < other.weight ? -1 : 1 }
      if byMarks == 0, !one.marks.isEmpty || !other.marks.isEmpty {
        byMarks = DivanLog.compare(one.marks.span, other.marks.span)
      }
      if byForm == 0 { byForm = Int(one.form) - Int(other.form) }
    }
    if depth == .letters || byMarks != 0 { return depth == .letters ? 0 : byMarks }
    if depth == .accents || byForm != 0 { return depth == .accents ? 0 : byForm }
    if one.isPlain != other.isPlain { return one.isPlain ? -1 : 1 }
    return one.isPlain ? 0 : DivanLog.compare(a, b)
  }

  /// Returns the order of two texts.
  static func compare(_ a: String, _ b: String, _ depth: Depth = .everything) -> Int {
    withUTF8(of: a) { a in withUTF8(of: b) { b in compare(a, b, depth) } }
  }

  /// Returns the weights of a text's letters, digits and signs, ignoring accents and capitals.
  static func letters(of text: String) -> [CollationTable.Weight] {
    withUTF8(of: text) { bytes in
      let table = CollationTable.shared
      var reader = CollationText()
      var weights: [CollationTable.Weight] = []
      weights.reserveCapacity(bytes.count)
      _ = reader.next(bytes, table)
      while reader.next(bytes, table) { weights.append(reader.weight) }
      return weights
    }
  }
}
