/// The words of a query, as the terms to look up in an index.
struct AnalysedWords: Hashable, Sendable {
  /// A term, and its place.
  struct Word: Hashable, Sendable {
    /// The term; of a prefix, the beginning of the terms that match.
    var term: [UInt8]
    /// Whether terms that begin with ``term`` match, too.
    var isPrefix: Bool
    /// Terms that match besides: the stems of words with the prefix that do not begin with it.
    var stems: [[UInt8]] = []
    /// The number of words since the first one.
    var offset: Int
    /// The edit distance within which terms match.
    ///
    /// It is 0 for a prefix that is not longer than the distance asked for, because any term would
    /// match.
    fileprivate(set) var maxDistance = 0
  }

  /// The words in their order; empty for text that has no terms, such as stop words.
  private(set) var words: [Word] = []

  /// Makes the terms of words as an index with the same options has them.
  ///
  /// The last word of a prefix is folded, and not stemmed: what was typed of it need not be a word.
  /// The stems of words that begin with it match, too.
  init(_ query: FullTextWords, _ options: AnalysisOptions) {
    let text = Array(query.text.utf8)
    var cursor = TokenCursor(text, options, for: .query)
    while cursor.next() {
      words.append(
        Word(term: cursor.term, isPrefix: cursor.isSingleLetter, offset: cursor.position))
    }
    if query.isPrefix { makePrefix(of: text, options) }
    let first = words.first?.offset ?? 0
    for index in words.indices {
      words[index].offset -= first
      // The term decides: a letter of a script without spaces is a prefix without a star, and a
      // term can be shorter than what was written.
      let matchesAnyTerm =
        words[index].isPrefix && words[index].term.scalars.count <= query.maxDistance
      words[index].maxDistance = matchesAnyTerm ? 0 : query.maxDistance
    }
  }

  private mutating func makePrefix(of text: [UInt8], _ options: AnalysisOptions) {
    var plain = options
    (plain.stemming, plain.stopWords) = (nil, [])
    var cursor = TokenCursor(text, plain, for: .query)
    var last: Word?
    var range = 0..<0
    while cursor.next() {
      last = Word(term: cursor.term, isPrefix: true, offset: cursor.position)
      range = cursor.range
    }
    guard var last else { return }
    if let stemmed = words.last, stemmed.offset == last.offset {
      words.removeLast()
      if !stemmed.term.starts(with: last.term) { last.stems = [stemmed.term] }
    }
    var folding = WordFolding(removesDiacritics: false)
    var typed: [UInt8] = []
    folding.fold(text, range, into: &typed)
    for stem in PrefixStems.stems(ofWordsWith: typed, besides: last.term, options)
    where !last.stems.contains(stem) {
      last.stems.append(stem)
    }
    words.append(last)
  }
}

extension AnalysedWords.Word {
  /// Whether a term matches the word, apart from edit distances.
  func matches(_ other: [UInt8]) -> Bool {
    isPrefix && other.starts(with: term) || other == term || stems.contains(other)
  }
}

/// The words of all parts of a query, analysed once for every search of it.
struct AnalysedQuery: Sendable {
  private let options: AnalysisOptions
  private let words: [FullTextWords: AnalysedWords]

  /// Analyses the words of an expression; nil has none.
  init(_ expression: FullTextExpression?, _ options: AnalysisOptions) {
    self.options = options
    var found: [FullTextWords: AnalysedWords] = [:]
    expression?.forEachWords { text in
      if found[text] == nil { found[text] = AnalysedWords(text, options) }
    }
    words = found
  }

  /// The terms of a word or a phrase of the query.
  subscript(_ text: FullTextWords) -> AnalysedWords {
    words[text] ?? AnalysedWords(text, options)
  }
}

extension FullTextExpression {
  /// Calls a closure with each word and phrase, also with those that are excluded.
  fileprivate func forEachWords(_ body: (FullTextWords) -> Void) {
    switch self {
    case .words(let words): body(words)
    case .field(_, let inner): inner.forEachWords(body)
    case .all(let parts), .any(let parts): for part in parts { part.forEachWords(body) }
    case .without(let base, let excluded):
      base.forEachWords(body)
      excluded.forEachWords(body)
    case .near(let parts, _): for part in parts { body(part) }
    }
  }

  /// The words that a matching text can have, outside of what is excluded, in their order.
  ///
  /// They are the words for the property with a name, or for all of them if it is nil.
  func wordsToFind(in field: String?) -> [FullTextWords] {
    switch self {
    case .words(let words): [words]
    case .field(let name, let inner):
      field == nil || field == name ? inner.wordsToFind(in: field) : []
    case .all(let parts), .any(let parts): parts.flatMap { $0.wordsToFind(in: field) }
    case .without(let base, _): base.wordsToFind(in: field)
    case .near(let parts, _): parts
    }
  }
}
