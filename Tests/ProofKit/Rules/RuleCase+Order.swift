import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Rules 1 to 3: the order, the contents of a record, and that no sequence number is reused.
extension RuleCase {
  static let order: [RuleCase] = [
    RuleCase(name: "rule 1: compacted records keep their order, commit numbers and times") {
      let fixture = CrashFixture.fresh()
      for session in 0..<3 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 4, size: 100)
        try database.close()
      }
      let inputs = try fixture.segments(1...2)
      let output = try fixture.merge(inputs)
      let before = try inputs.flatMap { try RuleCase.records(of: $0) }
      try expect(try RuleCase.records(of: output) == before, "records changed in the compaction")
      try expect(!before.isEmpty && before.map(\.commit).sorted() == before.map(\.commit))
      // And compacted again.
      let again = try fixture.merge([output])
      try expect(
        try RuleCase.records(of: again) == before, "records changed in the second compaction")
    },
    RuleCase(name: "rule 1: a frame that skips a commit number is not part of the log") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 10)])
      let disk = fixture.fileSystem.restarted(.processEnd)
      let path = fixture.path(of: "0000000001.segment")
      let size = try disk.status(path).size
      let segment = try SegmentFile(1...1, in: StoreDirectory(CrashFixture.path, on: disk))
      let whole = Segment(
        file: segment, mapped: .empty, end: LogEnd(offset: 0, commit: 0, chain: 0))
      var frames = FrameReader(whole, limit: size)
      while case .frame = try frames.next() {}
      var buffer = TransactionBuffer(at: size)
      _ = buffer.append(.document) { $0.append([1, 2, 3]) }
      // It follows the last frame, but skips a number.
      _ = buffer.finish(
        after: LogEnd(offset: UInt64(size), commit: 2, chain: frames.chain),
        salt: segment.header.preamble.salt,
        trailer: CommitTrailer(
          frameCount: 0, recordCount: 0, lastSequence: 2, sequenceBound: 9, flushedThrough: 4096,
          time: 0, documentCount: 1))
      let scratch = try disk.open("/frame", .creating)
      try buffer.write(to: scratch)
      let bytes = try scratch.read(4096, at: size)
      try disk.overwrite(path, atOffset: size, with: bytes.array)
      let opened = try CrashFixture(disk, fixture.writer, life: 9).openQuiet()
      try fixture.expectNewest(opened)
      try expect(opened.openingReport.discardedBytes > 0, "the frame was taken for one of the log")
    },
    RuleCase(
      name: "rule 2: an index rebuilt from the log equals the running one after each compaction"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      for round in 0..<5 {
        try fixture.fill(database, round..<round + 5)
        try fixture.commit(database, [.delete("doc-\(round)"), .put("doc-\(round + 1)", size: 1)])
        try database.compact()
        let rebuilt = fixture.restarted(.everything, life: 90)
        try rebuilt.vanish { $0.hasSuffix(".checkpoint") }
        try fixture.expectNewest(try rebuilt.openQuiet())
        try fixture.expectNewest(database)
      }
    },
    RuleCase(
      name: "rule 2: a replayed change supersedes the previous revision and keeps the history"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<6)
      try database.writeCheckpoint()
      for round in 1...3 {
        try fixture.commit(database, [.put("doc-1", size: round), .delete("doc-\(round + 1)")])
      }
      let opened = try fixture.restarted(.processEnd).openQuiet()
      try fixture.expectNewest(opened)
      let history = try database.snapshot().revisions(of: "doc-1")
      try expect(history.count == 4, "a history of \(history.count) revisions")
      try expect(try opened.snapshot().revisions(of: "doc-1") == history)
    },
    RuleCase(
      name:
        "rule 2: an index rebuilt from the log does not need revisions that a compaction dropped"
    ) {
      let fixture = CrashFixture.fresh()
      for session in 0..<4 {
        let database = try fixture.openQuiet()
        try fixture.commit(database, [.put("x", size: session), .put("only-\(session)", size: 9)])
        try database.close()
      }
      // The version between the first and the last is dropped, and the first is still there.
      let inputs = try fixture.segments(2...3)
      _ = try SegmentCompaction.run(
        SegmentCompaction.Order(
          inputs: inputs, fileID: 77, salt: 5, now: 0, evaluatedAt: 4, releasedThrough: 4,
          isMapped: false),
        in: fixture.directory,
        keep: { (entry) throws(LogError) in
          (try? InspectedDocument(entry.record.payload).id.hasPrefix("only")) == true
        }, flushLog: {})
      try fixture.vanish { $0.hasSuffix(".checkpoint") }
      try fixture.expectNewest(try fixture.openQuiet())
    },
    RuleCase(name: "rule 3: after an unclean end, numbering resumes above the reserved bound") {
      let fixture = CrashFixture.fresh()
      var database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 1)])
      // Assigned, seen, and lost with the power.
      try fixture.commit(database, [.put("a", size: 2), .put("b", size: 3)], durability: .none)
      let seen = try database.snapshot().sequence
      let after = fixture.restarted(.strict)
      database = try after.openQuiet()
      try expect(try database.snapshot().document("b") == nil)
      let sequence = try database.write { try $0.replace("c", with: [:]).sequence }
      try expect(sequence > seen, "\(sequence) was handed out again")
    },
    RuleCase(name: "rule 3: segment headers have the last sequence number if HEAD is gone") {
      let fixture = CrashFixture.fresh()
      var database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      try database.close()
      database = try fixture.openQuiet()
      try database.write { try $0.delete("doc-1") }
      let last = try database.snapshot().sequence
      try database.compact()
      try database.close()
      try fixture.vanish { $0.hasSuffix(".checkpoint") || $0 == "HEAD" }
      database = try fixture.open()
      let sequence = try database.write { try $0.replace("d", with: [:]).sequence }
      try expect(sequence > last, "\(sequence) was handed out again")
    },
    RuleCase(
      name: "rule 3: a compacted segment has the last sequence number and bound of its inputs"
    ) {
      let fixture = CrashFixture.fresh()
      for session in 0..<3 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 4, size: 100)
        try database.close()
      }
      let inputs = try fixture.segments(1...2)
      // The commits have later numbers than the headers: a segment's header is written before them.
      let next = try SegmentFile(3...3, in: fixture.directory).header
      let output = try fixture.merge(inputs)
      try expect(output.header.lastSequence == next.lastSequence, "another last sequence")
      try expect(
        output.header.sequenceBound >= inputs.map(\.header.sequenceBound).max() ?? 0
          && output.header.sequenceBound > output.header.lastSequence, "another bound")
    },
    RuleCase(name: "rule 3: a new segment's header has the last sequence number and a higher bound")
    {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      let last = try database.snapshot().sequence
      for name in fixture.segmentNames.dropFirst() {
        guard case .segment(let numbers)? = FileName(name) else { continue }
        let header = try SegmentFile(numbers, in: fixture.directory).header
        try expect(header.lastSequence > 0 && header.lastSequence <= last, "\(name): no last one")
        try expect(header.sequenceBound > header.lastSequence, "\(name): no bound")
      }
      try database.close()
      let head = try require(try fixture.directory.head().head, "HEAD")
      try expect(head.lastSequence == last, "HEAD has another last sequence")
      try expect(head.sequenceBound > last, "HEAD has no bound")
    },
    RuleCase(name: "rule 3: no sequence number is reused after a transaction exceeds the reserve") {
      for count in [1, 3, 20] {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet {
          $0.sequenceReserve = 4
          // No segment is ended, because that would flush.
          $0.segmentSizeGoal = 1 << 20
        }
        try fixture.commit(database, [.put("a", size: 1)])
        for round in 0..<4 {
          try fixture.commit(
            database, (0..<count).map { .put("doc-\($0)", size: round) }, durability: .none)
          let seen = try database.snapshot().sequence
          // Data that was seen is lost with the power, and its numbers must not be reused.
          let later = try fixture.restarted(.strict).openQuiet { $0.sequenceReserve = 4 }
          let sequence = try later.write { try $0.replace("next", with: [:]).sequence }
          try expect(sequence > seen, "round \(round): \(sequence) was handed out again")
        }
      }
    },
    RuleCase(name: "rule 3: a sequence bound counts only once it is durable") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet {
        $0.sequenceReserve = 4
        $0.segmentSizeGoal = 1 << 20
      }
      try fixture.commit(database, [.put("a", size: 1)])
      // Each trailer has a higher bound than the previous one, and none is flushed.
      for round in 0..<12 {
        try fixture.commit(database, [.put("doc-\(round)", size: 1)], durability: .none)
        let seen = try database.snapshot().sequence
        let later = try fixture.restarted(.strict).openQuiet { $0.sequenceReserve = 4 }
        let sequence = try later.write { try $0.replace("next", with: [:]).sequence }
        try expect(sequence > seen, "round \(round): \(sequence) was handed out again")
      }
    },
    RuleCase(
      name: "rule 3: a bound stated only by a trailer before the checkpoint no longer counts"
    ) {
      for goesWrong in [false, true] {
        let fixture = CrashFixture.fresh()
        let disk = fixture.fileSystem
        let database = try fixture.openQuiet { $0.sequenceReserve = 3 }
        func next() throws -> UInt64 {
          try database.write(durability: .none) { try $0.replace("a", with: [:]).sequence }
        }
        _ = try next()
        // The checkpoint is written, and HEAD is not replaced after it.
        if goesWrong { disk.fail(.create, atCall: 2, with: .inputOutput) }
        try database.writeCheckpoint()
        disk.stopFailing()
        var last: UInt64 = 0
        // As many as the trailer had reserved, and not one more.
        for _ in 0..<3 { last = max(last, try next()) }
        let after = fixture.restarted(.strict, life: 9)
        let reopened = try after.openQuiet()
        let sequence = try reopened.write { try $0.replace("b", with: [:]).sequence }
        try expect(sequence > last, "\(sequence) was handed out again")
      }
    },
    RuleCase(name: "rule 3: a backup has another store ID") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try database.backup(to: "/copy.divan")
      var configuration = fixture.configuration()
      configuration.isReadOnly = true
      let copy = try Database(at: "/copy.divan", configuration: configuration)
      try expect(copy.storeID != database.storeID, "a backup has the ID of the store")
      _ = try fixture.oracle.identify(copy)
    },
  ]

  /// The contents of a record without its place.
  struct PlainRecord: Equatable {
    let commit: UInt64
    let time: UInt64
    let payload: [UInt8]
  }

  static func records(of segment: Segment) throws -> [PlainRecord] {
    var scan = RecordScan(segment)
    var records: [PlainRecord] = []
    while true {
      switch try scan.next() {
      case .record(let entry):
        records.append(
          PlainRecord(commit: entry.commit, time: entry.time, payload: entry.record.payload.array))
      case .commit: continue
      case .damage(let damage): throw damage
      case .end: return records
      }
    }
  }
}

extension CrashFixture {
  /// Returns segments of single numbers, each of which ends where its successor says.
  func segments(_ numbers: ClosedRange<UInt64>) throws -> [Segment] {
    try numbers.map { number in
      Segment(
        file: try SegmentFile(number...number, in: directory), mapped: .empty,
        end: try SegmentFile(number + 1...number + 1, in: directory).header.predecessor)
    }
  }

  /// Compacts segments with all their contents, while no store is open.
  func merge(_ inputs: [Segment]) throws -> Segment {
    try SegmentCompaction.run(
      SegmentCompaction.Order(
        inputs: inputs, fileID: 77, salt: 5, now: 0, evaluatedAt: 9, releasedThrough: 8,
        isMapped: false),
      in: directory, keep: { _ in true }, flushLog: {})
  }
}
