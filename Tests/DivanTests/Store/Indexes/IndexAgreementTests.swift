import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of indexes of every kind over random documents, compared with plain ones.
///
/// They are compound, partial, unique and multikey indexes.
struct IndexAgreementTests {
  private let store = IndexFixture()

  private static let long = String(repeating: "x", count: 170)
  /// The values of properties and of queries.
  ///
  /// Some are truncated in keys, most of them as a second property.
  private static let values: [Value] = [
    .null, false, true, -1, 1, 1.0, 2.5, "", "p", "pq", .string(String(repeating: "x", count: 100)),
    .string(long), .string(long + "1"), .string(long + "2"),
  ]

  private static let indexes: [PlainIndex] = [
    PlainIndex(index: DocumentIndex("a, b", on: "a", "b")),
    PlainIndex(index: DocumentIndex("a, c.d, b", on: "a", "c.d", "b")),
    PlainIndex(index: DocumentIndex("tags, a", on: "tags", "a", eachElement: true)),
    PlainIndex(index: DocumentIndex("flagged b", on: "b", where: [.equal("flag", true)])) {
      $0["flag"]?.boolValue == true
    },
    PlainIndex(
      index: DocumentIndex(
        "tags, b of few", on: "tags", "b", eachElement: true,
        where: [.isPresent("a"), .less("n", 30), .equal("gone", .null)])
    ) { document in
      let isThere = document["a"].map { !$0.isNull } ?? false
      return isThere && (document["n"]?.intValue ?? 99) < 30
        && document["gone"].map(\.isNull) ?? true
    },
    PlainIndex(
      index: DocumentIndex(
        "flagged c.d, n", on: "c.d", "n", isUnique: true, where: [.equal("flag", true)])
    ) { $0["flag"]?.boolValue == true },
  ]

  private static func properties(_ random: inout SeededGenerator) -> Value.Object {
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    func value() -> Value { values[below(values.count)] }
    var object: Value.Object = ["n": .int(Int64(below(60))), "flag": .bool(below(2) == 0)]
    for name in ["a", "b", "gone"] where below(4) > 0 { object[name] = value() }
    if below(2) == 0 { object["gone"] = nil }
    if below(4) > 0 { object["c"] = below(4) > 0 ? ["d": value()] : value() }
    switch below(4) {
    case 0: break
    case 1: object["tags"] = value()
    default: object["tags"] = .array((0..<below(4)).map { _ in value() })
    }
    return object
  }

  /// Queries every index for some ranges, of one property and of several.
  private func expectAgreement(
    _ snapshot: Snapshot, _ documents: [String: Value.Object], _ names: Set<String>,
    _ random: inout SeededGenerator, _ comment: Comment
  ) throws {
    for plain in Self.indexes where names.contains(plain.index.name) {
      let rows = documents.sorted { $0.key < $1.key }.map {
        (id: $0.key, entries: plain.entries($0.value))
      }
      var ranges = [PlainIndexRange.random(Self.values, using: &random)]
      if plain.index.paths.count > 1 {
        // Values that some document has, so that the query has results.
        let known = rows.flatMap(\.entries).randomElement(using: &random)
        var range = PlainIndexRange.equal(to: known?[0] ?? .null)
        ranges.append(range.then(.random(Self.values, using: &random)))
        if plain.index.paths.count > 2 {
          range = range.then(.equal(to: known?[1] ?? .null))
          ranges.append(range.then(.random(Self.values, using: &random)))
        }
      }
      for range in ranges {
        let isDescending = Bool.random(using: &random)
        let expected = PlainIndex.ids(rows, range, descending: isDescending)
        let found = try snapshot.ids(by: plain.index.name, range.range, descending: isDescending)
          .collect()
        #expect(found == expected, "\(comment) \(plain.index.name) \(range.range)")
        let count = try snapshot.count(by: plain.index.name, range.range)
        #expect(count == expected.count, "\(comment) \(plain.index.name) \(range.range)")
      }
    }
  }

  @Test(arguments: 0..<2)
  func `indexes match plain ones after random changes, conflicts, checkpoints and crashes`(
    round: Int
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    var fixture = store.fixture
    var database = try store.open()
    var names: Set<String> = []
    /// The leaves of each document, the winner last.
    var leaves: [String: [Value.Object]] = [:]
    var generation: UInt64 = 0
    var life = 10
    var refusals = 0
    func winners(_ leaves: [String: [Value.Object]]) -> [String: Value.Object] {
      leaves.compactMapValues(\.last)
    }
    for step in 0..<30 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<3:
        let plain = Self.indexes[Int.random(in: 0..<Self.indexes.count, using: &random)]
        do {
          try database.addIndex(plain.index)
          #expect(!plain.isViolated(by: winners(leaves)), "seed \(seed) step \(step)")
          names.insert(plain.index.name)
        } catch let error as DatabaseError where error.code == .notUnique {
          #expect(plain.isViolated(by: winners(leaves)), "seed \(seed) step \(step)")
        }
      case 3:
        if let name = names.sorted().randomElement(using: &random) {
          try database.removeIndex(named: name)
          names.remove(name)
        }
      case 4: try database.writeCheckpoint()
      case 5:
        life += 10
        let disk = fixture.fileSystem.restarted(.processEnd)
        fixture = CrashFixture(disk, CrashWriter(seed: UInt64(life)), life: life)
        if Bool.random(using: &random) { try store.forgetCheckpoints(fixture) }
        database = try store.open(fixture)
      default:
        var changed = leaves
        do {
          try database.write { transaction in
            for _ in 0..<Int.random(in: 1...4, using: &random) {
              generation += 1000
              try IndexAgreementTests.change(
                &changed, in: transaction, generation: generation, &random)
            }
          }
          leaves = changed
        } catch let error as DatabaseError where error.code == .notUnique {
          let isViolated = Self.indexes.contains {
            names.contains($0.index.name) && $0.isViolated(by: winners(changed))
          }
          #expect(isViolated, "seed \(seed) step \(step): \(error)")
          refusals += 1
        }
        for plain in Self.indexes where names.contains(plain.index.name) {
          #expect(!plain.isViolated(by: winners(leaves)), "seed \(seed) step \(step)")
        }
      }
      try expectAgreement(
        database.snapshot(), winners(leaves), names, &random, "seed \(seed) step \(step)")
    }
    let problems = try database.check().problems
    #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(3)), \(refusals) refused")
  }

  /// Makes one change in a transaction and in the expected leaves of the documents.
  private static func change(
    _ leaves: inout [String: [Value.Object]], in transaction: WriteTransaction, generation: UInt64,
    _ random: inout SeededGenerator
  ) throws {
    let id = "doc-\(Int.random(in: 0..<18, using: &random))"
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      _ = try transaction.delete(id)
      leaves[id] = nil
    case 1:
      try transaction.purge(id)
      leaves[id] = nil
    case 2:
      // One branch is deleted, and the next one wins.
      guard let document = try transaction.document(id) else { return }
      _ = try transaction.delete(document)
      _ = leaves[id]?.popLast()
      if leaves[id]?.isEmpty == true { leaves[id] = nil }
    case 3:
      // A replicated revision wins over all existing ones.
      let properties = properties(&random)
      let revision = try #require(RevisionID(generation: generation, digest: "e"))
      _ = try transaction.insert(Document(id: id, properties), history: [revision])
      leaves[id, default: []].append(properties)
    default:
      let properties = properties(&random)
      _ = try transaction.replace(id, with: properties)
      _ = leaves[id]?.popLast()
      leaves[id, default: []].append(properties)
    }
  }
}
