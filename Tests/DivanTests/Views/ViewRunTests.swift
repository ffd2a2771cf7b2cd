import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests that compare views with a plain mapping of all documents under random changes.
struct ViewRunTests {
  /// The plain equivalent of the view's map function.
  private static let map: PlainView.Map = { document, conflicts in
    var rows: [(Value, Value)] = []
    for key in document["keys"]?.arrayValue ?? [] { rows.append((key, document["n"] ?? .null)) }
    if !conflicts.isEmpty {
      rows.append(
        (["conflict"], .array(conflicts.map { .string("\($0.revision?.description ?? "")") })))
    }
    return rows
  }

  private static func view(_ reduction: ViewReduction? = nil) -> MapReduceView {
    MapReduceView("random", version: "1", reduction: reduction) { document, emit in
      for (key, value) in map(document.document, document.conflicts) { emit(key, value) }
    }
  }

  private static let keys: [Value] = [
    .null, false, true, 0, 1, 1.0, 1.5, 2, "", "a", "A", "á", "ab", "Ab", "b", "e", "é", "z", "日",
    [], [1], [1, 2], [1, "a"], [1, "ab"], [1.0, 2, 3], [2], ["a"], ["a", "B"], ["A", "b"],
    [[1], 2],
    [:], ["a": 1], ["_id": "doc-1"],
  ]

  private static func properties(_ random: inout SeededRandom) -> Value.Object {
    [
      "keys": .array(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
          keys[Int.random(in: 0..<keys.count, using: &random)]
        }),
      // Multiples of one half, so that sums are exact.
      "n": Bool.random(using: &random)
        ? .int(.random(in: -9...9, using: &random))
        : .double(Double.random(in: -9...9, using: &random).rounded() / 2),
    ]
  }

  private static func change(
    _ transaction: WriteTransaction, _ random: inout SeededRandom
  ) throws {
    let id = "doc-\(Int.random(in: 0..<40, using: &random))"
    switch Int.random(in: 0..<10, using: &random) {
    case 0: if try transaction.exists(id) { try transaction.delete(id) }
    case 1: try transaction.purge(id)
    case 2:
      let digest = String(random.next(), radix: 16)
      if let revision = RevisionID(generation: 1, digest: digest) {
        try transaction.insert(
          Document(id: id, properties(&random)), history: [revision],
          isDeleted: Int.random(in: 0..<4, using: &random) == 0)
      }
    case 3: _ = try? transaction.resolve(id) { _ in .mine }
    default: _ = try transaction.replace(id, with: properties(&random))
    }
  }

  private static func write(_ database: Database, _ random: inout SeededRandom) throws {
    try database.write { transaction in
      for _ in 0..<4 { try change(transaction, &random) }
    }
  }

  private static func query(_ random: inout SeededRandom) -> ViewQuery {
    func key() -> Value { keys[Int.random(in: 0..<keys.count, using: &random)] }
    func id() -> String { "doc-\(Int.random(in: 0..<40, using: &random))" }
    func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    var query = ViewQuery()
    if oneIn(6) {
      query.keys = (0..<Int.random(in: 0...3, using: &random)).map { _ in key() }
    } else {
      if oneIn(2) { query.start = key() }
      if oneIn(2) { query.end = oneIn(3) ? query.start : key() }
    }
    if oneIn(3) { query.startID = id() }
    if oneIn(3) { query.endID = id() }
    if oneIn(3) { query.includesStart = false }
    if oneIn(3) { query.includesEnd = false }
    if oneIn(3) { query.isDescending = true }
    if oneIn(3) { query.prefixLevel = Int.random(in: 1...3, using: &random) }
    if oneIn(4) { query.skip = Int.random(in: 0...3, using: &random) }
    if oneIn(4) { query.limit = Int.random(in: 0...4, using: &random) }
    return query
  }

  /// Compares the results of some random queries with those of a plain mapping of all documents.
  private static func expectRows(
    _ snapshot: Snapshot, _ random: inout SeededRandom, _ comment: Comment
  ) throws {
    let plain = try PlainView(snapshot, map)
    let all = try snapshot.rows(of: view())
    #expect(
      all.map { PlainView.Row(key: $0.key, value: $0.value, id: $0.sourceID ?? "", index: 0) }
        == plain.rows.map { PlainView.Row(key: $0.key, value: $0.value, id: $0.id, index: 0) },
      comment)
    for _ in 0..<12 {
      var query = query(&random)
      let found = try snapshot.rows(of: view(), query)
      let expected = plain.found(query)
      #expect(found.map(\.sourceID) == expected.map(\.id), "\(comment) \(query)")
      #expect(found.map(\.key) == expected.map(\.key), "\(comment) \(query)")
      #expect(found.map(\.value) == expected.map(\.value), "\(comment) \(query)")
      #expect(try snapshot.rowCount(of: view(), query) == expected.count, "\(comment) \(query)")
      query.groupLevel = [nil, 1, 2, .max][Int.random(in: 0..<4, using: &random)]
      let groups = plain.groups(query)
      for (reduction, expected) in [
        (.count, { .int(Int64($0.count)) }), (.sum, { sum($0) }),
        (concatenation, { .string($0.map { "\($0)" }.joined(separator: ",")) }),
      ] as [(ViewReduction, ([Value]) -> Value)] {
        let rows = try snapshot.rows(of: view(reduction), query)
        #expect(rows.count == groups.count, "\(comment) \(query)")
        for (row, group) in zip(rows, groups) {
          #expect(PlainCollation.compare(row.key, group.key) == 0, "\(comment) \(query)")
          let value = expected(group.values)
          #expect(row.value.doubleValue == value.doubleValue, "\(comment) \(query)")
          #expect(row.value.stringValue == value.stringValue, "\(comment) \(query)")
        }
      }
    }
  }

  private static func sum(_ values: [Value]) -> Value {
    .double(values.reduce(0) { $0 + ($1.doubleValue ?? 0) })
  }

  private static let concatenation = ViewReduction.custom { rows in
    .string(rows.map { "\($0.value)" }.joined(separator: ","))
  } rereduce: { values in
    .string(values.compactMap(\.stringValue).joined(separator: ","))
  }

  @Test func `rows equal a full mapping of all documents after random changes`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let database = try Database.inMemory()
    var snapshots: [Snapshot] = []
    for round in 0..<25 {
      try database.write { transaction in
        for _ in 0..<Int.random(in: 0...12, using: &random) {
          try Self.change(transaction, &random)
        }
      }
      let snapshot = try database.snapshot()
      snapshots.append(snapshot)
      try Self.expectRows(snapshot, &random, "seed \(seed), round \(round)")
      // An earlier snapshot, whose rows may no longer be retained.
      let old = Int.random(in: 0..<snapshots.count, using: &random)
      try Self.expectRows(
        snapshots[old], &random, "seed \(seed), round \(round), snapshot \(old)")
    }
  }

  @Test func `rows match their snapshot while others write`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    let database = try Database.inMemory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          var random = SeededRandom(seed: seed &+ UInt64(writer))
          for _ in 0..<80 {
            try Self.write(database, &random)
            await Task.yield()
          }
        }
      }
      for reader in 0..<2 {
        group.addTask {
          var random = SeededRandom(seed: seed &+ 100 &+ UInt64(reader))
          for round in 0..<12 {
            try Self.expectRows(
              database.snapshot(), &random, "seed \(seed), reader \(reader), round \(round)")
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `rows match the documents that remain after a crash`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let disk = SimulatedDisk()
    let database = try Database(at: "/Main.divan", configuration: disk.configuration())
    for round in 0..<4 {
      for _ in 0..<5 {
        try Self.write(database, &random)
        _ = try database.rows(of: Self.view())
      }
      if round == 1 { try database.writeCheckpoint() }
      for loss in [SimulatedDisk.Loss.processEnd, .strict] {
        let again = try Database(
          at: "/Main.divan", configuration: disk.restarted(loss).configuration())
        try Self.expectRows(again.snapshot(), &random, "seed \(seed), round \(round)")
        try again.close()
      }
    }
  }

  @Test func `a chunked list behaves like a plain array`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var list = ChunkedList<Int> { $0 - $1 }
    var plain: Set<Int> = []
    var copies: [(list: ChunkedList<Int>, plain: [Int])] = []
    for round in 0..<60 {
      let size = [3, 30, 3000][Int.random(in: 0..<3, using: &random)]
      let added = Set((0..<size).map { _ in Int.random(in: 0..<8000, using: &random) })
      let removed = Set(
        plain.shuffled(using: &random).prefix(Int.random(in: 0...size, using: &random)))
      let fresh = added.subtracting(plain.subtracting(removed))
      list.replace(removed.sorted(), with: fresh.sorted())
      plain = plain.subtracting(removed).union(fresh)
      copies.append((list, plain.sorted()))
      if round % 7 == 6 { copies.removeFirst(3) }
      for (list, plain) in copies {
        var found: [Int] = []
        list.forEach(from: list.start, to: list.end) {
          found.append($0)
          return true
        }
        #expect(found == plain && list.count == plain.count, "seed \(seed), round \(round)")
        #expect(list.chunks.allSatisfy { !$0.isEmpty && $0.count <= 256 })
        #expect(list.sizes == list.chunks.map(\.count), "seed \(seed), round \(round)")
      }
      let (low, high) = (
        Int.random(in: 0..<8000, using: &random), Int.random(in: 0..<8000, using: &random)
      )
      let (start, end) = (list.position { $0 < low }, list.position { $0 < high })
      let expected = plain.filter { $0 >= low && $0 < high }.sorted()
      var found: [Int] = []
      list.forEach(from: start, to: end, descending: true) {
        found.append($0)
        return found.count < 20
      }
      #expect(found == expected.reversed().prefix(20).map(\.self), "seed \(seed), round \(round)")
      #expect(list.count(from: start, to: end) == expected.count, "seed \(seed), round \(round)")
    }
  }
}
