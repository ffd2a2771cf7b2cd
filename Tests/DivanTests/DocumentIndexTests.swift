import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Documents found by the values of a property, compared with a plain search through all of them.
struct DocumentIndexTests {
  private let bench = CrashBench(SimulatedFileSystem(), CrashWriter(seed: 1))
  private let byYear = DocumentIndex("by year", on: "year")
  private let byTag = DocumentIndex("by tag", on: "tags", eachElement: true)
  private let byCity = DocumentIndex("by city", on: "made", "city")
  private var all: [DocumentIndex] { [byYear, byTag, byCity] }

  private func open(
    _ bench: CrashBench, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    try bench.open {
      $0.maintenance = .manual
      change(&$0)
    }
  }

  private func reopened(_ life: Int, _ loss: SimulatedDisk.Loss = .processEnd) -> CrashBench {
    CrashBench(bench.fileSystem.restarted(loss), CrashWriter(seed: UInt64(life)), life: life)
  }

  /// Throws away all checkpoints.
  private func forgetCheckpoints(_ bench: CrashBench) throws {
    for name in bench.fileSystem.names(in: CrashBench.path) where name.hasSuffix(".checkpoint") {
      try bench.fileSystem.vanish("\(CrashBench.path)/\(name)")
    }
  }

  private static let values: [Value] = [
    .null, false, true, -1, 0, 1926, 1927, 1927.5, 1931, .int(.max), "", "a", "ab", "b",
    .string(String(repeating: "x", count: 300)), .string(String(repeating: "x", count: 300) + "y"),
    ["a"], ["a": 1],
  ]

  private static let ranges: [IndexRange] =
    [.all, .prefix(""), .prefix("a"), .prefix(String(repeating: "x", count: 300))]
    + values.flatMap { value -> [IndexRange] in
      [
        .equal(to: value), .from(value), .greater(than: value), .less(than: value),
        .through(value), .from(0, upTo: value), .from("a", through: value),
      ]
    }

  /// Compares every way of asking with a search through all documents.
  private func expectAll(_ snapshot: Snapshot, _ place: Comment, _ names: [String]? = nil) throws {
    for kept in snapshot.view.state.indexes where names?.contains(kept.index.name) ?? true {
      for range in Self.ranges {
        var found: [(key: [UInt8], id: String)] = []
        var documents = snapshot.documents()
        while let document = try documents.next() {
          let values = IndexEntries.values(kept.index, of: try document.encoded())
          let meant = Set(values.filter { range.contains($0) }.map { IndexedValue($0).bytes })
          // The document comes where its first entry stands.
          if let first = meant.min(by: { $0.lexicographicallyPrecedes($1) }) {
            found.append((first + Array(document.id.utf8), document.id))
          }
        }
        found.sort { $0.key.lexicographicallyPrecedes($1.key) }
        let ids = try snapshot.ids(by: kept.index.name, range)
        var cursor = ids
        #expect(try cursor.rest() == found.map(\.id), "\(place) \(kept.index.name) \(range)")
        #expect(try snapshot.count(by: kept.index.name, range) == found.count, place)
        guard !kept.index.eachElement else { continue }
        var descending = try snapshot.documents(by: kept.index.name, range, descending: true)
        #expect(try descending.rest().map(\.id) == found.reversed().map(\.id), place)
      }
    }
  }

  private func properties(_ index: Int) -> Value.Object {
    let value = Self.values[index % Self.values.count]
    var object: Value.Object = [
      "year": value, "tags": [value, .int(Int64(index % 3)), value, "t"],
      "made": ["city": .string("city \(index % 4)")],
    ]
    if index % 5 == 4 { object["year"] = nil }
    if index % 7 == 6 { object["made"] = "nowhere" }
    return object
  }

  private func fill(_ database: Database, _ range: Range<Int>) throws {
    try database.write { transaction in
      for index in range { _ = try transaction.overwrite("doc-\(index)", with: properties(index)) }
    }
  }

  // MARK: What there is

  @Test func `documents come in the order of their values, and where these are equal of their IDs`()
    throws
  {
    let database = try open(bench)
    try fill(database, 0..<40)
    for index in all { try database.addIndex(index) }
    #expect(try database.indexes() == [byCity, byTag, byYear])
    try expectAll(database.snapshot(), "made over documents")
    try fill(database, 20..<60)
    try expectAll(database.snapshot(), "written since")
    #expect(try database.check().isSound)
    var years = try database.snapshot().documents(by: "by year", .from(1926, upTo: 1931))
    #expect(
      try years.rest().compactMap { $0["year"] }.allSatisfy { [1926, 1927, 1927.5].contains($0) })
  }

  @Test func `indexes follow every kind of change, and what is taken back`() throws {
    let database = try open(bench)
    for index in all { try database.addIndex(index) }
    try fill(database, 0..<30)
    try database.write { transaction in
      try transaction.delete(id: "doc-3")
      try transaction.purge("doc-4")
      _ = try transaction.update("doc-5") { $0["year"] = 2000 }
      try? transaction.nested {
        _ = try transaction.overwrite("doc-6", with: ["year": 3000])
        throw CancellationError()
      }
      var found = try transaction.ids(by: "by year", .equal(to: 2000))
      #expect(try found.rest() == ["doc-5"])
      #expect(try transaction.count(by: "by year", .equal(to: 3000)) == 0)
    }
    try? database.write { transaction in
      _ = try transaction.overwrite("doc-7", with: ["year": 3000])
      throw CancellationError()
    }
    try expectAll(database.snapshot(), "changed")
    // In a conflict the winner counts, and another one when that is gone.
    func revision(_ generation: UInt64, _ digest: String) throws -> RevisionID {
      try #require(RevisionID(generation: generation, digest: digest))
    }
    for (digest, year) in [("b", 1), ("c", 2)] as [(String, Int64)] {
      try database.write { transaction in
        try transaction.insert(
          Document(id: "both", ["year": .int(year)]),
          history: [try revision(2, digest), try revision(1, "a")])
      }
      try expectAll(database.snapshot(), "in conflict")
    }
    #expect(try database.snapshot().count(by: "by year", .equal(to: 2)) == 1)
    try database.write { _ = try $0.purge("both", revision: try revision(2, "c")) }
    #expect(try database.snapshot().count(by: "by year", .equal(to: 1)) == 1)
    try expectAll(database.snapshot(), "after the conflict")
    #expect(try database.check().isSound)
  }

  @Test func `a version that is held has the index as it was, and earlier versions are searched`()
    throws
  {
    let database = try open(bench) { $0.history = HistoryRetention(revisions: 100) }
    for index in all { try database.addIndex(index) }
    try fill(database, 0..<20)
    let held = try database.snapshot()
    try database.nameSnapshot("then")
    try fill(database, 10..<40)
    try database.remove("doc-1")
    try expectAll(held, "held")
    try expectAll(try database.snapshot(named: "then"), "named")
    try expectAll(database.snapshot(), "newest")
  }

  // MARK: Opening again

  @Test(arguments: [SimulatedDisk.Loss.processEnd, .strict])
  func `an index is there after a crash, whatever the checkpoint has of it`(
    loss: SimulatedDisk.Loss
  ) throws {
    let database = try open(bench)
    try fill(database, 0..<20)
    for index in all { try database.addIndex(index) }
    try fill(database, 10..<30)
    try database.writeCheckpoint()
    // What follows stands behind the checkpoint.
    try fill(database, 25..<50)
    try database.remove("doc-2")
    try database.write { try $0.purge("doc-3") }
    let expected = try database.snapshot().ids(by: "by year").collected()
    for isForgotten in [false, true] {
      let bench = reopened(50, loss)
      if isForgotten { try forgetCheckpoints(bench) }
      let again = try open(bench)
      #expect(again.openingReport.damage.isEmpty)
      #expect(try again.snapshot().ids(by: "by year").collected() == expected)
      try expectAll(again.snapshot(), "opened again")
      #expect(try again.check().isSound)
      try again.compact()
      try again.close()
      let compacted = CrashBench(bench.fileSystem, CrashWriter(seed: 3), life: 60)
      try forgetCheckpoints(compacted)
      try expectAll(try open(compacted).snapshot(), "after merges, from the log alone")
    }
  }

  @Test func `an index that was not finished is given up, and can be made again`() throws {
    let database = try open(bench)
    try fill(database, 0..<2500)
    var isCopied = false
    try database.addIndex(byYear) { share in
      if share < 1, !isCopied {
        isCopied = true
        // The process ends here, with and without a checkpoint of what there is by then.
        for isCheckpointed in [false, true] {
          if isCheckpointed { try? database.writeCheckpoint() }
          do {
            let again = try open(reopened(50))
            #expect(try again.indexes() == [])
            #expect(throws: DatabaseError.self) { try again.snapshot().ids(by: "by year") }
            #expect(try again.check().isSound)
            try fill(again, 0..<5)
            try again.addIndex(byYear)
            #expect(try again.check().isSound)
            #expect(
              try again.snapshot().count(by: "by year") == 2500 - 500)
          } catch {
            Issue.record(error)
          }
        }
      }
      return true
    }
    #expect(isCopied)
    #expect(try database.snapshot().count(by: "by year") == 2000)
  }

  @Test func `an index that is removed is gone, also after opening again`() throws {
    let database = try open(bench)
    try fill(database, 0..<10)
    for index in all { try database.addIndex(index) }
    try database.writeCheckpoint()
    #expect(try database.removeIndex(named: "by year"))
    #expect(try !database.removeIndex(named: "by year"))
    let again = try open(reopened(50))
    #expect(try again.indexes() == [byCity, byTag])
    #expect(try again.check().isSound)
    // Another one may have its name.
    let other = DocumentIndex("by year", on: "made", "year")
    try again.addIndex(other)
    try expectAll(again.snapshot(), "another one")
  }

  // MARK: Unique values

  @Test func `two documents cannot have one value in a unique index, but exchange theirs`() throws {
    let database = try open(bench)
    try database.addIndex(DocumentIndex("names", on: "name", isUnique: true))
    try database.put("a", #"{"name": "one"}"#)
    try database.put("b", #"{"name": "two"}"#)
    let error = #expect(throws: DatabaseError.self) { try database.put("c", #"{"name": "one"}"#) }
    #expect(error?.code == .notUnique)
    #expect(error?.message.contains(#""a""#) == true && error?.message.contains(#""c""#) == true)
    #expect(try database.snapshot().get("c") == nil)
    try database.write { transaction in
      _ = try transaction.overwrite("a", with: ["name": "two"])
      _ = try transaction.overwrite("b", with: ["name": "one"])
    }
    for id in ["n", "m"] { try database.put(id, #"{"name": null}"#) }
    for id in ["x", "y"] { try database.put(id, "{}") }
    try database.remove("a")
    try database.put("c", #"{"name": "two"}"#)
    #expect(try database.snapshot().ids(by: "names", .equal(to: "two")).collected() == ["c"])
    #expect(try database.check().isSound)
  }

  @Test func `a unique index is not made over documents with one value, and nothing is left`()
    throws
  {
    let database = try open(bench)
    try database.put("a", #"{"name": "one"}"#)
    try database.put("b", #"{"name": "one"}"#)
    let names = DocumentIndex("names", on: "name", isUnique: true)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(names) }
    #expect(error?.code == .notUnique)
    #expect(try database.indexes() == [])
    try database.put("c", #"{"name": "one"}"#)
    try database.remove("a")
    try database.remove("b")
    try database.addIndex(names)
    #expect(try database.snapshot().count(by: "names") == 1)
    #expect(try database.check().isSound)
  }

  // MARK: What is refused, and damage

  @Test func `names, paths and ranges that cannot be are refused`() throws {
    let database = try open(bench)
    let long = String(repeating: "n", count: 241)
    for index in [
      DocumentIndex("", on: "a"), DocumentIndex(long, on: "a"), DocumentIndex("a", path: []),
      DocumentIndex("a", path: Array(repeating: "p", count: 17)),
      DocumentIndex("a", on: String(repeating: "p", count: 1001)),
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
      #expect(error?.code == .invalidIndex)
    }
    try database.addIndex(byYear)
    try database.addIndex(byYear)
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("by year", on: "other"))
    }
    #expect(error?.code == .alreadyExists)
    #expect(throws: DatabaseError.self) { try database.snapshot().ids(by: "none") }
  }

  @Test func `making an index can be cancelled, and leaves nothing`() throws {
    let database = try open(bench)
    try fill(database, 0..<1500)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(byYear) { _ in false } }
    #expect(error?.code == .cancelled)
    #expect(try database.indexes() == [])
    let view = try database.store.view()
    var scan = view.state.catalog.scan(from: .inclusive([0x78]), to: .exclusive([0x79]))
    #expect(try view.step(&scan) == nil)
  }

  @Test func `a check finds what an index lacks, and what it has too much`() throws {
    let database = try open(bench)
    try database.addIndex(byYear)
    try fill(database, 0..<5)
    #expect(try database.check().isSound)
    let number = try #require(database.store.newest.indexes.first?.number)
    let prefix = IndexEntries.prefix(number)
    let key = prefix + IndexedValue(.null).bytes + Array("doc-0".utf8)
    database.tamper { $0.catalog.remove(key.span) }
    #expect(try database.check().problems.contains { $0.message.contains("lacks") })
    database.tamper { $0.catalog.set(key.span, [5 as UInt8].span) }
    #expect(try database.check().isSound)
    let extra = prefix + IndexedValue(77).bytes + Array("doc-0".utf8)
    database.tamper { $0.catalog.set(extra.span, [5 as UInt8].span) }
    #expect(try database.check().problems.contains { $0.message.contains("entries of") })
  }

  @Test func `a damaged leaf of an index is rebuilt from the documents`() throws {
    let database = try open(bench)
    try database.addIndex(byYear)
    try fill(database, 0..<400)
    try database.writeCheckpoint()
    try fill(database, 390..<410)
    try database.writeCheckpoint()
    try database.close()
    var repaired = 0
    let names = bench.fileSystem.names(in: CrashBench.path).filter { $0.hasSuffix(".checkpoint") }
    for name in names {
      let path = "\(CrashBench.path)/\(name)"
      for number in 1..<(try bench.fileSystem.status(path).size / 4096) {
        let bench = reopened(70)
        try bench.fileSystem.corrupt(path, atOffset: 4096 * number + 1000, mask: 4)
        let again = try open(bench)
        if again.openingReport.notes.isEmpty { repaired += 1 }
        try expectAll(again.snapshot(), "page \(number) of \(name)", ["by year"])
      }
    }
    #expect(repaired > 3)
  }

  // MARK: By chance

  @Test(arguments: 0..<4)
  func `random changes, indexes, checkpoints, merges and crashes leave what a search finds`(
    round: Int
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    var bench = bench
    var database = try open(bench)
    var life = 10
    for step in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try database.addIndex(all[Int.random(in: 0..<3, using: &random)])
      case 1: try database.removeIndex(named: all[Int.random(in: 0..<3, using: &random)].name)
      case 2: try database.writeCheckpoint()
      case 3: try database.compact()
      case 4:
        life += 10
        let disk = bench.fileSystem.restarted(.processEnd)
        bench = CrashBench(disk, CrashWriter(seed: UInt64(life)), life: life)
        if Bool.random(using: &random) { try forgetCheckpoints(bench) }
        database = try open(bench)
      default:
        try database.write { transaction in
          for _ in 0..<Int.random(in: 1...8, using: &random) {
            let id = "doc-\(Int.random(in: 0..<40, using: &random))"
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try transaction.delete(id: id)
            case 1: try transaction.purge(id)
            default:
              let number = Int.random(in: 0..<1000, using: &random)
              _ = try transaction.overwrite(id, with: properties(number))
            }
          }
        }
      }
      if step % 10 == 9 {
        try expectAll(database.snapshot(), "step \(step) of seed \(seed)")
        let problems = try database.check().problems
        #expect(problems.isEmpty, "step \(step) of seed \(seed): \(problems)")
      }
    }
  }
}

extension IndexedIDCursor {
  /// All that are left.
  fileprivate consuming func collected() throws -> [String] {
    var cursor = self
    return try cursor.rest()
  }
}
