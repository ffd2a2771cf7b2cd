import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of indexes of several properties, and of their queries.
struct CompoundIndexTests {
  private let byListAndDue = DocumentIndex("by list and due", on: "list", "due")
  private let long = String(repeating: "x", count: 300)

  private func open(
    _ index: DocumentIndex, _ documents: KeyValuePairs<String, Value.Object> = [:]
  ) throws -> Database {
    let database = try IndexFixture().open()
    try database.addIndex(index)
    try database.write { transaction in
      for (id, properties) in documents { _ = try transaction.replace(id, with: properties) }
    }
    return database
  }

  private func lists() throws -> Database {
    try open(
      byListAndDue,
      [
        "a": ["list": "home", "due": 3], "b": ["list": "home", "due": 1], "c": ["list": "home"],
        "d": ["list": "away", "due": "today"], "e": ["due": 1],
        "f": ["list": "home", "due": .null],
      ])
  }

  private func ids(
    _ snapshot: Snapshot, _ range: IndexRange = .all, descending: Bool = false,
    by name: String = "by list and due"
  ) throws -> [String] {
    try snapshot.ids(by: name, range, descending: descending).collect()
  }

  @Test func `documents are ordered by all properties, with null for a missing later one`()
    throws
  {
    let database = try lists()
    let snapshot = try database.snapshot()
    #expect(try ids(snapshot) == ["d", "c", "f", "b", "a"])
    #expect(try ids(snapshot, descending: true) == ["a", "b", "f", "c", "d"])
    #expect(try snapshot.count(by: "by list and due") == 5)
  }

  @Test func `a range fixes values of leading properties, and may span values of the last one`()
    throws
  {
    let database = try lists()
    let snapshot = try database.snapshot()
    let home = IndexRange.equal(to: "home")
    for (range, expected) in [
      (home, ["c", "f", "b", "a"]), (home.then(.all), ["c", "f", "b", "a"]),
      (home.then(.equal(to: .null)), ["c", "f"]), (home.then(.equal(to: 1.0)), ["b"]),
      (home.then(1..<3), ["b"]), (home.then(1...3), ["b", "a"]),
      (home.then(.greater(than: 1)), ["a"]), (home.then(..<3), ["b"]),
      (home.then(...3), ["b", "a"]), (home.then(""...), []),
      (.equal(to: "away").then(.prefix("to")), ["d"]), (.prefix("a"), ["d"]),
      (.init(from: "b"), ["c", "f", "b", "a"]), (.init(upTo: "b"), ["d"]), (.equal(to: .null), []),
      (home.then(IndexRange(from: 0, upTo: "z")), []), (home.then(.equal(to: .double(.nan))), []),
      (home.then(IndexRange(from: 3, upTo: 1)), []), (home.then(IndexRange(from: .null)), []),
      (.equal(to: .double(.nan)).then(.all), []),
    ] as [(IndexRange, [String])] {
      #expect(try ids(snapshot, range) == expected, "\(range)")
      #expect(try ids(snapshot, range, descending: true) == expected.reversed(), "\(range)")
      #expect(try snapshot.count(by: "by list and due", range) == expected.count, "\(range)")
    }
    #expect("\(home.then(.greater(than: 1)))" == #"= "home", > 1"#)
  }

  @Test func `ranges are equal only if their values have the same bytes`() {
    let accent = ("\u{E9}", "e\u{301}")
    let ranges: [IndexRange] = [
      .all, .equal(to: 1), .equal(to: 2), .init(from: 1), .greater(than: 1),
      .init(from: 1, upTo: 2),
      .init(from: 1, through: 2), .prefix(accent.0), .prefix(accent.1), .equal(to: 1).then(.all),
      .equal(to: 1).then(.equal(to: 1)),
    ]
    #expect(Set(ranges).count == ranges.count)
    #expect(IndexRange.equal(to: 1).then(.all) == .equal(to: 1).then(.all))
    for range in ranges { #expect(ranges.filter { $0 == range }.count == 1, "\(range)") }
  }

  @Test func `a past version can be queried in the same way`() throws {
    let database = try lists()
    try database.saveSnapshot(named: "then")
    try database.remove("a")
    let past = try database.snapshot(named: "then")
    #expect(try ids(past, .equal(to: "home").then(1...)) == ["b", "a"])
    #expect(try past.count(by: "by list and due", .equal(to: "home")) == 4)
    #expect(try ids(past, .equal(to: "home").then(IndexRange(from: 1, upTo: "z"))) == [])
    #expect(try ids(database.snapshot(), .equal(to: "home").then(1...)) == ["b"])
  }

  @Test func `a range of too many properties, or after a range of several values, is refused`()
    throws
  {
    let database = try lists()
    try database.saveSnapshot(named: "then")
    let one = IndexRange.equal(to: 1)
    for range in [
      one.then(one).then(.all), IndexRange.all.then(one), .init(from: "a").then(one),
      .prefix("h").then(.all), one.then(IndexRange(from: 1).then(one)),
    ] as [IndexRange] {
      for snapshot in [try database.snapshot(), try database.snapshot(named: "then")] {
        let error = #expect(throws: DatabaseError.self) { try ids(snapshot, range) }
        #expect(error?.code == .invalidQuery)
        #expect(throws: DatabaseError.self) { try snapshot.count(by: "by list and due", range) }
        #expect(throws: DatabaseError.self) { try snapshot.documents(by: "by list and due", range) }
      }
    }
  }

  @Test func `long values that are truncated in keys stay distinct in each property`()
    throws
  {
    let firsts: [Value] = ["s", .string(String(repeating: "x", count: 150)), .string(long)]
    let seconds: [Value] = [.null, 1, "x", .string(long), .string(long + "1"), .string(long + "2")]
    let database = try open(byListAndDue)
    try database.write { transaction in
      for (one, first) in firsts.enumerated() {
        for (two, second) in seconds.enumerated() {
          _ = try transaction.replace("\(one)\(two)", with: ["list": first, "due": second])
        }
      }
    }
    let snapshot = try database.snapshot()
    for (one, first) in firsts.enumerated() {
      let equal = IndexRange.equal(to: first)
      for (range, numbers) in [
        (equal, [0, 1, 2, 3, 4, 5]), (equal.then(.equal(to: .null)), [0]),
        (equal.then(1...), [1]), (equal.then(.prefix("x")), [2, 3, 4, 5]),
        (equal.then(.prefix(long)), [3, 4, 5]), (equal.then(.prefix(long + "1")), [4]),
        (equal.then(.equal(to: .string(long))), [3]),
        (equal.then(.greater(than: .string(long))), [4, 5]),
        (equal.then(IndexRange(from: .string(long + "1"))), [4, 5]),
        (equal.then(IndexRange(upTo: .string(long + "1"))), [2, 3]),
        (equal.then(IndexRange(through: .string(long + "1"))), [2, 3, 4]),
        (equal.then(IndexRange(from: .string(long), upTo: .string(long + "2"))), [3, 4]),
        (equal.then("y"...), []),
      ] as [(IndexRange, [Int])] {
        // In no particular order.
        let expected = numbers.map { "\(one)\($0)" }
        #expect(try ids(snapshot, range).sorted() == expected, "\(one) \(range)")
        #expect(try snapshot.count(by: "by list and due", range) == expected.count)
      }
    }
    #expect(try database.check().isSound)
  }

  @Test func `a unique compound index refuses equal values unless one of them is null`()
    throws
  {
    let database = try open(
      DocumentIndex("only", on: "list", "due", isUnique: true),
      [
        "a": ["list": "home", "due": 1], "b": ["list": "home", "due": 2],
        "c": ["list": "away", "due": 1], "d": ["list": "home"], "e": ["list": "home"],
        "f": ["list": .null, "due": 1], "g": ["list": .null, "due": 1],
        "h": ["list": .string(long)], "i": ["list": .string(long)],
        "j": ["list": .string(long), "due": 1],
      ])
    for properties in [
      ["list": "home", "due": 1.0], ["list": .string(long), "due": 1],
    ] as [Value.Object] {
      let error = #expect(throws: DatabaseError.self) {
        try database.write { _ = try $0.replace("z", with: properties) }
      }
      #expect(error?.code == .notUnique && error?.message.contains("only") == true)
    }
    #expect(try database.snapshot().count(by: "only") == 10)
    #expect(try database.check().isSound)
    // The same holds when the index is built over existing documents.
    try database.removeIndex(named: "only")
    try database.addIndex(DocumentIndex("only", on: "list", "due", isUnique: true))
    try database.removeIndex(named: "only")
    try database.write { _ = try $0.replace("z", with: ["list": "home", "due": 2]) }
    #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("only", on: "list", "due", isUnique: true))
    }
  }

  @Test
  func `a multikey compound index has an entry per element, and queries return documents once`()
    throws
  {
    let database = try open(
      DocumentIndex("tags", on: "tags", "year", eachElement: true),
      [
        "a": ["tags": ["x", "y", "x"], "year": 1], "b": ["tags": ["y"], "year": 2],
        "c": ["tags": "y", "year": 0], "d": ["tags": [], "year": 1], "e": ["year": 1],
        "f": ["tags": ["y"], "year": [1, 2]],
      ])
    let snapshot = try database.snapshot()
    for (range, expected) in [
      (.all, ["a", "c", "b", "f"]), (.init(from: "x"), ["a", "c", "b", "f"]),
      (.equal(to: "y"), ["c", "a", "b", "f"]), (.equal(to: "y").then(1...), ["a", "b"]),
      (.equal(to: "y").then(.equal(to: [1, 2])), ["f"]), (.equal(to: "x").then(2...), []),
    ] as [(IndexRange, [String])] {
      #expect(try ids(snapshot, range, by: "tags") == expected, "\(range)")
      #expect(try snapshot.count(by: "tags", range) == expected.count, "\(range)")
    }
  }

  @Test func `canonically equivalent names are different indexes and different properties`() throws
  {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let one = DocumentIndex(composed, on: composed)
    #expect(one != DocumentIndex(decomposed, on: composed))
    #expect(one != DocumentIndex(composed, on: decomposed))
    #expect(one == DocumentIndex(composed, paths: [[composed]]))
    #expect(Set([one, DocumentIndex(composed, on: composed)]).count == 1)
    let partial = DocumentIndex("p", on: "n", where: [.hasPrefix("t", composed)])
    #expect(partial != DocumentIndex("p", on: "n", where: [.hasPrefix("t", decomposed)]))
    #expect(partial != DocumentIndex("p", on: "n"))
    #expect(Set([partial, partial, one]).count == 2)
    #expect(IndexRange.prefix(composed) != .prefix(decomposed))
    let ranges: [IndexRange] = [
      .all, .equal(to: 1), .equal(to: 2), .init(from: 1), .greater(than: 1), .init(through: 1),
      .prefix("1"),
      .equal(to: 1).then(.all), .equal(to: 1).then(1...),
    ]
    #expect(Set(ranges + ranges).count == ranges.count)
    let database = try open(one, ["a": [composed: 1], "b": [decomposed: 2]])
    try database.addIndex(DocumentIndex(decomposed, on: decomposed))
    #expect(try database.indexes().count == 2)
    #expect(try ids(database.snapshot(), by: composed) == ["a"])
    #expect(try ids(database.snapshot(), by: decomposed) == ["b"])
    try database.removeIndex(named: decomposed)
    #expect(try database.indexes() == [one])
  }
}
