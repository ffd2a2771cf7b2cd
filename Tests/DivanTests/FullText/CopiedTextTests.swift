import Foundation
import Testing

@testable import Divan

/// Tests that text which was copied from a document is found, whatever signs are within its words.
///
/// An index follows Unicode's word boundaries, for which `1,000`, `key:value` and `צה"ל` are one
/// word. A query was divided at these signs before, and found none of them.
struct CopiedTextTests {
  @Test(arguments: [
    "1,000", "key:value", "c:a", "12:30", "צה\"ל", "1,000:a", "http://divan.example/a?b=1,2",
    "א:ב\"ג",
    "\"צה\"ל\"", "a:b:c", "say:\"hello\"", "1\u{301},5", "東京:京",
  ])
  func `a word with signs is found in the text that it was copied from`(word: String) throws {
    let expression = try #require(FullTextParser.parseLeniently(word))
    #expect(try FullTextFixtures.matches(expression, "before \(word) after"))
  }

  @Test func `each piece of a random text finds the text`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let parts = ["a", "b", "é", "א", "ב", "東", "1", "23", ",", ":", "\"", ".", "'", "_"]
    for _ in 0..<5000 {
      let pieces = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        piece(&random, of: parts)
      }
      let text = pieces.joined(separator: " ")
      for piece in pieces where !FullTextFixtures.terms(piece).isEmpty {
        let expression = try #require(FullTextParser.parseLeniently(piece), "seed \(seed)")
        #expect(
          try FullTextFixtures.matches(expression, text),
          "seed \(seed): \(piece.debugDescription) in \(text.debugDescription)")
      }
    }
  }

  /// A piece without two quotation marks in a row, which are one in a phrase.
  private func piece(_ random: inout SeededRandom, of parts: [String]) -> String {
    var piece = ""
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let part = parts.randomElement(using: &random) ?? "a"
      if part != "\"" || !piece.hasSuffix("\"") { piece += part }
    }
    return piece
  }

  @Test func `a name before a colon is a property where the index has it`() throws {
    let found = FullTextParser.parseLeniently("title:key:value", isField: { $0 == "title" })
    #expect(found == .field("title", .words(FullTextWords("key:value"))))
    #expect(try FullTextParser.parse("key:value") == .field("key", .words(FullTextWords("value"))))
  }
}
