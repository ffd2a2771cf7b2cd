import DivanLog

/// A search in a full-text index of one version of the store.
struct FullTextSearch {
  let definition: IndexDefinition
  private let condition: FullTextCondition
  private let request: FullTextRequest
  private let terms: StoredTerms
  /// The matches; nil if the query has no term.
  private let cursor: (any MatchCursor)?
  private let partCounts: [Int]
  private var lengths: LengthsReader

  /// Searches the index that has the property, or the index that the condition names.
  ///
  /// - Throws: `notFound` if there is no such index, or it is not complete yet; `invalidQuery` if
  ///   it does not have a property that the query names, and for a version of the past.
  init(_ condition: FullTextCondition, in view: ReadView) throws(DatabaseError) {
    try self.init(condition, view.fullTextIndex(for: condition), in: view)
  }

  /// Searches an index.
  init(
    _ condition: FullTextCondition, _ definition: IndexDefinition, in view: ReadView
  ) throws(DatabaseError) {
    try view.requireTexts()
    self.definition = definition
    self.condition = condition
    request = try FullTextRequest(condition, of: definition.index)
    terms = StoredTerms(definition, in: view)
    let found = try request.cursor(in: terms)
    (cursor, partCounts) = (found?.cursor, found?.partCounts ?? [])
    lengths = LengthsReader(terms)
  }
}

extension FullTextSearch {
  /// An upper bound of the number of matches, from the figures of their postings.
  var estimatedCount: Int { cursor?.cost ?? 0 }

  /// The query as it is answered.
  var description: String { request.expression?.description ?? "nothing" }

  /// Returns the ID of the next document that matches, in the order of the index's numbers.
  mutating func nextID() throws(DatabaseError) -> SharedBytes? {
    while let number = try nextNumber() {
      if let id = try terms.id(of: number) { return id }
    }
    return nil
  }

  /// Counts the other matches.
  mutating func countRest() throws(DatabaseError) -> Int {
    var count = 0
    while try nextNumber() != nil { count += 1 }
    return count
  }

  /// Moves behind the next match, and returns its number.
  ///
  /// Numbers without lengths have no document any more.
  private mutating func nextNumber() throws(DatabaseError) -> UInt64? {
    guard let cursor else { return nil }
    while cursor.document != DocumentNumber.end {
      let number = cursor.document
      try cursor.advance()
      if try lengths.lengths(of: number) != nil { return number }
    }
    return nil
  }
}

// MARK: - Relevance

/// A document that matches, and how well.
struct RankedMatch: Sendable {
  let id: SharedBytes
  let score: Double
}

extension FullTextSearch {
  /// Ranks the matches, and returns them from the best one on.
  ///
  /// All of them are scored. If the caller expects to need only some, no more than twice as many are
  /// sorted; then further ones cost another search.
  consuming func ranked(expectedCount: Int?) throws(DatabaseError) -> RankedMatchCursor {
    let search = copy self
    let limit = expectedCount.map { min($0, 1 << 20) * 2 + 16 }
    return RankedMatchCursor(search, try search.top(limit), limit: limit)
  }

  /// Returns the best matches, up to a number of them; nil for all.
  fileprivate func top(_ limit: Int?) throws(DatabaseError) -> [TopMatches.Match] {
    guard let cursor else { return [] }
    let figures = try terms.reading { () throws(PageError) in try terms.tables.figures() }
    let weights = definition.index.fullText?.weights ?? [:]
    let ranking = RelevanceRanking(
      documentCount: figures.documentCount, partCounts: partCounts,
      totalLengths: figures.totalLengths, weights: request.fieldNames.map { weights[$0] ?? 1 })
    var frequencies = TermFrequencies(
      partCount: partCounts.count, fieldCount: request.fieldNames.count)
    var lengths = LengthsReader(terms)
    var best = TopMatches(limit: limit ?? .max)
    while cursor.document != DocumentNumber.end {
      let number = cursor.document
      if let own = try lengths.lengths(of: number) {
        frequencies.reset()
        try cursor.addFrequencies(to: &frequencies)
        best.insert(document: number, score: ranking.score(frequencies, lengths: own))
      }
      try cursor.advance()
    }
    return best.sorted
  }

  fileprivate func id(of number: UInt64) throws(DatabaseError) -> SharedBytes? {
    try terms.id(of: number)
  }

  /// The same search from its beginning.
  fileprivate func restarted() throws(DatabaseError) -> FullTextSearch {
    try FullTextSearch(condition, definition, in: terms.view)
  }
}

/// A cursor over the matches of a search, the best one first.
///
/// Matches that are equally good come in the order in which the index first had them.
struct RankedMatchCursor {
  private let search: FullTextSearch
  private var matches: [TopMatches.Match]
  /// The number of matches that were asked for; nil if these are all.
  private var limit: Int?
  private var index = 0

  fileprivate init(_ search: FullTextSearch, _ matches: [TopMatches.Match], limit: Int?) {
    (self.search, self.matches, self.limit) = (search, matches, limit)
  }

  /// Returns the next match; nil at the end.
  mutating func next() throws(DatabaseError) -> RankedMatch? {
    while true {
      if index == matches.count, let limit, matches.count == limit {
        self.limit = nil
        matches = try search.restarted().top(nil)
      }
      guard index < matches.count else { return nil }
      let match = matches[index]
      index += 1
      if let id = try search.id(of: match.document) {
        return RankedMatch(id: id, score: match.score)
      }
    }
  }
}

// MARK: - Tables

extension StoredTerms {
  /// Returns the ID of the document with a number; nil if there is none.
  func id(of number: UInt64) throws(DatabaseError) -> SharedBytes? {
    try reading { () throws(PageError) in try tables.id(of: number) }
  }
}

/// Reads the lengths of documents in ascending order.
private struct LengthsReader {
  private let terms: StoredTerms
  /// The number of the value that was read last, and its lengths.
  private var block: UInt64?
  private var found: TextLengths

  init(_ terms: StoredTerms) {
    self.terms = terms
    found = TextLengths(fieldCount: terms.tables.fieldCount)
  }

  /// Returns the lengths of a document; nil if the number has none.
  mutating func lengths(of number: UInt64) throws(DatabaseError) -> [Int]? {
    if number / FullTextKeys.lengthsPerBlock != block {
      block = number / FullTextKeys.lengthsPerBlock
      found = try terms.reading { () throws(PageError) in
        try terms.tables.lengths(around: number)
      }
    }
    return found[number]
  }
}

// MARK: - Indexes

extension ReadView {
  /// Returns the full-text index that answers a condition.
  func fullTextIndex(
    for condition: FullTextCondition
  ) throws(DatabaseError) -> IndexDefinition {
    try requireTexts()
    if let name = condition.indexName { return try index(named: name) }
    let found = state.indexes.first { definition in
      guard definition.isReady, definition.analyser != nil else { return false }
      guard let path = condition.path else { return true }
      return definition.index.paths.contains { haveSameNames($0, path) }
    }
    guard let found else {
      let property = condition.path.map { " of " + $0.joined(separator: ".").debugDescription } ?? ""
      throw DatabaseError(
        .notFound, "there is no full-text index" + property,
        hint: "Create one with `addIndex(DocumentIndex(_:fullText:options:))`", path: store.path)
    }
    return found
  }

  /// Throws if this version has no texts to search: an earlier version has none.
  fileprivate func requireTexts() throws(DatabaseError) {
    guard past != nil else { return }
    throw DatabaseError(
      .invalidQuery, "a version of the past has no full-text index",
      hint: "Search the newest version, or filter with `contains`", path: store.path)
  }

  /// Returns the terms that may be meant by a word: “did you mean”.
  func fullTextSuggestions(
    for word: String, in definition: IndexDefinition, limit: Int
  ) throws(DatabaseError) -> [String] {
    try requireTexts()
    guard let options = definition.index.fullText else { return [] }
    var cursor = TokenCursor(Array(word.utf8), options.analysis, for: .query)
    guard cursor.next() else { return [] }
    let found = try StoredTermReader(StoredTerms(definition, in: self))
      .suggestions(for: cursor.term, limit: limit)
    return found.map { String(decoding: $0.term, as: UTF8.self) }
  }
}
