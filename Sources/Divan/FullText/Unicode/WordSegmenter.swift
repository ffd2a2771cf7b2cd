/// Splits text into segments between word boundaries, as Unicode's UAX #29 defines them.
///
/// ```
/// The film’s 3.5 stars  →  The| |film’s| |3.5| |stars
/// ```
///
/// The segments follow each other without gaps. Each is found in time proportional to its size:
/// where a rule looks ahead, it skips only scalars that belong to the segment or follow its one
/// punctuation mark. Bytes that are not UTF-8 are segments of their own.
struct WordSegmenter {
  /// A part of the text.
  struct Segment: Equatable {
    /// Its bytes in the text.
    var range: Range<Int>
    /// Whether it has a letter, a number or an emoji.
    var isWord: Bool
    /// Whether it is one letter of a script without spaces between words.
    var isNGramUnit: Bool
  }

  private let text: [UInt8]
  private let table = WordBreakProperties.table
  private let ascii = ASCIIWords.table
  private var offset = 0

  init(_ text: [UInt8]) { self.text = text }

  /// Returns the next segment; nil at the end.
  mutating func next() -> Segment? {
    guard offset < text.count else { return nil }
    let start = offset
    if let segment = nextASCII() { return segment }
    offset = start
    return nextByRules()
  }

  private func properties(_ scalar: UInt32) -> WordBreakProperties {
    WordBreakProperties(bits: table[scalar])
  }

  /// Applies the rules to the segment that begins at the offset.
  private mutating func nextByRules() -> Segment {
    let start = offset
    let first = text.scalar(at: offset)
    let properties = properties(first.value)
    var state = State(properties)
    offset = first.end
    if properties.wordBreak.endsLine {
      // WB3.
      if first.value == 0x0D, offset < text.count, text[offset] == 0x0A { offset += 1 }
    } else {
      while offset < text.count, extend(&state) {}
    }
    return Segment(
      range: start..<offset, isWord: state.isWord,
      isNGramUnit: properties.isNGram && state.unitCount == 1)
  }

  /// What the rules need to know of the segment so far.
  private struct State {
    /// The last value that is not ignored.
    var last: WordBreak
    /// The value of the scalar just before, which may be ignored.
    var neighbour: WordBreak
    /// The number of regional indicators at the end.
    var indicatorCount: Int
    var isWord: Bool
    /// The number of scalars that are not ignored.
    var unitCount = 1

    init(_ first: WordBreakProperties) {
      last = first.wordBreak
      neighbour = last
      indicatorCount = last == .regionalIndicator ? 1 : 0
      isWord = first.isWord
    }
  }

  /// Moves past the next scalar if no boundary is before it, and returns whether it did.
  private mutating func extend(_ state: inout State) -> Bool {
    let read = text.scalar(at: offset)
    let next = properties(read.value)
    let value = next.wordBreak
    if value.isIgnored {
      // WB4.
      state.neighbour = value
    } else if state.neighbour == .joiner && next.isPictograph  // WB3c.
      || state.neighbour == .space && value == .space  // WB3d.
      || state.last.joins(value)
      || state.last == .hebrewLetter && value == .singleQuote  // WB7a.
      || value == .regionalIndicator && state.indicatorCount % 2 == 1  // WB15, WB16.
    {
      // An apostrophe between letters has the letter after it, by WB6, so WB7a must not hide it.
      if value == .singleQuote, extendAcross(value, from: read.end, &state) { return true }
      accept(next, &state)
    } else {
      return extendAcross(value, from: read.end, &state)
    }
    offset = read.end
    return true
  }

  private func accept(_ next: WordBreakProperties, _ state: inout State) {
    state.last = next.wordBreak
    state.neighbour = next.wordBreak
    state.indicatorCount = next.wordBreak == .regionalIndicator ? state.indicatorCount + 1 : 0
    state.isWord = state.isWord || next.isWord
    state.unitCount += 1
  }

  /// Moves past punctuation and the scalar after it if the two are within a word.
  private mutating func extendAcross(
    _ middle: WordBreak, from start: Int, _ state: inout State
  ) -> Bool {
    // Any next value will do to see whether the punctuation can be within a word.
    guard state.last.joins(middle, state.last) else { return false }
    var end = start
    while end < text.count {
      let read = text.scalar(at: end)
      let next = properties(read.value)
      end = read.end
      if next.wordBreak.isIgnored { continue }
      guard state.last.joins(middle, next.wordBreak) else { return false }
      accept(next, &state)
      offset = end
      return true
    }
    return false
  }
}

extension WordSegmenter {
  /// Finds the end of the segment at the offset if it and the scalar after it are ASCII.
  ///
  /// Returns nil if the rules have to be applied.
  private mutating func nextASCII() -> Segment? {
    let start = offset
    let first = ascii[Int(text[start])]
    guard first != ASCIIWords.beyond else { return nil }
    if first & ASCIIWords.word == 0 { return nextASCIIPunctuation() }
    var isWord = false
    var last = first
    var end = start
    while end < text.count {
      let here = ascii[Int(text[end])]
      guard here != ASCIIWords.beyond else { return nil }
      if here & ASCIIWords.word == 0 {
        guard here & last & ASCIIWords.middle != 0, end + 1 < text.count else { break }
        let next = ascii[Int(text[end + 1])]
        guard next != ASCIIWords.beyond else { return nil }
        // The middle bit says for which neighbours the punctuation is within a word.
        guard here & last & next & ASCIIWords.middle != 0, next & ASCIIWords.word != 0 else {
          break
        }
      } else {
        isWord = isWord || here & ASCIIWords.middle != 0
      }
      last = here
      end += 1
    }
    offset = end
    return Segment(range: start..<end, isWord: isWord, isNGramUnit: false)
  }

  private mutating func nextASCIIPunctuation() -> Segment? {
    let start = offset
    var end = start + 1
    if text[start] == 0x20 {
      while end < text.count, text[end] == 0x20 { end += 1 }
    } else if text[start] == 0x0D, end < text.count, text[end] == 0x0A {
      end += 1
    }
    // A mark after ASCII belongs to it.
    guard end == text.count || text[end] < 0x80 else { return nil }
    offset = end
    return Segment(range: start..<end, isWord: false, isNGramUnit: false)
  }
}

/// What each byte is to the fast path of ``WordSegmenter``.
private enum ASCIIWords {
  /// The byte is not ASCII.
  static let beyond: UInt8 = 0xFF
  /// The byte is a letter, a digit or the low line.
  static let word: UInt8 = 1
  static let letter: UInt8 = 2
  static let digit: UInt8 = 4
  /// Letters and digits; punctuation has the bits of those that it is allowed between.
  static let middle = letter | digit

  static let table: [UInt8] = (0..<256).map { (byte: Int) -> UInt8 in
    guard byte < 0x80 else { return beyond }
    let properties = WordBreakProperties(bits: WordBreakProperties.table[UInt32(byte)])
    switch properties.wordBreak {
    case .letter: return word | letter
    case .numeric: return word | digit
    case .extendNumberLetter: return word
    case .midLetter: return letter
    case .midNumber: return digit
    case .midNumberLetter, .singleQuote: return letter | digit
    default: return 0
    }
  }
}
