import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Past versions by their sequence numbers, times and names.
struct PastVersionTests {
  private let disk = MemoryFileSystem()
  private let clock = SteppedClock()

  private func open(_ history: HistoryRetention) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.history = history
    configuration.now = { [clock] in clock.now }
    return try Database(at: "/s", configuration: configuration)
  }

  private func put(_ database: Database, _ id: String, _ number: Int64) throws {
    clock.tick()
    try database.write { _ = try $0.overwrite(id, with: ["n": .int(number)]) }
  }

  private func expect(_ code: DatabaseError.Code, _ body: () throws -> Void) {
    do {
      try body()
      Issue.record("nothing was thrown where \(code) should have been")
    } catch let error as DatabaseError {
      #expect(error.code == code, "\(error)")
    } catch {
      Issue.record("\(error)")
    }
  }

  private func heldCount(_ database: Database) throws -> Int {
    let view = try database.store.view()
    var scan = view.state.older.scan()
    var count = 0
    while try view.step(&scan) != nil { count += 1 }
    return count
  }

  private func catalogCount(_ database: Database) throws -> Int {
    let view = try database.store.view()
    var scan = view.state.catalog.scan()
    var count = 0
    while try view.step(&scan) != nil { count += 1 }
    return count
  }

  @Test func `a past version is read like the newest one`() throws {
    let database = try open(.everything)
    try put(database, "a", 1)
    let between = clock.date
    try put(database, "b", 1)
    try put(database, "a", 2)
    try database.write { _ = try $0.delete(id: "b") }
    try put(database, "c", 3)

    let first = try database.snapshot(at: 1)
    #expect(first.sequence == 1)
    #expect(first.count == 1)
    #expect(try first.get("a")?["n"] == 1)
    #expect(try first.get("b") == nil)
    #expect(try first.revision(of: "c") == nil)
    #expect(try database.snapshot(at: between).sequence == 1)
    let fourth = try database.snapshot(at: 4)
    #expect(try fourth.get("a")?["n"] == 2)
    #expect(try fourth.tombstone("b") != nil)
    #expect(fourth.count == 1)
    var changes = fourth.changes(since: 2)
    #expect(try changes.rest().map(\.id) == ["a", "b"])
    #expect(try database.snapshot(at: 0).count == 0)
    #expect(try database.snapshot(at: 99).sequence == 5)
    #expect(try database.snapshot(at: Date(timeIntervalSince1970: 0)).count == 0)
    #expect(try database.snapshot(at: clock.date + 100).count == 2)
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `a sequence number inside a transaction means the transaction before`() throws {
    let database = try open(.everything)
    try put(database, "a", 1)
    try database.write { transaction in
      for id in ["b", "c", "d"] { _ = try transaction.overwrite(id, with: ["n": 2]) }
      _ = try transaction.overwrite("a", with: ["n": 2])
      _ = try transaction.overwrite("a", with: ["n": 3])
    }
    for sequence in 1...5 as ClosedRange<UInt64> {
      let snapshot = try database.snapshot(at: sequence)
      #expect(snapshot.sequence == 1)
      #expect(try snapshot.get("a")?["n"] == 1)
      #expect(snapshot.count == 1)
    }
    #expect(try database.snapshot(at: 6).get("a")?["n"] == 3)
  }

  @Test func `nothing is kept by default`() throws {
    let database = try open(.none)
    for number in 1...5 as ClosedRange<Int64> { try put(database, "a", number) }
    #expect(try heldCount(database) == 0)
    #expect(try catalogCount(database) == 0)
    for sequence in 0...4 as ClosedRange<UInt64> {
      expect(.historyNotHeld) { _ = try database.snapshot(at: sequence) }
    }
    expect(.historyNotHeld) { _ = try database.snapshot(at: clock.date - 1) }
    #expect(try database.snapshot(at: 5).get("a")?["n"] == 5)
  }

  @Test func `history begins when it is asked for, and ends when it is not any more`() throws {
    var database = try open(.none)
    try put(database, "a", 1)
    try put(database, "a", 2)
    try database.close()
    database = try open(.everything)
    try put(database, "a", 3)
    try put(database, "a", 4)
    expect(.historyNotHeld) { _ = try database.snapshot(at: 1) }
    #expect(try database.snapshot(at: 2).get("a")?["n"] == 2)
    #expect(try database.snapshot(at: 3).get("a")?["n"] == 3)
    try database.close()
    database = try open(.none)
    // What was kept stays until something is lost.
    #expect(try database.snapshot(at: 3).get("a")?["n"] == 3)
    try database.compact()
    #expect(try heldCount(database) == 0)
    expect(.historyNotHeld) { _ = try database.snapshot(at: 3) }
    try put(database, "a", 5)
    try put(database, "a", 6)
    // Nothing has to be looked at any more when the document is written.
    let entry = try #require(try database.store.view().entry("a"))
    #expect(entry.traits.isEmpty)
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `what was not noted lies in a gap`() throws {
    var database = try open(.everything)
    try put(database, "a", 1)
    try put(database, "b", 2)
    try database.close()
    database = try open(.none)
    try put(database, "c", 3)
    try put(database, "d", 4)
    try database.close()
    database = try open(.everything)
    try put(database, "e", 5)
    try put(database, "f", 6)
    #expect(try database.snapshot(at: 1).count == 1)
    for sequence in [2, 3] as [UInt64] {
      // Whether a transaction ended there is not known.
      expect(.historyNotHeld) { _ = try database.snapshot(at: sequence) }
    }
    #expect(try database.snapshot(at: 4).count == 4)
    #expect(try database.snapshot(at: 5).count == 5)
  }

  @Test func `the number of revisions is limited`() throws {
    let database = try open(HistoryRetention(revisions: 3))
    try put(database, "b", 0)
    for number in 1...10 as ClosedRange<Int64> { try put(database, "a", number) }
    #expect(try database.snapshot(at: 2).get("a")?["n"] == 1)
    try database.compact()
    #expect(try heldCount(database) == 3)
    expect(.historyNotHeld) { _ = try database.snapshot(at: 7) }
    #expect(try database.snapshot(at: 8).get("a")?["n"] == 7)
    let history = try database.read { try $0.history(of: "a") }
    #expect(history.map { $0.document != nil } == (0..<10).map { $0 < 4 })
    do {
      _ = try database.snapshot(at: 3)
    } catch let error as DatabaseError {
      #expect(error.hint?.contains("sequence number 8") == true, "\(error)")
    }
  }

  @Test func `the age of revisions is limited`() throws {
    let database = try open(HistoryRetention(age: .seconds(3)))
    for number in 1...10 as ClosedRange<Int64> { try put(database, "a", number) }
    try database.compact()
    // The version of three seconds ago is there, and those after it.
    #expect(try heldCount(database) == 3)
    expect(.historyNotHeld) { _ = try database.snapshot(at: clock.date - 4) }
    #expect(try database.snapshot(at: clock.date - 3).get("a")?["n"] == 7)
    for _ in 0..<100 { clock.tick() }
    try database.compact()
    #expect(try heldCount(database) == 0)
    #expect(try database.snapshot(at: 10).get("a")?["n"] == 10)
  }

  @Test func `the bytes of history are limited`() throws {
    let database = try open(HistoryRetention(bytes: 20_000))
    for number in 0..<200 {
      try database.write {
        _ = try $0.overwrite(
          "d\(number % 7)",
          with: ["n": .int(Int64(number)), "x": .string(String(repeating: "x", count: 500))])
      }
    }
    try database.compact()
    let held = try heldCount(database)
    #expect(held > 20 && held < 40, "\(held)")
    #expect(try database.snapshot(at: 199).get("d2")?["n"] == 198 - 198 % 7 + 2 - 7)
    expect(.historyNotHeld) { _ = try database.snapshot(at: 100) }
  }

  @Test func `a named snapshot survives merges and reopening, and gives its space back`() throws {
    var database = try open(.none)
    let text = Value.string(String(repeating: "x", count: 400))
    try database.write { transaction in
      for number in 0..<100 { _ = try transaction.overwrite("d\(number)", with: ["x": text]) }
    }
    try database.nameSnapshot("before import")
    for round in 1...5 as ClosedRange<Int64> {
      try database.write { transaction in
        for number in 0..<100 {
          _ = try transaction.overwrite("d\(number)", with: ["x": text, "n": .int(round)])
        }
      }
    }
    try put(database, "new", 1)
    for _ in 0..<2 {
      try database.compact()
      try database.close()
      database = try open(.none)
    }
    let named = try #require(try database.namedSnapshots().first)
    #expect(named.name == "before import")
    #expect(named.sequence == 100)
    #expect(named.documentCount == 100)
    #expect(named.pinnedSize > 40_000 && named.pinnedSize < 60_000, "\(named.pinnedSize)")
    #expect(try heldCount(database) == 100)
    do {
      let snapshot = try database.snapshot(named: "before import")
      #expect(snapshot.count == 100)
      #expect(try snapshot.get("d7")?["n"] == nil)
      #expect(try snapshot.get("new") == nil)
      #expect(try database.snapshot(at: 100).get("d7")?["n"] == nil)
    }
    expect(.historyNotHeld) { _ = try database.snapshot(at: 200) }
    let size = try database.statistics.liveSize
    try database.removeSnapshot(named: "before import")
    try database.compact()
    #expect(try heldCount(database) == 0)
    #expect(try database.statistics.liveSize < size - 40_000)
    #expect(try database.statistics.segments.reduce(0) { $0 + $1.size } < 80_000)
    expect(.notFound) { _ = try database.snapshot(named: "before import") }
    expect(.historyNotHeld) { _ = try database.snapshot(at: 100) }
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `names are checked`() throws {
    let database = try open(.none)
    try put(database, "a", 1)
    try database.nameSnapshot("x")
    expect(.alreadyExists) { try database.nameSnapshot("x") }
    expect(.invalidSnapshotName) { try database.nameSnapshot("") }
    let long = String(repeating: "ä", count: 120)
    try database.nameSnapshot(long)
    expect(.invalidSnapshotName) { try database.nameSnapshot(long + "a") }
    expect(.notFound) { _ = try database.snapshot(named: "y") }
    expect(.notFound) { try database.removeSnapshot(named: "y") }
    #expect(try database.namedSnapshots().map(\.name) == ["x", long])
    try database.removeSnapshot(named: "x")
    try database.nameSnapshot("x")
    #expect(try database.namedSnapshots().map(\.sequence) == [1, 1])
    let other = try Database.inMemory()
    expect(.historyNotHeld) { try database.nameSnapshot("z", of: other.snapshot()) }
  }

  @Test func `an open snapshot is named for as long as nothing of it is gone`() throws {
    let database = try open(.none)
    try put(database, "a", 1)
    let open = try database.snapshot()
    try put(database, "b", 1)
    try database.nameSnapshot("earlier", of: open)
    try put(database, "a", 2)
    expect(.historyNotHeld) {
      try database.nameSnapshot("too late", of: try database.snapshot(at: 2))
    }
    // Another name keeps that version.
    try database.nameSnapshot("again", of: open)
    try database.removeSnapshot(named: "earlier")
    try database.compact()
    #expect(try database.snapshot(named: "again").get("a")?["n"] == 1)
    #expect(try database.snapshot(named: "again").count == 1)
    try database.removeSnapshot(named: "again")
    try database.compact()
    expect(.historyNotHeld) { try database.nameSnapshot("gone", of: open) }
    // What is open stays as it is.
    #expect(try open.get("a")?["n"] == 1)
  }

  @Test func `purging reaches past versions`() throws {
    let database = try open(.everything)
    try put(database, "a", 1)
    try put(database, "b", 1)
    try put(database, "a", 2)
    try database.nameSnapshot("x")
    let open = try database.snapshot(at: 1)
    try database.write { _ = try $0.purge("a") }
    #expect(try database.snapshot(at: 1).get("a") == nil)
    #expect(try database.snapshot(named: "x").get("a") == nil)
    #expect(try database.snapshot(named: "x").count == 1)
    #expect(try open.get("a")?["n"] == 1)
    // A new document of that ID has nothing to do with the old one.
    try put(database, "a", 3)
    try put(database, "a", 4)
    #expect(try database.snapshot(named: "x").get("a") == nil)
    try database.compact()
    #expect(try database.snapshot(at: 4).get("a")?["n"] == 3)
    #expect(try database.snapshot(at: 3).get("a") == nil)
  }

  @Test func `a moment that is not after the one before it is no moment`() throws {
    let moment = Moment(sequence: 5, commit: 2, time: 3, documentCount: 1)
    for (previous, isSound) in [(4, true), (5, false), (6, false)] as [(UInt64, Bool)] {
      var writer = ByteWriter()
      MomentRecord(moment: moment, previous: previous).encode(to: &writer)
      let decoded = try? MomentRecord.decode(writer.sharedCopy)
      #expect((decoded != nil) == isSound)
    }
  }
}
