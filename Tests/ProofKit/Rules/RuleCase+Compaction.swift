import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Rules 4 to 7: how segments are compacted, and what must survive that.
extension RuleCase {
  static let merging: [RuleCase] = [
    evaluatedByDurable(inputCount: 1), evaluatedByDurable(inputCount: 2),
    RuleCase(name: "a compacted segment is not larger than its limit") {
      // Found by measuring: when ten million documents had few changes, 41 full segments were
      // copied into one of 2.6 GB, and moving their entries took a gigabyte of memory.
      var configuration = Configuration()
      configuration.fileSystem = MemoryFileSystem()
      configuration.segmentSizeGoal = 64 << 10
      configuration.compactedSegmentSizeLimit = 256 << 10
      configuration.checkpointInterval = 32 << 10
      configuration.maintenance = .inline
      configuration.reserveSize = 0
      let database = try Database(at: "/store.divan", configuration: configuration)
      let text = Value.string(String(repeating: "lorem ", count: 150))
      for number in 0..<1200 {
        try database.write { _ = try $0.replace("doc-\(number)", with: ["text": text]) }
      }
      // Now there are few dead bytes in each segment.
      for number in stride(from: 0, to: 1200, by: 25) {
        try database.write { _ = try $0.replace("doc-\(number)", with: ["text": text]) }
      }
      let sizes = try database.statistics.segments.map(\.liveSize)
      try expect(sizes.allSatisfy { $0 <= 256 << 10 }, "live bytes of segments: \(sizes)")
      try expect(sizes.count > 12, "full segments were copied together: \(sizes)")
      try database.close()
    },
    RuleCase(name: "rule 4: changes made during a compaction survive it") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<10)
      try fixture.fill(database, 0..<5)
      try database.writeCheckpoint()
      let isDone = Atomic(false)
      try fixture.interrupting({ try database.compact() }) { _ in
        // The compacted segment has just got its name, and the index does not refer to it yet.
        guard fixture.segmentNames.contains(where: { $0.contains("-") }),
          !isDone.exchange(true, ordering: .relaxed)
        else { return }
        try fixture.commit(database, [.put("doc-7", size: 7), .delete("doc-8")])
      }
      try expect(isDone.load(ordering: .relaxed), "no compaction took place")
      try fixture.expectNewest(database)
      try fixture.expectNewest(try fixture.restarted(.strict).openQuiet())
    },
    RuleCase(
      name: "rule 4: a log that ends before the commit a compacted segment states is damaged"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<8, size: 1500)
      try database.writeCheckpoint()
      try fixture.commit(database, (0..<4).map { .put("doc-\($0)", size: 20) })
      try database.compactWhatPays()
      let left = fixture.restarted(.strict)
      try expect(left.segmentNames.contains { $0.contains("-") }, "nothing was compacted")
      let last = try require(left.segmentNames.last, "segment")
      // Only the compacted segment's header records how far the log went.
      try left.vanish {
        $0 == "HEAD" || $0 == "FLUSHED" || $0.hasSuffix(".checkpoint") || $0 == last
      }
      let opened = try left.openQuiet()
      try expect(!opened.openingReport.damage.isEmpty, "\(last) is gone without a report")
    },
    RuleCase(name: "rule 5: a deletion survives every compaction") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      for round in 0..<3 {
        try fixture.fill(database, round..<round + 5)
        try fixture.commit(database, [.delete("doc-\(round)")])
        try database.compact()
      }
      try fixture.expectNewest(database)
      try database.close()
      try fixture.vanish { $0.hasSuffix(".checkpoint") }
      let opened = try fixture.openQuiet()
      try fixture.expectNewest(opened)
      try expect(try opened.snapshot().tombstone("doc-0") != nil, "the tombstone is gone")
    },
    RuleCase(name: "rule 6: a file is kept while the newest checkpoint lists it") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      for round in 0..<3 {
        try fixture.fill(database, 0..<6, size: 3000 + round)
        try fixture.fill(database, 1..<6, size: 10)
        try database.writeCheckpoint()
        try fixture.interrupting({ try database.compact() }) { call in
          for loss in SimulatedDisk.Loss.several(seed: UInt64(call)) {
            let left = fixture.restarted(loss, life: 500 + call)
            let opened = try left.openQuiet { $0.isReadOnly = true }
            try expect(
              opened.openingReport.notes.allSatisfy { !$0.contains("was not used") },
              "\(loss): a checkpoint lost its files: \(opened.openingReport.notes)")
          }
        }
      }
    },
    RuleCase(name: "rule 6: a snapshot stays readable while its segments are compacted and deleted")
    {
      for isMapped in [true, false] {
        let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: isMapped)
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<12)
        let oracle = fixture.oracle
        let snapshot = try database.snapshot()
        for round in 0..<3 {
          try fixture.fill(database, 0..<9, size: 100 + round)
          try fixture.commit(database, [.delete("doc-\(round + 9)")])
          try database.compact()
          try expect(try oracle.identify(snapshot) == oracle.versions.count - 1)
        }
      }
    },
    RuleCase(name: "rule 7: a compacted segment's header states which history is released") {
      let fixture = CrashFixture.fresh()
      for session in 0..<3 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 4, size: 100)
        try database.close()
      }
      let output = try fixture.merge(try fixture.segments(1...2))
      try expect(output.header.compaction?.releasedThrough == 8, "not what was ordered")
      try expect(output.header.compaction?.evaluatedAt == 9, "not what was ordered")
      // A later compaction that releases less does not reduce that.
      let again = try SegmentCompaction.run(
        SegmentCompaction.Order(
          inputs: [output], fileID: 78, salt: 6, now: 0, evaluatedAt: 9, releasedThrough: 3,
          isMapped: false),
        in: fixture.directory, keep: { _ in true }, flushLog: {})
      try expect(again.header.compaction?.releasedThrough == 8, "released history was reduced")
    },
    RuleCase(
      name: "rule 7: a compaction states the commit it evaluated and releases history through it"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<8, size: 1500)
      try fixture.fill(database, 0..<8, size: 15)
      let commits = UInt64(fixture.oracle.versions.count - 1)
      try database.compact()
      for name in fixture.segmentNames {
        guard case .segment(let numbers)? = FileName(name) else { continue }
        guard let compaction = try SegmentFile(numbers, in: fixture.directory).header.compaction
        else {
          continue
        }
        try expect(compaction.evaluatedAt == commits, "evaluated at \(compaction.evaluatedAt)")
        try expect(compaction.releasedThrough == commits, "released \(compaction.releasedThrough)")
      }
    },
    RuleCase(name: "rule 10: a compacted segment still vouches for its predecessor") {
      let fixture = CrashFixture.fresh()
      for session in 0..<4 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 3, size: 100)
        try database.close()
      }
      let inputs = try fixture.segments(2...3)
      let output = try fixture.merge(inputs)
      let first = inputs[0].header
      try expect(output.header.predecessor == first.predecessor, "another predecessor")
      try expect(output.header.compaction?.end == inputs[1].end, "another end")
      try expect(output.header.flushedSize == UInt64(try output.file.size()), "another size")
      try expect(output.header.preamble.storeID == first.preamble.storeID, "another store")
      try expect(output.header.generation == 1, "another generation")
      // Segments that the compaction did not copy are still checked against it.
      try fixture.fileSystem.truncate(
        fixture.path(of: "0000000001.segment"), toSize: Int(first.predecessor.offset) - 8)
      try expect(try !fixture.open().openingReport.damage.isEmpty, "a cut file is not noticed")
    },
    RuleCase(name: "rule 17: a damaged segment is not compacted") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 2000)
      try fixture.fill(database, 0..<4, size: 20)
      try database.writeCheckpoint()
      try fixture.fileSystem.corrupt(
        fixture.path(of: "0000000002.segment"), atOffset: 4096 + 900, mask: 8)
      let before = try fixture.fileSystem.contents(
        of: fixture.path(of: "0000000002.segment"), limit: 1 << 20)
      do {
        try database.compact()
        throw CrashOracle.Mismatch("a damaged segment was compacted")
      } catch let error as DatabaseError {
        try expect(error.code == .damaged, "\(error)")
      }
      try? database.compact()
      let after = try fixture.fileSystem.contents(
        of: fixture.path(of: "0000000002.segment"), limit: 1 << 20)
      try expect(before.array == after.array, "the evidence was changed")
    },
    RuleCase(name: "a compaction whose output cannot be installed leaves a store that opens") {
      for call in 1...12 {
        let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: false)
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<30, size: 300)
        try fixture.fill(database, 0..<12, size: 20)
        try database.writeCheckpoint()
        let disk = fixture.fileSystem
        let isArmed = Atomic(false)
        // From the time when the compacted segment has its name until the index refers to it.
        disk.observeChangingCalls { _ in
          guard fixture.segmentNames.contains(where: { $0.contains("-") }),
            !isArmed.exchange(true, ordering: .relaxed)
          else { return }
          disk.fail(.read, atCall: call, with: .inputOutput)
        }
        _ = try? database.compact()
        disk.observeChangingCalls(nil)
        disk.stopFailing()
        try fixture.commit(database, [.put("doc-3", size: 5)])
        try database.writeCheckpoint()
        try database.close()
        try fixture.expectNewest(try fixture.openQuiet())
      }
    },
  ]

  /// Checks that the commits that a compaction evaluates are durable before its output is renamed.
  private static func evaluatedByDurable(inputCount: Int) -> RuleCase {
    RuleCase(name: "rule 4: a compaction (inputs: \(inputCount)) evaluates durable commits only") {
      // Files so large that only the compaction has a reason to flush.
      let fixture = CrashFixture.fresh()
      for session in 0..<inputCount {
        let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
        try fixture.fill(database, session * 4..<session * 4 + 4)
        if session == inputCount - 1 { try database.writeCheckpoint() }
        try database.close()
      }
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
      try fixture.commit(
        database, (0..<8).map { .put("doc-\($0)", size: 20) }, durability: .none)
      let oracle = fixture.oracle
      try expect(oracle.secured == oracle.versions.count - 2)
      try fixture.interrupting({ try database.compactWhatPays() }) { call in
        let left = fixture.restarted(.strict, life: 500 + call)
        // A checkpoint may be damaged: then the compacted segment replaces its inputs.
        try left.vanish { $0.hasSuffix(".checkpoint") }
        let opened = try left.openQuiet()
        if let damage = opened.openingReport.damage.first { throw damage }
        _ = try oracle.identify(opened)
      }
      let merged = try SegmentFile(1...UInt64(inputCount), in: fixture.directory)
      try expect(merged.header.compaction != nil, "nothing was compacted")
    }
  }
}
