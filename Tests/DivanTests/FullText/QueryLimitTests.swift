import Testing

@testable import Divan

/// Tests of the limits of a query: what one search field can cost.
struct QueryLimitTests {
  @Test func `a query has 64 different words and phrases, and equal ones count once`() throws {
    let words = (0..<FullTextParser.partLimit).map { "w\($0)" }
    let text = words.joined(separator: " ")
    let whole = try FullTextParser.parse(text)
    #expect(whole == .all(words.map { .words(FullTextWords($0)) }))
    #expect(
      try FullTextParser.parse(text + " w1 w2 -w3 NEAR(w4 w5)").description.count > text.count)
    #expect(
      throws: FullTextQueryError(
        "the query has more than 64 different words and phrases", offset: text.utf8.count + 1)
    ) {
      try FullTextParser.parse(text + " more")
    }
    #expect(FullTextParser.parseLeniently(text + " (more) \"and more\" other:more") == whole)
    let near = "NEAR(" + text + " more w1, 3)"
    #expect(throws: FullTextQueryError.self) { try FullTextParser.parse(near) }
    let found = FullTextParser.parseLeniently(near)
    #expect(found == .near((words + ["w1"]).map { FullTextWords($0) }, distance: 3))
  }

  @Test func `a phrase has 256 words`() throws {
    let words = (0..<FullTextParser.phraseLimit).map { "w\($0)" }
    let text = words.joined(separator: " ")
    #expect(try FullTextParser.parse("\"\(text)\"") == .words(FullTextWords(text)))
    #expect(
      throws: FullTextQueryError("a phrase has more than 256 words", offset: 4)
    ) {
      try FullTextParser.parse("oak \"\(text) more\" elm")
    }
    let found = FullTextParser.parseLeniently("\"\(text) more words\"* elm")
    let elm = FullTextExpression.words(FullTextWords("elm"))
    #expect(found == .all([.words(FullTextWords(text + " ")), elm]))
    // A word without spaces may be a phrase, too.
    let dashes = words.joined(separator: "-")
    #expect(FullTextParser.parseLeniently(dashes + "-more") == .words(FullTextWords(dashes + "-")))
  }

  @Test func `a word that is near a thousand terms is counted, if no places are needed`() throws {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789".map { String($0) }
    var builder = PostingsBuilder(fieldCount: 1)
    var count: UInt64 = 0
    for first in letters {
      for second in letters {
        for (position, word) in ["oak" + first + second, "elm"].enumerated() {
          builder.append(
            Array(word.utf8), document: count, Occurrence(field: 0, position: position))
        }
        count += 1
      }
    }
    let dictionary = TermDictionary(builder.finish())
    func documents(_ text: String) throws -> (isCounted: Bool, numbers: [UInt64]) {
      let expression = try FullTextParser.parse(text)
      var matches = QueryMatches(
        dictionary, AnalysedQuery(expression, AnalysisOptions()), fieldNames: ["text"])
      guard let cursor = try matches.cursor(expression, in: .all) else { return (false, []) }
      let isCounted = cursor is CountedMatches
      var numbers: [UInt64] = []
      while cursor.document != DocumentNumber.end {
        numbers.append(cursor.document)
        try cursor.advance()
      }
      return (isCounted, numbers)
    }
    let all = Array(0..<count)
    let counted = try documents("oak~2")
    #expect(counted.isCounted && counted.numbers == all)
    for text in ["NEAR(oak~2 elm)", "\"oak elm\"~2"] {
      let found = try documents(text)
      #expect(!found.isCounted && found.numbers == all, "\(text)")
    }
    let few = try documents("oakab~1")
    #expect(!few.isCounted && !few.numbers.isEmpty && few.numbers.count < 1024)
  }
}
