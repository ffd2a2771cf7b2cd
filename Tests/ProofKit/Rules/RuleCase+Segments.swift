import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Rules 8 to 12: how segments follow each other, and which one proves another.
extension RuleCase {
  static let segments: [RuleCase] = [
    RuleCase(name: "rule 8: a segment that has a successor never changes") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      let before = try RuleCase.contents(fixture.fileSystem)
      try fixture.fill(database, 5..<14, size: 3000, durability: .none)
      // Every recovery leaves existing segments unchanged, also the newest.
      let after = fixture.restarted(.processEnd, life: 90)
      let found = try RuleCase.contents(after.fileSystem)
      for (name, bytes) in before where name != before.keys.max() {
        try expect(found[name] == bytes, "\(name) has changed")
      }
      let reopened = try after.openQuiet()
      try fixture.commit(reopened, [.put("doc-1", size: 7)])
      let afterwards = try RuleCase.contents(after.fileSystem)
      for (name, bytes) in found {
        try expect(afterwards[name] == bytes, "\(name) has changed")
      }
      try expect(afterwards.count > found.count, "no new segment was begun")
    },
    RuleCase(name: "rule 8: a segment ends after a partly written transaction") {
      // The writes of the marks in FLUSHED are between them.
      for call in [1, 3, 5] {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<2)
        fixture.fileSystem.fail(.write, atCall: call, with: .inputOutput)
        let oracle = fixture.oracle
        var failed = 0
        for number in 0..<4 {
          do {
            try database.write { try $0.replace("x-\(number)", with: ["n": .int(1)]) }
          } catch { failed += 1 }
        }
        try expect(failed == 1, "\(failed) writes failed")
        let snapshot = try database.snapshot()
        let count = try snapshot.count
        try expect(count == oracle.versions.last.map { $0.liveIDs.count + 3 }, "\(count)")
        try database.close()
        let reopened = try fixture.openQuiet()
        try expect(reopened.openingReport.damage.isEmpty, "\(reopened.openingReport)")
        try expect(try reopened.snapshot().count == snapshot.count, "a commit is lost")
        // An incomplete write in it is never read again.
        let names = fixture.segmentNames
        try expect(names.count >= 2, "the segment was appended to: \(names)")
      }
    },
    RuleCase(name: "rule 8: zeros are written after the last transaction, and end nothing") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.segmentSizeGoal = 64 << 10 }
      var sizes: Set<Int> = []
      var zeros = 0
      for index in 0..<120 {
        try fixture.commit(database, [.put("a", size: 200 + index)])
        let name = try require(fixture.segmentNames.last, "a segment")
        let size = try fixture.fileSystem.status(fixture.path(of: name)).size
        let end = try fixture.endOfLog(in: name)
        try expect(size - end <= min(end, Segment.preallocationLimit), "\(size - end) zeros")
        zeros += size - end
        guard end > 24 << 10 else { continue }
        sizes.insert(size)
        let left = try fixture.restarted(.processEnd, life: 20 + index).openQuiet()
        try expect(left.openingReport.discardedBytes == 0, "zeros count as a transaction")
        try fixture.expectNewest(left)
      }
      try expect(zeros > 0 && !sizes.isEmpty, "there are no zeros")
      try expect(sizes.count < 10, "the file grew \(sizes.count) times")
    },
    RuleCase(name: "rule 8: a write that fails among zeros has not happened") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.filledWithZeros()
      fixture.fileSystem.fail(.write, with: .inputOutput)
      do {
        try database.write { try $0.replace("x", with: ["n": .int(1)]) }
        throw CrashOracle.Mismatch("the write did not fail")
      } catch let error as DatabaseError {
        try expect(error.code == .inputOutput, "\(error)")
      }
      try database.write { try $0.replace("y", with: ["n": .int(1)]) }
      for left in [database, try fixture.restarted(.processEnd, life: 9).openQuiet()] {
        let snapshot = try left.snapshot()
        try expect(try !snapshot.exists("x") && snapshot.exists("y"), "the wrong write counts")
      }
    },
    RuleCase(name: "no two segments of a store have the same salt or file ID") {
      let fixture = CrashFixture.fresh()
      var salts: Set<UInt64> = []
      var fileIDs: Set<UInt64> = []
      var seen: Set<[UInt8]> = []
      for session in 0..<4 {
        let database = try fixture.openQuiet()
        try fixture.fill(database, session..<session + 6, size: 2500)
        if session % 2 == 1 { try database.compact() } else { try database.writeCheckpoint() }
        try fixture.fill(database, 0..<4, size: 2500)
        let directory = fixture.directory
        for name in try directory.listing().files {
          let path = directory.path(of: name)
          guard case .segment(let numbers) = name else { continue }
          let header = try SegmentFile(numbers, in: directory).header
          let block = try fixture.fileSystem.contents(of: path, limit: 1 << 24).prefix(4096).array
          guard seen.insert(block).inserted else { continue }
          try expect(salts.insert(header.preamble.salt).inserted, "\(name) has an old salt")
          try expect(fileIDs.insert(header.fileID).inserted, "\(name) has an old number")
        }
        try database.close()
      }
      try expect(fileIDs.count > 6, "only \(fileIDs.count) files were made")
    },
    RuleCase(name: "a file ID that a leftover or a checkpoint names is not reused") {
      // The newest file ID is that of a compacted segment that the index does not refer to yet.
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      try fixture.interrupting({ try database.compactWhatPays() }) { call in
        let left = fixture.restarted(.processEnd, life: 500 + call)
        let before = try RuleCase.fileIDs(left)
        let opened = try left.openQuiet()
        let writer = CrashWriter(fixture.oracle, seed: 3)
        try writer.commit(opened, [.put("afterwards", size: 1)])
        let new = Set(left.segmentNames).subtracting(before.keys)
        for name in new {
          let fileID = try RuleCase.fileIDs(left)[name] ?? 0
          try expect(!before.values.contains(fileID), "\(name) has the number \(fileID) again")
        }
      }
    },
    RuleCase(name: "rule 9: a missing segment is reported") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      let names = fixture.segmentNames
      try expect(names.count >= 4)
      for name in names {
        let left = fixture.restarted(.everything, life: 90)
        try left.vanish { $0 == name }
        let opened = try left.open()
        try expect(!opened.openingReport.damage.isEmpty, "\(name) is missing without a report")
        try expectRefused(opened)
      }
    },
    RuleCase(name: "rule 9: a store that lost all its segments is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      let left = fixture.restarted(.everything, life: 90)
      try left.vanish { $0.hasSuffix(".segment") }
      try expectDamaged { _ = try left.open() }
      try database.writeCheckpoint()
      let other = fixture.restarted(.everything, life: 190)
      try other.vanish { $0.hasSuffix(".segment") || $0 == "HEAD" || $0 == "FLUSHED" }
      try expectDamaged { _ = try other.open() }
    },
    RuleCase(name: "rule 9: a store that lost everything but its attachments is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      let blob = [UInt8](repeating: 7, count: 100_000)
      try database.write { transaction in
        var document = Document(id: "film")
        document.attachments["poster"] = Document.Attachment(
          contentType: "image/png", blob)
        try transaction.put(document)
      }
      let left = fixture.restarted(.everything, life: 90)
      try left.vanish {
        $0.hasSuffix(".segment") || $0.hasSuffix(".checkpoint") || $0 == "HEAD" || $0 == "FLUSHED"
      }
      try expectDamaged { _ = try left.open() }
    },
    RuleCase(name: "rule 9: a segment with a bad header is reported") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      for name in fixture.segmentNames {
        let left = fixture.restarted(.everything, life: 90)
        try left.fileSystem.corrupt(left.path(of: name), atOffset: 70, mask: 1)
        let opened = try left.openQuiet()
        try expect(
          opened.openingReport.damage.contains { $0.path == left.path(of: name) },
          "\(name) is bad without a report")
        try expectRefused(opened)
      }
    },
    RuleCase(name: "rule 9: an incomplete compacted segment does not replace its inputs") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      let tried = Atomic(0)
      try fixture.interrupting({ try database.compactWhatPays() }) { call in
        let left = fixture.restarted(.everything, life: 500 + call)
        guard let merged = left.segmentNames.first(where: { $0.contains("-") }),
          left.segmentNames.contains("0000000001.segment")
        else { return }
        tried.add(1, ordering: .relaxed)
        // No crash leaves this; an interrupted copy does.
        let size = try left.fileSystem.status(left.path(of: merged)).size
        try left.fileSystem.truncate(left.path(of: merged), toSize: size - 8)
        try left.vanish { $0.hasSuffix(".checkpoint") }
        try fixture.expectNewest(try left.openQuiet())
      }
      try expect(tried.load(ordering: .relaxed) > 0, "never beside its inputs")
    },
    RuleCase(name: "rule 9: a whole compacted segment replaces its inputs even if some are gone") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      let tried = Atomic(0)
      try fixture.interrupting({ try database.compactWhatPays() }) { call in
        let left = fixture.restarted(.everything, life: 500 + call)
        guard left.segmentNames.contains(where: { $0.contains("-") }),
          left.segmentNames.contains("0000000002.segment")
        else { return }
        tried.add(1, ordering: .relaxed)
        try left.vanish { $0.hasSuffix(".checkpoint") || $0 == "0000000002.segment" }
        try fixture.expectNewest(try left.openQuiet())
      }
      try expect(tried.load(ordering: .relaxed) > 0, "never beside its inputs")
    },
    RuleCase(name: "rule 10: a segment shorter than its successor states is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      // Data that a checkpoint covers is not read when the store is opened.
      try database.writeCheckpoint()
      for name in fixture.segmentNames.dropLast() {
        let left = fixture.restarted(.everything, life: 90)
        let path = left.path(of: name)
        // Cut between two transactions, the rest is valid.
        let segment = try require(try left.segmentEnds(of: name).dropLast().last, "transaction")
        try left.fileSystem.truncate(path, toSize: Int(segment.offset))
        let opened = try left.openQuiet()
        try expect(opened.openingReport.damage.contains { $0.path == path }, "\(name) is shorter")
      }
    },
    RuleCase(name: "rule 10: a compacted segment must end where its successor begins") {
      for change in 0..<2 {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<9, size: 2000)
        try fixture.fill(database, 0..<4, size: 20)
        try database.compact()
        try fixture.commit(database, [.put("a", size: 1)])
        try database.close()
        let left = fixture.restarted(.everything, life: 90)
        let name = try require(left.segmentNames.first { $0.contains("-") }, "compacted segment")
        guard case .segment(let numbers)? = FileName(name) else { return }
        var header = try SegmentFile(numbers, in: left.directory).header
        if change == 0 {
          header.compaction?.end.commit -= 1
        } else {
          header.compaction?.end.chain ^= 1
        }
        try left.fileSystem.overwrite(
          left.path(of: name), atOffset: 0, with: header.encode().array)
        try left.vanish { $0.hasSuffix(".checkpoint") }
        let opened = try left.openQuiet()
        try expect(!opened.openingReport.damage.isEmpty, "change \(change) is not noticed")
      }
    },
    RuleCase(name: "rule 10: a compacted segment without its footer is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 2000)
      try fixture.fill(database, 0..<4, size: 20)
      try database.compact()
      try database.close()
      let left = fixture.restarted(.everything, life: 90)
      let name = try require(left.segmentNames.first { $0.contains("-") }, "compacted segment")
      guard case .segment(let numbers)? = FileName(name) else { return }
      var header = try SegmentFile(numbers, in: left.directory).header
      let size = Int(try require(header.compaction, "compaction").fileSize)
      let footerSize = FrameHeader.size + 8
      header.compaction?.fileSize -= UInt64(footerSize)
      header.flushedSize -= UInt64(footerSize)
      let path = left.path(of: name)
      try left.fileSystem.overwrite(path, atOffset: 0, with: header.encode().array)
      try left.fileSystem.truncate(path, toSize: size - footerSize)
      try left.vanish { $0.hasSuffix(".checkpoint") }
      let opened = try left.openQuiet()
      try expect(!opened.openingReport.damage.isEmpty, "the footer is not missed")
    },
    RuleCase(name: "rule 10: HEAD applies only to the segment with its number and salt") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      let left = fixture.restarted(.processEnd, life: 90)
      var head = try require(try left.directory.head().head, "HEAD")
      // As in a HEAD of a segment of the same number that was never durable.
      head.segmentSalt ^= 1
      head.watermark.offset = 1 << 20
      try left.fileSystem.overwrite(left.path(of: "HEAD"), atOffset: 0, with: head.encode().array)
      try fixture.expectNewest(try left.openQuiet())
    },
    RuleCase(name: "a segment of another store is refused") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      let left = fixture.restarted(.everything, life: 90)
      let second = try SegmentFile(2...2, in: left.directory).header
      var header = second
      header.preamble.storeID = StoreID(high: 1, low: 2)
      try left.fileSystem.overwrite(
        left.path(of: "0000000002.segment"), atOffset: 0, with: header.encode().array)
      do {
        _ = try left.openQuiet()
      } catch let error as DatabaseError {
        return try expect(error.code == .notAStore, "\(error)")
      }
      throw CrashOracle.Mismatch("a segment of another store was used")
    },
    RuleCase(name: "rule 11: the loss of reappended commits is reported") {
      let fixture = CrashFixture.fresh()
      do {
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<4, size: 200, durability: .none)
        fixture.fileSystem.losePower(atCall: 0)
      }
      let again = fixture.restarted(.processEnd, life: 9)
      let database = try again.openQuiet()
      try expect(database.openingReport.securedCommits == 4)
      let left = again.restarted(.strict, life: 19)
      let path = left.path(of: "0000000002.segment")
      // Only the segment's own header shows that.
      try left.vanish { $0 == "HEAD" || $0 == "FLUSHED" }
      try left.fileSystem.truncate(path, toSize: try left.fileSystem.status(path).size - 8)
      let opened = try left.openQuiet()
      try expect(opened.openingReport.damage.first?.path == path, "rot is taken for a torn end")
    },
    RuleCase(name: "rule 11: commits that FLUSHED proves are not reappended") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4, size: 200)
      let names = fixture.segmentNames
      let left = fixture.restarted(.processEnd, life: 9)
      let opened = try left.openQuiet()
      try expect(opened.openingReport.securedCommits == 0, "\(opened.openingReport)")
      try expect(left.segmentNames == names, "\(left.segmentNames)")
      // What was not flushed is.
      try fixture.fill(database, 4..<6, size: 200, durability: .none)
      let later = try fixture.restarted(.processEnd, life: 19).openQuiet()
      try expect(later.openingReport.securedCommits == 2, "\(later.openingReport)")
    },
    RuleCase(name: "rule 11: the loss of the newest segment is reported even if it is empty") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      let isTried = Atomic(false)
      let count = fixture.segmentNames.count
      try fixture.interrupting({ try fixture.fill(database, 9..<15, size: 3000) }) { call in
        // HEAD names the new segment even before the first commit in it.
        let left = fixture.restarted(.strict, life: 500 + call)
        guard left.segmentNames.count > count,
          try left.directory.head().head?.segmentNumber == UInt64(left.segmentNames.count)
        else { return }
        isTried.store(true, ordering: .relaxed)
        let newest = left.segmentNames.last
        try left.vanish { $0 == newest }
        let opened = try left.openQuiet()
        try expect(!opened.openingReport.damage.isEmpty, "the newest segment is not missed")
      }
      try expect(isTried.load(ordering: .relaxed), "HEAD never names the newest segment")
    },
    RuleCase(name: "rule 12: a log that ends before HEAD's watermark is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<5, size: 200)
      try database.close()
      for name in fixture.segmentNames {
        let left = fixture.restarted(.everything, life: 90)
        try left.vanish { $0 == "FLUSHED" }
        let ends = try left.segmentEnds(of: name)
        for end in ends.dropLast() {
          let cut = left.restarted(.everything, life: 190)
          try cut.fileSystem.truncate(cut.path(of: name), toSize: Int(end.offset))
          let opened = try cut.openQuiet()
          try expect(!opened.openingReport.damage.isEmpty, "cut after commit \(end.commit)")
        }
      }
    },
    RuleCase(name: "rule 12: a log that ends before its checkpoint's position is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4, size: 200)
      try database.writeCheckpoint()
      for keepsHead in [true, false] {
        let left = fixture.restarted(.strict, life: 19)
        try left.vanish { $0 == "FLUSHED" || $0 == "HEAD" && !keepsHead }
        let path = left.path(of: "0000000001.segment")
        let end = try left.endOfLog(in: "0000000001.segment")
        try left.fileSystem.truncate(path, toSize: end - 100)
        let opened = try left.openQuiet()
        try expect(opened.openingReport.damage.first?.path == path, "a short log is not noticed")
        try expectRefused(opened)
        try expect(try opened.snapshot().document("doc-0") != nil)
      }
    },
    RuleCase(name: "rule 12: a log without the segment of its checkpoint's position is damaged") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 3000)
      try database.writeCheckpoint()
      for keepsHead in [true, false] {
        let left = fixture.restarted(.strict, life: 19)
        let newest = left.segmentNames.last
        try left.vanish { $0 == newest || $0 == "FLUSHED" || $0 == "HEAD" && !keepsHead }
        let opened = try left.openQuiet()
        try expect(!opened.openingReport.damage.isEmpty, "the newest segment is not missed")
        try expectRefused(opened)
      }
    },
  ]

  private static func contents(_ disk: SimulatedFileSystem) throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for name in try disk.list(CrashFixture.path) where name.hasSuffix(".segment") {
      contents[name] = try disk.contents(of: "\(CrashFixture.path)/\(name)", limit: 1 << 24).array
    }
    return contents
  }

  private static func fileIDs(_ fixture: CrashFixture) throws -> [String: UInt64] {
    var fileIDs: [String: UInt64] = [:]
    for name in fixture.segmentNames {
      guard case .segment(let numbers)? = FileName(name) else { continue }
      fileIDs[name] = try SegmentFile(numbers, in: fixture.directory).header.fileID
    }
    return fileIDs
  }
}

extension CrashFixture {
  /// Returns the positions after each whole transaction of a segment.
  func segmentEnds(of name: String) throws -> [LogEnd] {
    guard case .segment(let numbers)? = FileName(name) else { return [] }
    let file = try SegmentFile(numbers, in: directory)
    let segment = Segment(
      file: file, mapped: .empty, end: LogEnd(offset: 0, commit: 0, chain: 0))
    var reader = TransactionReader(segment, limit: try file.size())
    var ends: [LogEnd] = []
    while case .transaction(let transaction) = try reader.next() { ends.append(transaction.end) }
    return ends
  }

  /// Returns a database with zeros after the end of its log.
  func filledWithZeros() throws -> Database {
    let database = try openQuiet { $0.segmentSizeGoal = 64 << 10 }
    for _ in 0..<20 {
      try fill(database, 0..<20, size: 200)
      let name = try require(segmentNames.last, "a segment")
      let size = try fileSystem.status(path(of: name)).size
      if try size > endOfLog(in: name) + 4000 { return database }
    }
    throw CrashOracle.Mismatch("there are no zeros")
  }

  /// Returns the offset after what counts in a segment; zeros may follow.
  func endOfLog(in name: String) throws -> Int {
    if case .segment(let numbers)? = FileName(name),
      let compaction = try SegmentFile(numbers, in: directory).header.compaction
    {
      return Int(compaction.fileSize)
    }
    return try segmentEnds(of: name).last.map { Int($0.offset) } ?? SegmentHeader.size
  }
}

/// Throws unless a store rejects writes because it is damaged.
func expectRefused(_ database: Database) throws {
  do {
    try database.write { _ in }
  } catch let error as DatabaseError {
    return try expect(error.code == .readOnly, "\(error)")
  }
  throw CrashOracle.Mismatch("a damaged store can be written to")
}

/// Throws unless damage is reported.
func expectDamaged(_ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as DatabaseError {
    return try expect(error.code == .damaged, "\(error)")
  }
  throw CrashOracle.Mismatch("damage is not noticed")
}
