import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// What a damaged store says of what may be missing.
struct DamagePolicyTests {
  private let bench = CrashBench(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var path: String { "\(CrashBench.path)/0000000001.segment" }

  private func open(
    _ damage: DamagePolicy, isReadOnly: Bool = true, bench: CrashBench? = nil
  ) throws -> Database {
    try (bench ?? self.bench).open {
      $0.maintenance = .manual
      $0.isReadOnly = isReadOnly
      $0.damage = damage
    }
  }

  /// Where a text stands in the log for the first time, or the last.
  private func place(of text: String, isLast: Bool = false) throws -> Int {
    let bytes = try bench.fileSystem.contents(of: path, limit: 1 << 20).array
    let text = Array(text.utf8)
    let places = bytes.indices.lazy.filter { bytes[$0...].starts(with: text) }
    return try #require(isLast ? Array(places).last : places.first)
  }

  private func expectDamaged<R>(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
  ) {
    let error = #expect(
      throws: DatabaseError.self, "\(what)", sourceLocation: sourceLocation
    ) { _ = try body() }
    #expect(error?.code == .damaged, "\(what)", sourceLocation: sourceLocation)
    #expect(error?.path != nil, "\(what)", sourceLocation: sourceLocation)
  }

  private func id(_ number: Int) -> String { "document \(number)." }

  private func fill(_ count: Int) throws {
    let database = try bench.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<count {
        _ = try transaction.overwrite(
          id(number), with: ["text": .string("\(number) of \(count)"), "n": .int(Int64(number))])
      }
    }
    try database.close()
  }

  // Found by a trial from outside: 300 documents were gone, and nothing but the report of opening said so.
  @Test func `of a damaged transaction nothing is claimed, and its whole records are read`() throws
  {
    try fill(300)
    try bench.fileSystem.corrupt(path, atOffset: try place(of: "150 of 300"), mask: 1)
    expectDamaged("opening for writing") { try open(.refuse, isReadOnly: false) }
    let database = try open(.refuse)
    let snapshot = try database.snapshot()
    expectDamaged("count") { try snapshot.count }
    for number in 0..<300 {
      expectDamaged(id(number)) { try snapshot.get(id(number)) }
      expectDamaged(id(number)) { try snapshot.exists(id(number)) }
    }
    expectDamaged("none") { try snapshot.get("none") }
    expectDamaged("several") { try snapshot.get([id(3), id(4)]) }
    expectDamaged("a range") {
      var cursor = snapshot.ids(.prefix("document 1"))
      return try cursor.rest()
    }
    expectDamaged("changes") {
      var cursor = snapshot.changes()
      return try cursor.rest()
    }
    let some = Query<Document>().filter { $0["n"] > 3 }.sort("n")
    expectDamaged("a query") { try snapshot.find(some) }
    expectDamaged("a query's count") { try snapshot.count(some) }
    expectDamaged("the count of all") { try snapshot.count(Query<Document>()) }
    expectDamaged("a sum") { try snapshot.sum(Query<Document>()) { $0["n"] } }
    expectDamaged("a view") {
      try snapshot.rowCount(
        of: MapReduceView("n", version: "1") { document, emit in
          emit(document["n"] ?? .null)
        })
    }
    expectDamaged("missing") { try snapshot.missing(among: [id(2): []]) }
    expectDamaged("leaves") { try snapshot.leaves(of: id(2)) }
    expectDamaged("a local document") { try snapshot.localDocument("none") }
    expectDamaged("local documents") { try snapshot.localDocumentIDs() }

    let left = try open(.readWhatIsThere, isReadOnly: false)
    #expect(left.openingReport.salvagedRecords == 299)
    #expect(!left.openingReport.damage.isEmpty)
    #expect(try left.snapshot().count == 299)
    for number in 0..<300 {
      #expect(try (left.snapshot().get(id(number)) == nil) == (number == 150))
    }
    var ids = try left.snapshot().ids()
    #expect(try ids.rest().count == 299)
    #expect(throws: DatabaseError.self) { try left.write { _ in } }
  }

  @Test func `what stands behind the damage is known, and what stands before is not`() throws {
    do {
      let database = try bench.open { $0.maintenance = .manual }
      for text in ["first", "second", "third"] {
        try database.write { _ = try $0.overwrite(text, with: ["text": .string("\(text) text")]) }
      }
      try database.write { _ = try $0.overwrite("first", with: ["text": "again"]) }
      try database.write { _ = try $0.delete(id: "third") }
      try database.write { try $0.putLocal("local", ["n": 1]) }
      try database.close()
    }
    try bench.fileSystem.corrupt(path, atOffset: try place(of: "third text"), mask: 4)
    let database = try open(.refuse)
    let snapshot = try database.snapshot()
    #expect(try snapshot.get("first")?["text"] == "again")
    #expect(try snapshot.get("third") == nil)
    #expect(try snapshot.tombstone("third") != nil)
    #expect(try snapshot.localDocument("local") == ["n": 1])
    expectDamaged("second") { try snapshot.get("second") }
    expectDamaged("none") { try snapshot.get("none") }
    expectDamaged("count") { try snapshot.count }
    let remains = try open(.readWhatIsThere)
    let left = try remains.snapshot()
    #expect(try left.get("second") != nil)
    #expect(try left.count == 2)
  }

  @Test func `after a checkpoint, what is counted is what is found`() throws {
    do {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, 0..<40, size: 50)
      try database.writeCheckpoint()
      try database.write { transaction in
        for number in 0..<10 {
          _ = try transaction.overwrite(id(number), with: ["text": .string("new \(number)")])
        }
        _ = try transaction.delete(id: "doc-7")
      }
      try database.write { _ = try $0.overwrite("last", with: ["text": "end"]) }
      try database.close()
    }
    try bench.fileSystem.corrupt(path, atOffset: try place(of: "new 4"), mask: 4)
    let remains = try open(.readWhatIsThere)
    let left = try remains.snapshot()
    var ids = left.ids()
    let all = try ids.rest()
    #expect(try left.count == all.count)
    #expect(all.count == 40 - 1 + 9 + 1)
    var changes = left.changes()
    let changed = try changes.rest().map(\.id)
    #expect(Set(changed).count == changed.count)
    let database = try open(.refuse)
    let snapshot = try database.snapshot()
    #expect(try snapshot.get("last") != nil)
    for id in ["doc-1", "doc-7", id(4), id(5)] { expectDamaged(id) { try snapshot.get(id) } }
  }

  @Test func `a log whose end is missing knows nothing for certain`() throws {
    do {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, 0..<4, size: 200)
      try database.close()
    }
    let size = try bench.fileSystem.status(path).size
    try bench.fileSystem.truncate(path, toSize: size - 60)
    expectDamaged("opening for writing") { try open(.refuse, isReadOnly: false) }
    let database = try open(.refuse)
    let snapshot = try database.snapshot()
    for number in 0..<4 { expectDamaged("\(number)") { try snapshot.get("doc-\(number)") } }
    expectDamaged("count") { try snapshot.count }
    #expect(try open(.readWhatIsThere).snapshot().count >= 3)
  }

  // Found by a trial from outside: the copy had 99 of 100 documents, and looked sound.
  @Test(arguments: [DamagePolicy.refuse, .readWhatIsThere])
  func `a damaged store is not backed up`(policy: DamagePolicy) throws {
    try fill(100)
    try bench.fileSystem.corrupt(path, atOffset: try place(of: "50 of 100"), mask: 1)
    let database = try open(policy)
    expectDamaged("backup") { try database.backup(to: "/copy.divan") }
    #expect(try !bench.fileSystem.exists("/copy.divan"))
    #expect(try !bench.fileSystem.exists("/copy.divan.building"))
  }

  @Test func `damage that the checkpoint covers makes nothing else uncertain`() throws {
    do {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, 0..<20, size: 50)
      try database.writeCheckpoint()
      try database.close()
    }
    try bench.fileSystem.corrupt(path, atOffset: try place(of: "doc-3") + 30, mask: 1)
    let database = try open(.refuse, isReadOnly: false)
    #expect(try database.snapshot().count == 20)
    expectDamaged("doc-3") { try database.snapshot().get("doc-3") }
    #expect(try database.snapshot().get("doc-4") != nil)
    expectDamaged("backup") { try database.backup(to: "/copy.divan") }
  }
}
