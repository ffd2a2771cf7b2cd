import DivanLog
import Foundation
import Testing

@testable import Divan

/// Tests of postings, with a dictionary of documents as the model.
struct PostingsTests {
  typealias Model = [UInt64: [Occurrence]]

  static func write(_ model: Model, fieldCount: Int) -> [UInt8] {
    var writer = PostingsWriter(fieldCount: fieldCount)
    for (document, occurrences) in model.sorted(by: { $0.key < $1.key }) {
      writer.append(document: document, occurrences)
    }
    #expect(writer.documentCount == model.count)
    return writer.finish()
  }

  static func read(_ bytes: [UInt8], fieldCount: Int) throws -> Model {
    var model: Model = [:]
    var cursor = try PostingsCursor(bytes, fieldCount: fieldCount)
    while cursor.document != DocumentNumber.end {
      var occurrences: [Occurrence] = []
      try cursor.appendOccurrences(to: &occurrences)
      #expect(model.updateValue(occurrences, forKey: cursor.document) == nil)
      try cursor.advance(to: cursor.document + 1)
    }
    return model
  }

  static func random(_ random: inout SeededRandom, fieldCount: Int) -> Model {
    let count = [0, 1, 2, 15, 16, 17, 127, 128, 129, 500].randomElement(using: &random) ?? 1
    let range: UInt64 = [UInt64(count) + 1, 10_000, 1 << 40].randomElement(using: &random) ?? 10
    var model: Model = [:]
    for _ in 0..<count {
      let places = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        Occurrence(
          field: .random(in: 0..<fieldCount, using: &random),
          position: .random(
            in: 0..<([10, 1000, 1 << 31].randomElement(using: &random) ?? 9), using: &random))
      }
      model[.random(in: 0..<range, using: &random)] = Set(places).sorted()
    }
    return model
  }

  @Test func `postings are read as they were written`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let fieldCount = [1, 2, 3, 64].randomElement(using: &random) ?? 1
      let model = PostingsTests.random(&random, fieldCount: fieldCount)
      let bytes = PostingsTests.write(model, fieldCount: fieldCount)
      #expect(try PostingsTests.read(bytes, fieldCount: fieldCount) == model, "seed \(seed)")
    }
  }

  @Test func `a cursor advances to any document, and reads fields and places there`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let model = PostingsTests.random(&random, fieldCount: 3)
      let documents = model.keys.sorted()
      var cursor = try PostingsCursor(PostingsTests.write(model, fieldCount: 3), fieldCount: 3)
      var target: UInt64 = 0
      while true {
        let expected = documents.first { $0 >= target } ?? DocumentNumber.end
        try cursor.advance(to: target)
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
          min(documents.count - 1, index + Int.random(in: 0...200, using: &random))]
        target = max(cursor.document + 1, Bool.random(using: &random) ? ahead : cursor.document + 1)
      }
    }
  }

  @Test func `a term in one document takes few bytes`() {
    let one = PostingsTests.write([100: [Occurrence(field: 0, position: 5)]], fieldCount: 3)
    #expect(one.count == 4)
    // A term in each of a million documents takes three bytes for each: number, count, place.
    var writer = PostingsWriter(fieldCount: 1)
    for document in 0..<UInt64(1_000_000) {
      writer.append(document: document, [Occurrence(field: 0, position: 7)])
    }
    let size = writer.finish().count
    #expect(size < 3_060_000, "\(size)")
  }

  @Test func `any bytes are read, or refused with an error`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var refused = 0
    for _ in 0..<20_000 {
      var bytes: [UInt8]
      if Bool.random(using: &random) {
        bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
      } else {
        let model = PostingsTests.random(&random, fieldCount: 2)
        bytes = PostingsTests.write(model, fieldCount: 2)
        if bytes.count > 2000 { continue }
        for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
          bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &random))
      }
      do {
        var cursor = try PostingsCursor(bytes, fieldCount: 2)
        var last: UInt64?
        var count = 0
        while cursor.document != DocumentNumber.end {
          #expect(last.map { $0 < cursor.document } ?? true, "seed \(seed)")
          last = cursor.document
          count += 1
          var found: [Occurrence] = []
          try cursor.appendOccurrences(to: &found)
          #expect(found.count <= bytes.count && found == found.sorted(), "seed \(seed)")
          try cursor.advance(to: cursor.document + .random(in: 1...3, using: &random))
        }
        #expect(count <= bytes.count)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 1000)
  }

  @Test func `merged lists have the newest postings of each document that is not dropped`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<200 {
      var expected: Model = [:]
      var lists: [[UInt8]] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        let model = PostingsTests.random(&random, fieldCount: 2)
        expected.merge(model) { $1 }
        lists.append(PostingsTests.write(model, fieldCount: 2))
      }
      let merged = try PostingsMerge.merge(lists, fieldCount: 2) { $0 % 3 == 1 }
      let kept = expected.filter { $0.key % 3 != 1 }
      #expect(try PostingsTests.read(merged, fieldCount: 2) == kept, "seed \(seed)")
      // The same documents make the same bytes, however they came together.
      #expect(merged == PostingsTests.write(kept, fieldCount: 2))
    }
  }

  @Test func `a builder makes the postings of each term, in the order of the terms`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<30 {
      var builder = PostingsBuilder(fieldCount: 2)
      var expected: [[UInt8]: Model] = [:]
      var document: UInt64 = 0
      for _ in 0..<Int.random(in: 0...200, using: &random) {
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
        #expect(try PostingsTests.read(list.postings, fieldCount: 2) == model, "seed \(seed)")
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
