import Foundation
import Testing

@testable import Divan

/// Tests of what all cursors have, and of the ranges that they take.
struct CursorTests {
  private struct Broken: Error {}

  /// A cursor over numbers from 1, which throws in place of one of them.
  private struct Numbers: Divan.Cursor {
    var last = 0
    let end: Int
    var broken = 0
    mutating func next() throws -> Int? {
      guard last < end else { return nil }
      last += 1
      if last == broken { throw Broken() }
      return last
    }
  }

  private let database: Database

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for (number, id) in ["a", "b", "c", "d"].enumerated() {
        let day = Date(timeIntervalSince1970: Double(number) * 86_400)
        _ = try transaction.replace(
          id, with: ["n": Value(number), "ratio": Value(Double(number) / 2), "day": Value(day)])
      }
    }
    for name in ["n", "ratio", "day"] { try database.addIndex(DocumentIndex(name, on: name)) }
  }

  @Test func `cursors are mapped, filtered and cut without reading more than is needed`() throws {
    let numbers = Numbers(end: 10)
    #expect(try numbers.collect() == Array(1...10))
    #expect(try numbers.map { $0 * 2 }.filter { $0 % 3 == 0 }.collect() == [6, 12, 18])
    #expect(try numbers.compactMap { $0 > 8 ? "\($0)" : nil }.collect() == ["9", "10"])
    var read: [Int] = []
    let few = numbers.map { number in
      read.append(number)
      return number
    }
    #expect(try few.prefix(2).collect() == [1, 2] && read == [1, 2])
    #expect(try numbers.prefix(-1).collect().isEmpty && numbers.prefix(99).collect().count == 10)
    var sum = 0
    try numbers.forEach { sum += $0 }
    #expect(sum == 55)
  }

  @Test func `a copy of a cursor continues by itself`() throws {
    var numbers = Numbers(end: 4)
    _ = try numbers.next()
    #expect(try numbers.collect() == [2, 3, 4])
    #expect(try numbers.next() == 2)
    var documents = try database.snapshot().ids()
    _ = try documents.next()
    #expect(try documents.collect() == ["b", "c", "d"] && documents.next() == "b")
  }

  @Test func `an element that cannot be read is an error, and those after it can be read`() throws {
    #expect(throws: Broken.self) { try Numbers(end: 4, broken: 3).collect() }
    var even = Numbers(end: 4, broken: 3).filter { $0 % 2 == 0 }
    #expect(try even.next() == 2)
    #expect(throws: Broken.self) { try even.next() }
    #expect(try even.next() == 4)
    #expect(try even.next() == nil)
  }

  @Test func `indexes are asked by ranges of Swift`() throws {
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(by: "n", 1..<3).collect() == ["b", "c"])
    #expect(try snapshot.ids(by: "n", 1...3).collect() == ["b", "c", "d"])
    #expect(try snapshot.ids(by: "n", 2...).collect() == ["c", "d"])
    #expect(try snapshot.ids(by: "n", ..<1).collect() == ["a"])
    #expect(try snapshot.count(by: "n", ...1) == 2)
    #expect(try snapshot.count(by: "ratio", 0.5...1.0) == 2)
    let (second, fourth) = (
      Date(timeIntervalSince1970: 86_400), Date(timeIntervalSince1970: 3 * 86_400)
    )
    #expect(try snapshot.documents(by: "day", second..<fourth).map(\.id).collect() == ["b", "c"])
    let (first, last) = (3, 1)
    #expect(try snapshot.count(by: "n", IndexRange(from: Value(first), upTo: Value(last))) == 0)
    #expect(try snapshot.count(by: "n", IndexRange()) == 4)
  }

  @Test func `documents are found by ranges of IDs`() throws {
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids("b"..<"d").collect() == ["b", "c"])
    #expect(try snapshot.ids("b"..."d").collect() == ["b", "c", "d"])
    #expect(try snapshot.ids("c"...).collect() == ["c", "d"])
    #expect(try snapshot.ids(..<"b").collect() == ["a"])
    #expect(try snapshot.ids(..."b").collect() == ["a", "b"])
    #expect(try snapshot.ids(.after("b")).collect() == ["c", "d"])
    #expect(try snapshot.ids(IDRange(from: "d", upTo: "b")).collect().isEmpty)
    #expect(try snapshot.ids(IDRange()).collect().count == 4)
  }
}
