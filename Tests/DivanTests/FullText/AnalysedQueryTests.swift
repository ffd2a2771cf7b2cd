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
