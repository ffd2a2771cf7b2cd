import Testing

@testable import Divan

/// Tests of finding the words of a query that may be misspelt.
struct SpelledWordsTests {
  private func words(_ query: String, isField: (String) -> Bool = { $0 == "title" }) -> [String] {
    let text = Array(query.utf8)
    return SpelledWords.ranges(in: text, isField: isField)
      .map { String(decoding: text[$0], as: UTF8.self) }
  }

  @Test(
    arguments: [
      ("urgent Milk", ["urgent", "Milk"]), ("a AND b OR c", ["a", "b", "c"]),
      ("\"fresh milk\" tea", ["fresh", "milk", "tea"]), ("“frische Milch", ["frische", "Milch"]),
      ("milk* tea~1 \"a b\"~2 c", ["c"]), ("title:milk body:tea", ["milk", "body:tea"]),
      ("milk -sour NOT old", ["milk"]), ("NEAR(milk honey, 3)", ["milk", "honey"]),
      ("1927 3.5 mp3", ["mp3"]), ("東京 tea", ["tea"]),
      ("well-known don't", ["well", "known", "don't"]),
      ("-(sour crem) milk", ["milk"]), ("milk -title:sourr tea", ["milk", "tea"]),
      ("milk NOT title:(sourr OR (crem)) tea", ["milk", "tea"]), ("a -(b", ["a"]),
      ("a -NEAR(b c, 3) d", ["a", "d"]), ("a -title:-b c", ["a", "c"]), ("NOT NOT b c", ["c"]),
      ("a -\"b c\" d", ["a", "d"]), ("-) a", ["a"]), ("a NOT OR b", ["a", "b"]),
      ("a NOT ) b", ["a", "b"]),
      ("1,000 key:value", ["key:value"]), ("צה\"ל", ["צה\"ל"]),
      ("", []), ("(\"\")**", []), ("AND", []),
    ] as [(String, [String])])
  func `words to find are spelled, and signs, names and excluded words are not`(
    query: String, expected: [String]
  ) {
    #expect(words(query) == expected)
  }

  @Test func `random queries give words that are in order and within them`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let pieces = ["a", "b ", "\"", "*", "~", ":", "-", " ", "(", ")", "NOT ", "title", "ü", "東"]
    for _ in 0..<5000 {
      let query = (0..<Int.random(in: 0...12, using: &random))
        .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      let text = Array(query.utf8)
      var end = 0
      for range in SpelledWords.ranges(in: text, isField: { $0 == "title" }) {
        #expect(range.lowerBound >= end && !range.isEmpty && range.upperBound <= text.count)
        end = range.upperBound
      }
    }
  }
}
