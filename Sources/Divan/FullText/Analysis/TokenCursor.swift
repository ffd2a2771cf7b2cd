/// The terms of a text, one after the other.
///
/// Words are those of Unicode's UAX #29 that have a letter, a number or an emoji. Text of Chinese,
/// Japanese, Thai and other scripts without spaces becomes overlapping pairs of letters instead,
/// because to find words in it takes a dictionary:
///
/// ```
/// 東京都 2024  →  東京, 京都, 都, 2024
/// ```
///
/// The last letter of such a part is a term, too, so that each letter begins a term. A query for
/// one letter is therefore a query for a prefix. In a query, ``Purpose/query``, the pairs alone say
/// it all. Words of Katakana are not split, as UAX #29 has it.
///
/// Words without a term, such as stop words, still count as positions. Reading a text takes time
/// proportional to its size.
struct TokenCursor {
  /// What the terms are for.
  enum Purpose {
    /// To be in an index.
    case index
    /// To be looked up.
    case query
  }

  private var text: [UInt8]
  private let purpose: Purpose
  private var segments: WordSegmenter
  private var filter: TermFilter
  private var pending: WordSegmenter.Segment?
  /// The end of the letter of the last n-gram, if the next letter continues its part of the text.
  private var partEnd: Int?
  private var nextPosition = 0

  /// The current term, in UTF-8.
  private(set) var term: [UInt8] = []
  /// The place of the current term among the words, counted from 0.
  private(set) var position = 0
  /// The bytes of the text that the term was made of.
  private(set) var range = 0..<0
  /// Whether the current term is a single letter of a script without spaces.
  private(set) var isSingleLetter = false

  /// Creates a cursor over the terms of a text in UTF-8.
  init(_ text: [UInt8], _ options: AnalysisOptions, for purpose: Purpose = .index) {
    self.init(text, TermFilter(options), for: purpose)
  }

  /// Creates a cursor with a filter.
  init(_ text: [UInt8], _ filter: TermFilter, for purpose: Purpose = .index) {
    (self.text, self.purpose) = (text, purpose)
    segments = WordSegmenter(text)
    self.filter = filter
    pending = segments.next()
  }

  /// Begins with another text, and uses the memory again.
  mutating func restart(_ text: [UInt8]) {
    self.text = text
    segments = WordSegmenter(text)
    pending = segments.next()
    (partEnd, nextPosition) = (nil, 0)
  }

  /// Moves to the next term, and returns whether there is one.
  mutating func next() -> Bool {
    while let segment = pending {
      pending = segments.next()
      guard segment.isWord || segment.isNGramUnit else {
        partEnd = nil
        continue
      }
      position = nextPosition
      nextPosition += 1
      if segment.isNGramUnit {
        if makeNGram(segment) { return true }
      } else {
        partEnd = nil
        isSingleLetter = false
        range = segment.range
        if filter.makeTerm(text, range, into: &term) { return true }
      }
    }
    return false
  }

  /// Makes the term that begins with a letter of a script without spaces.
  private mutating func makeNGram(_ letter: WordSegmenter.Segment) -> Bool {
    let continues = partEnd == letter.range.lowerBound
    partEnd = letter.range.upperBound
    if let next = pending, next.isNGramUnit, next.range.lowerBound == letter.range.upperBound {
      isSingleLetter = false
      range = letter.range.lowerBound..<next.range.upperBound
    } else {
      if continues, purpose == .query { return false }
      isSingleLetter = true
      range = letter.range
    }
    return filter.makeNGram(text, range, into: &term)
  }
}
