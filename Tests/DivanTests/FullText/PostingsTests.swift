import DivanLog
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of postings, with a dictionary of documents as the model.
struct PostingsTests {
  typealias Model = [UInt64: [Occurrence]]

  static func read(_ block: PostingsBlock, first: UInt64 = 0) throws -> Model {
    var model: Model = [:]
    guard !block.isEmpty else { return model }
    var cursor = try PostingsCursor(block.bytes, first: first, fieldCount: block.fieldCount)
    while cursor.document != DocumentNumber.end {
      var occurrences: [Occurrence] = []
      try cursor.appendOccurrences(to: &occurrences)
      #expect(model.updateValue(occurrences, forKey: cursor.document) == nil)
      cursor.advance(to: cursor.document + 1)
    }
    return model
  }

  static func occurrences(_ random: inout SeededRandom, fieldCount: Int) -> [Occurrence] {
    let places = (0..<Int.random(in: 1...6, using: &random)).map { _ in
      Occurrence(
        field: .random(in: 0..<fieldCount, using: &random),
        position: .random(
          in: 0..<([10, 1000, 1 << 31].randomElement(using: &random) ?? 9), using: &random))
    }
    return Set(places).sorted()
  }

  /// Documents that fit a block, with numbers below a random limit.
  static func random(_ random: inout SeededRandom, fieldCount: Int) -> Model {
    let count = [1, 2, 15, 127, 128].randomElement(using: &random) ?? 1
    let range: UInt64 = [UInt64(count) + 1, 10_000, 1 << 40].randomElement(using: &random) ?? 10
    var model: Model = [:]
    for _ in 0..<count {
      model[.random(in: 0..<range, using: &random)] = occurrences(&random, fieldCount: fieldCount)
    }
    return model
  }

  static func block(_ model: Model, fieldCount: Int) -> PostingsBlock {
    var block = PostingsBlock(fieldCount: fieldCount)
    for (document, occurrences) in model.sorted(by: { $0.key < $1.key }) {
      block.append(document, occurrences)
    }
    return block
  }

  static func forSeeds(
    _ count: Int, _ body: (inout SeededRandom, UInt64) throws -> Void
  ) rethrows {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<count { try body(&random, seed) }
  }

  @Test func `postings are read as they were written`() throws {
    try PostingsTests.forSeeds(300) { random, seed in
      let fieldCount = [1, 2, 3, 64].randomElement(using: &random) ?? 1
      let model = PostingsTests.random(&random, fieldCount: fieldCount)
      let block = PostingsTests.block(model, fieldCount: fieldCount)
      let decoded = try PostingsBlock(block.bytes, fieldCount: fieldCount)
      #expect(try PostingsTests.read(block) == model, "seed \(seed)")
      #expect(try PostingsTests.read(decoded) == model)
      #expect(block.header.documentCount == model.count)
      #expect(block.header.last == model.keys.max())
      #expect(block.header.greatestFrequency == model.values.map(\.count).max())
    }
  }

  @Test func `a block that is changed in any order has the documents that were set`() throws {
    try PostingsTests.forSeeds(200) { random, seed in
      let fieldCount = Int.random(in: 1...3, using: &random)
      var model = PostingsTests.random(&random, fieldCount: fieldCount)
      var block = PostingsTests.block(model, fieldCount: fieldCount)
      for _ in 0..<30 {
        let number =
          Bool.random(using: &random)
          ? model.keys.sorted().randomElement(using: &random) ?? 5
          : .random(in: 0...((model.keys.max() ?? 5) + 3), using: &random)
        let isRemoval = Bool.random(using: &random)
        if !isRemoval, model[number] == nil, model.count == PostingsBlock.documentLimit { continue }
        let new = isRemoval ? [] : PostingsTests.occurrences(&random, fieldCount: fieldCount)
        try block.set(number, new)
        model[number] = new.isEmpty ? nil : new
        #expect(try PostingsTests.read(block) == model, "seed \(seed)")
        #expect(block.isEmpty || block.header.last == model.keys.max(), "seed \(seed)")
        #expect(block.header.documentCount == model.count)
        let most = model.values.map(\.count).max() ?? 0
        #expect(block.header.greatestFrequency >= most)
      }
    }
  }

  @Test func `a block is split, joined, and given another first number`() throws {
    try PostingsTests.forSeeds(200) { random, seed in
      let model = PostingsTests.random(&random, fieldCount: 2)
      var block = PostingsTests.block(model, fieldCount: 2)
      let whole = block
      if model.count > 1 {
        let upper = try block.split()
        let low = try PostingsTests.read(block)
        let high = try PostingsTests.read(upper.block, first: upper.first)
        #expect(low.merging(high) { $1 } == model, "seed \(seed)")
        #expect(low.keys.max() ?? 0 < high.keys.min() ?? 0)
        #expect(high.keys.min() == upper.first && low.count + high.count == model.count)
        try block.append(contentsOf: upper.block, first: upper.first)
        #expect(block.bytes == whole.bytes, "seed \(seed)")
      }
      var moved = whole
      try moved.moveStart(back: 7)
      let read = try PostingsTests.read(moved, first: 100)
      #expect(read == Dictionary(uniqueKeysWithValues: model.map { ($0.key + 107, $0.value) }))
    }
  }

  @Test func `a cursor advances to any document, and reads fields and places there`() throws {
    try PostingsTests.forSeeds(300) { random, seed in
      let model = PostingsTests.random(&random, fieldCount: 3)
      let documents = model.keys.sorted()
      var cursor = try PostingsCursor(
        PostingsTests.block(model, fieldCount: 3).bytes, first: 0, fieldCount: 3)
      var target: UInt64 = 0
      while true {
        let expected = documents.first { $0 >= target } ?? DocumentNumber.end
        cursor.advance(to: target)
        #expect(cursor.document == expected, "seed \(seed)")
        guard let places = model[cursor.document] else { break }
        if Bool.random(using: &random) {
          for _ in 0..<2 {
            var found: [Occurrence] = []
            try cursor.appendOccurrences(to: &found)
            #expect(found == places, "seed \(seed)")
          }
          var counts: [Int: Int] = [:]
          try cursor.forEachField { counts[$0.field] = $0.count }
          #expect(counts == Dictionary(grouping: places, by: \.field).mapValues(\.count))
        }
        let index = documents.firstIndex(of: cursor.document) ?? 0
        let ahead = documents[
          min(documents.count - 1, index + Int.random(in: 0...50, using: &random))]
        target = max(cursor.document + 1, Bool.random(using: &random) ? ahead : cursor.document + 1)
      }
    }
  }

  @Test func `a term in one document takes few bytes`() {
    let one = PostingsTests.block([0: [Occurrence(field: 0, position: 5)]], fieldCount: 3)
    #expect(one.bytes.count == 7)
    // A term in each of many documents takes three bytes for each: number, count, place.
    var block = PostingsBlock(fieldCount: 1)
    for document in 0..<UInt64(128) { block.append(document, [Occurrence(field: 0, position: 7)]) }
    #expect(block.isFull && block.bytes.count < 3 * 128 + 12, "\(block.bytes.count)")
  }

  @Test func `any bytes are read, or refused with an error`() {
    var refused = 0
    PostingsTests.forSeeds(20_000) { random, seed in
      var bytes: [UInt8]
      if Bool.random(using: &random) {
        bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
      } else {
        bytes =
          PostingsTests.block(
            PostingsTests.random(&random, fieldCount: 2), fieldCount: 2
          ).bytes
        for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
          bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &random))
      }
      do {
        var retried = try PostingsCursor(bytes, first: 5, fieldCount: 2)
        // What was read before an error is not used after it.
        while retried.document != DocumentNumber.end {
          var found: [Occurrence] = []
          _ = try? retried.signature()
          try? retried.appendOccurrences(to: &found)
          retried.advance(to: retried.document + 1)
        }
        var cursor = try PostingsCursor(bytes, first: 5, fieldCount: 2)
        var last: UInt64?
        while cursor.document != DocumentNumber.end {
          #expect(last.map { $0 < cursor.document } ?? true, "seed \(seed)")
          last = cursor.document
          var found: [Occurrence] = []
          try cursor.appendOccurrences(to: &found)
          #expect(found.count <= bytes.count && found == found.sorted(), "seed \(seed)")
          cursor.advance(to: cursor.document + .random(in: 1...3, using: &random))
        }
        // A change meets the same bytes.
        var block = try PostingsBlock(bytes, fieldCount: 2)
        try block.set(.random(in: 0...300, using: &random), [Occurrence(field: 1, position: 3)])
        if block.header.documentCount > 1 { _ = try block.split() }
      } catch {
        refused += 1
      }
    }
    #expect(refused > 1000)
  }

  @Test func `a builder makes the postings of each term, in the order of the terms`() throws {
    try PostingsTests.forSeeds(30) { random, seed in
      var builder = PostingsBuilder(fieldCount: 2)
      var expected: [[UInt8]: Model] = [:]
      var document: UInt64 = 0
      for _ in 0..<Int.random(in: 0...600, using: &random) {
        document += .random(in: 1...1000, using: &random)
        for field in 0..<2 {
          for position in 0..<Int.random(in: 0...8, using: &random) {
            let term = (0..<Int.random(in: 0...3, using: &random)).map { _ in
              UInt8.random(in: 0x61...0x64, using: &random)
            }
            let place = Occurrence(field: field, position: position)
            builder.append(term, document: document, place)
            expected[term, default: [:]][document, default: []].append(place)
          }
        }
      }
      let lists = builder.finish()
      #expect(
        lists.map(\.term) == expected.keys.sorted { $0.lexicographicallyPrecedes($1) },
        "seed \(seed)")
      for list in lists {
        let model = expected[list.term] ?? [:]
        #expect(list.documentCount == model.count)
        var found: Model = [:]
        for block in list.blocks {
          found.merge(try PostingsTests.read(block.postings, first: block.first)) { $1 }
        }
        #expect(found == model, "seed \(seed)")
      }
      #expect(builder.wordCount == 0 && builder.termCount == 0)
    }
  }

  @Test func `a million different terms get a million lists`() {
    var builder = PostingsBuilder(fieldCount: 1)
    for number in 0..<1_000_000 {
      builder.append(
        Array("\(number)".utf8), document: UInt64(number / 100),
        Occurrence(field: 0, position: number % 100))
    }
    #expect(builder.termCount == 1_000_000 && builder.byteCount < 60_000_000)
    let lists = builder.finish()
    #expect(lists.count == 1_000_000)
    var unordered = 0
    for index in 1..<lists.count
    where !lists[index - 1].term.lexicographicallyPrecedes(lists[index].term) { unordered += 1 }
    #expect(unordered == 0)
  }
}
