import Foundation
import Testing

@testable import Divan

/// Tests of highlights and snippets.
struct TextHighlighterTests {
  private func highlighter(
    _ query: String, _ options: AnalysisOptions = AnalysisOptions(stemming: .english),
    field: String? = nil
  ) throws -> TextHighlighter {
    TextHighlighter(try FullTextParser.parse(query), options, field: field)
  }

  /// The text with brackets around what is highlighted.
  private func marked(_ text: String, _ ranges: [Range<Int>]) -> String {
    let bytes = Array(text.utf8)
    var (result, end): ([UInt8], Int) = ([], 0)
    for range in ranges {
      result += bytes[end..<range.lowerBound] + [0x5B] + bytes[range] + [0x5D]
      end = range.upperBound
    }
    return String(decoding: result + bytes[end...], as: UTF8.self)
  }

  @Test(arguments: [
    ("milk", "Milk, MILKS and silk", "[Milk], [MILKS] and silk"),
    ("cafe", "Two Cafés.", "Two [Cafés]."),
    ("\"urgent milk\"", "urgent: milk, urgent tea", "[urgent: milk], urgent tea"),
    ("mil*", "Milk mile smile", "[Milk] [mile] smile"),
    ("running*", "He runs, running", "He [runs], [running]"),
    ("milk~1", "silk mild ilk milky tea", "[silk] [mild] [ilk] [milky] tea"),
    ("a -b", "a b", "[a] b"), ("title:a b", "a b", "a [b]"), ("text:a b", "a b", "[a] [b]"),
    ("NEAR(a b)", "b c a", "[b] c [a]"), ("\"a a\"", "a a a b", "[a a a] b"),
    ("京都", "東京都と京都", "東[京都]と[京都]"), ("東京都", "東京都と京都", "[東京都]と京都"),
    ("京", "東京都", "東[京都]"), ("nothing", "a b", "a b"), ("a", "", ""),
    ("京~1", "東京都 milk", "東[京都] milk"), ("e\u{301}*~1", "Été tea", "[Été] tea"),
  ])
  func `the words of a query are highlighted in the text as it is`(
    query: String, text: String, expected: String
  ) throws {
    let ranges = try highlighter(query, field: "text").highlights(in: Array(text.utf8))
    #expect(marked(text, ranges) == expected)
  }

  @Test(arguments: [
    ("x", "a b c x d e f", 3, "c [x] d", true, true), ("x", "x a b c d", 3, "[x] a b", false, true),
    ("x", "a b c d x", 3, "c d [x]", true, false), ("q", "a b c d", 2, "a b", false, true),
    ("x y", "x a b c x y d", 3, "[x] [y] d", true, false), ("x", "x", 10, "[x]", false, false),
    ("\"x y z\"", "a x y z b", 1, "[x y z]", true, true), ("x", "(x)", 1, "([x])", false, false),
    ("x", "", 3, "", false, false), ("x", "a b x x c d", 0, "[x]", true, true),
  ])
  func `a snippet shows most of the query in few words`(
    query: String, text: String, wordCount: Int, expected: String, isCutAtStart: Bool,
    isCutAtEnd: Bool
  ) throws {
    let snippet = try highlighter(query).snippet(in: Array(text.utf8), wordCount: wordCount)
    let shown = String(decoding: Array(text.utf8)[snippet.range], as: UTF8.self)
    let start = snippet.range.lowerBound
    let ranges = snippet.highlights.map { $0.lowerBound - start..<$0.upperBound - start }
    #expect(marked(shown, ranges) == expected)
    #expect(snippet.isCutAtStart == isCutAtStart && snippet.isCutAtEnd == isCutAtEnd)
  }

  @Test func `highlights and snippets of random texts are within them, and shown whole`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let words = ["a", "b", "ab", "東京", "x", "ü", ".", "\"", "é́"]
    for _ in 0..<3000 {
      func text(_ count: Int) -> String {
        (0..<count).map { _ in words.randomElement(using: &random) ?? "a" }.joined(separator: " ")
      }
      guard let query = FullTextParser.parseLeniently(text(.random(in: 1...4, using: &random)))
      else {
        continue
      }
      let bytes = Array(text(.random(in: 0...40, using: &random)).utf8)
      let highlighter = TextHighlighter(query, AnalysisOptions())
      let snippet = highlighter.snippet(in: bytes, wordCount: .random(in: 0...9, using: &random))
      let all = highlighter.highlights(in: bytes)
      for ranges in [all, snippet.highlights] {
        var end = 0
        for range in ranges {
          #expect(range.lowerBound >= end && !range.isEmpty && range.upperBound <= bytes.count)
          end = range.upperBound
        }
      }
      #expect(all.isEmpty == snippet.highlights.isEmpty, "seed \(seed): \(query)")
      for range in snippet.highlights {
        #expect(range.clamped(to: snippet.range) == range, "seed \(seed): \(query)")
      }
    }
  }

  @Test func `a text of many matches is shown in linear time`() throws {
    let text = Array(String(repeating: "a b ", count: 1 << 15).utf8)
    let query = try highlighter("a b \"a b\" NEAR(a b) a* b~1")
    let seconds = FullTextFixtures.seconds {
      #expect(query.highlights(in: text).count == 1 << 15)
      #expect(query.snippet(in: text, wordCount: 20).highlights.count == 10)
    }
    #expect(seconds < 60)
  }
}
