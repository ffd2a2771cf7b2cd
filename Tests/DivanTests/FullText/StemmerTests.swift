import Foundation
import Testing

@testable import Divan

/// Tests of the stemmers, with the stems of Snowball's own stemmers as the truth.
struct StemmerTests {
  @Test(arguments: ["english", "german"])
  func `words have the stems that Snowball has for them`(language: String) throws {
    let lines = try FullTextFixtures.lines(of: "\(language)-stems.txt")
    #expect(lines.count > 4000)
    try compare(lines, language)
  }

  /// All words of word lists and of the films, where `full_text_stems.py all` has written them.
  @Test(arguments: ["english", "german"])
  func `all words of a list have the stems that Snowball has for them`(language: String) throws {
    guard let folder = ProcessInfo.processInfo.environment["DIVAN_STEMS"] else {
      print("DIVAN_STEMS is not set: only the fixtures were compared")
      return
    }
    let text = try String(
      contentsOf: URL(filePath: folder).appending(path: "\(language).txt"), encoding: .utf8)
    let lines = text.split(separator: "\n")
    #expect(lines.count > 100_000)
    try compare(lines, language)
  }

  private func compare(_ lines: [Substring], _ language: String) throws {
    var (english, german) = (EnglishStemmer(), GermanStemmer())
    var differences: [String] = []
    for line in lines {
      let words = line.utf8.split(separator: 0x20)
      var word = Array(words[0])
      // The stem of an apostrophe is empty.
      let stem = words.count > 1 ? Array(words[1]) : []
      if language == "english" { english.stem(&word) } else { german.stem(&word) }
      if word != stem { differences.append("\(line): \(String(decoding: word, as: UTF8.self))") }
    }
    #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(20))")
  }

  @Test func `any bytes can be stemmed`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var (english, german) = (EnglishStemmer(), GermanStemmer())
    let parts = [
      "ing", "ed", "eed", "ly", "'s", "ss", "y", "ß", "ue", "ung", "lich", "keit", "ä", "é", "日",
      "a",
      "t", "ation", "e",
    ]
    for _ in 0..<30_000 {
      var word: [UInt8] = []
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        if Int.random(in: 0..<6, using: &random) == 0 {
          word.append(.random(in: 0...255, using: &random))
        } else {
          word += Array((parts.randomElement(using: &random) ?? "").utf8)
        }
      }
      var stem = word
      english.stem(&stem)
      // A byte that is no UTF-8 takes three as U+FFFD, and a step may append an e.
      #expect(stem.count <= word.count * 3 + 1, "seed \(seed)")
      stem = word
      german.stem(&stem)
      #expect(stem.count <= word.count * 3 + 1, "seed \(seed)")
    }
  }
}
