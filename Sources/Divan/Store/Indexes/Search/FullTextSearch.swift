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
    guard let cursor else { return 0 }
    if !(try figures().hasOrphans) { return try cursor.countRest() }
    var count = 0
    while try nextNumber() != nil { count += 1 }
    return count
  }

  private func figures() throws(DatabaseError) -> FullTextFigures {
    try terms.reading { () throws(PageError) in try terms.tables.figures() }
  }

  /// Moves behind the next match, and returns its number.
  ///
  /// Numbers without lengths have no document any more.
  private mutating func nextNumber() throws(DatabaseError) -> UInt64? {
    guard let cursor else { return nil }
    while cursor.document != DocumentNumber.end {
      let number = cursor.document
      try cursor.advance()
      if try lengths.move(to: number) { return number }
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
  /// Ranks the matches by a function, or by BM25, and returns them from the best one on.
  ///
  /// All of them are scored. If the caller expects to need only some, no more than twice as many
  /// are sorted; then further ones cost another search.
  consuming func ranked(
    by scoring: FullTextScoring? = nil, expectedCount: Int?
  ) throws(DatabaseError) -> RankedMatchCursor {
    let search = copy self
    let limit = expectedCount.map { min($0, 1 << 20) * 2 + 16 }
    return RankedMatchCursor(search, scoring, try search.top(limit, scoring), limit: limit)
  }

  /// Returns the best matches, up to a number of them; nil for all.
  fileprivate func top(
    _ limit: Int?, _ scoring: FullTextScoring?
  ) throws(DatabaseError) -> [TopMatches.Match] {
    guard let cursor else { return [] }
    let figures = try figures()
    let weights = definition.index.fullText?.weights ?? [:]
    let ranking = RelevanceRanking(
      documentCount: figures.documentCount, partCounts: partCounts,
      averageLengths: figures.averageLengths, weights: request.fieldNames.map { weights[$0] ?? 1 })
    if let scoring {
      let search = FullTextScoring.Search(
        request.fieldNames, ranking, documentCount: figures.documentCount, partCounts: partCounts,
        averageLengths: figures.averageLengths)
      return try top(limit, cursor) { frequencies, lengths, start in
        let score = scoring.function(FullTextMatch(search, frequencies, lengths, at: start))
        return score.isNaN ? -.infinity : score
      }.sorted
    }
    guard partCounts.count == 1 else {
      return try top(limit, cursor) { ranking.score($0, $1, at: $2) }.sorted
    }
    // One part ranks by its frequency alone, so that only the best are scored.
    var counted = cursor as? CountedMatches
    if counted == nil { counted = try request.countedMatches(in: terms) }
    let best =
      if let counted {
        try mostFrequent(limit, counted, ranking)
      } else {
        try top(limit, cursor) { ranking.frequency(of: 0, $0, $1, at: $2) }
      }
    return best.sorted.map { match in
      TopMatches.Match(document: match.document, score: ranking.score(ofPart: 0, match.score))
    }
  }

  /// Returns the matches with the best scores, which a closure computes of each.
  private func top(
    _ limit: Int?, _ cursor: any MatchCursor,
    score: (_ frequencies: TermFrequencies, _ lengths: [Int], _ start: Int) -> Double
  ) throws(DatabaseError) -> TopMatches {
    var frequencies = TermFrequencies(
      partCount: partCounts.count, fieldCount: request.fieldNames.count)
    var lengths = LengthsReader(terms)
    var best = TopMatches(limit: limit ?? .max)
    while cursor.document != DocumentNumber.end {
      let number = cursor.document
      if try lengths.move(to: number) {
        frequencies.reset()
        try cursor.addFrequencies(to: &frequencies)
        best.insert(document: number, score: score(frequencies, lengths.lengths, lengths.start))
      }
      try cursor.advance()
    }
    return best
  }

  /// Returns the matches with the greatest frequencies of the only part, whose occurrences are
  /// counted.
  ///
  /// Most have one. They are not looked at if enough of the others are better than any of them. Nor
  /// are the lengths of a document read if it is not among the best even with the shortest texts.
  private func mostFrequent(
    _ limit: Int?, _ counted: CountedMatches, _ ranking: RelevanceRanking
  ) throws(DatabaseError) -> TopMatches {
    var best = TopMatches(limit: limit ?? .max)
    for withSeveral in [true, false] {
      if !withSeveral, let least = best.leastScore, least > ranking.greatestFrequencyOfOne { break }
      var lengths = LengthsReader(terms)
      let counter = counted.counter
      try counter.forEach(withSeveral: withSeveral) { (number, counts) throws(DatabaseError) in
        if let least = best.leastScore, ranking.greatestFrequency(counts) < least { return }
        guard try lengths.move(to: number) else { return }
        best.insert(
          document: number,
          score: ranking.frequency(counts, lengths.lengths, at: lengths.start))
      }
    }
    return best
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
  private let scoring: FullTextScoring?
  private var matches: [TopMatches.Match]
  /// The number of matches that were asked for; nil if these are all.
  private var limit: Int?
  private var index = 0

  fileprivate init(
    _ search: FullTextSearch, _ scoring: FullTextScoring?, _ matches: [TopMatches.Match],
    limit: Int?
  ) {
    (self.search, self.scoring, self.matches, self.limit) = (search, scoring, matches, limit)
  }

  /// Returns the next match; nil at the end.
  mutating func next() throws(DatabaseError) -> RankedMatch? {
    while true {
      if index == matches.count, let limit, matches.count == limit {
        self.limit = nil
        matches = try search.restarted().top(nil, scoring)
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
