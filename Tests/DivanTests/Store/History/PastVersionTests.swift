import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of past versions by sequence number, time and name.
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
    try database.write { _ = try $0.replace(id, with: ["n": .int(number)]) }
  }

  private func expect(_ code: DatabaseError.Code, _ body: () throws -> Void) {
    do {
      try body()
      Issue.record("the error \(code) was not thrown")
    } catch let error as DatabaseError {
      #expect(error.code == code, "\(error)")
    } catch {
      Issue.record("\(error)")
    }
  }

  private func retainedCount(_ database: Database) throws -> Int {
    let view = try database.store.view()
    var scan = view.state.retained.scan()
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

  @Test func `a past version can be read like the newest one`() throws {
    let database = try open(.unlimited)
    try put(database, "a", 1)
    let between = clock.date
    try put(database, "b", 1)
    try put(database, "a", 2)
    try database.write { _ = try $0.delete("b") }
    try put(database, "c", 3)

    let first = try database.snapshot(at: 1)
    #expect(first.sequence == 1)
    #expect(try first.count == 1)
    #expect(try first.document("a")?["n"] == 1)
    #expect(try first.document("b") == nil)
    #expect(try first.revision(of: "c") == nil)
    #expect(try database.snapshot(at: between).sequence == 1)
    let fourth = try database.snapshot(at: 4)
    #expect(try fourth.document("a")?["n"] == 2)
    #expect(try fourth.tombstone("b") != nil)
    #expect(try fourth.count == 1)
    let changes = fourth.changes(since: 2)
    #expect(try changes.collect().map(\.id) == ["a", "b"])
    #expect(try database.snapshot(at: 0).count == 0)
    #expect(try database.snapshot(at: 99).sequence == 5)
    #expect(try database.snapshot(at: Date(timeIntervalSince1970: 0)).count == 0)
    #expect(try database.snapshot(at: clock.date + 100).count == 2)
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `a sequence number inside a transaction selects the version before it`() throws {
    let database = try open(.unlimited)
    try put(database, "a", 1)
    try database.write { transaction in
      for id in ["b", "c", "d"] { _ = try transaction.replace(id, with: ["n": 2]) }
      _ = try transaction.replace("a", with: ["n": 2])
      _ = try transaction.replace("a", with: ["n": 3])
    }
    for sequence in 1...5 as ClosedRange<UInt64> {
      let snapshot = try database.snapshot(at: sequence)
      #expect(snapshot.sequence == 1)
      #expect(try snapshot.document("a")?["n"] == 1)
      #expect(try snapshot.count == 1)
    }
    #expect(try database.snapshot(at: 6).document("a")?["n"] == 3)
  }

  @Test func `no history is retained by default`() throws {
    let database = try open(.disabled)
    for number in 1...5 as ClosedRange<Int64> { try put(database, "a", number) }
    #expect(try retainedCount(database) == 0)
    #expect(try catalogCount(database) == 0)
    for sequence in 0...4 as ClosedRange<UInt64> {
      expect(.versionNotRetained) { _ = try database.snapshot(at: sequence) }
    }
    expect(.versionNotRetained) { _ = try database.snapshot(at: clock.date - 1) }
    #expect(try database.snapshot(at: 5).document("a")?["n"] == 5)
  }

  @Test func `history begins when it is enabled, and is pruned when it is disabled`() throws {
    var database = try open(.disabled)
    try put(database, "a", 1)
    try put(database, "a", 2)
    try database.close()
    database = try open(.unlimited)
    try put(database, "a", 3)
    try put(database, "a", 4)
    expect(.versionNotRetained) { _ = try database.snapshot(at: 1) }
    #expect(try database.snapshot(at: 2).document("a")?["n"] == 2)
    #expect(try database.snapshot(at: 3).document("a")?["n"] == 3)
    try database.close()
    database = try open(.disabled)
    // Retained versions stay until a compaction drops some of them.
    #expect(try database.snapshot(at: 3).document("a")?["n"] == 3)
    try database.compact()
    #expect(try retainedCount(database) == 0)
    expect(.versionNotRetained) { _ = try database.snapshot(at: 3) }
    try put(database, "a", 5)
    try put(database, "a", 6)
    // Later writes of the document do not need to look for retained revisions.
    let entry = try #require(try database.store.view().entry("a"))
    #expect(entry.traits.isEmpty)
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `versions that were committed without history are not available later`() throws {
    var database = try open(.unlimited)
    try put(database, "a", 1)
    try put(database, "b", 2)
    try database.close()
    database = try open(.disabled)
    try put(database, "c", 3)
    try put(database, "d", 4)
    try database.close()
    database = try open(.unlimited)
    try put(database, "e", 5)
    try put(database, "f", 6)
    #expect(try database.snapshot(at: 1).count == 1)
    for sequence in [2, 3] as [UInt64] {
      // It is unknown whether a transaction ended there.
      expect(.versionNotRetained) { _ = try database.snapshot(at: sequence) }
    }
    #expect(try database.snapshot(at: 4).count == 4)
    #expect(try database.snapshot(at: 5).count == 5)
  }

  @Test func `history can be limited by the number of revisions`() throws {
    let database = try open(HistoryRetention(revisions: 3))
    try put(database, "b", 0)
    for number in 1...10 as ClosedRange<Int64> { try put(database, "a", number) }
    #expect(try database.snapshot(at: 2).document("a")?["n"] == 1)
    try database.compact()
    #expect(try retainedCount(database) == 3)
    expect(.versionNotRetained) { _ = try database.snapshot(at: 7) }
    #expect(try database.snapshot(at: 8).document("a")?["n"] == 7)
    let history = try database.read { try $0.history(of: "a") }
    #expect(history.map { $0.document != nil } == (0..<10).map { $0 < 4 })
    do {
      _ = try database.snapshot(at: 3)
    } catch let error as DatabaseError {
      #expect(error.hint?.contains("sequence number 8") == true, "\(error)")
    }
  }

  @Test func `history can be limited by the age of revisions`() throws {
    let database = try open(HistoryRetention(age: .seconds(3)))
    for number in 1...10 as ClosedRange<Int64> { try put(database, "a", number) }
    try database.compact()
    // The version of three seconds ago is available, and so are those after it.
    #expect(try retainedCount(database) == 3)
    expect(.versionNotRetained) { _ = try database.snapshot(at: clock.date - 4) }
    #expect(try database.snapshot(at: clock.date - 3).document("a")?["n"] == 7)
    for _ in 0..<100 { clock.tick() }
    try database.compact()
    #expect(try retainedCount(database) == 0)
    #expect(try database.snapshot(at: 10).document("a")?["n"] == 10)
  }

  @Test func `history can be limited by its size`() throws {
    let database = try open(HistoryRetention(bytes: 20_000))
    let text = Value.string(String(repeating: "x", count: 500))
    for number in 0..<200 {
      try database.write { transaction in
        let properties: Value.Object = ["n": .int(Int64(number)), "x": text]
        _ = try transaction.replace("d\(number % 7)", with: properties)
      }
    }
    try database.compact()
    let retained = try retainedCount(database)
    #expect(retained > 20 && retained < 40, "\(retained)")
    // The change with number 198 belongs to d2; it is followed by a change of d3 only.
    #expect(try database.snapshot(at: 199).document("d2")?["n"] == 198)
    #expect(try database.snapshot(at: 198).document("d2")?["n"] == 191)
    expect(.versionNotRetained) { _ = try database.snapshot(at: 100) }
  }

  @Test func `attachments that only history has count toward its size and the size a name pins`()
    throws
  {
    let database = try open(HistoryRetention(bytes: 20_000))
    func put(_ id: String, _ content: [UInt8]?) throws {
      try database.write { transaction in
        var document = try transaction.document(id) ?? Document(id: id)
        document["sequence"] = .int(Int64(transaction.state.lastSequence))
        document.attachments["x"] = content.map { Document.Attachment(contentType: "x/y", $0) }
        _ = try transaction.put(document)
      }
    }
    let kept = [UInt8](repeating: 255, count: 15_000)
    for number in 0..<10 as Range<UInt8> { try put("a", [UInt8](repeating: number, count: 9000)) }
    try put("a", kept)
    try put("a", kept)
    try database.compact()
    // The attachment of the current revision does not count as history.
    #expect(try retainedCount(database) == 3)
    try database.saveSnapshot(named: "then")
    #expect(try database.namedSnapshots().map(\.pinnedSize) == [0])
    try put("a", nil)
    let pinned = try #require(try database.namedSnapshots().first).pinnedSize
    #expect(pinned > 15_000 && pinned < 16_000, "\(pinned)")
    // Each name pins the revisions that it shares with others, too.
    try put("b", kept)
    try database.saveSnapshot(named: "earlier")
    try put("b", kept)
    try database.saveSnapshot(named: "later")
    try put("b", nil)
    let sizes = try database.namedSnapshots().map { ($0.name, $0.pinnedSize > 15_000) }
    #expect(sizes.map(\.0) == ["earlier", "later", "then"] && sizes.allSatisfy(\.1))
  }

  @Test func `a named snapshot survives compaction and reopening, and its removal frees its space`()
    throws
  {
    var database = try open(.disabled)
    let text = Value.string(String(repeating: "x", count: 400))
    try database.write { transaction in
      for number in 0..<100 { _ = try transaction.replace("d\(number)", with: ["x": text]) }
    }
    try database.saveSnapshot(named: "before import")
    for round in 1...5 as ClosedRange<Int64> {
      try database.write { transaction in
        for number in 0..<100 {
          _ = try transaction.replace("d\(number)", with: ["x": text, "n": .int(round)])
        }
      }
    }
    try put(database, "new", 1)
    for _ in 0..<2 {
      try database.compact()
      try database.close()
      database = try open(.disabled)
    }
    let named = try #require(try database.namedSnapshots().first)
    #expect(named.name == "before import")
    #expect(named.sequence == 100)
    #expect(named.documentCount == 100)
    #expect(named.pinnedSize > 40_000 && named.pinnedSize < 60_000, "\(named.pinnedSize)")
    #expect(try retainedCount(database) == 100)
    do {
      let snapshot = try database.snapshot(named: "before import")
      #expect(try snapshot.count == 100)
      #expect(try snapshot.document("d7")?["n"] == nil)
      #expect(try snapshot.document("new") == nil)
      #expect(try database.snapshot(at: 100).document("d7")?["n"] == nil)
    }
    expect(.versionNotRetained) { _ = try database.snapshot(at: 200) }
    let size = try database.statistics.liveSize
    try database.deleteSnapshot(named: "before import")
    try database.compact()
    #expect(try retainedCount(database) == 0)
    #expect(try database.statistics.liveSize < size - 40_000)
    #expect(try database.statistics.segments.reduce(0) { $0 + $1.size } < 80_000)
    expect(.notFound) { _ = try database.snapshot(named: "before import") }
    expect(.versionNotRetained) { _ = try database.snapshot(at: 100) }
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `the names of snapshots are validated`() throws {
    let database = try open(.disabled)
    try put(database, "a", 1)
    try database.saveSnapshot(named: "x")
    expect(.alreadyExists) { try database.saveSnapshot(named: "x") }
    expect(.invalidSnapshotName) { try database.saveSnapshot(named: "") }
    let long = String(repeating: "ä", count: 120)
    try database.saveSnapshot(named: long)
    expect(.invalidSnapshotName) { try database.saveSnapshot(named: long + "a") }
    expect(.notFound) { _ = try database.snapshot(named: "y") }
    expect(.notFound) { try database.deleteSnapshot(named: "y") }
    #expect(try database.namedSnapshots().map(\.name) == ["x", long])
    try database.deleteSnapshot(named: "x")
    try database.saveSnapshot(named: "x")
    #expect(try database.namedSnapshots().map(\.sequence) == [1, 1])
    let other = try Database.inMemory()
    expect(.versionNotRetained) { try database.saveSnapshot(named: "z", of: other.snapshot()) }
  }

  @Test func `an open snapshot can be named as long as all of its revisions are retained`() throws {
    let database = try open(.disabled)
    try put(database, "a", 1)
    let open = try database.snapshot()
    try put(database, "b", 1)
    try database.saveSnapshot(named: "earlier", of: open)
    try put(database, "a", 2)
    expect(.versionNotRetained) {
      try database.saveSnapshot(named: "too late", of: try database.snapshot(at: 2))
    }
    // Another name retains that version.
    try database.saveSnapshot(named: "again", of: open)
    try database.deleteSnapshot(named: "earlier")
    try database.compact()
    #expect(try database.snapshot(named: "again").document("a")?["n"] == 1)
    #expect(try database.snapshot(named: "again").count == 1)
    try database.deleteSnapshot(named: "again")
    try database.compact()
    expect(.versionNotRetained) { try database.saveSnapshot(named: "gone", of: open) }
    // An open snapshot does not change.
    #expect(try open.document("a")?["n"] == 1)
  }

  @Test func `a named version can get another name, but a version that is not retained cannot`()
    throws
  {
    let database = try open(.disabled)
    try put(database, "a", 1)
    try database.saveSnapshot(named: "one")
    try put(database, "a", 2)
    let between = try database.snapshot()
    try put(database, "a", 3)
    try database.saveSnapshot(named: "same", of: try database.snapshot(named: "one"))
    expect(.versionNotRetained) { try database.saveSnapshot(named: "between", of: between) }
    try database.deleteSnapshot(named: "one")
    try database.compact()
    #expect(try database.snapshot(named: "same").document("a")?["n"] == 1)
  }

  @Test func `a named version is found by its time even if it is before the history horizon`()
    throws
  {
    let database = try open(HistoryRetention(age: .seconds(3)))
    for number in 1...2 as ClosedRange<Int64> { try put(database, "b", number) }
    try put(database, "a", 1)
    try database.saveSnapshot(named: "one")
    let then = clock.date
    for number in 2...3 as ClosedRange<Int64> { try put(database, "a", number) }
    for _ in 0..<2 { clock.tick() }
    try database.compact()
    #expect(try database.snapshot(at: then).document("a")?["n"] == 1)
    try database.deleteSnapshot(named: "one")
    expect(.versionNotRetained) { _ = try database.snapshot(at: then) }
  }

  @Test func `after the winning leaf is purged, the best other leaf wins in past versions`()
    throws
  {
    let database = try open(.unlimited)
    let (best, middle, last) = (
      try RevisionID(parsing: "1-r"), try RevisionID(parsing: "1-q"),
      try RevisionID(parsing: "1-p")
    )
    for revision in [best, middle, last] {
      try database.write { _ = try $0.insert(Document(id: "a"), history: [revision]) }
    }
    #expect(try database.snapshot(at: 3).document("a")?.revision == best)
    try database.write { _ = try $0.purge("a", revision: best) }
    #expect(try database.snapshot(at: 3).document("a")?.revision == middle)
    #expect(try database.snapshot(at: 3).leaves(of: "a").map(\.revision) == [middle, last])
  }

  @Test func `the changes of a past version have no leaf that was purged since`() throws {
    let database = try open(.unlimited)
    let (best, middle, last) = (
      try RevisionID(parsing: "1-r"), try RevisionID(parsing: "1-q"),
      try RevisionID(parsing: "1-p")
    )
    for revision in [best, middle, last] {
      try database.write { _ = try $0.insert(Document(id: "a"), history: [revision]) }
    }
    func change() throws -> Change {
      let changes = try database.snapshot(at: 3).changes().collect()
      #expect(changes.count == 1)
      return try #require(changes.first)
    }
    #expect(try change().leaves.map(\.id) == [best, middle, last])
    try database.write { _ = try $0.purge("a", revision: best) }
    #expect(try change().leaves.map(\.id) == [middle, last])
    try database.write { _ = try $0.purge("a", revision: middle) }
    #expect(try change().leaves.map(\.id) == [last])
    #expect(try !change().hasConflicts)
  }

  @Test func `purging a document removes it from past versions`() throws {
    let database = try open(.unlimited)
    try put(database, "a", 1)
    try put(database, "b", 1)
    try put(database, "a", 2)
    try database.saveSnapshot(named: "x")
    let open = try database.snapshot(at: 1)
    try database.write { _ = try $0.purge("a") }
    #expect(try database.snapshot(at: 1).document("a") == nil)
    #expect(try database.snapshot(named: "x").document("a") == nil)
    #expect(try database.snapshot(named: "x").count == 1)
    #expect(try open.document("a")?["n"] == 1)
    // A new document with that ID is unrelated to the old one.
    try put(database, "a", 3)
    try put(database, "a", 4)
    #expect(try database.snapshot(named: "x").document("a") == nil)
    try database.compact()
    #expect(try database.snapshot(at: 4).document("a")?["n"] == 3)
    #expect(try database.snapshot(at: 3).document("a") == nil)
  }

  @Test func `purging a leaf removes it and its exclusive ancestors from past versions`() throws {
    let database = try open(.unlimited)
    func revision(_ generation: UInt64, _ letter: Character) throws -> RevisionID {
      try #require(RevisionID(generation: generation, digest: String(repeating: letter, count: 32)))
    }
    func insert(_ number: Int64, _ history: [RevisionID]) throws {
      try database.write {
        _ = try $0.insert(Document(id: "a", ["n": .int(number)]), history: history)
      }
    }
    let (root, left) = (try revision(1, "a"), try revision(2, "b"))
    let (right, rightChild) = (try revision(2, "c"), try revision(3, "c"))
    try insert(1, [root])
    try insert(2, [left, root])
    try insert(3, [right, root])
    try insert(4, [rightChild, right, root])
    #expect(try database.snapshot(at: 4).document("a")?["n"] == 4)
    #expect(try database.snapshot(at: 3).document("a")?["n"] == 3)
    try database.saveSnapshot(named: "x")
    try database.write { _ = try $0.purge("a", revision: rightChild) }
    for (sequence, number) in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2)] as [(UInt64, Value)] {
      let snapshot = try database.snapshot(at: sequence)
      #expect(try snapshot.document("a")?["n"] == number, "\(sequence)")
      #expect(try snapshot.leaves(of: "a").count == 1, "\(sequence)")
      #expect(try snapshot.revision(rightChild, of: "a") == nil)
      #expect(try snapshot.revision(right, of: "a") == nil)
    }
    #expect(try database.snapshot(named: "x").document("a")?["n"] == 2)
    try database.compact()
    #expect(try database.snapshot(named: "x").document("a")?["n"] == 2)
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `sequence numbers that are skipped after a crash belong to the version before`()
    throws
  {
    let disk = SimulatedFileSystem()
    func open(_ disk: SimulatedFileSystem, life: Int) throws -> Database {
      var configuration = Configuration.crashing(on: disk, life: life)
      configuration.history = .unlimited
      return try Database(at: "/s", configuration: configuration)
    }
    let database = try open(disk, life: 1)
    try put(database, "a", 1)
    try put(database, "a", 2)
    let again = try open(disk.restarted(.processEnd), life: 2)
    #expect(try again.snapshot().sequence > 2)
    #expect(try again.snapshot(at: 2).sequence > 2)
    try put(again, "a", 3)
    let last = try again.snapshot().sequence
    for sequence in [2, 3, last - 1] {
      #expect(try again.snapshot(at: sequence).sequence == 2)
      #expect(try again.snapshot(at: sequence).document("a")?["n"] == 2)
    }
    #expect(try again.snapshot(at: 1).document("a")?["n"] == 1)
  }

  @Test func `past versions are complete or refused, whenever the process ends`() throws {
    let disk = SimulatedFileSystem()
    @Sendable func open(_ disk: SimulatedFileSystem, life: Int) throws -> Database {
      var configuration = Configuration.crashing(on: disk, life: life)
      configuration.maintenance = .manual
      configuration.segmentSizeGoal = 1024
      configuration.history = HistoryRetention(revisions: 4)
      return try Database(at: "/s", configuration: configuration)
    }
    let database = try open(disk, life: 1)
    for number in 0..<40 { try put(database, "d\(number % 5)", Int64(number)) }
    try database.saveSnapshot(named: "kept")
    try database.saveSnapshot(named: "dropped", of: database.snapshot(at: 30))
    for number in 40..<80 { try put(database, "d\(number % 5)", Int64(number)) }
    let calls = Recorder<Int>()
    let refusals = Recorder<UInt64>()
    @Sendable func check(_ database: Database) throws {
      for sequence in 1...80 as ClosedRange<UInt64> {
        do {
          let snapshot = try database.snapshot(at: sequence)
          let numbers = try (0..<5).map { try snapshot.document("d\($0)")?["n"]?.intValue ?? -1 }
          // For each document, the last number that was stored by then.
          let last = Int(sequence) - 1
          #expect(numbers == (0..<5).map { $0 > last ? -1 : last - (last - $0) % 5 })
        } catch let error as DatabaseError where error.code == .versionNotRetained {
          refusals.append(sequence)
        }
      }
      #expect(try database.snapshot(named: "kept").document("d0")?["n"] == 35)
      #expect(try database.snapshot(named: "kept").sequence == 40)
      if let dropped = try? database.snapshot(named: "dropped") {
        #expect(try dropped.document("d0")?["n"] == 25)
      }
    }
    try check(database)
    #expect(refusals.all.isEmpty)
    disk.observeChangingCalls { [unowned disk] call in
      do {
        let again = try open(disk.restarted(.processEnd), life: 1 + call)
        try check(again)
        try again.compact()
        try check(again)
        calls.append(call)
      } catch {
        Issue.record("call \(call): \(error)")
      }
    }
    try database.compact()
    try database.deleteSnapshot(named: "dropped")
    try database.compact()
    disk.observeChangingCalls(nil)
    #expect(calls.all.count > 10)
    #expect(!refusals.all.isEmpty && !refusals.all.contains(40) && !refusals.all.contains(80))
    try check(database)
    #expect(try retainedCount(database) == 25)
  }

  @Test func `decoding rejects a commit point that does not follow its predecessor`() throws {
    let moment = CommitPoint(sequence: 5, commit: 2, time: 3, documentCount: 1)
    for (previous, isSound) in [(4, true), (5, false), (6, false)] as [(UInt64, Bool)] {
      var writer = ByteWriter()
      CommitPointRecord(commitPoint: moment, previous: previous).encode(to: &writer)
      let decoded = try? CommitPointRecord.decode(writer.sharedCopy)
      #expect((decoded != nil) == isSound)
    }
  }
}
