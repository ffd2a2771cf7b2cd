import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of pruning history by limits, with conflicts, names, damage and concurrent writes.
struct PruningTests {
  private let disk: SimulatedFileSystem
  private let clock = SteppedClock()

  init() { self.init(disk: SimulatedFileSystem()) }

  private init(disk: SimulatedFileSystem) { self.disk = disk }

  private func open(_ history: HistoryRetention) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.history = history
    configuration.readMode = .buffered
    configuration.damage = .salvage
    configuration.now = { [clock] in clock.now }
    return try Database(at: "/s.divan", configuration: configuration)
  }

  private func overwrite(_ database: Database, _ id: String, _ numbers: ClosedRange<Int64>) throws {
    for number in numbers {
      clock.tick()
      try database.write { _ = try $0.replace(id, with: ["n": .int(number)]) }
    }
  }

  private func retained(_ database: Database) throws -> [UInt64] {
    var scan = try database.store.view().state.retained.scan()
    var sequences: [UInt64] = []
    while let item = try scan.next() { sequences.append(RetainedKey.parts(item.key).sequence) }
    return sequences
  }

  private func expectNotRetained(_ database: Database, _ sequence: UInt64) {
    let error = #expect(throws: DatabaseError.self) { try database.snapshot(at: sequence) }
    #expect(error?.code == .versionNotRetained)
  }

  @Test func `in a conflict, the history limit counts only revisions that no branch needs`() throws
  {
    let database = try open(HistoryRetention(revisions: 1))
    func revision(_ generation: Int, _ branch: String) throws -> RevisionID {
      try RevisionID(parsing: "\(generation)-\(branch)\(generation)")
    }
    // Two branches, changed alternately.
    for generation in 1...3 {
      for branch in ["p", "q"] {
        let history = try (1...generation).reversed().map { try revision($0, branch) }
        _ = try database.write {
          try $0.insert(Document(id: "a", ["n": .int(Int64(generation))]), history: history)
        }
      }
    }
    #expect(try retained(database) == [1, 2, 3, 4, 5])
    try database.compact()
    // The other branch's leaf, and one revision retained as history.
    #expect(try retained(database) == [4, 5])
    #expect(try database.snapshot(at: 5).branches(of: "a").map { $0["n"] } == [3, 2])
    #expect(try database.snapshot().branches(of: "a").map { $0["n"] } == [3, 3])
    for sequence in 1...4 as ClosedRange<UInt64> { expectNotRetained(database, sequence) }
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `a negative history age retains nothing, and a huge one retains everything`()
    throws
  {
    // The second one is just within 64 bits as seconds, and not as milliseconds.
    let huge: [Duration] = [
      .seconds(Int64.max), .seconds(18_446_744_073_709_551) + .milliseconds(700),
    ]
    var database = try open(HistoryRetention(age: huge[0]))
    try overwrite(database, "a", 1...5)
    for age in huge {
      try database.close()
      database = try open(HistoryRetention(age: age))
      try database.compact()
      #expect(try retained(database) == [1, 2, 3, 4])
      #expect(try database.snapshot(at: 1).document("a")?["n"] == 1)
    }
    try database.close()
    database = try open(HistoryRetention(age: .seconds(-1)))
    clock.tick()
    try database.compact()
    #expect(try retained(database).isEmpty)
    expectNotRetained(database, 4)
    #expect(try database.snapshot(at: 5).document("a")?["n"] == 5)
  }

  @Test func `revisions that were retained before history was enabled have the same limits`() throws
  {
    var database = try open(.disabled)
    try overwrite(database, "a", 1...1)
    try database.saveSnapshot(named: "first")
    try overwrite(database, "a", 2...2)
    try database.close()
    database = try open(HistoryRetention(age: .seconds(3600)))
    try database.deleteSnapshot(named: "first")
    try database.compact()
    // The time at which it was superseded is unknown, so it counts as recent.
    #expect(try retained(database) == [1])
    try database.close()
    database = try open(HistoryRetention(revisions: 0))
    try database.compact()
    #expect(try retained(database).isEmpty)
    expectNotRetained(database, 1)
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `a version that is named while history is pruned is retained`() throws {
    var database = try open(.unlimited)
    // More revisions than are dropped at a time.
    for round in 0..<12 {
      try database.write { transaction in
        for number in 0..<200 {
          try transaction.replace("d-\(number)", with: ["n": .int(Int64(round))])
        }
      }
    }
    #expect(try retained(database).count == 2200)
    try database.close()
    database = try open(HistoryRetention(revisions: 0))
    let isNamed = Atomic(false)
    disk.observeCalls { [database] call in
      // The first read determines how far back versions are available.
      guard call.verb == .read, !isNamed.exchange(true, ordering: .relaxed) else { return }
      try? database.saveSnapshot(named: "in time", of: try? database.snapshot(at: 2000))
    }
    try database.compact()
    disk.observeCalls(nil)
    #expect(try retained(database).count == 200)
    #expect(try database.snapshot(named: "in time").document("d-7")?["n"] == 9)
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test(arguments: [true, false])
  func `pruning stops after a failed flush`(isEarly: Bool) throws {
    var database = try open(.unlimited)
    try overwrite(database, "a", 1...6)
    try database.writeCheckpoint()
    try database.close()
    database = try open(HistoryRetention(revisions: 2))
    // This creates a segment to append to, whose flush can fail.
    try database.write { _ = try $0.put(Document(id: "c")) }
    let isDone = Atomic(false)
    disk.observeCalls { [database, disk] call in
      let horizon = database.store.commits.visible?.state.historyHorizon ?? 0
      guard call.verb == .read, isEarly || horizon > 0, !isDone.exchange(true, ordering: .relaxed)
      else { return }
      disk.failFlush(.keepsNewBytes)
      #expect(throws: DatabaseError.self) {
        try database.write { _ = try $0.put(Document(id: "b")) }
      }
    }
    #expect(throws: Never.self) { try database.compact() }
    disk.observeCalls(nil)
    let wasWritten = isDone.load(ordering: .relaxed)
    #expect(wasWritten)
    #expect(try retained(database).count == (isEarly ? 5 : 2))
    #expect(try database.snapshot().document("a")?["n"] == 6)
    try? database.close()
    database = try open(.unlimited)
    #expect(try database.snapshot(at: 5).document("a")?["n"] == 5)
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `pruning keeps all revisions of a document with a damaged record`() throws {
    var database = try open(.unlimited)
    let text = String(repeating: "y", count: 300)
    try overwrite(database, "a", 1...3)
    try database.write { transaction in
      for branch in ["p", "q"] {
        _ = try transaction.insert(
          Document(id: "b"), history: [RevisionID(parsing: "1-\(branch)")])
      }
    }
    try database.write { _ = try $0.replace("b", with: ["text": .string(text)]) }
    try database.write { _ = try $0.replace("b", with: ["n": 2]) }
    try database.writeCheckpoint()
    try database.close()
    // A temporary read error is not damage, and no history is dropped.
    database = try open(HistoryRetention(revisions: 1))
    disk.observeCalls { [disk] call in
      if call.verb == .read { disk.fail(.read, with: .inputOutput) }
    }
    let unread = #expect(throws: DatabaseError.self) { try database.compact() }
    #expect(unread?.code == .inputOutput)
    disk.observeCalls(nil)
    disk.stopFailing()
    #expect(try retained(database).count == 5)
    try database.close()
    try damage(text)
    database = try open(HistoryRetention(revisions: 1))
    #expect(throws: DatabaseError.self) { try database.compact() }
    let view = try database.store.view()
    #expect(try view.retainedSequences(of: "a", database.entry(of: "a")).count == 1)
    #expect(try view.retainedSequences(of: "b", database.entry(of: "b")).count == 3)
    #expect(try database.snapshot().document("b")?["n"] == 2)
    #expect(try database.snapshot().document("a")?["n"] == 3)
    // All other revisions can still be read.
    let snapshot = try database.snapshot()
    let leaf = try RevisionID(parsing: "1-p")
    #expect(try snapshot.revision(leaf, of: "b")?.revision == leaf)
    let history = try snapshot.revisions(of: "b")
    let damaged = #expect(throws: DatabaseError.self) {
      for revision in history { _ = try snapshot.revision(revision, of: "b") }
    }
    #expect(damaged?.code == .damaged)
  }

  @Test func `a superseded revision whose record is damaged is not retained`() throws {
    let text = String(repeating: "y", count: 300)
    var database = try open(.unlimited)
    try overwrite(database, "a", 1...1)
    try database.writeCheckpoint()
    try database.write { _ = try $0.replace("a", with: ["text": .string(text)]) }
    try overwrite(database, "a", 3...3)
    try database.close()
    try damage(text)
    database = try open(.unlimited)
    #expect(database.openingReport.damage.count == 1)
    #expect(try database.snapshot().document("a")?["n"] == 3)
    #expect(try !retained(database).contains(2))
  }

  @Test
  func `attachments of damaged history do not count, and other history is pruned`()
    throws
  {
    let text = String(repeating: "y", count: 300)
    var database = try open(.unlimited)
    try attach(database, "a", text)
    try overwrite(database, "a", 2...3)
    try overwrite(database, "b", 1...3)
    try database.writeCheckpoint()
    try database.close()
    try damage(text)
    database = try open(HistoryRetention(bytes: 1))
    try database.store.pruneHistory()
    #expect(try retained(database) == [1, 2])
    #expect(try database.snapshot().document("a")?["n"] == 3)
  }

  /// Opening without a checkpoint drops history whose attachments are missing.
  @Test(arguments: [true, false])
  func `history is not dropped because its attachments cannot be looked up`(
    isDamaged: Bool
  ) throws {
    let text = String(repeating: "y", count: 300)
    var database = try open(.unlimited)
    try attach(database, "a", "first")
    try attach(database, "a", text)
    try overwrite(database, "a", 3...3)
    try database.close()
    let (path, offset) = try location(of: text)
    let isFirst = Atomic(true)
    disk.observeCalls { [disk] call in
      // The log was read, and now the first attachment's file is looked up.
      //
      // The folder does not count, since opening reads it before anything else.
      guard call.verb == .status, call.path.contains("/attachments/"),
        call.path.split(separator: "/").count == 4, isFirst.exchange(false, ordering: .relaxed)
      else { return }
      if isDamaged {
        try? disk.corrupt(path, atOffset: offset, mask: 1)
      } else {
        disk.fail(.read, with: .inputOutput)
      }
    }
    database = try open(.unlimited)
    disk.observeCalls(nil)
    let wasLookedUp = !isFirst.load(ordering: .relaxed)
    #expect(wasLookedUp)
    #expect(database.openingReport.damage.isEmpty)
    #expect(try retained(database) == [1, 2])
    // A read error is reported, and does not prevent the opening.
    #expect(try database.statistics.maintenanceProblem?.code == (isDamaged ? nil : .inputOutput))
    if isDamaged { try disk.corrupt(path, atOffset: offset, mask: 1) }
    #expect(try database.snapshot(at: 2).document("a")?["text"] == .string(text))
    #expect(try database.check().problems.map(\.description) == [])
  }

  /// Stores a document with a text and an attachment that has a file of its own.
  private func attach(_ database: Database, _ id: String, _ text: String) throws {
    try database.write { transaction in
      var document = try transaction.document(id) ?? Document(id: id)
      document["text"] = .string(text)
      document.attachments["long"] = Document.Attachment(
        contentType: "x/y", [UInt8](repeating: text.utf8.first ?? 0, count: 200_000))
      try transaction.put(document)
    }
  }

  /// Damages the record of the document with the given text.
  private func damage(_ text: String) throws {
    let (path, offset) = try location(of: text)
    try disk.corrupt(path, atOffset: offset, mask: 1)
  }

  /// Returns the path and offset of a document's text in the log.
  private func location(of text: String) throws -> (path: String, offset: Int) {
    let name = try #require(disk.names(in: "/s.divan").first { $0.hasSuffix(".segment") })
    let bytes = try disk.contents(of: "/s.divan/\(name)", limit: 1 << 20).array
    let offset = try #require(
      bytes.indices.dropLast(text.utf8.count).first {
        bytes[$0] == text.utf8.first
          && bytes[$0..<$0 + text.utf8.count].elementsEqual(text.utf8)
      })
    return ("/s.divan/\(name)", offset)
  }

  @Test(arguments: ["compact", "limit", "read", "write"])
  func `a failed read is not reported as damage and changes nothing, whichever read it is`(
    work: String
  ) throws {
    let stored = try open(.unlimited)
    try attach(stored, "a", "first")
    try overwrite(stored, "a", 1...4)
    try stored.write { transaction in
      for branch in ["p", "q"] {
        _ = try transaction.insert(
          Document(id: "b"), history: [RevisionID(parsing: "1-\(branch)")])
      }
    }
    try overwrite(stored, "b", 1...2)
    try stored.writeCheckpoint()
    try stored.close()
    let leaf = try RevisionID(parsing: "1-p")
    var failureCount = 0
    for number in 1...60 {
      let copy = PruningTests(disk: disk.restarted(.processEnd))
      let retention =
        switch work {
        case "write": HistoryRetention.disabled
        case "limit": HistoryRetention(bytes: 1)
        default: HistoryRetention(revisions: 1)
        }
      let database = try copy.open(retention)
      copy.disk.fail(.read, atCall: number, with: .inputOutput)
      do {
        switch work {
        case "compact", "limit": try database.compact()
        case "read": _ = try database.snapshot().revision(leaf, of: "b")
        default:
          let child = try RevisionID(parsing: "2-p")
          try database.write { _ = try $0.insert(Document(id: "b"), history: [child, leaf]) }
        }
        continue
      } catch let error as DatabaseError {
        #expect(error.code == .inputOutput, "read \(number): \(error)")
        failureCount += 1
      }
      copy.disk.stopFailing()
      #expect(try database.snapshot().document("a")?["n"] == 4, "read \(number)")
      #expect(try database.snapshot().revision(leaf, of: "b")?.revision == leaf, "read \(number)")
      #expect(try database.check().problems.map(\.message) == [], "read \(number)")
    }
    #expect(failureCount > 2)
  }

  @Test func `if the names of snapshots cannot be read, all superseded revisions are retained`()
    throws
  {
    let database = try open(.disabled)
    try overwrite(database, "a", 1...1)
    try database.saveSnapshot(named: "first")
    let key = CatalogKey.named(SharedBytes(utf8: "first"))
    let locator = try #require(try database.store.view().locator(in: \.catalog, key))
    let garbage: [UInt8] = [0xFF]
    database.tamper { $0.catalog.set(key.span, garbage.span) }
    // Forgets what is known of the snapshots.
    database.store.withLockedState { writer in writer.load(writer.newest) }
    try overwrite(database, "a", 2...3)
    database.tamper { state in
      var scratch = ByteWriter()
      state.setCatalog(key, leadingTo: locator, scratch: &scratch)
    }
    #expect(try retained(database) == [1, 2])
    #expect(try database.snapshot(named: "first").document("a")?["n"] == 1)
  }

  @Test func `a savepoint that is rolled back forgets what it knew of named snapshots`() throws {
    struct RolledBack: Error {}
    let database = try open(.disabled)
    try overwrite(database, "a", 1...1)
    try database.saveSnapshot(named: "first")
    try database.write { transaction in
      do {
        try transaction.savepoint {
          try transaction.deleteSnapshot(named: "first")
          // Asks for the snapshots, of which there is none now.
          try transaction.replace("a", with: ["n": 9])
          throw RolledBack()
        }
      } catch is RolledBack {}
      try transaction.put(Document(id: "b"))
    }
    try overwrite(database, "a", 2...3)
    #expect(try database.snapshot(named: "first").document("a")?["n"] == 1)
  }

  @Test func `retained entries without a document are ignored`() throws {
    let database = try open(.unlimited)
    try overwrite(database, "a", 1...3)
    let locator = try database.entry(of: "a").locator
    database.tamper { state in
      var scratch = ByteWriter()
      state.setRetained(
        RetainedKey.bytes(SharedBytes(utf8: "missing"), 1), locator, scratch: &scratch)
      state.setRetained([1, 2], locator, scratch: &scratch)
    }
    try database.saveSnapshot(named: "now")
    #expect(try database.namedSnapshots().map(\.id) == ["now"])
    let changes = try database.snapshot(at: 2).changes()
    #expect(try changes.collect().map(\.id) == ["a"])
    // An invalid locator is ignored.
    let key = RetainedKey.bytes(SharedBytes(utf8: "a"), 1)
    let garbage: [UInt8] = [0xFF]
    database.tamper { $0.retained.set(key.span, garbage.span) }
    #expect(throws: DatabaseError.self) { try database.snapshot(at: 1).document("a") }
    #expect(try database.snapshot(at: 2).document("a")?["n"] == 2)
    try database.write { try $0.purge("a") }
    #expect(try retained(database).filter { $0 > 1 && $0 < 10 }.isEmpty)
  }

  /// The sequence number in the key of a longer ID is in the key range of the shorter one.
  @Test func `documents whose IDs differ only after a zero byte have separate histories`() throws {
    let database = try open(.unlimited)
    let ids = ["a", "a\u{0}bcdefgh", "a\u{0}bcdefghi", "a\u{0}"]
    for number in 1...2 as ClosedRange<Int64> {
      for id in ids { try overwrite(database, id, number...number) }
    }
    let past = try database.snapshot(at: 4)
    for id in ids {
      #expect(try past.document(id)?["n"] == 1, "\(id.debugDescription)")
      #expect(try database.snapshot().history(of: id).compactMap(\.document).count == 2)
    }
    try database.write { try $0.purge("a") }
    #expect(try past.document(ids[1])?["n"] == 1)
    #expect(try database.snapshot(at: 4).document(ids[1])?["n"] == 1)
    #expect(try database.snapshot(at: 4).document("a") == nil)
    #expect(try database.check().problems.map(\.description) == [])
  }

  /// If the shorter ID has no retained revisions, the longer one's records come first.
  @Test func `a later document is not confused with one whose ID continues with zero bytes`() throws
  {
    let database = try open(.unlimited)
    try overwrite(database, "a\u{0}\u{0}\u{0}", 1...2)
    try overwrite(database, "a", 1...2)
    #expect(try database.snapshot(at: 2).document("a") == nil)
    #expect(try database.snapshot(at: 3).document("a")?["n"] == 1)
    #expect(try database.snapshot(at: 1).document("a\u{0}\u{0}\u{0}")?["n"] == 1)
  }

  @Test func `a past version is not read from another document's record`() throws {
    let database = try open(.unlimited)
    try overwrite(database, "a", 1...2)
    try overwrite(database, "b", 1...2)
    let locator = try database.entry(of: "b").locator
    database.tamper { state in
      var scratch = ByteWriter()
      state.setRetained(RetainedKey.bytes(SharedBytes(utf8: "a"), 1), locator, scratch: &scratch)
    }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot(at: 1).document("a") }
    #expect(error?.code == .damaged)
    #expect(try database.snapshot(at: 3).document("b")?["n"] == 1)
  }
}
