import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// A store with indexes on a simulated disk, and a plain search to compare them with.
struct IndexFixture {
  let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  let byYear = DocumentIndex("by year", on: "year")
  let byTag = DocumentIndex("by tag", on: "tags", eachElement: true)
  let byCity = DocumentIndex("by city", on: "made.city")
  let byCityAndYear = DocumentIndex("by city and year", on: "made.city", "year")
  let lateByCity = DocumentIndex(
    "late by city", on: "made.city", where: [.greaterOrEqual("year", 1927)])
  var all: [DocumentIndex] { [byYear, byTag, byCity, byCityAndYear, lateByCity] }

  func open(
    _ other: CrashFixture? = nil, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    try (other ?? fixture).open {
      $0.maintenance = .manual
      change(&$0)
    }
  }

  /// Returns the store as it is after the process has ended.
  func reopened(_ life: Int, _ loss: SimulatedDisk.Loss = .processEnd) -> CrashFixture {
    CrashFixture(fixture.fileSystem.restarted(loss), CrashWriter(seed: UInt64(life)), life: life)
  }

  /// Deletes all checkpoints.
  func forgetCheckpoints(_ fixture: CrashFixture) throws {
    for name in checkpoints(fixture) { try fixture.fileSystem.vanish(name) }
  }

  func checkpoints(_ fixture: CrashFixture) -> [String] {
    fixture.fileSystem.names(in: CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }
      .map { "\(CrashFixture.path)/\($0)" }
  }

  // MARK: Stored values

  static let values: [Value] = [
    .null, false, true, -1, 0, 1926, 1927, 1927.5, 1931, .int(.max), "", "a", "ab", "b",
    .string(String(repeating: "x", count: 300)), .string(String(repeating: "x", count: 300) + "y"),
    ["a"], ["a": 1],
  ]

  func properties(_ index: Int) -> Value.Object {
    let value = Self.values[index % Self.values.count]
    var object: Value.Object = [
      "year": value, "tags": [value, .int(Int64(index % 3)), value, "t"],
      "made": ["city": .string("city \(index % 4)")],
    ]
    if index % 5 == 4 { object["year"] = nil }
    if index % 7 == 6 { object["made"] = "nowhere" }
    return object
  }

  func fill(_ database: Database, _ range: Range<Int>) throws {
    try database.write { transaction in
      for index in range { _ = try transaction.replace("doc-\(index)", with: properties(index)) }
    }
  }

  // MARK: Queries

  static let ranges: [IndexRange] =
    [.all, .prefix(""), .prefix("a"), .prefix(String(repeating: "x", count: 300))]
    + values.flatMap { value -> [IndexRange] in
      [
        .equal(to: value), .init(from: value), .greater(than: value), .init(upTo: value),
        .init(through: value), .init(from: 0, upTo: value), .init(from: "a", through: value),
      ]
    }

  /// Ranges for indexes of two properties and for partial indexes.
  static let cityRanges: [IndexRange] = {
    let city = IndexRange.equal(to: "city 1")
    return [.all, city, .prefix("city"), .init(from: "city 1", upTo: "city 3"), .equal(to: .null)]
  }()
  static let cityAndYearRanges =
    cityRanges
    + ([
      .all, .equal(to: .null), .equal(to: 1927), .init(from: 1927), .init(upTo: 1927.5),
      .prefix("a"),
    ]
    + [.equal(to: values[14]), .greater(than: values[14]), .prefix("xxx")])
    .map { cityRanges[1].then($0) }

  static func ranges(of index: DocumentIndex) -> [IndexRange] {
    if index.paths.count > 1 { return cityAndYearRanges }
    return index.conditions.isEmpty ? ranges : cityRanges
  }

  /// Compares every kind of query with a search through all documents.
  func expectAll(
    _ snapshot: Snapshot, _ comment: Comment, _ names: [String]? = nil,
    _ ranges: [IndexRange]? = nil
  ) throws {
    var bodies: [(id: String, body: EncodedValue)] = []
    var documents = snapshot.documents()
    while let document = try documents.next() {
      bodies.append((document.id, try document.encoded()))
    }
    for definition in snapshot.view.state.indexes
    where names?.contains(definition.index.name) ?? true {
      let values = bodies.map { ($0.id, IndexEntries.values(definition.index, of: $0.body)) }
      for range in ranges ?? IndexFixture.ranges(of: definition.index) {
        var found: [(key: [UInt8], id: String)] = []
        for (id, values) in values {
          let matching = values.filter { range.contains($0) }.map {
            IndexedValue(joining: $0).bytes
          }
          // The document comes at the position of its first entry.
          if let first = matching.min(by: { $0.lexicographicallyPrecedes($1) }) {
            found.append((first + Array(id.utf8), id))
          }
        }
        found.sort { $0.key.lexicographicallyPrecedes($1.key) }
        let ids = try snapshot.ids(by: definition.index.name, range).collect()
        #expect(ids == found.map(\.id), "\(comment) \(definition.index.name) \(range)")
        #expect(try snapshot.count(by: definition.index.name, range) == found.count, comment)
        guard !definition.index.eachElement else { continue }
        let descending = try snapshot.documents(by: definition.index.name, range, descending: true)
        #expect(try descending.collect().map(\.id) == found.reversed().map(\.id), comment)
      }
    }
  }

  /// Does the same as `expectAll`, and expects a check to find no problems.
  func expectSound(_ database: Database, _ comment: Comment) throws {
    try expectAll(database.snapshot(), comment)
    let problems = try database.check().problems
    #expect(problems.isEmpty, "\(comment): \(problems.prefix(3))")
  }
}
