import Testing

@testable import Divan

/// Tests of analysing a query once for all of its searches.
struct AnalysedQueryTests {
  @Test func `each word of a query, also an excluded one, has the terms that it has alone`() throws
  {
    let options = AnalysisOptions(stemming: .english, stopWords: [.english, .german])
    let text = "milks* title:\"fresh milk\" OR NEAR(honey the, 3) NOT (running OR silk~1)"
    let query = AnalysedQuery(try FullTextParser.parse(text), options)
    for words in [
      FullTextWords("milks", isPrefix: true), FullTextWords("fresh milk"), FullTextWords("honey"),
      FullTextWords("the"), FullTextWords("running"), FullTextWords("silk", maxDistance: 1),
      FullTextWords("not in it"),
    ] {
      #expect(query[words] == AnalysedWords(words, options), "\(words)")
    }
  }

  @Test(arguments: [
    ("京~1", "東京都", true), ("京~1", "milk", false), ("京~2", "東 milk", false),
    ("\"milk 京\"~1", "silk 京都", true), ("\"milk 京\"~1", "silk tea", false),
    ("e\u{301}*~1", "eat", true), ("e\u{301}*~1", "milk", false), ("mil*~2", "elk", true),
  ])
  func `a prefix whose term is not longer than its distance matches only what begins with it`(
    query: String, text: String, matches: Bool
  ) throws {
    let expression = try FullTextParser.parse(query)
    #expect(try FullTextFixtures.matches(expression, text) == matches)
  }

  @Test func `a hundred thousand single documents are tested against stop words in seconds`() {
    // Each test made the tables of stop words again.
    let options = AnalysisOptions(stemming: .english, stopWords: [.english, .german])
    let seconds = FullTextFixtures.seconds {
      for _ in 0..<100_000 {
        #expect(FullTextFixtures.terms("the milk", options) == ["milk"])
      }
    }
    #expect(seconds < 60)
  }
}
