/// Makes the term of a word: folded, without stop words, stemmed, cut.
struct TermFilter {
  /// The size at which a word is cut before it is folded, in bytes.
  ///
  /// Text without spaces, such as 1 MB of `x`, is one word.
  static let wordSizeLimit = 1024
  /// The size at which a term is cut, in bytes of UTF-8.
  static let termSizeLimit = 255

  private let options: AnalysisOptions
  private let stopWords: StopWords?
  private var folding: WordFolding
  /// Removes diacritics after the stemmer, which uses them; nil if it does not.
  private var lateFolding: WordFolding?
  private var english = EnglishStemmer()
  private var german = GermanStemmer()
  private var unfolded: [UInt8] = []
  /// The terms of words that came before; nil if they are not kept.
  private var cache: TermCache?

  init(_ options: AnalysisOptions) {
    self.options = options
    stopWords = options.stopWords.isEmpty ? nil : StopWords.of(options.stopWords)
    // German stems are made of words with umlauts.
    let isLate = options.stemming == .german && options.removesDiacritics
    folding = WordFolding(removesDiacritics: options.removesDiacritics && !isLate)
    lateFolding = isLate ? WordFolding(removesDiacritics: true) : nil
  }

  /// The same filter, which keeps terms from now on.
  func caching() -> TermFilter {
    var filter = self
    filter.cache = TermCache()
    return filter
  }

  /// Replaces `term` by the term of a word of the text.
  ///
  /// Returns false if the word has none: it is a stop word, or has only invisible scalars.
  mutating func makeTerm(_ text: [UInt8], _ word: Range<Int>, into term: inout [UInt8]) -> Bool {
    guard cache != nil, let key = TermCache.Word(text, word) else {
      return makeNewTerm(text, word, into: &term)
    }
    if cache?.copyTerm(of: key, into: &term) == true { return !term.isEmpty }
    let hasTerm = makeNewTerm(text, word, into: &term)
    if !hasTerm { term.removeAll(keepingCapacity: true) }
    cache?.insert(key, term)
    return hasTerm
  }

  private mutating func makeNewTerm(
    _ text: [UInt8], _ word: Range<Int>, into term: inout [UInt8]
  ) -> Bool {
    term.removeAll(keepingCapacity: true)
    var end = word.upperBound
    if word.count > TermFilter.wordSizeLimit {
      end = text.scalarBoundary(
        from: word.lowerBound, upTo: word.lowerBound + TermFilter.wordSizeLimit)
    }
    folding.fold(text, word.lowerBound..<end, into: &term)
    // Only the first scalar of a word can be NUL, with a joiner and an emoji after it. In keys, a
    // zero byte ends a term.
    if term.first == 0 { term.removeAll { $0 == 0 } }
    if let stopWords, stopWords.contains(term) { return false }
    switch options.stemming {
    case .english?: english.stem(&term)
    case .german?: german.stem(&term)
    case nil: break
    }
    removeLateDiacritics(&term)
    if term.count > TermFilter.termSizeLimit {
      term.removeSubrange(term.scalarBoundary(from: 0, upTo: TermFilter.termSizeLimit)...)
    }
    return !term.isEmpty
  }

  /// Replaces `term` by a part of a script without spaces: folded and cut, and never stemmed.
  mutating func makeNGram(_ text: [UInt8], _ range: Range<Int>, into term: inout [UInt8]) -> Bool {
    term.removeAll(keepingCapacity: true)
    let limit = range.lowerBound + TermFilter.termSizeLimit
    let end =
      range.upperBound > limit
      ? text.scalarBoundary(from: range.lowerBound, upTo: limit) : range.upperBound
    folding.fold(text, range.lowerBound..<end, into: &term)
    removeLateDiacritics(&term)
    if term.count > TermFilter.termSizeLimit {
      term.removeSubrange(term.scalarBoundary(from: 0, upTo: TermFilter.termSizeLimit)...)
    }
    return !term.isEmpty
  }

  private mutating func removeLateDiacritics(_ term: inout [UInt8]) {
    guard lateFolding != nil, term.contains(where: { $0 >= 0x80 }) else { return }
    swap(&term, &unfolded)
    term.removeAll(keepingCapacity: true)
    lateFolding?.fold(unfolded, 0..<unfolded.count, into: &term)
  }
}
