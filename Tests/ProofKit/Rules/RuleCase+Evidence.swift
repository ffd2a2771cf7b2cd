import DivanLog
import DivanTesting

import Divan

/// Proofs that `FLUSHED` gives for a log that was not closed, and their limits.
extension RuleCase {
  static let evidence: [RuleCase] = [
    RuleCase(
      name: "promise 5: a log that was not closed loses no acknowledged commit without a report"
    ) {
      let fixture = CrashFixture.fresh()
      var database = try fixture.openSessionOfEvidence()
      try fixture.fill(database, 0..<30, size: 150)
      // The durability of these was not acknowledged.
      try fixture.fill(database, 30..<33, size: 150, durability: .none)
      try fixture.tryDamage(
        after: [.processEnd], canLose: { fixture, _ in fixture.oracle.returned - 30 })
      // Commits in doubt are logged again, and continue in the next segment.
      fixture.lose(.processEnd)
      database = try fixture.openSessionOfEvidence()
      try fixture.tryDamage(after: [.processEnd], canLose: { _, _ in 0 })
      try fixture.fill(database, 0..<9, size: 100)
      try fixture.tryDamage(after: [.processEnd], canLose: { _, _ in 0 })
    },
    RuleCase(
      name:
        "promise 5: after a loss of power, only a bounded part of the log has no evidence"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      for round in 0..<3 {
        try fixture.fill(database, 0..<(11 + round), size: 150)
        try fixture.tryDamage(after: SimulatedDisk.Loss.several(seed: UInt64(round))) {
          fixture, end in
          // As many commits as end in the stretch.
          let ends = try fixture.segmentEnds(of: "0000000001.segment")
          return ends.count { $0.offset + CrashFixture.stretchOfEvidence > end }
        }
      }
    },
    RuleCase(name: "FLUSHED never claims more than was flushed") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      try fixture.commit(database, [.put("a", size: 10)])
      try fixture.interrupting({
        try fixture.fill(database, 0..<4, size: 700)
        try fixture.fill(database, 4..<6, size: 700, durability: .none)
        try database.flush()
      }) { call in
        for loss in SimulatedDisk.Loss.several(seed: UInt64(call)) {
          let left = fixture.restarted(loss, life: 500 + call)
          let opened = try left.openQuiet { $0.isReadOnly = true }
          if let damage = opened.openingReport.damage.first {
            throw CrashOracle.Mismatch("\(loss): \(damage)")
          }
          _ = try fixture.oracle.identify(opened)
        }
      }
    },
    RuleCase(
      name: "FLUSHED counts only in its own store, and a log that ends before a mark is damaged"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      try fixture.fill(database, 0..<5)
      try fixture.expectNewest(try fixture.openedWithMarks { _ in })
      try fixture.expectNewest(
        try fixture.openedWithMarks {
          $0.end.commit -= min(2, $0.end.commit)
          $0.end.offset -= 500
        })
      // For another segment with the same number, only the commit counts.
      try fixture.expectNewest(
        try fixture.openedWithMarks {
          $0.preamble.salt ^= 1
          $0.end.offset += 500
        })
      try fixture.expectNewest(
        try fixture.openedWithMarks {
          $0.preamble.storeID = StoreID(high: 1, low: 2)
          $0.end.commit += 9
        })
      for change: (inout FlushMark) -> Void in [
        { $0.end.commit += 1 }, { $0.end.offset += 8 }, { $0.segmentNumber += 1 },
      ] {
        let damage = try fixture.openedWithMarks(changed: change).openingReport.damage
        try expect("\(damage)".contains("FLUSHED shows"), "\(damage)")
      }
    },
    RuleCase(name: "FLUSHED works with one torn mark, and the store opens without the file") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      try fixture.fill(database, 0..<6, size: 100)
      let marks = try fixture.directory.flushMarks().marks
      try expect(marks.map(\.end.commit).sorted().suffix(2) == [5, 6], "\(marks)")
      let newest = try fixture.markOffset(ofCommit: 6)
      for (index, offset) in FlushMark.offsets.enumerated() {
        for place in [0, 40, 64, 81, 90, 200, 252] {
          let found = try fixture.foundWithSpoiledMarks(after: 4) { disk, path in
            try disk.corrupt(path, atOffset: offset + place, mask: 1)
          }
          try expect(found.isReported && found.notes.isEmpty, "byte \(place) of mark \(index)")
        }
      }
      // Only the previous mark is left, and it proves one commit less.
      try expect(
        try !fixture.foundWithSpoiledMarks(after: 5) {
          try $0.corrupt($1, atOffset: newest, mask: 1)
        }
        .isReported)
      try expect(try fixture.foundWithSpoiledMarks(after: 5) { _, _ in }.isReported)
      // Without it, the store opens like one that never had it.
      let blank = [UInt8](repeating: 0, count: FlushMark.fileSize)
      for spoil: (SimulatedFileSystem, String) throws -> Void in [
        { try $0.vanish($1) }, { try $0.truncate($1, toSize: 0) },
        { try $0.overwrite($1, atOffset: 0, with: blank) },
      ] {
        let found = try fixture.foundWithSpoiledMarks(after: 5, spoil)
        try expect(!found.isReported && found.notes.isEmpty, "\(found)")
      }
      for spoil: (SimulatedFileSystem, String) throws -> Void in [
        { try $0.truncate($1, toSize: 100) },
        { disk, path in
          for offset in FlushMark.offsets { try disk.corrupt(path, atOffset: offset + 70, mask: 8) }
        },
      ] {
        let found = try fixture.foundWithSpoiledMarks(after: 5, spoil)
        try expect(
          !found.isReported && found.notes.contains { $0.contains("FLUSHED cannot be read") },
          "\(found)")
      }
    },
    RuleCase(name: "the flushed mark of FLUSHED survives when all others are torn") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      var flushed: UInt64 = 0
      for number in 0..<24 {
        try fixture.commit(database, [.put("doc-\(number)", size: 100)])
        let durable = try fixture.restarted(.strict, life: 90).directory.flushMarks().marks
        flushed = max(flushed, durable.map(\.end.commit).max() ?? 0)
        let left = fixture.restarted(.processEnd, life: 90)
        // Everything that was written and not flushed is torn.
        for mark in try left.directory.flushMarks().marks where mark.end.commit > flushed {
          let offset = try left.markOffset(ofCommit: mark.end.commit)
          try left.fileSystem.corrupt(left.path(of: "FLUSHED"), atOffset: offset + 90, mask: 1)
        }
        let marks = try left.directory.flushMarks().marks
        try expect(
          marks.contains { $0.end.commit == flushed },
          "\(marks.map(\.end.commit)), and \(flushed) was flushed")
      }
      try expect(flushed > 15, "commit \(flushed) was flushed")
    },
    RuleCase(name: "a failure to write FLUSHED fails no commit, and the next flush retries it") {
      for behavior in SimulatedDisk.FailedFlush.tried {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openSessionOfEvidence()
        try fixture.fill(database, 0..<4, size: 100)
        // The second write and the second flush of a commit are those of the mark.
        fixture.fileSystem.fail(.write, atCall: 2, with: .inputOutput)
        try fixture.commit(database, [.put("a", size: 1)])
        let marks = try fixture.directory.flushMarks().marks
        try expect(marks.map(\.end.commit).max() == 4, "\(marks)")
        try fixture.commit(database, [.put("a", size: 2)])
        try expect(try fixture.directory.flushMarks().marks.map(\.end.commit).max() == 6)
        fixture.fileSystem.failFlush(atCall: 2, behavior)
        try fixture.fill(database, 0..<4, size: 1500)
        fixture.fileSystem.stopFailing()
        try fixture.commit(database, [.put("a", size: 3)])
        try fixture.expectNewest(try fixture.restarted(.strict, life: 90).openQuiet())
        try fixture.tryDamage(after: [.processEnd], canLose: { _, _ in 0 })
      }
      // If it cannot be created at all, the next replacement of HEAD creates it.
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      // The first is the segment, which is created before it.
      fixture.fileSystem.fail(.create, atCall: 2, with: .noSpace, completion: .nothing)
      try fixture.commit(database, [.put("a", size: 1)])
      try expect(
        !fixture.fileSystem.names(in: CrashFixture.path).contains("FLUSHED"), "it is there")
      try database.writeCheckpoint()
      try fixture.commit(database, [.put("a", size: 2)])
      try expect(try fixture.directory.flushMarks().marks.map(\.end.commit).max() == 2)
      try fixture.expectNewest(try fixture.restarted(.processEnd, life: 90).openQuiet())
    },
    RuleCase(
      name: "a store with only FLUSHED left is damaged, and a reader leaves FLUSHED unchanged"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openSessionOfEvidence()
      try fixture.fill(database, 0..<3)
      let left = fixture.restarted(.processEnd, life: 90)
      let before = try left.fileSystem.contents(of: left.path(of: "FLUSHED"), limit: 1 << 16).array
      let reader = try left.openQuiet { $0.isReadOnly = true }
      try fixture.expectNewest(reader)
      let after = try left.fileSystem.contents(of: left.path(of: "FLUSHED"), limit: 1 << 16).array
      try expect(before == after && before.count == FlushMark.fileSize, "it was written")
      try left.vanish { $0 != "FLUSHED" && $0 != "tmp" }
      try expectDamaged { _ = try left.open() }
    },
  ]
}

extension CrashFixture {
  /// The maximum number of bytes of the log that are durable without a witness.
  fileprivate static let stretchOfEvidence: UInt64 = 1 << 10

  /// Opens the store after the end of the process, with each mark of `FLUSHED` changed.
  fileprivate func openedWithMarks(changed: (inout FlushMark) -> Void) throws -> Database {
    let left = restarted(.processEnd, life: 90)
    let marks = try left.directory.flushMarks().marks
    try expect(marks.count == 3 && marks.map(\.end.commit).max() == 5, "\(marks)")
    for (offset, mark) in zip(FlushMark.offsets, marks) {
      var mark = mark
      changed(&mark)
      try left.fileSystem.overwrite(
        left.path(of: "FLUSHED"), atOffset: offset, with: mark.encode().array)
    }
    return try left.openQuiet { $0.isReadOnly = true }
  }

  /// Opens the store after the log was cut after a commit, and `FLUSHED` was damaged.
  fileprivate func foundWithSpoiledMarks(
    after commit: Int, _ spoil: (SimulatedFileSystem, String) throws -> Void
  ) throws -> (isReported: Bool, notes: [String]) {
    let left = restarted(.processEnd, life: 90)
    let name = "0000000001.segment"
    let end = try segmentEnds(of: name)[commit - 1]
    try left.fileSystem.truncate(left.path(of: name), toSize: Int(end.offset))
    try spoil(left.fileSystem, left.path(of: "FLUSHED"))
    let report = try left.openQuiet().openingReport
    return (!report.damage.isEmpty, report.notes)
  }

  /// Returns the offset of the mark that names a commit.
  fileprivate func markOffset(ofCommit commit: UInt64) throws -> Int {
    let bytes = try fileSystem.contents(of: path(of: "FLUSHED"), limit: 1 << 16)
    let offset = FlushMark.offsets.first {
      let block = bytes.suffix(from: $0).prefix(FlushMark.size)
      return (try? FlushMark.decode(block, path: "FLUSHED"))?.end.commit == commit
    }
    return try require(offset, "mark of commit \(commit)")
  }

  /// Opens the store with a whole session in one segment, and without background work.
  fileprivate func openSessionOfEvidence() throws -> Database {
    try openQuiet {
      $0.segmentSizeGoal = 1 << 20
      $0.unwitnessedLimit = Int(CrashFixture.stretchOfEvidence)
    }
  }

  /// Cuts and zeroes the last segment at each multiple of 512 bytes, as it is after some losses.
  ///
  /// Either damage is reported, or at most `canLose` of the newest commits are missing. The closure
  /// receives the position at which the log ended.
  fileprivate func tryDamage(
    after losses: [SimulatedDisk.Loss], canLose: (CrashFixture, UInt64) throws -> Int
  ) throws {
    let oracle = oracle
    let name = try require(segmentNames.last, "segment")
    for loss in losses {
      let left = restarted(loss, life: 90)
      let size = try left.fileSystem.status(left.path(of: name)).size
      let end = try segmentEnds(of: name).last?.offset ?? UInt64(SegmentHeader.size)
      let lowest = oracle.versions.count - 1 - (try canLose(self, end))
      for offset in stride(from: 0, to: size, by: 512) {
        for damage in ["cut", "zeros", "a sector of zeros"] {
          let hurt = left.restarted(.everything, life: 190)
          let path = hurt.path(of: name)
          let count = damage == "zeros" ? size - offset : min(512, size - offset)
          if damage == "cut" {
            try hurt.fileSystem.truncate(path, toSize: offset)
          } else {
            try hurt.fileSystem.overwrite(
              path, atOffset: offset, with: [UInt8](repeating: 0, count: count))
          }
          do {
            let opened = try hurt.openQuiet { $0.isReadOnly = true }
            guard opened.openingReport.damage.isEmpty else { continue }
            var free = oracle
            free.secured = 0
            let found = try free.identify(opened)
            try expect(
              found >= lowest,
              "\(loss), \(damage) at \(offset) of \(size): version \(found) without a report, "
                + "of \(oracle.versions.count - 1)")
          } catch let error as DatabaseError {
            try expect(error.code == .damaged, "\(damage) at \(offset): \(error)")
          }
        }
      }
    }
  }
}
