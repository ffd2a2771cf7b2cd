import Testing

@testable import Divan

/// Tests of searching while a word is typed, in an index that has its stem.
///
/// `painting` is stored as `paint`. So `paint*` found it, `painti*` and `paintin*` did not, and
/// `painting*` did: the results came, went, and came again with each letter.
struct PrefixStemTests {
  private static let english = """
    painting paintings painted running happiness hoping carries relational nationally connections
    hopefulness organizations organization quickly studies stopped movements easily creation
    sensibilities flying swimming generously beautiful possibility communication responsibilities
    """
  private static let german = """
    Häusern Häuser Kindern Freundlichkeiten Schönheit Zeitungen Möglichkeiten Arbeiten arbeitete
    politische politischen Städte Straßen Wohnungen Freiheiten Kinder Bücher laufenden schönsten
    """

  private func beginnings(of words: String) -> [(beginning: String, word: String)] {
    words.split(whereSeparator: \.isWhitespace).flatMap { word in
      (3...word.count).map { (String(word.prefix($0)), String(word)) }
    }
  }

  @Test(arguments: [
    (AnalysisOptions(stemming: .english), PrefixStemTests.english),
    (AnalysisOptions(stemming: .german), PrefixStemTests.german),
    (AnalysisOptions(stemming: .english, stopWords: [.english]), PrefixStemTests.english),
  ])
  func `a word is found by each of its beginnings, also in a phrase and in highlights`(
    options: AnalysisOptions, words: String
  ) throws {
    for (beginning, word) in beginnings(of: words) {
      let text = "oak \(word) elm"
      for words in [beginning, "oak \(beginning)"] {
        let query = FullTextExpression.words(FullTextWords(words, isPrefix: true))
        #expect(try FullTextFixtures.matches(query, text, options), "\(words) in \(text)")
        let highlighter = TextHighlighter(query, options)
        #expect(highlighter.highlights(in: Array(text.utf8)).count == 1, "\(words) in \(text)")
      }
    }
  }

  @Test(arguments: [("painti", "paints"), ("painti", "painting"), ("runn", "running")])
  func `the forms of a word that begins so are found`(beginning: String, word: String) throws {
    let query = FullTextExpression.words(FullTextWords(beginning, isPrefix: true))
    let options = AnalysisOptions(stemming: .english)
    #expect(try FullTextFixtures.matches(query, word, options))
    #expect(try !FullTextFixtures.matches(query, "pain", options))
    #expect(try FullTextFixtures.matches(query, word) == word.hasPrefix(beginning), "no stems")
  }

  @Test func `the stems of a beginning are few, each once, and none of no stemming`() {
    let text = Array(String(repeating: "ings", count: 1000).utf8)
    for language in FullTextOptions.Language.allCases {
      let options = AnalysisOptions(stemming: language)
      for word in ["sch", "ges", "lieb", "organ", "üüü", "東京都", "abc"] {
        let typed = Array(word.utf8)
        let stems = PrefixStems.stems(ofWordsWith: typed, besides: typed, options)
        #expect(stems.count <= PrefixStems.limit && Set(stems).count == stems.count, "\(word)")
        #expect(stems == PrefixStems.stems(ofWordsWith: typed, besides: typed, options))
      }
      #expect(PrefixStems.stems(ofWordsWith: text, besides: text, options).isEmpty)
    }
    let plain = PrefixStems.stems(
      ofWordsWith: Array("painti".utf8), besides: Array("painti".utf8), AnalysisOptions())
    #expect(plain.isEmpty)
  }
}
