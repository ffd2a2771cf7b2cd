import DivanLog
import Foundation
import Testing

@testable import Divan

/// Tests over the texts of 30,178 films, if they are there.
struct FilmTextTests {
  private struct Film: Decodable {
    let title: String
    let cast: [String]
    let extract: String?

    var fields: [[UInt8]] {
      [Array(title.utf8), Array(cast.joined(separator: "\n").utf8), Array((extract ?? "").utf8)]
    }
  }

  private static func films() throws -> [Film]? {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_DATA"] else {
      print("DIVAN_DATA is not set: no films were read")
      return nil
    }
    let folder = URL(filePath: directory).appending(path: "movies")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".json") }.sorted().flatMap { name in
        try JSONDecoder().decode([Film].self, from: Data(contentsOf: folder.appending(path: name)))
      }
  }

  /// Every tenth film is used, which takes a tenth of the time; all if `DIVAN_FILMS` is `all`.
  @Test func `an index of films has the postings of a scan with the same tokenizer`() throws {
    guard let films = try FilmTextTests.films() else { return }
    let isWhole = ProcessInfo.processInfo.environment["DIVAN_FILMS"] == "all"
    let chosen = films.enumerated().filter { isWhole || $0.offset % 10 == 0 }
    let database = try Database.inMemory()
    try database.write { transaction in
      for (number, film) in chosen {
        var properties: Value.Object = [
          "title": .string(film.title), "cast": .array(film.cast.map { .string($0) }),
        ]
        properties["extract"] = film.extract.map { .string($0) }
        _ = try transaction.replace("film-\(number)", with: properties)
      }
    }
    let fullText = FullTextOptions(stemming: .english)
    let index = DocumentIndex("films", fullText: "title", "cast", "extract", options: fullText)
    let elapsed = try ContinuousClock().measure { try database.addIndex(index) }
    let stored = try StoredPostings(of: "films", in: database)
    print("\(chosen.count) films, \(stored.lists.count) terms, built in \(elapsed)")

    let options = fullText.analysis
    var expected: [String: [String: [Occurrence]]] = [:]
    for (number, film) in chosen {
      var start = 0
      func add(_ text: String, _ field: Int) {
        let tokens = FullTextFixtures.tokens(Array(text.utf8), options)
        for token in tokens {
          expected[token.term, default: [:]]["film-\(number)", default: []].append(
            Occurrence(field: field, position: start + token.position))
        }
        // No phrase reaches from one element of an array into the next.
        start += (tokens.last.map { $0.position + 1 } ?? 0) + 100
      }
      add(film.title, 0)
      start = 0
      for name in film.cast { add(name, 1) }
      start = 0
      if let extract = film.extract { add(extract, 2) }
    }
    #expect(stored.lists.count == expected.count && expected.count > 10_000)
    for (term, postings) in expected { #expect(stored.lists[term] == postings, "\(term)") }
  }

  /// All postings of an index, by term and document, read from the store's tree.
  private struct StoredPostings {
    var lists: [String: [String: [Occurrence]]] = [:]

    init(of name: String, in database: Database) throws {
      let view = try database.store.view()
      let definition = try #require(view.state.indexes.first { $0.index.name == name })
      let terms = StoredTerms(definition, in: view)
      var reader = StoredTermReader(terms)
      while let entry = try reader.next() {
        let source = try #require(try terms.postings(of: entry.term))
        var cursor = try TermCursor(source, fieldCount: 3, fields: .all, part: nil)
        var found: [String: [Occurrence]] = [:]
        while cursor.document != DocumentNumber.end {
          let id = try #require(try terms.id(of: cursor.document))
          var places: [Occurrence] = []
          try cursor.appendOccurrences(to: &places)
          found[try #require(id.text)] = places
          try cursor.advance(to: cursor.document + 1)
        }
        lists[String(decoding: entry.term, as: UTF8.self)] = found
      }
    }
  }

  @Test func `the best films for words are those that the formula puts first`() throws {
    guard let films = try FilmTextTests.films() else { return }
    let options = AnalysisOptions(stemming: .english)
    var builder = PostingsBuilder(fieldCount: 3)
    var lengths: [[Int]] = []
    var texts: [[[String]]] = []
    for (document, film) in films.prefix(4000).enumerated() {
      texts.append([])
      for (field, text) in film.fields.enumerated() {
        let tokens = FullTextFixtures.tokens(text, options)
        texts[document].append(tokens.map(\.term))
        for token in tokens {
          builder.append(
            Array(token.term.utf8), document: UInt64(document),
            Occurrence(field: field, position: token.position))
        }
      }
      lengths.append(texts[document].map(\.count))
    }
    let lists = Dictionary(
      uniqueKeysWithValues: builder.finish().map { (String(decoding: $0.term, as: UTF8.self), $0) })
    let averages = (0..<3).map { field in
      Double(lengths.reduce(0) { $0 + $1[field] }) / Double(lengths.count { $0[field] > 0 })
    }
    let terms = ["silent", "comedi", "chaplin"]
    let cursors = try terms.enumerated().map { part, term in
      let list = try #require(lists[term])
      return try TermMatches(PostingsList(list), fieldCount: 3, part: part)
    }
    let ranking = RelevanceRanking(
      documentCount: lengths.count, partCounts: cursors.map(\.cost), averageLengths: averages,
      weights: [4, 2, 1])
    let query = AnyMatches(cursors)
    var top = TopMatches(limit: 20)
    var frequencies = TermFrequencies(partCount: terms.count, fieldCount: 3)
    while query.document != DocumentNumber.end {
      frequencies.reset()
      try query.addFrequencies(to: &frequencies)
      let score = ranking.score(frequencies, lengths[Int(query.document)])
      top.insert(document: query.document, score: score)
      try query.advance()
    }
    let counts = terms.map { term in Double(texts.count { $0.contains { $0.contains(term) } }) }
    let scores = texts.map {
      FilmTextTests.score($0, Array(zip(terms, counts)), texts.count, averages)
    }
    let expected = scores.indices.filter { scores[$0] > 0 }
      .sorted { (scores[$1], $0) < (scores[$0], $1) }.prefix(20)
    #expect(top.sorted.map(\.document) == expected.map { UInt64($0) })
  }

  /// Returns the score of a text, given each term with the number of texts that contain it.
  private static func score(
    _ text: [[String]], _ terms: [(String, Double)], _ textCount: Int, _ averages: [Double]
  ) -> Double {
    let weights = [4.0, 2, 1]
    return terms.reduce(0) { sum, each in
      let (term, count) = each
      guard text.contains(where: { $0.contains(term) }) else { return sum }
      let rarity = log(1 + (Double(textCount) - count + 0.5) / (count + 0.5))
      let frequency = (0..<3).reduce(0.0) { sum, field in
        let share = Double(text[field].count) / averages[field]
        return sum + weights[field] * Double(text[field].count { $0 == term })
          / (0.25 + 0.75 * share)
      }
      return sum + rarity * frequency * 2.2 / (frequency + 1.2)
    }
  }
}
