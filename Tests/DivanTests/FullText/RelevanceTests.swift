import Foundation
import Testing

@testable import Divan

/// Tests of ranking, with the formula over plain counts as the model.
struct RelevanceTests {
  @Test func `the logarithm is that of the C library, within its last bits`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    #expect(naturalLogarithm(1) == 0)
    for value in [Double.leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude] {
      #expect(abs(naturalLogarithm(value) - log(value)) <= abs(log(value)) * 1e-15)
    }
    for _ in 0..<100_000 {
      let value =
        Bool.random(using: &random)
        ? Double.random(in: 0.1...10, using: &random)
        : exp(Double.random(in: -600...600, using: &random))
      let difference = abs(naturalLogarithm(value) - log(value))
      #expect(difference <= max(abs(log(value)), 0.01) * 1e-15, "seed \(seed): \(value)")
    }
  }

  @Test func `documents are ordered as by BM25 over counts of words`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<50 {
      let texts = (0..<Int.random(in: 1...60, using: &random)).map { _ in
        (0..<2).map { _ in
          (0..<Int.random(in: 0...20, using: &random)).map { _ in
            Int.random(in: 0..<8, using: &random)
          }
        }
      }
      let weights = [Double.random(in: 0...5, using: &random), 1]
      let terms = [1, 4, 9]
      let counts = terms.map { term in texts.count { $0.contains { $0.contains(term) } } }
      let averages = (0..<2).map { field in
        Double(texts.reduce(0) { $0 + $1[field].count })
          / Double(max(1, texts.count { !$0[field].isEmpty }))
      }
      let ranking = RelevanceRanking(
        documentCount: texts.count, partCounts: counts, averageLengths: averages,
        weights: weights)
      for text in texts {
        var frequencies = TermFrequencies(partCount: terms.count, fieldCount: 2)
        for (part, term) in terms.enumerated() {
          for field in 0..<2 {
            frequencies.add(text[field].count { $0 == term }, part: part, field: field)
          }
        }
        var expected = 0.0
        for (part, term) in terms.enumerated() {
          var weighted = 0.0
          for field in 0..<2 {
            let count = Double(text[field].count { $0 == term })
            let average = max(averages[field], 1)
            weighted += weights[field] * count / (0.25 + 0.75 * Double(text[field].count) / average)
          }
          let d = Double(counts[part])
          let rarity = log(1 + (Double(texts.count) - d + 0.5) / (d + 0.5))
          expected += rarity * weighted * 2.2 / (weighted + 1.2)
        }
        let score = ranking.score(frequencies, text.map(\.count))
        #expect(abs(score - expected) <= 1e-12 * max(1, expected), "seed \(seed)")
        #expect(score >= 0 && score.isFinite)
      }
    }
  }

  @Test func `scores are finite for any statistics`() {
    for counts in [[0], [5], [-1], [1000]] {
      for averages in [[0], [10], [Double(Int.max)]] {
        let ranking = RelevanceRanking(
          documentCount: 3, partCounts: counts, averageLengths: averages, weights: [1])
        var frequencies = TermFrequencies(partCount: 1, fieldCount: 1)
        #expect(ranking.score(frequencies, [0]) == 0)
        frequencies.add(7, part: 0, field: 0)
        let score = ranking.score(frequencies, [7])
        #expect(score > 0 && score.isFinite)
      }
    }
  }

  @Test func `the best matches are those that sorting finds, with equal scores by their numbers`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      let limit = Int.random(in: 0...12, using: &random)
      let matches = (0..<Int.random(in: 0...60, using: &random)).map {
        TopMatches.Match(document: UInt64($0), score: Double(Int.random(in: 0...5, using: &random)))
      }.shuffled(using: &random)
      var top = TopMatches(limit: limit)
      for match in matches { top.insert(document: match.document, score: match.score) }
      let expected = matches.sorted { ($1.score, $0.document) < ($0.score, $1.document) }.prefix(
        limit)
      #expect(top.sorted == Array(expected), "seed \(seed)")
    }
  }
}
