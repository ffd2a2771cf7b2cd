import Foundation
import Testing

@testable import Divan

/// Tests of edit distances, with the whole table of distances as the model.
struct FuzzyMatcherTests {
  /// Levenshtein's distance by the textbook.
  static func distance(_ left: [UInt32], _ right: [UInt32]) -> Int {
    var table = Array(repeating: Array(repeating: 0, count: right.count + 1), count: left.count + 1)
    for row in 0...left.count {
      for column in 0...right.count {
        if row == 0 || column == 0 {
          table[row][column] = row + column
        } else {
          let replaced = table[row - 1][column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
          table[row][column] = min(replaced, table[row - 1][column] + 1, table[row][column - 1] + 1)
        }
      }
    }
    return table[left.count][right.count]
  }

  private static func word(_ random: inout SeededRandom) -> [UInt8] {
    FullTextFixtures.bytes(
      (0..<Int.random(in: 0...8, using: &random)).map { _ in
        [0x61, 0x62, 0x63, 0xE9, 0x65E5].randomElement(using: &random) ?? 0x61
      })
  }

  @Test func `terms are found within the distance, in any order of the terms`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let word = FuzzyMatcherTests.word(&random)
      let maxDistance = Int.random(in: 0...2, using: &random)
      var matcher = FuzzyMatcher(word, maxDistance: maxDistance)
      var prefixes = FuzzyMatcher(word, maxDistance: maxDistance, isPrefix: true)
      for _ in 0..<60 {
        let term = FuzzyMatcherTests.word(&random)
        let exact = FuzzyMatcherTests.distance(word.scalars, term.scalars)
        #expect(
          matcher.distance(of: term) == (exact <= maxDistance ? exact : nil),
          "seed \(seed): \(word) \(term)")
        let best =
          (0...term.scalars.count).map {
            FuzzyMatcherTests.distance(word.scalars, Array(term.scalars.prefix($0)))
          }.min() ?? 0
        #expect(
          prefixes.distance(of: term) == (best <= maxDistance ? best : nil),
          "seed \(seed): \(word) \(term)")
      }
    }
  }

  @Test func `a sorted list is read with few terms, and nothing is missed`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<60 {
      let terms = Set((0..<800).map { _ in FuzzyMatcherTests.word(&random) })
        .sorted { $0.lexicographicallyPrecedes($1) }
      let entries = terms.map {
        TermEntry(term: $0, documentCount: .random(in: 1...9, using: &random))
      }
      let word = FuzzyMatcherTests.word(&random)
      let maxDistance = Int.random(in: 0...2, using: &random)
      let found = TermList(entries).terms(near: word, maxDistance: maxDistance)
      let expected = entries.filter {
        FuzzyMatcherTests.distance(word.scalars, $0.term.scalars) <= maxDistance
      }
      #expect(found.map(\.entry) == expected, "seed \(seed)")
      let prefix = Array(word.prefix(2))
      #expect(
        TermList(entries).terms(withPrefix: prefix, limit: .max)
          == entries.filter { $0.term.starts(with: prefix) })
    }
  }

  @Test func `most terms that cannot match are skipped`() {
    final class Count { var value = 0 }
    struct Counting: TermReader {
      typealias Failure = Never
      var list: TermList
      let count: Count
      mutating func next() throws(Never) -> TermEntry? {
        count.value += 1
        return list.next()
      }
      mutating func seek(to target: [UInt8]) throws(Never) { list.seek(to: target) }
    }
    let entries = (0..<100_000).map {
      TermEntry(term: Array(String(format: "%06ld", $0 * 7).utf8), documentCount: 1)
    }
    let count = Count()
    let found = Counting(list: TermList(entries), count: count)
      .terms(near: Array("123459".utf8), maxDistance: 1)
    let expected = entries.filter {
      FuzzyMatcherTests.distance($0.term.scalars, Array("123459".utf8).scalars) <= 1
    }
    #expect(found.map(\.entry) == expected)
    #expect(count.value < 10_000, "\(count.value) of 100,000 terms were read")
  }

  @Test func `suggestions are near, and frequent ones come first`() {
    let counts = ["metropolis": 9, "metropolia": 1, "metropole": 30, "metro": 50, "necropolis": 99]
    let entries = counts.sorted { $0.key < $1.key }.map {
      TermEntry(term: Array($0.key.utf8), documentCount: $0.value)
    }
    func suggestions(_ word: String, limit: Int = 5) -> [String] {
      TermList(entries).suggestions(for: Array(word.utf8), limit: limit).map {
        String(decoding: $0.term, as: UTF8.self)
      }
    }
    #expect(suggestions("metropoli") == ["metropole", "metropolis", "metropolia"])
    #expect(suggestions("metropolis") == ["metropolia", "necropolis", "metropole"])
    #expect(suggestions("metropoli", limit: 1) == ["metropole"])
    #expect(suggestions("xyz").isEmpty && suggestions("metropoli", limit: 0).isEmpty)
  }

  @Test func `words of 10 KB are compared in bounded time`() {
    let word = [UInt8](repeating: 0x61, count: 10_000)
    var matcher = FuzzyMatcher(word, maxDistance: 2)
    let seconds = FullTextFixtures.seconds {
      #expect(matcher.distance(of: word + [0x62, 0x62]) == 2)
    }
    #expect(seconds < 20)
  }
}
