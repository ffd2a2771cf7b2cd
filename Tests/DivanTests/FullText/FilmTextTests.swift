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

  @Test func `every term's postings are those of a scan with the same tokenizer`() throws {
    guard let films = try FilmTextTests.films() else { return }
    let options = AnalysisOptions(stemming: .english)
    var expected: [String: PostingsTests.Model] = [:]
    var builder = PostingsBuilder(fieldCount: 3)
    for (document, film) in films.enumerated() where document % 10 == 0 {
      for (field, text) in film.fields.enumerated() {
        for token in FullTextFixtures.tokens(text, options) {
          let place = Occurrence(field: field, position: token.position)
          expected[token.term, default: [:]][UInt64(document), default: []].append(place)
          builder.append(Array(token.term.utf8), document: UInt64(document), place)
        }
      }
    }
    let lists = builder.finish()
    #expect(lists.count == expected.count && lists.count > 10_000)
    for list in lists {
      var model: PostingsTests.Model = [:]
      for block in list.blocks {
        model.merge(try PostingsTests.read(block.postings, first: block.first)) { $1 }
      }
      #expect(model == expected[String(decoding: list.term, as: UTF8.self)])
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
