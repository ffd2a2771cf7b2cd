import DivanLog
import DivanTesting
import Foundation
import Synchronization

import Divan

/// Promises that follow from several rules together.
extension RuleCase {
  static let promises: [RuleCase] = [
    RuleCase(
      name: "promise 1: a transaction of several frames counts only as a whole", isLong: true
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 8 << 20 }
      try fixture.commit(database, [.put("a", size: 10)])
      try fixture.commit(
        database, (0..<3).map { .put("large-\($0)", size: 600_000) }, durability: .none)
      let name = "0000000001.segment"
      let file = try SegmentFile(1...1, in: fixture.directory)
      var frames = FrameReader(
        Segment(file: file, mapped: .empty, end: LogEnd(offset: 0, commit: 0, chain: 0)),
        limit: try file.size())
      var ends: [Int] = []
      while case .frame = try frames.next() { ends.append(frames.offset) }
      try expect(ends.count == 3, "\(ends.count) frames")
      let before = fixture.oracle.versions.count - 2
      for end in ends.dropLast() {
        let left = fixture.restarted(.processEnd, life: 90)
        try left.fileSystem.truncate(left.path(of: name), toSize: end)
        let opened = try left.openQuiet { $0.isReadOnly = true }
        if let damage = opened.openingReport.damage.first { throw damage }
        try expect(try fixture.oracle.identify(opened) == before, "a part counts")
      }
    },
    RuleCase(name: "a checkpoint that has its name is usable after any loss of power") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12, size: 40)
      try database.writeCheckpoint()
      for round in 0..<3 {
        try fixture.commit(database, [.put("doc-\(round)", size: 5), .delete("doc-\(round + 5)")])
        // HEAD, which is replaced after the checkpoint, may be impossible to replace; so nothing
        // depends on its flush of the directory.
        if round > 0 { fixture.fileSystem.fail(.create, atCall: 2, with: .noSpace) }
        try fixture.interrupting({ try database.writeCheckpoint() }) { call in
          for loss in SimulatedDisk.Loss.several(seed: UInt64(call)) {
            let left = fixture.restarted(loss, life: 500 + call)
            let opened = try left.openQuiet { $0.isReadOnly = true }
            let notes = opened.openingReport.notes
            try expect(notes.allSatisfy { !$0.contains("Checkpoint") }, "\(loss): \(notes)")
            try expect(try left.checkpointPosition != nil, "\(loss): there is no checkpoint")
            _ = try fixture.oracle.identify(opened)
          }
        }
      }
    },
    RuleCase(name: "rule 4: a compacted segment's name is durable before the index refers to it") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      let problems = Recorder<String>()
      let tried = Atomic(0)
      fixture.fileSystem.observeCalls { call in
        // The index refers to it, and the next checkpoint begins.
        guard call.verb == .create, call.path.hasSuffix(".checkpoint") else { return }
        let now = fixture.segmentNames.filter { $0.contains("-") }
        let left = fixture.restarted(.strict, life: 500).segmentNames
        if !now.isEmpty { tried.add(1, ordering: .relaxed) }
        for name in now where !left.contains(name) { problems.append("\(name) may be lost") }
      }
      try database.compact()
      fixture.fileSystem.observeCalls(nil)
      try expect(tried.load(ordering: .relaxed) > 0, "nothing was compacted")
      try expect(problems.all.isEmpty, "\(problems.all)")
    },
    RuleCase(name: "rule 5: deletions of files are durable before the next compaction") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      for round in 0..<3 {
        try fixture.fill(database, 0..<10, size: 500 + round)
        try database.compact()
        func names(_ fixture: CrashFixture) -> [String] {
          fixture.fileSystem.names(in: CrashFixture.path).filter { $0.contains(".") }
        }
        let left = names(fixture.restarted(.strict))
        try expect(left == names(fixture), "\(left) after a loss, and \(names(fixture)) before")
      }
    },
    RuleCase(name: "rule 14: opening a damaged store deletes nothing") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      try fixture.commit(database, [.put("a", size: 1)])
      let tried = Atomic(0)
      try fixture.interrupting({ try database.compactWhatPays() }) { call in
        let left = fixture.restarted(.everything, life: 500 + call)
        guard left.segmentNames.contains(where: { $0.contains("-") }),
          left.segmentNames.contains("0000000001.segment"), let last = left.segmentNames.last
        else { return }
        tried.add(1, ordering: .relaxed)
        try left.fileSystem.truncate(left.path(of: last), toSize: 4096)
        let before = left.segmentNames
        let opened = try left.openQuiet()
        try expect(!opened.openingReport.damage.isEmpty, "the damage is not noticed")
        try expect(left.segmentNames == before, "\(before) has become \(left.segmentNames)")
      }
      try expect(tried.load(ordering: .relaxed) > 0, "no leftover was there")
    },
    RuleCase(name: "rule 17: damage does not keep other segments from being compacted") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<20, size: 2000)
      try fixture.fill(database, 0..<18, size: 20)
      try database.writeCheckpoint()
      try fixture.fileSystem.corrupt(
        fixture.path(of: "0000000002.segment"), atOffset: 4096 + 900, mask: 8)
      try? database.compact()
      try? database.compact()
      try expect(
        fixture.segmentNames.contains { $0.contains("-") }, "no segment is compacted any more")
      try expect(fixture.segmentNames.contains("0000000002.segment"), "the evidence is gone")
    },
    RuleCase(name: "rule 20: a run is found by its checkpoint's salt, not only by its number") {
      let fixture = CrashFixture.fresh()
      let other = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 2), life: 300)
      for each in [fixture, other] {
        let database = try each.openQuiet()
        try each.commit(
          database, (0..<40).map { .put("doc-\($0)", size: each === fixture ? 30 : 31) })
        try database.writeCheckpoint()
        try each.commit(database, [.put("doc-3", size: 5)])
        try database.writeCheckpoint()
        try database.close()
      }
      let left = fixture.restarted(.processEnd)
      let name = "0000000001.checkpoint"
      let foreign = try other.fileSystem.contents(of: other.path(of: name), limit: 1 << 24)
      try left.fileSystem.truncate(left.path(of: name), toSize: 0)
      try left.fileSystem.overwrite(left.path(of: name), atOffset: 0, with: foreign.array)
      try fixture.expectNewest(try left.openQuiet())
    },
    RuleCase(name: "rule 21: a damaged inner page is found when the store is opened") {
      let fixture = CrashFixture.fresh()
      do {
        let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
        let tail = String(repeating: "k", count: 160)
        try fixture.commit(database, (0..<200).map { .put("\($0)-\(tail)", size: 1) })
        try database.writeCheckpoint()
        try database.close()
      }
      let name = "0000000001.checkpoint"
      let size = try fixture.fileSystem.status(fixture.path(of: name)).size
      try expect(size > 10 * 4096, "\(size) bytes are too few for an inner page")
      var findCount = 0
      for page in 1..<size / 4096 {
        let left = fixture.restarted(.processEnd)
        try left.fileSystem.corrupt(left.path(of: name), atOffset: 4096 * page + 2000, mask: 4)
        let database = try left.openQuiet { $0.isReadOnly = true }
        findCount += database.openingReport.notes.isEmpty ? 0 : 1
        try fixture.expectNewest(database)
      }
      try expect(findCount > 0, "no page is an inner page")
    },
    RuleCase(name: "promise 2: a relaxed commit is durable after its delay") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      try database.write(durability: .relaxed(maxDelay: .milliseconds(5))) { transaction in
        _ = try transaction.replace("relaxed", with: [:])
      }
      let clock = ContinuousClock()
      let start = clock.now
      while clock.now - start < .seconds(2) {
        let left = CrashFixture(
          fixture.fileSystem.restarted(.strict), CrashWriter(seed: 0), life: 90)
        let opened = try left.openQuiet { $0.isReadOnly = true }
        if try opened.snapshot().exists("relaxed") { return }
        usleep(5000)
      }
      throw CrashOracle.Mismatch("it is still not durable")
    },
    RuleCase(name: "promise 2: a backup is durable when the call returns") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try database.backup(to: "/copy.divan")
      var configuration = fixture.configuration()
      configuration.fileSystem = fixture.fileSystem.restarted(.strict)
      configuration.isReadOnly = true
      let copy = try Database(at: "/copy.divan", configuration: configuration)
      _ = try fixture.oracle.identify(copy)
    },
    RuleCase(name: "promise 4: a snapshot never changes") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
      var random = SeededGenerator(seed: 11)
      var held: [(snapshot: Snapshot, version: Int)] = []
      for round in 0..<40 {
        let steps = (0..<6).map { _ in
          let id = "doc-\(random.next() % 60)"
          return random.next() % 4 == 0 ? CrashWriter.Step.delete(id) : .put(id, size: 9)
        }
        try fixture.commit(database, steps, durability: .none)
        if round == 25 { try database.writeCheckpoint() }
        if round == 30 { try database.compact() }
        var oracle = fixture.oracle
        oracle.secured = 0
        held.append((try database.snapshot(), oracle.versions.count - 1))
        for (snapshot, version) in held.suffix(8) + held.prefix(3) {
          let found = try oracle.identify(snapshot)
          try expect(found == version, "version \(version) has become \(found)")
        }
      }
    },
    RuleCase(name: "promise 5: the search for proof continues after frames that prove nothing") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
      try fixture.fill(database, 0..<1, size: 200)
      // These and the next commit were written when only the first was durable.
      try fixture.fill(database, 1..<4, size: 200, durability: .none)
      try fixture.fill(database, 4..<6, size: 200)
      let name = "0000000001.segment"
      let ends = try fixture.segmentEnds(of: name)
      for number in 1..<5 {
        let left = fixture.restarted(.processEnd, life: 9)
        // It would hide whether the log's own proof was found.
        try left.vanish { $0 == "FLUSHED" }
        try left.fileSystem.corrupt(
          left.path(of: name), atOffset: Int(ends[number].offset) - 60, mask: 1)
        let opened = try left.openQuiet()
        try expect(!opened.openingReport.damage.isEmpty, "commit \(number + 1) is cut away")
      }
    },
    RuleCase(name: "promise 5: reappended commits do not keep the promises of their old segment") {
      let fixture = CrashFixture.fresh()
      do {
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<3, size: 200)
        try fixture.fill(database, 3..<6, size: 200, durability: .none)
        fixture.fileSystem.losePower(atCall: 0)
      }
      let left = fixture.restarted(.processEnd)
      let database = try left.openQuiet()
      try expect(database.openingReport.securedCommits > 1)
      let file = try SegmentFile(2...2, in: left.directory)
      var reader = TransactionReader(
        Segment(file: file, mapped: .empty, end: LogEnd(offset: 0, commit: 0, chain: 0)),
        limit: try file.size())
      var count = 0
      while case .transaction(let transaction) = try reader.next() {
        count += 1
        try expect(
          transaction.trailer.flushedThrough <= UInt64(SegmentHeader.size),
          "it promises \(transaction.trailer.flushedThrough)")
      }
      try expect(count == database.openingReport.securedCommits, "\(count) commits")
    },
    RuleCase(
      name: "promise 6: after a failed commit, maintenance shows nothing that is not durable"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
      try fixture.fill(database, 0..<6)
      let oracle = fixture.oracle
      let isDone = Atomic(false)
      let failures = Recorder<any Error>()
      // A commit fails while a checkpoint is written.
      fixture.fileSystem.observeCalls { call in
        guard call.verb == .write, call.path.hasSuffix(".checkpoint"),
          !isDone.exchange(true, ordering: .relaxed)
        else { return }
        fixture.fileSystem.failFlush(.keepsNewBytes)
        do { try fixture.commit(database, [.put("doc-3", size: 1)]) } catch {
          failures.append(error)
        }
      }
      do { try database.writeCheckpoint() } catch { failures.append(error) }
      fixture.fileSystem.observeCalls(nil)
      try expect(isDone.load(ordering: .relaxed), "no checkpoint was written")
      try expect(failures.all.count == 2, "\(failures.all)")
      try expect(
        try oracle.identify(database) == oracle.versions.count - 1, "another version")
    },
  ]
}

extension SimulatedDisk.Loss {
  /// Returns losses of every kind.
  static func several(seed: UInt64) -> [SimulatedDisk.Loss] {
    [.strict, .everything, .processEnd, .sizeFirst(seed: seed), .dataFirst(seed: seed)]
      + (0..<4).map { .dropOne($0) } + (0..<4).map { .random(seed: seed &* 8 &+ $0) }
      + (1..<3).map { .prefix(seed: seed &* 8 &+ $0) }
  }
}
