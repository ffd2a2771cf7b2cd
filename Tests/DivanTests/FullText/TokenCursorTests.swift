import Foundation
import Testing

@testable import Divan

/// Tests of the terms of texts.
struct TokenCursorTests {
  @Test func `words become folded terms with positions and ranges in the text`() {
    let text = Array("The  “Café” of 3.5 Stars!".utf8)
    let tokens = FullTextFixtures.tokens(text)
    #expect(tokens.map(\.term) == ["the", "cafe", "of", "3.5", "stars"])
    #expect(tokens.map(\.position) == [0, 1, 2, 3, 4])
    #expect(
      tokens.map { String(decoding: text[$0.range], as: UTF8.self) }
        == ["The", "Café", "of", "3.5", "Stars"])
  }

  @Test func `stop words have no terms, and keep their positions`() {
    let options = AnalysisOptions(stemming: .english, stopWords: [.english])
    let tokens = FullTextFixtures.tokens(Array("The Running of the Films".utf8), options)
    #expect(tokens.map(\.term) == ["run", "film"] && tokens.map(\.position) == [1, 4])
    let german = AnalysisOptions(stemming: .german, stopWords: [.german])
    #expect(FullTextFixtures.terms("FÜR die Häuser und Haeusern", german) == ["haus", "haus"])
  }

  @Test func `diacritics are kept by option, and German stems never have umlauts`() {
    let plain = AnalysisOptions(removesDiacritics: false)
    #expect(FullTextFixtures.terms("Café Ärger", plain) == ["café", "ärger"])
    let german = AnalysisOptions(stemming: .german, removesDiacritics: true)
    #expect(FullTextFixtures.terms("Bücher Café", german) == ["buch", "cafe"])
  }

  @Test(arguments: [
    ("東京都 2024", ["東京", "京都", "都", "2024"], ["東京", "京都", "2024"]),
    ("東", ["東"], ["東"]), ("ひらがな", ["ひら", "らが", "がな", "な"], ["ひら", "らが", "がな"]),
    ("カタカナ", ["カタカナ"], ["カタカナ"]), ("らーめん", ["らー", "ーめ", "めん", "ん"], ["らー", "ーめ", "めん"]),
    ("東京。大阪", ["東京", "京", "大阪", "阪"], ["東京", "大阪"]), ("한국어 말", ["한국어", "말"], ["한국어", "말"]),
    ("iPhone発売", ["iphone", "発売", "売"], ["iphone", "発売"]),
  ])
  func `scripts without spaces become pairs of letters`(
    text: String, inIndex: [String], inQuery: [String]
  ) {
    #expect(FullTextFixtures.terms(text) == inIndex)
    #expect(FullTextFixtures.terms(text, for: .query) == inQuery)
  }

  @Test func `Thai becomes pairs of letters with their marks`() {
    // Three consonants, the second with a vowel and a tone above it.
    let text = "กที่ข"
    #expect(FullTextFixtures.terms(text) == ["กที่", "ที่ข", "ข"])
  }

  @Test func `emoji are terms, and signs are not`() {
    #expect(FullTextFixtures.terms("I ♥ 🎬 & 🇩🇪 © ™ → 👩‍👩‍👧") == ["i", "🎬", "🇩🇪", "👩👩👧"])
  }

  @Test func `words and terms are cut at their limits, between scalars`() {
    let long = String(repeating: "x", count: 1 << 20)
    #expect(
      FullTextFixtures.terms(long) == [String(repeating: "x", count: TermFilter.termSizeLimit)])
    let wide = String(repeating: "жя", count: 5000)
    let terms = FullTextFixtures.terms(wide)
    #expect(terms.count == 1 && terms[0].utf8.count == 254 && !terms[0].contains("\u{FFFD}"))
    // Each of these folds to eighteen scalars.
    let expanding = FullTextFixtures.terms("a" + String(repeating: "\u{FDFA}", count: 1000))
    #expect(expanding.allSatisfy { $0.utf8.count <= TermFilter.termSizeLimit })
    let marked = FullTextFixtures.terms("日" + String(repeating: "\u{302}", count: 100_000) + "本")
    #expect(marked.allSatisfy { $0.utf8.count <= TermFilter.termSizeLimit })
  }

  @Test func `a word of invisible scalars has no term`() {
    #expect(FullTextFixtures.terms("\u{3164} a \u{115F}\u{1160}") == ["a"])
  }

  @Test func `any bytes have terms, whose ranges are ascending and within the text`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for index in 0..<3000 {
      let options = AnalysisOptions(
        stemming: [nil, .english, .german][index % 3], stopWords: [.english, .german],
        removesDiacritics: index % 2 == 0)
      let text = (0..<Int.random(in: 0...200, using: &random)).flatMap { _ -> [UInt8] in
        Int.random(in: 0..<4, using: &random) == 0
          ? [.random(in: 0...255, using: &random)]
          : FullTextFixtures.bytes([.random(in: 0x20...0x3200, using: &random)])
      }
      var last = (position: -1, start: -1)
      for token in FullTextFixtures.tokens(text, options) {
        #expect(token.position > last.position && token.range.lowerBound > last.start)
        #expect(token.range.upperBound <= text.count && !token.term.isEmpty)
        last = (token.position, token.range.lowerBound)
      }
    }
  }

  @Test func `a cache of terms changes no term`() throws {
    let words = [
      "the", "The", "running", "runs", "Straße", "STRASSE", "Übung", "äpfel", "Äpfeln", "ﬃ", "日本語",
      "isn’t", "3.14", "abcdefghijklmnop", "abcdefghijklmnopq", "internationalisation", "\u{AD}",
      "ﷺ", "e\u{301}t\u{E9}",
    ]
    for seed in 0..<20 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      let options = AnalysisOptions(
        stemming: [.english, .german, nil].randomElement(using: &random) ?? nil,
        stopWords: .random(using: &random) ? [.english, .german] : [],
        removesDiacritics: .random(using: &random))
      var cached = TokenCursor([], TermFilter(options).caching())
      for _ in 0..<30 {
        // More different words than the cache has slots, and the same ones again.
        let text = (0..<500).map { _ in
          let word = words.randomElement(using: &random) ?? ""
          return .random(using: &random)
            ? word : word + "\(Int.random(in: 0..<9999, using: &random))"
        }.joined(separator: " ")
        var plain = TokenCursor(Array(text.utf8), options)
        cached.restart(Array(text.utf8))
        while plain.next() {
          let isThere = cached.next()
          #expect(isThere && cached.term == plain.term, "seed \(seed): \(text)")
          #expect(cached.range == plain.range && cached.position == plain.position)
          if cached.term != plain.term { return }
        }
        let hasMore = cached.next()
        #expect(!hasMore)
      }
    }
  }

  @Test(arguments: ["x", "日", "ä ", "ก", "a.", "don't ", "\u{FDFA}", "日 ", "\u{301}"])
  func `a long text of the same words is analysed in linear time`(text: String) {
    func seconds(_ size: Int) -> Double {
      let bytes = Array(String(repeating: text, count: size / text.utf8.count).utf8)
      return FullTextFixtures.seconds {
        var cursor = TokenCursor(bytes, AnalysisOptions(stemming: .english))
        while cursor.next() {}
      }
    }
    _ = seconds(1024)
    let (small, large) = (seconds(1 << 14), seconds(1 << 18))
    #expect(large < max(small, 0.001) * 80, "\(small) s, and \(large) s for sixteen times as much")
  }
}
