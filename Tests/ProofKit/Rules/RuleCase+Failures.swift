import Dispatch
import DivanLog
import DivanTesting
import Foundation
import Synchronization

import Divan

/// Promises about commits: what is visible, when, and what a failure does to it.
extension RuleCase {
  static let failures: [RuleCase] = [
    RuleCase(name: "a commit is visible and acknowledged only once it is durable") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      let oracle = fixture.oracle
      let flushes = Atomic(0)
      // At the flush of the log, the data being flushed is not yet visible.
      fixture.fileSystem.observeCalls { call in
        guard call.verb == .flush, call.path.hasSuffix(".segment") else { return }
        flushes.add(1, ordering: .relaxed)
        let snapshot = try? database.snapshot()
        let version = snapshot.flatMap { try? oracle.identify($0) }
        if version != oracle.versions.count - 1 { flushes.add(1000, ordering: .relaxed) }
      }
      try fixture.commit(database, [.put("a", size: 1)])
      fixture.fileSystem.observeCalls(nil)
      try expect(
        flushes.load(ordering: .relaxed) == 1, "\(flushes.load(ordering: .relaxed)) flushes")
      try fixture.expectNewest(database)
      try fixture.expectNewest(try fixture.restarted(.strict).openQuiet())
    },
    RuleCase(
      name: "a commit that does not wait for a flush is not visible before the one it builds on"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      let oracle = fixture.oracle
      let problems = Recorder<String>()
      let isDone = Atomic(false)
      fixture.fileSystem.observeCalls { call in
        guard call.verb == .flush, call.path.hasSuffix(".segment"),
          !isDone.exchange(true, ordering: .relaxed)
        else { return }
        // Another thread commits weakly while the flush of the first commit is in progress.
        let begun = DispatchSemaphore(value: 0)
        DispatchQueue(label: "weak").async {
          try? database.write(durability: .none) {
            try $0.replace("weak", with: ["n": .int(1)])
            begun.signal()
          }
        }
        begun.wait()
        for _ in 0..<20 {
          usleep(500)
          if (try? database.snapshot().exists("weak")) != false {
            problems.append("a commit is visible before the one it builds on is durable")
          }
        }
        let version = try? oracle.identify(database)
        if version != oracle.versions.count - 1 { problems.append("version \(version ?? -1)") }
      }
      try database.write { try $0.replace("strong", with: ["n": .int(2)]) }
      fixture.fileSystem.observeCalls(nil)
      try expect(problems.all.isEmpty, "\(problems.all)")
      try database.flush()
      try expect(try database.snapshot().exists("strong"))
      try expect(try database.snapshot().exists("weak"))
    },
    RuleCase(name: "a commit made during a flush is acknowledged only by the next one") {
      // Three commits arrive when a flush has just reached the disk, and wait for the next one.
      let disk = SimulatedFileSystem()
      let ended = DispatchGroup()
      let problems = Recorder<String>()
      let opened = Mutex<Database?>(nil)
      let system = FlushHook(disk) {
        guard let database = opened.withLock({ $0 }) else { return }
        for index in 0..<3 {
          let begun = DispatchSemaphore(value: 0)
          DispatchQueue(label: "committer \(index)").async(group: ended) {
            do {
              try database.write {
                _ = try $0.replace("other-\(index)", with: [:])
                begun.signal()
              }
              let left = CrashFixture(
                disk.restarted(.strict), CrashWriter(seed: 0), life: 600 + index)
              let database = try left.openQuiet { $0.isReadOnly = true }
              guard try !database.snapshot().exists("other-\(index)") else { return }
              problems.append("commit \(index) was acknowledged and is lost")
            } catch {
              problems.append("\(error)")
            }
          }
          begun.wait()
        }
        // They have been appended by now, and this flush returns.
        usleep(20_000)
      }
      var configuration = Configuration.crashing(on: system, life: 1)
      configuration.maintenance = .manual
      let database = try Database(at: CrashFixture.path, configuration: configuration)
      try database.write { _ = try $0.replace("before", with: [:]) }
      opened.withLock { $0 = database }
      system.arm()
      try database.write { _ = try $0.replace("first", with: [:]) }
      let isInTime = ended.wait(timeout: .now() + 5) == .success
      opened.withLock { $0 = nil }
      try expect(isInTime, "a commit is never acknowledged")
      try expect(problems.all.isEmpty, "\(problems.all)")
    },
    RuleCase(name: "a transaction that only reads returns once what it read is durable") {
      // It arrives while the commit that it reads waits for its flush.
      let ended = DispatchGroup()
      let hasReturned = Atomic(false)
      let problems = Recorder<String>()
      let opened = Mutex<Database?>(nil)
      let system = FlushHook(SimulatedFileSystem()) {
        guard let database = opened.withLock({ $0 }) else { return }
        let hasRead = DispatchSemaphore(value: 0)
        DispatchQueue(label: "reader").async(group: ended) {
          do {
            let isThere = try database.write { transaction in
              defer { hasRead.signal() }
              return try transaction.exists("first")
            }
            hasReturned.store(true, ordering: .relaxed)
            if !isThere { problems.append("it did not read the newest version") }
          } catch {
            problems.append("\(error)")
          }
        }
        hasRead.wait()
        usleep(20_000)
        if hasReturned.load(ordering: .relaxed) { problems.append("it returned before the flush") }
      }
      var configuration = Configuration.crashing(on: system, life: 1)
      configuration.maintenance = .manual
      let database = try Database(at: CrashFixture.path, configuration: configuration)
      try database.write { _ = try $0.replace("before", with: [:]) }
      opened.withLock { $0 = database }
      system.arm()
      try database.write { _ = try $0.replace("first", with: [:]) }
      let isInTime = ended.wait(timeout: .now() + 5) == .success
      opened.withLock { $0 = nil }
      try expect(isInTime && hasReturned.load(ordering: .relaxed), "it never returns")
      try expect(problems.all.isEmpty, "\(problems.all)")
    },
    RuleCase(name: "a failed flush stops writing but not reading, and is never retried") {
      for behavior in SimulatedDisk.FailedFlush.tried {
        for durability in [Durability.full, .none] {
          let fixture = CrashFixture.fresh()
          let database = try fixture.openQuiet()
          try fixture.fill(database, 0..<4)
          try fixture.commit(database, [.put("doc-1", size: 5)], durability: durability)
          fixture.fileSystem.failFlush(behavior)
          try expectCode(.outcomeUnknown) {
            try fixture.commit(database, [.put("doc-2", size: 7)])
          }
          try expectCode(.writerStopped) {
            _ = try database.write { try $0.replace("doc-3", with: [:]) }
          }
          let oracle = fixture.oracle
          if durability == .full {
            // Readers see what was durable before, and not what may be lost.
            try expect(
              try oracle.identify(database) == oracle.versions.count - 2,
              "a commit that may be lost is visible")
          }
          do { try database.flush() } catch {}
          try expectCode(.outcomeUnknown) { try database.close() }
          let same = fixture.restarted(.processEnd, life: 100)
          let reopened = try same.openQuiet()
          try expect(reopened.openingReport.damage.isEmpty, "\(reopened.openingReport)")
          var served = oracle
          served.secured = try oracle.identify(reopened)
          // Data that was served is durable now, though the flush had failed.
          let last = try same.restarted(.strict, life: 200).open()
          _ = try served.identify(last)
        }
      }
    },
    RuleCase(name: "a flush of the log that fails during a checkpoint stops the writer") {
      for call in 2...3 {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
        try fixture.commit(database, [.put("a", size: 5)])
        try fixture.commit(database, [.put("a", size: 6)], durability: .none)
        // The checkpoint's own file is flushed first, then the log.
        fixture.fileSystem.failFlush(atCall: 2, .keepsNewBytes)
        do {
          try database.writeCheckpoint()
          throw CrashOracle.Mismatch("a failed flush is not reported")
        } catch is DatabaseError {}
        try expectCode(.writerStopped) {
          _ = try database.write(durability: Durability.none) { try $0.replace("b", with: [:]) }
        }
        if call == 3 { try? database.writeCheckpoint() }
        try expect(try database.snapshot().document("a")?["text"]?.stringValue?.count == 6)
      }
    },
    RuleCase(name: "a directory flush that fails after a rename stops the writer") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      let first = fixture.fileSystem
      // That of the next segment.
      first.fail(.flushDirectory, atCall: 1, with: .inputOutput)
      var failed: [DatabaseError.Code] = []
      for number in 0..<12 {
        do {
          try fixture.commit(database, [.put("x-\(number)", size: 3000)])
        } catch let error as DatabaseError { failed.append(error.code) }
      }
      try expect(failed.first == .outcomeUnknown, "\(failed)")
      try expect(failed.dropFirst().allSatisfy { $0 == .writerStopped }, "\(failed)")
      try? database.close()
      for loss in [SimulatedDisk.Loss.strict, .processEnd, .everything] {
        let opened = try fixture.restarted(loss, life: 90).openQuiet()
        if let damage = opened.openingReport.damage.first { throw damage }
        _ = try fixture.oracle.identify(opened)
      }
    },
    RuleCase(name: "a segment whose creation failed shares its file ID with no other") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      for _ in 0..<2 { try fixture.fill(database, 0..<8, size: 900) }
      let disk = fixture.fileSystem
      let segments = disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".segment") }
      disk.fail(.rename, with: .inputOutput, completion: .everything)
      try expectCode(.inputOutput) {
        for number in 0..<8 { try fixture.commit(database, [.put("x-\(number)", size: 900)]) }
      }
      let found = disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".segment") }
      try expect(found.count == segments.count + 1, "the segment was not made: \(found)")
      // The compaction takes the next file ID.
      try database.compact()
      let version = try fixture.oracle.identify(database)
      try database.close()
      for loss in [SimulatedDisk.Loss.processEnd, .strict] {
        let opened = try fixture.restarted(loss, life: 90).openQuiet()
        if let damage = opened.openingReport.damage.first { throw damage }
        try expect(try fixture.oracle.identify(opened) == version, "another version")
        try expect(try opened.check().isSound, "not sound")
      }
    },
    RuleCase(name: "a nested change that throws is rolled back") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      struct Stop: Error {}
      let before = try database.snapshot().sequence
      try database.write { transaction in
        try transaction.replace("outer", with: ["n": .int(1)])
        do {
          try transaction.savepoint {
            try transaction.replace("inner", with: ["n": .int(2)])
            try transaction.delete("doc-1")
            throw Stop()
          }
        } catch is Stop {}
        try expect(try !transaction.exists("inner"), "it is seen in the transaction")
        try expect(transaction.count == 5, "\(transaction.count) documents")
        try transaction.replace("last", with: ["n": .int(3)])
      }
      for opened in [database, try fixture.restarted(.processEnd).openQuiet()] {
        let snapshot = try opened.snapshot()
        try expect(try !snapshot.exists("inner"), "it is seen")
        try expect(try snapshot.exists("doc-1") && snapshot.exists("last"))
        let count = try snapshot.count
        try expect(count == 6, "\(count) documents")
        try expect(
          try snapshot.document("last")?.sequence == before + 2, "its sequence numbers were used")
        try expect(try opened.check().isSound, "not sound")
      }
    },
    RuleCase(name: "a transaction that throws changes nothing") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      struct Stop: Error {}
      do {
        try database.write { transaction in
          try transaction.replace("inner", with: ["n": .int(2)])
          throw Stop()
        }
      } catch is Stop {}
      try fixture.expectNewest(database)
      try fixture.commit(database, [.put("a", size: 1)])
      try fixture.expectNewest(try fixture.restarted(.strict).openQuiet())
    },
    RuleCase(name: "a store is open for writing only once") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try expectCode(.storeInUse) { _ = try fixture.openQuiet() }
      try database.close()
      _ = try fixture.openQuiet()
    },
    RuleCase(name: "a document that changed in the meantime is not overwritten") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      let old = try require(try database.snapshot().document("doc-1"), "document")
      try fixture.commit(database, [.put("doc-1", size: 1)])
      try expectCode(.conflict) { _ = try database.write { try $0.put(old) } }
      try expectCode(.conflict) { _ = try database.write { try $0.delete(old) } }
      try expectCode(.conflict) {
        _ = try database.write { try $0.put(Document(id: "doc-1", [:])) }
      }
      try fixture.expectNewest(database)
    },
    RuleCase(name: "transactions and documents above their limits are refused") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.transactionSizeLimit = 10_000 }
      try fixture.fill(database, 0..<2)
      try expectCode(.transactionTooLarge) {
        try fixture.commit(database, (0..<30).map { .put("doc-\($0)", size: 500) })
      }
      try expectCode(.invalidDocumentID) {
        try fixture.commit(database, [.put(String(repeating: "x", count: 241), size: 1)])
      }
      try expectCode(.invalidDocumentID) { try fixture.commit(database, [.put("_x", size: 1)]) }
      var deep = Value.int(1)
      for _ in 0..<101 { deep = .array([deep]) }
      let tooDeep = deep
      try expectCode(.documentTooLarge) {
        _ = try database.write { try $0.replace("deep", with: ["deep": tooDeep]) }
      }
      let long = Value.string(String(repeating: "x", count: DocumentLimits.sizeInBytes))
      try expectCode(.documentTooLarge) {
        _ = try database.write { try $0.replace("long", with: ["long": long]) }
      }
      try expect(try database.snapshot().count == 3)
    },
    RuleCase(name: "a range of IDs includes or excludes its ends as stated, in both directions") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      // Some in a run, some above it, some deleted.
      let all = (10..<90).map { "doc-\($0)" }
      try fixture.fill(database, 10..<70, size: 1)
      try database.writeCheckpoint()
      try fixture.fill(database, 60..<90, size: 1)
      let snapshot = try database.snapshot()
      func matches(_ range: IDRange, _ expected: [String], _ what: String) throws {
        for descending in [false, true] {
          let cursor = snapshot.ids(range, descending: descending)
          let found = try cursor.collect().filter { $0 != CrashOracle.clock }
          try expect(
            found == (descending ? expected.reversed() : expected),
            "\(what): \(found.first ?? "")…\(found.last ?? "")")
        }
      }
      for first in stride(from: 10, to: 90, by: 7) {
        let id = "doc-\(first)"
        try matches(.init(from: id), all.filter { $0 >= id }, "from \(id)")
        try matches(.after(id), all.filter { $0 > id }, "after \(id)")
        try matches(.init(upTo: id), all.filter { $0 < id }, "before \(id)")
        for last in stride(from: first, to: 90, by: 9) {
          let end = "doc-\(last)"
          try matches(
            .init(from: id, through: end), all.filter { $0 >= id && $0 <= end },
            "\(id) through \(end)")
          try matches(
            .init(from: id, upTo: end), all.filter { $0 >= id && $0 < end }, "up to \(end)")
        }
      }
      try matches(.prefix("doc-3"), all.filter { $0.hasPrefix("doc-3") }, "prefix")
      let changes = snapshot.changes(since: 5)
      try expect(try changes.collect().allSatisfy { $0.sequence > 5 }, "a change twice")
    },
    RuleCase(name: "the index equals a plain dictionary", isLong: true) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
      var random = SeededGenerator(seed: 7)
      // Many documents with long IDs, so that nodes are split and merged on several levels.
      func id(_ number: Int) -> String { "\(number)-" + String(repeating: "k", count: 160) }
      for _ in 0..<12 {
        let steps = (0..<220).map { _ in
          CrashWriter.Step.put(id(Int(random.next() % 900)), size: 1)
        }
        try fixture.commit(database, steps, durability: .none)
      }
      try fixture.expectNewest(database)
      for round in 0..<6 {
        if round == 3 { try database.writeCheckpoint() }
        let steps = (0..<200).map { _ in CrashWriter.Step.delete(id(Int(random.next() % 900))) }
        try fixture.commit(database, steps, durability: .none)
        try fixture.expectNewest(database)
      }
      // Some in a run of their own, above the others.
      try database.writeCheckpoint()
      try fixture.commit(database, (0..<40).map { .put(id($0), size: 2) })
      try database.writeCheckpoint()
      try fixture.expectNewest(database)
      for key in fixture.oracle.versions.last.map({ Array($0.entries) }) ?? [] {
        let document = try database.snapshot().document(key.key)
        try expect(
          document.map { CrashOracle.Entry($0) } == (key.value.isDeleted ? nil : key.value),
          "\(key.key.prefix(8))")
      }
    },
    RuleCase(name: "an index of several levels equals a plain dictionary", isLong: true) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet {
        $0.segmentSizeGoal = 64 << 20
        $0.compactedSegmentSizeLimit = 64 << 20
      }
      var random = SeededGenerator(seed: 9)
      // So many that inner nodes are split, and emptied again.
      let ids = (0..<6000).map { "\($0)-" + String(repeating: "k", count: 160) }.shuffled(
        using: &random)
      for start in stride(from: 0, to: ids.count, by: 1000) {
        try fixture.commit(
          database, ids[start..<start + 1000].map { .put($0, size: 1) }, durability: .none)
      }
      try fixture.expectNewest(database)
      for id in ids { try expect(try database.snapshot().exists(id), "\(id.prefix(6)) is lost") }
      try fixture.commit(database, ids.prefix(5000).map { .put($0, size: 2) }, durability: .none)
      try fixture.expectNewest(database)
    },
    RuleCase(name: "equal edits have the same revision ID, and different edits do not") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      func revision(_ id: String, _ properties: Value.Object) throws -> RevisionID? {
        try database.write { try $0.replace(id, with: properties).revision }
      }
      let one = try revision("one", ["b": .int(2), "c": .string("x"), "a": .int(1)])
      var object = Value.Object()
      for (key, value) in [("c", Value.string("x")), ("b", .int(2)), ("a", .int(1))] {
        object[key] = value
      }
      try expect(try revision("two", object) == one, "another order has another ID")
      let parsed = try Value(json: "{\"c\":\"x\",\"a\":1,\"b\":2}")
      let three = try revision("three", try require(parsed.objectValue, "object"))
      try expect(three == one, "the same text has another ID")
      try expect(
        try revision("four", ["a": .int(1), "b": .int(2)]) != one, "another edit the same ID")
      // The parent and the deletion are part of the edit.
      try expect(
        RuleCase.digest(try revision("one", object)) != RuleCase.digest(one),
        "the parent does not count")
      let tombstone = try database.write { transaction in
        let document = try require(try transaction.document("two"), "document")
        return try transaction.delete(document).revision
      }
      let again = try revision("three", object)
      try expect(
        RuleCase.digest(tombstone) != RuleCase.digest(again), "the deletion does not count")
      // As docs/FILE_FORMAT.md specifies.
      try expect(try database.check().isSound, "not sound")
    },
  ]

  /// Returns a revision ID without its generation.
  private static func digest(_ revision: RevisionID?) -> String? {
    revision.map { String("\($0)".drop { $0 != "-" }) }
  }
}

/// Throws unless a call fails with a code.
func expectCode(_ code: DatabaseError.Code, _ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as DatabaseError {
    return try expect(error.code == code, "\(error) instead of \(code)")
  }
  throw CrashOracle.Mismatch("there is no error where \(code) should be")
}
