import Testing

@testable import Divan

/// Tests of counting many terms together, with a dictionary as the model.
struct OccurrenceCounterTests {
  @Test(arguments: 1...17)
  func `documents, counts and their number are those of all postings`(fieldCount: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<20 {
      let limit = UInt64.random(in: 0...300, using: &random)
      var model: [UInt64: [Int]] = [:]
      var counter = try #require(
        OccurrenceCounter(
          numberLimit: limit, fieldCount: fieldCount, fields: .all, sizeLimit: 1 << 20))
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        var block = PostingsBlock(fieldCount: fieldCount)
        let first = UInt64.random(in: 0...max(limit, 1), using: &random)
        var number: UInt64 = 0
        while first + number < limit, !block.isFull {
          let counts = (0..<fieldCount).map { _ in
            Bool.random(using: &random) ? 0 : Int.random(in: 0...200, using: &random)
          }
          let occurrences = counts.enumerated().flatMap { field, count in
            (0..<count).map { Occurrence(field: field, position: $0) }
          }
          if !occurrences.isEmpty {
            block.append(number, occurrences)
            let known = model[first + number] ?? Array(repeating: 0, count: fieldCount)
            model[first + number] = zip(known, counts).map { min(255, $0 + $1) }
          }
          number += .random(in: 1...20, using: &random)
        }
        if !block.isEmpty { _ = try counter.add(block.bytes.span, first: first) }
      }
      try expect(counter, model, limit, "seed \(seed)")
    }
  }

  private func expect(
    _ counter: OccurrenceCounter, _ model: [UInt64: [Int]], _ limit: UInt64, _ comment: Comment
  ) throws {
    let documents = model.keys.sorted()
    #expect(counter.documentCount == documents.count, comment)
    for number in 0...limit + 1 {
      #expect(counter.document(from: number) == documents.first { $0 >= number }, comment)
    }
    for (document, counts) in model {
      let found = counts.indices.map { counter.count(of: document, $0) }
      #expect(found == counts, comment)
    }
    for withSeveral in [false, true] {
      var found: [UInt64: [Int]] = [:]
      counter.forEach(withSeveral: withSeveral) { document, counts in
        found[document] = counts.indices.map { Int(counts[$0]) }
      }
      #expect(found == model.filter { ($0.value.reduce(0, +) > 1) == withSeveral }, comment)
    }
  }

  @Test func `documents are not counted if that takes too much memory`() {
    for (fieldCount, share) in [(1, 1), (2, 2), (3, 4), (9, 16)] as [(Int, UInt64)] {
      func counter(_ numberLimit: UInt64, _ sizeLimit: Int) -> OccurrenceCounter? {
        OccurrenceCounter(
          numberLimit: numberLimit, fieldCount: fieldCount, fields: .all, sizeLimit: sizeLimit)
      }
      #expect(counter(4096 / share, 4096)?.size == 4096)
      #expect(counter(4096 / share + 1, 4096) == nil)
      #expect(counter(1, 0) == nil && counter(1, -1) == nil && counter(.max, .max) == nil)
    }
  }

  /// Each prefix would have had an array for all documents.
  @Test func `a query with the same prefix many times counts it once`() throws {
    let terms = CountingTerms()
    let groups = (0..<50).map { "(elm* AND oak\($0))" }
    let expression = try FullTextParser.parse(groups.joined(separator: " OR "))
    var matches = QueryMatches(
      terms, AnalysedQuery(expression, AnalysisOptions()), fieldNames: ["text"])
    _ = try matches.cursor(expression, in: .all)
    #expect(terms.countedPrefixes == ["elm"])
  }

  @Test func `a query with many prefixes stays within its memory`() throws {
    // Each takes a quarter of what a query has.
    let terms = CountingTerms(numberLimit: UInt64(QueryMatches.counterSizeLimit / 4))
    let words = ["ash*", "birch*", "cedar*", "elm*", "fir*", "oak*"]
    let expression = try FullTextParser.parse(words.joined(separator: " OR "))
    var matches = QueryMatches(
      terms, AnalysedQuery(expression, AnalysisOptions()), fieldNames: ["text"])
    _ = try matches.cursor(expression, in: .all)
    #expect(terms.countedPrefixes == ["ash", "birch", "cedar", "elm"])
    #expect(terms.listedPrefixes == ["fir", "oak"])
  }
}

/// Terms without documents, which note what they are asked for.
private final class CountingTerms: FullTextTerms {
  private let limit: UInt64
  private(set) var countedPrefixes: [String] = []
  private(set) var listedPrefixes: [String] = []

  init(numberLimit: UInt64 = 1000) { limit = numberLimit }

  func postings(of term: [UInt8]) -> (any PostingsSource)? { nil }
  func numberLimit() -> UInt64 { limit }

  func count(termsWithPrefix prefix: [UInt8], into counter: inout OccurrenceCounter) {
    countedPrefixes.append(String(decoding: prefix, as: UTF8.self))
  }

  func terms(withPrefix prefix: [UInt8]) -> [[UInt8]] {
    listedPrefixes.append(String(decoding: prefix, as: UTF8.self))
    return []
  }

  func terms(near word: [UInt8], maxDistance: Int, isPrefix: Bool) -> [[UInt8]] { [] }
}
