/// The terms of a full-text index, with their postings.
protocol FullTextTerms {
  /// Returns the postings of a term; nil if no document has it.
  func postings(of term: [UInt8]) throws(DatabaseError) -> (any PostingsSource)?

  /// All documents have numbers below this one.
  func numberLimit() throws(DatabaseError) -> UInt64

  /// Counts the occurrences of all terms with a prefix.
  func count(termsWithPrefix prefix: [UInt8], into counter: inout OccurrenceCounter)
    throws(DatabaseError)

  /// Returns the terms with a prefix, in the order of their bytes.
  func terms(withPrefix prefix: [UInt8]) throws(DatabaseError) -> [[UInt8]]

  /// Returns the terms within an edit distance of a word, or that begin so.
  func terms(
    near word: [UInt8], maxDistance: Int, isPrefix: Bool
  ) throws(DatabaseError) -> [[UInt8]]
}

/// Makes cursors over the documents that match the parts of a query.
struct QueryMatches {
  private let terms: any FullTextTerms
  private let query: AnalysedQuery
  /// The names of the properties, in the order of the index.
  private let fieldNames: [String]
  /// An upper bound of the number of documents with each ranked part.
  private(set) var partCounts: [Int] = []
  /// What was counted, because a query can have the same prefix many times.
  private var counters: [CountedTerms: OccurrenceCounter] = [:]
  /// The memory that other counts can take, in bytes.
  private var counterSizeLeft = QueryMatches.counterSizeLimit

  private struct CountedTerms: Hashable {
    let terms: [[UInt8]]
    let prefix: [UInt8]?
    let fields: FieldSet
  }

  /// The memory that the counts of a query take at most, in bytes.
  static let counterSizeLimit = 128 << 20

  init(_ terms: any FullTextTerms, _ query: AnalysedQuery, fieldNames: [String]) {
    (self.terms, self.query, self.fieldNames) = (terms, query, fieldNames)
  }

  /// Returns the documents that match an expression in some properties.
  ///
  /// Returns nil for an expression that has no term, such as a stop word: it excludes nothing.
  /// Parts that are excluded from others are not `ranked`.
  ///
  /// - Throws: `invalidQuery` if the expression names a property that the index does not have.
  mutating func cursor(
    _ expression: FullTextExpression, in fields: FieldSet, ranked: Bool = true
  ) throws(DatabaseError) -> (any MatchCursor)? {
    switch expression {
    case .words(let words):
      let words = query[words]
      return words.words.isEmpty ? nil : try cursor(words, fields, ranked: ranked)
    case .field(let name, let inner):
      guard let field = fieldNames.firstIndex(of: name) else {
        throw DatabaseError(
          .invalidQuery, "the full-text index has no property \(name.debugDescription)",
          hint: "It has " + fieldNames.joined(separator: ", "))
      }
      return try cursor(
        inner, in: fields.intersection(.only(field, of: fieldNames.count)), ranked: ranked)
    case .all(let parts):
      let cursors = try cursors(parts, fields, ranked)
      return cursors.count > 1 ? try AllMatches(cursors) : cursors.first
    case .any(let parts):
      let cursors = try cursors(parts, fields, ranked)
      return cursors.count > 1 ? AnyMatches(cursors) : cursors.first
    case .without(let base, let excluded):
      guard let base = try cursor(base, in: fields, ranked: ranked) else { return nil }
      guard let excluded = try cursor(excluded, in: fields, ranked: false) else { return base }
      return try RemainingMatches(base, without: excluded)
    case .near(let parts, let distance):
      var cursors: [any MatchCursor] = []
      for part in parts {
        let words = query[part]
        guard !words.words.isEmpty else { continue }
        cursors.append(try cursor(words, fields, ranked: ranked, hasPlaces: true))
      }
      return cursors.count > 1 ? try NearMatches(cursors, distance: distance) : cursors.first
    }
  }

  private mutating func cursors(
    _ parts: [FullTextExpression], _ fields: FieldSet, _ ranked: Bool
  ) throws(DatabaseError) -> [any MatchCursor] {
    var cursors: [any MatchCursor] = []
    for part in parts {
      if let cursor = try cursor(part, in: fields, ranked: ranked) { cursors.append(cursor) }
    }
    return cursors
  }

  /// Returns the documents with a frequent word, to rank them by its counts; nil for other queries.
  mutating func frequentWord(
    _ text: FullTextWords, in fields: FieldSet
  ) throws(DatabaseError) -> CountedMatches? {
    let words = query[text]
    guard words.words.count == 1, words.words[0].maxDistance == 0, !words.words[0].isPrefix,
      let postings = try terms.postings(of: words.words[0].term),
      try UInt64(postings.documentCount) * 64 > terms.numberLimit()
    else { return nil }
    return try countedMatches(words.words[0], fields, part: 0)
  }

  /// Returns the documents with a word or a phrase, which is one part of the query.
  ///
  /// Their places are needed to compare them with those of others: `hasPlaces`.
  private mutating func cursor(
    _ words: AnalysedWords, _ fields: FieldSet, ranked: Bool, hasPlaces: Bool = false
  ) throws(DatabaseError) -> any MatchCursor {
    let part = ranked ? partCounts.count : nil
    if ranked { partCounts.append(0) }
    let cursor: any MatchCursor
    if words.words.count > 1 {
      var cursors: [(cursor: any MatchCursor, offset: Int)] = []
      for word in words.words {
        let found = try matchingTerms(word)
        cursors.append((try self.cursor(found, fields, part: nil), word.offset))
      }
      cursor = try PhraseMatches(cursors, part: part)
    } else if !hasPlaces, words.words[0].maxDistance == 0, words.words[0].isPrefix,
      let prefix = try countedMatches(words.words[0], fields, part: part)
    {
      cursor = prefix
    } else {
      let found = try matchingTerms(words.words[0])
      if !hasPlaces, found.count > QueryMatches.cursorLimit,
        let counted = try countedMatches(found, fields, part: part)
      {
        cursor = counted
      } else {
        cursor = try self.cursor(found, fields, part: part)
      }
    }
    if let part { partCounts[part] = cursor.cost }
    return cursor
  }

  /// The number of terms whose postings are read side by side, if they can be counted instead.
  private static let cursorLimit = 1024

  /// Returns the documents with a term, or any that has a prefix, without places; nil if counting
  /// them takes too much memory.
  private mutating func countedMatches(
    _ word: AnalysedWords.Word, _ fields: FieldSet, part: Int?
  ) throws(DatabaseError) -> CountedMatches? {
    // Stems that begin with the prefix are counted with it.
    try countedMatches(
      word.isPrefix ? word.stems : [word.term], prefix: word.isPrefix ? word.term : nil, fields,
      part: part)
  }

  /// Does the same for a list of terms, and all that have a prefix.
  private mutating func countedMatches(
    _ found: [[UInt8]], prefix: [UInt8]? = nil, _ fields: FieldSet, part: Int?
  ) throws(DatabaseError) -> CountedMatches? {
    let counted = CountedTerms(terms: found, prefix: prefix, fields: fields)
    if let counter = counters[counted] { return CountedMatches(counter, part: part) }
    guard
      var counter = OccurrenceCounter(
        numberLimit: try terms.numberLimit(), fieldCount: fieldNames.count, fields: fields,
        sizeLimit: counterSizeLeft)
    else { return nil }
    if let prefix { try terms.count(termsWithPrefix: prefix, into: &counter) }
    for term in found {
      guard let postings = try terms.postings(of: term) else { continue }
      var target: UInt64 = 0
      while let (bytes, first) = try postings.block(notBefore: target) {
        target = try counter.add(bytes.span, first: first) + 1
      }
    }
    counterSizeLeft -= counter.size
    counters[counted] = counter
    return CountedMatches(counter, part: part)
  }

  /// Returns the terms that a word stands for, each once.
  private func matchingTerms(_ word: AnalysedWords.Word) throws(DatabaseError) -> [[UInt8]] {
    var found: [[UInt8]]
    if word.maxDistance > 0 {
      found = try terms.terms(
        near: word.term, maxDistance: word.maxDistance, isPrefix: word.isPrefix)
    } else {
      found = word.isPrefix ? try terms.terms(withPrefix: word.term) : [word.term]
    }
    for stem in word.stems where !found.contains(stem) { found.append(stem) }
    return found
  }

  /// Returns the documents with any of some terms, with their places.
  private func cursor(
    _ found: [[UInt8]], _ fields: FieldSet, part: Int?
  ) throws(DatabaseError) -> any MatchCursor {
    var cursors: [any MatchCursor] = []
    for term in found {
      guard let postings = try terms.postings(of: term) else { continue }
      cursors.append(
        try TermMatches(postings, fieldCount: fieldNames.count, fields: fields, part: part))
    }
    return cursors.count == 1 ? cursors[0] : AnyMatches(cursors)
  }
}
