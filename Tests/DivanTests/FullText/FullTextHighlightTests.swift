import Divan
import Foundation
import TestSupport
import Testing

/// Tests of highlights and snippets as users get them: with ranges of strings.
struct FullTextHighlightTests {
  private let english = FullTextOptions(stemming: .english)

  /// The text with brackets around what is highlighted.
  private func marked(_ text: String, _ ranges: [Range<String.Index>]) -> String {
    var (result, end) = ("", text.startIndex)
    for range in ranges {
      result += text[end..<range.lowerBound] + "[" + text[range] + "]"
      end = range.upperBound
    }
    return result + text[end...]
  }

  @Test(arguments: [
    ("milk", "Milk, MILKS and silk", "[Milk], [MILKS] and silk"),
    ("cafe", "Two 😀 Cafés\r\nin Öl", "Two 😀 [Cafés]\r\nin Öl"),
    ("\"urgent milk\" -tea", "urgent: milk, urgent tea", "[urgent: milk], urgent tea"),
    ("AND ((", "a (b", "a (b"), ("", "a b", "a b"), ("a", "", ""),
    ("re:milk", "re milk", "re [milk]"),
    ("re:milk", "re:milk", "[re:milk]"), ("京都", "東京都と京都", "東[京都]と[京都]"),
  ])
  func `the words of a query are ranges of the text`(query: String, text: String, expected: String)
  {
    let ranges = FullTextQuery.fullText(query).highlights(in: text, options: english)
    #expect(marked(text, ranges) == expected)
  }

  @Test func `the options decide which words match`() {
    let query = FullTextQuery.fullText("cafe running")
    #expect(marked("Café, runs", query.highlights(in: "Café, runs")) == "[Café], runs")
    let strict = FullTextOptions(stemming: .english, ignoresDiacritics: false)
    let ranges = query.highlights(in: "Café, runs", options: strict)
    #expect(marked("Café, runs", ranges) == "Café, [runs]")
  }

  @Test func `words for another property are not highlighted in this one`() throws {
    let text = "milk and honey"
    for query in [
      .fullText("title:milk honey"), try FullTextQuery(parsing: "title:milk honey"),
    ] {
      #expect(
        marked(text, query.highlights(in: text, property: "title")) == "[milk] and [honey]")
      let weighted = FullTextOptions(weights: ["title": 3])
      let inBody = query.highlights(in: text, property: "body", options: weighted)
      #expect(marked(text, inBody) == "milk and [honey]")
      #expect(
        marked(text, query.highlights(in: text, options: weighted)) == "[milk] and [honey]")
    }
  }

  @Test func `a snippet is a part of the text, with its indices`() {
    let text = "Mix two cups of Milk and flour. Add 3 eggs, and more milk."
    let query = FullTextQuery.fullText("milk egg")
    let snippet = query.snippet(of: text, wordCount: 8, options: english)
    #expect(snippet.text == "of Milk and flour. Add 3 eggs, and")
    #expect(snippet.highlights.map { text[$0] } == ["Milk", "eggs"])
    #expect(snippet.isCutAtStart && snippet.isCutAtEnd)
    #expect(
      snippet.parts.map { $0.isHighlighted ? "<\($0.text)>" : String($0.text) }
        == ["of ", "<Milk>", " and flour. Add 3 ", "<eggs>", ", and"])
    #expect(snippet.marked("[", "]") == "… of [Milk] and flour. Add 3 [eggs], and …")
    #expect(snippet.marked("", "", ellipsis: "") == String(snippet.text))
  }

  @Test func `a text without a match is shown from its beginning, and a short one as a whole`() {
    for query in ["tea", "", "\"\"", "-", "title:"] {
      let snippet = FullTextQuery.fullText(query).snippet(of: "(a b c d)", wordCount: 2)
      #expect(snippet.marked("[", "]") == "(a b …", "\(query)")
      #expect(snippet.parts.map(\.text) == ["(a b"])
    }
    let whole = FullTextQuery.fullText("b").snippet(of: "(a b c d)")
    #expect(whole.marked("[", "]") == "(a [b] c d)")
    let empty = FullTextQuery.fullText("b").snippet(of: "")
    #expect(empty.text.isEmpty && empty.parts.isEmpty && empty.marked("[", "]").isEmpty)
  }

  @Test func `highlights of random texts are in order, and the pieces of a snippet are its text`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let words = ["a", "b", "ab", "東京", "x", "ü", ".", "\"", "é́", "👩‍👩‍👧", "\r\n", "title:"]
    func text(_ count: Int) -> String {
      (0..<count).map { _ in words.randomElement(using: &random) ?? "a" }.joined(separator: " ")
    }
    for _ in 0..<2000 {
      let query = FullTextQuery.fullText(text(.random(in: 0...4, using: &random)))
      let subject = text(.random(in: 0...40, using: &random))
      var end = subject.startIndex
      for range in query.highlights(in: subject, property: "title") {
        #expect(range.lowerBound >= end && !range.isEmpty, "seed \(seed)")
        end = range.upperBound
      }
      let snippet = query.snippet(of: subject, wordCount: .random(in: 0...9, using: &random))
      #expect(snippet.parts.map(\.text).joined() == snippet.text, "seed \(seed)")
      #expect(snippet.parts.filter(\.isHighlighted).count == snippet.highlights.count)
      #expect(snippet.parts.allSatisfy { !$0.text.isEmpty })
    }
  }

  @Test func `highlights take time linear in the text`() {
    let text = String(repeating: "a b ", count: 1 << 16)
    let seconds = FullTextFixtures.seconds {
      #expect(FullTextQuery.fullText("a").highlights(in: text).count == 1 << 16)
      #expect(FullTextQuery.fullText("b").snippet(of: text).highlights.count == 10)
    }
    #expect(seconds < 60)
  }
}
