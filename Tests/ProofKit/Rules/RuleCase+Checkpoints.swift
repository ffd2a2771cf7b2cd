import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Rules 19 to 21: checkpoints, and their damaged pages.
extension RuleCase {
  static let checkpoints: [RuleCase] = [
    RuleCase(name: "rule 19: no checkpoint is ahead of the log") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try fixture.fill(database, 0..<4, size: 10, durability: .none)
      let oracle = fixture.oracle
      try fixture.interrupting({ try database.writeCheckpoint() }) { call in
        let left = fixture.restarted(.strict, life: 500 + call)
        let opened = try left.openQuiet()
        if let damage = opened.openingReport.damage.first { throw damage }
        _ = try oracle.identify(opened)
      }
    },
    RuleCase(name: "rule 20: a checkpoint is used only with exactly the files that it lists") {
      let fixture = CrashFixture.fresh()
      for session in 0..<3 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 3, size: 100)
        try database.writeCheckpoint()
        try database.close()
      }
      let left = fixture.restarted(.processEnd, life: 90)
      // Compacted after the checkpoint: the file ID differs, so its locators lead to no file.
      _ = try left.merge(try left.segments(1...1))
      let opened = try left.openQuiet()
      try expect(
        opened.openingReport.notes.contains { $0.contains("was not used") },
        "a checkpoint was used without its files")
      try fixture.expectNewest(opened)
    },
    RuleCase(name: "rule 20: a checkpoint that lists a missing file is not used") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      try database.writeCheckpoint()
      try database.close()
      let left = fixture.restarted(.processEnd, life: 90)
      // The compacted segment replaces the missing ones.
      _ = try left.merge(try left.segments(1...2))
      try left.vanish { $0 == "0000000001.segment" || $0 == "0000000002.segment" }
      try fixture.expectNewest(try left.openQuiet())
    },
    RuleCase(name: "rule 20: a compacted segment that the checkpoint does not list is ignored") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      try database.writeCheckpoint()
      try fixture.fill(database, 0..<6, size: 3000)
      try database.close()
      let left = fixture.restarted(.processEnd, life: 90)
      // Across the checkpoint's position, together with its inputs.
      let count = UInt64(left.segmentNames.count)
      let position = try require(try left.checkpointPosition, "checkpoint")
      try expect(position < count - 1, "no segment follows the checkpoint")
      _ = try left.merge(try left.segments(position - 1...position + 1))
      try fixture.expectNewest(try left.openQuiet())
      try left.expectTidy()
    },
    RuleCase(name: "rule 20: an older checkpoint is not used with segments compacted after it") {
      for mergedCount in 1...3 {
        let fixture = CrashFixture.fresh()
        // Each transaction fills a segment.
        let database = try fixture.open {
          $0.maintenance = .manual
          $0.segmentSizeGoal = 1024
        }
        try fixture.fill(database, 0..<30, size: 1500)
        try database.writeCheckpoint()
        for round in 0...mergedCount {
          try fixture.commit(database, [.put("a", size: 1400 + round)])
        }
        try database.writeCheckpoint()
        try database.compactWhatPays()
        try database.close()
        let left = fixture.restarted(.processEnd, life: 90)
        let checkpoints = fixture.fileSystem.names(in: CrashFixture.path)
          .filter { $0.hasSuffix(".checkpoint") }.sorted()
        try expect(checkpoints.count > 1, "no checkpoint rests on another")
        try left.vanish { checkpoints.dropFirst().contains($0) }
        let opened = try left.openQuiet()
        try expect(
          opened.openingReport.notes.contains { $0.contains("was not used") },
          "a checkpoint was used with segments compacted after it")
        try fixture.expectNewest(opened)
        if let problem = try opened.check().problems.first { throw problem }
      }
    },
    RuleCase(name: "rule 20: a checkpoint also lists segments without live records") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<5, size: 3000)
      try fixture.fill(database, 0..<5, size: 3000)
      try database.writeCheckpoint()
      try expect(fixture.segmentNames.count > 3, "too few segments")
      try fixture.expectNewest(try fixture.restarted(.processEnd, life: 90).openQuiet())
      try fixture.expectNewest(try fixture.restarted(.strict, life: 190).openQuiet())
    },
    RuleCase(name: "rule 21: a damaged page of the index is rebuilt when it is read") {
      for isMapped in [true, false] {
        let original = try DamagedStore.checkpointed.make()
        let checkpoint = try require(
          original.files.first { $0.path.hasSuffix(".checkpoint") }, "checkpoint")
        var repaired = 0
        for page in 0..<(checkpoint.size / 4096 - 1) {
          for offset in [1000, 4000] {
            let disk = original.disk.restarted(.processEnd)
            try disk.corrupt(checkpoint.path, atOffset: 4096 * (page + 1) + offset, mask: 4)
            let fixture = CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
            let database = try fixture.openQuiet()
            let found = try original.oracle.identify(database)
            try expect(found == original.version, "version \(found) of \(original.version)")
            if database.openingReport.notes.isEmpty { repaired += 1 }
            try expect(try database.check().isSound, "page \(page): not sound")
          }
        }
        try expect(repaired >= 2, "nothing was repaired")
      }
    },
    RuleCase(name: "rule 21: a page is rebuilt as of its checkpoint, without later commits") {
      let fixture = CrashFixture.fresh()
      do {
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<30, size: 20)
        try fixture.fill(database, 10..<20, size: 10)
        try database.writeCheckpoint()
        try database.close()
      }
      let left = fixture.restarted(.processEnd, life: 90)
      for name in left.fileSystem.names(in: CrashFixture.path) where name.hasSuffix(".checkpoint") {
        // The leaf of the documents and that of the sequences; the filter is between them.
        for page in [0, 2] {
          try left.fileSystem.corrupt(
            left.path(of: name), atOffset: 4096 * (page + 1) + 1000, mask: 4)
        }
      }
      let database = try left.openQuiet()
      let oracle = fixture.oracle
      let snapshot = try database.snapshot()
      // New documents, which the filter distinguishes from those that a page might hold.
      try database.write { transaction in
        for number in 0..<9 { _ = try transaction.put(Document(id: "new-\(number)", [:])) }
      }
      // The pages are read only now, when the log holds more than they did.
      try expect(try database.snapshot().document("doc-20") != nil)
      try expect(try oracle.identify(snapshot) == oracle.versions.count - 1)
      try expect(try database.snapshot().exists("new-3") && database.check().isSound, "not sound")
    },
    RuleCase(name: "changes made while a checkpoint is written are kept") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<20, size: 50)
      let calls = Atomic(0)
      for round in 0..<3 {
        calls.store(0, ordering: .relaxed)
        try fixture.interrupting({ try database.writeCheckpoint() }) { _ in
          guard calls.wrappingAdd(1, ordering: .relaxed).newValue == 2 else { return }
          try fixture.commit(
            database, [.put("doc-\(round)", size: 7), .delete("doc-\(round + 9)")])
        }
        try fixture.expectNewest(database)
        try fixture.expectNewest(try fixture.restarted(.strict, life: 500 + round).openQuiet())
      }
    },
    RuleCase(name: "a checkpoint that fails loses nothing") {
      for call in 1...12 {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<20, size: 50)
        try database.writeCheckpoint()
        try fixture.fill(database, 3..<6, size: 5)
        try fixture.commit(database, [.delete("doc-9")])
        fixture.fileSystem.fail(.write, atCall: 1 + call % 3, with: .inputOutput)
        _ = try? database.writeCheckpoint()
        fixture.fileSystem.stopFailing()
        try fixture.expectNewest(database)
        try fixture.commit(database, [.put("doc-9", size: 1)])
        try database.writeCheckpoint()
        try fixture.expectNewest(database)
        try database.close()
        try fixture.expectNewest(try fixture.openQuiet())
      }
    },
    RuleCase(name: "a store that is never closed still gets its checkpoints") {
      var fixture = CrashFixture.fresh()
      for session in 0..<8 {
        let database = try fixture.open()
        try fixture.commit(database, [.put("doc-\(session)", size: 900)])
        fixture = fixture.restarted(.processEnd, life: 20 + 20 * session)
      }
      let names = fixture.fileSystem.names(in: CrashFixture.path)
      try expect(names.contains { $0.hasSuffix(".checkpoint") }, "no checkpoint")
      let database = try fixture.open()
      try expect(database.openingReport.replayedCommits < 8, "everything was replayed")
    },
    RuleCase(name: "a segment without records is not compacted again and again") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.open()
      // Otherwise it would never end.
      let calls = Atomic(0)
      fixture.fileSystem.observeCalls { _ in
        guard calls.wrappingAdd(1, ordering: .relaxed).newValue == 20_000 else { return }
        fixture.fileSystem.fail(nil, with: .inputOutput, isLasting: true)
      }
      for _ in 0..<60 { try fixture.commit(database, [.put("a", size: 900)]) }
      fixture.fileSystem.observeCalls(nil)
      try expect(fixture.segmentNames.count < 12, "\(fixture.segmentNames.count) segments")
    },
  ]
}

extension CrashFixture {
  /// The number of the segment that contains the newest checkpoint's position.
  var checkpointPosition: UInt64? {
    get throws {
      let files = try directory.listing().files
      var newest: UInt64?
      for case .checkpoint(let number) in files { newest = max(newest ?? 0, number) }
      guard let newest else { return nil }
      return try InspectedCheckpoint(newest, among: files, in: directory)?.segmentNumber
    }
  }
}
