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
        OccurrenceCounter(numberLimit: limit, fieldCount: fieldCount, fields: .all))
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

  @Test func `documents are not counted if that takes more than 64 MiB`() {
    let limit: UInt64 = 64 << 20
    for (fieldCount, share) in [(1, 1), (2, 2), (3, 4), (9, 16)] as [(Int, UInt64)] {
      let most = limit / share
      #expect(OccurrenceCounter(numberLimit: most, fieldCount: fieldCount, fields: .all) != nil)
      #expect(OccurrenceCounter(numberLimit: most + 1, fieldCount: fieldCount, fields: .all) == nil)
    }
  }
}
