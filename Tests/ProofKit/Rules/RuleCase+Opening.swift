import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Rules 13 to 18: what opening does, and what it trusts.
extension RuleCase {
  static let opening: [RuleCase] = [
    RuleCase(name: "rule 13: HEAD of an earlier close does not make a later end clean") {
      let fixture = CrashFixture.fresh()
      var database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 1)])
      try database.close()
      let head = try fixture.fileSystem.contents(of: fixture.path(of: "HEAD"), limit: 4096).array
      database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 2)])
      let after = fixture.restarted(.processEnd, life: 90)
      try after.fileSystem.overwrite(after.path(of: "HEAD"), atOffset: 0, with: head)
      database = try after.openQuiet()
      try expect(database.openingReport.ending == .interrupted, "an unclean end counts as clean")
      try fixture.expectNewest(database)
      // Nor does the HEAD of an earlier segment, which a compaction has replaced.
      try database.close()
      database = try after.openQuiet()
      try database.compact()
      try database.close()
      let merged = after.restarted(.everything, life: 190)
      try merged.fileSystem.overwrite(merged.path(of: "HEAD"), atOffset: 0, with: head)
      try expect(try merged.openQuiet().openingReport.ending == .interrupted, "HEAD is too old")
      database = try after.openQuiet()
      // Compacted and closed without writing, it is closed.
      try database.close()
      database = try after.openQuiet()
      try database.compact()
      try database.close()
      try expect(try after.open().openingReport.ending == .closed, "a closed store is not")
    },
    RuleCase(name: "rule 13: HEAD counts as closed only if its watermark is the end of the log") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 1)])
      try fixture.commit(database, [.put("a", size: 2)], durability: .none)
      let after = fixture.restarted(.processEnd, life: 90)
      // It names the last segment, and its watermark is the beginning of that segment.
      var head = try require(try after.directory.head().head, "HEAD")
      try expect(!head.isClosed && head.segmentNumber == 1 && head.watermark.commit == 0)
      head.isClosed = true
      try after.fileSystem.overwrite(after.path(of: "HEAD"), atOffset: 0, with: head.encode().array)
      let opened = try after.openQuiet()
      try expect(opened.openingReport.ending == .interrupted, "HEAD is trusted")
      var oracle = fixture.oracle
      oracle.secured = try oracle.identify(opened)
      try expect(oracle.secured == 2)
      // So the served data was made durable, and numbering continues after all reserved numbers.
      let later = try after.restarted(.strict, life: 190).open()
      _ = try oracle.identify(later)
      let sequence = try opened.write { try $0.replace("b", with: [:]).sequence }
      try expect(sequence > head.sequenceBound, "\(sequence) was handed out again")
    },
    RuleCase(name: "rule 13: after a failed flush, HEAD does not say closed") {
      for behavior in SimulatedDisk.FailedFlush.tried {
        let fixture = CrashFixture.fresh()
        let database = try fixture.openQuiet()
        try fixture.fill(database, 0..<3)
        try fixture.commit(database, [.put("a", size: 1)], durability: .none)
        fixture.fileSystem.failFlush(behavior)
        _ = try? fixture.commit(database, [.put("a", size: 2)])
        _ = try? database.close()
        let head = try require(try fixture.directory.head().head, "HEAD")
        try expect(!head.isClosed, "HEAD says closed")
      }
    },
    RuleCase(name: "rule 14: an opening serves only what is durable, under durable names") {
      let fixture = CrashFixture.fresh()
      do {
        let database = try fixture.openQuiet()
        try fixture.commit(database, [.put("a", size: 1)])
        try fixture.commit(database, [.put("a", size: 2)], durability: .none)
        fixture.fileSystem.losePower(atCall: 0)
      }
      let oracle = fixture.oracle
      let after = fixture.restarted(.processEnd, life: 90)
      // The process that logs again ends at any call, perhaps with a name that is not flushed. The
      // next one finds that name and serves its contents; then the power is lost.
      try after.interrupting({
        let database = try after.openQuiet()
        try expect(database.openingReport.securedCommits > 0)
      }) { call in
        let left = after.restarted(.processEnd, life: 500 + call)
        let database = try left.openQuiet()
        var served = oracle
        served.secured = try oracle.identify(database)
        let later = try left.restarted(.strict, life: 900 + call).open()
        if let damage = later.openingReport.damage.first { throw damage }
        _ = try served.identify(later)
      }
    },
    RuleCase(name: "rule 14: a store is durable in a directory that another process created") {
      let fixture = CrashFixture.fresh()
      try fixture.interrupting({ _ = try fixture.openQuiet() }) { call in
        let left = fixture.fileSystem.restarted(.processEnd)
        let again = CrashFixture(left, CrashWriter(seed: 2), life: 500 + call)
        let database = try again.openQuiet()
        try again.commit(database, [.put("a", size: 1)])
        let later = try again.restarted(.strict, life: 900 + call).open()
        _ = try again.oracle.identify(later)
      }
    },
    RuleCase(name: "rule 14: an opening leaves no leftovers and no temporary files") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<12)
      try fixture.fill(database, 0..<12, size: 10)
      try database.writeCheckpoint()
      try fixture.interrupting({ try database.compact() }) { call in
        let left = fixture.restarted(.processEnd, life: 500 + call)
        let opened = try left.openQuiet()
        try left.expectTidy()
        // Nor does deleted data return after a loss of power. Closing would flush it.
        try withExtendedLifetime(opened) {
          try left.restarted(.strict, life: 900 + call).expectTidy()
        }
      }
    },
    RuleCase(name: "rule 15: on a full disk, the ballast file makes room for deletions") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.reserveSize = 32 << 10 }
      try fixture.fill(database, 0..<6)
      try expect(fixture.fileSystem.names(in: CrashFixture.path).contains("RESERVE"), "no reserve")
      fixture.fileSystem.capacityBytes = fixture.fileSystem.usedBytes + 1000
      var oracle = fixture.oracle
      do {
        try fixture.commit(database, [.put("doc-0", size: 3000)])
        throw CrashOracle.Mismatch("there was room")
      } catch let error as DatabaseError {
        try expect(error.code == .diskFull, "\(error)")
      }
      // Nothing happened.
      try expect(try oracle.identify(database) == oracle.versions.count - 1)
      oracle.cut(after: oracle.versions.count - 1)
      let writer = CrashWriter(oracle, seed: 2)
      try writer.commit(database, [.delete("doc-0"), .delete("doc-1")])
      fixture.fileSystem.capacityBytes = nil
      try writer.commit(database, [.put("doc-9", size: 3000)])
      try database.close()
      let reopened = try fixture.open()
      _ = try writer.oracle.withLock { try $0.identify(reopened) }
      try expect(fixture.fileSystem.names(in: CrashFixture.path).contains("RESERVE"), "no reserve")
    },
    RuleCase(name: "rule 15: a store on a full disk can be read") {
      for free in stride(from: 0, through: 30_000, by: 1111) {
        let fixture = CrashFixture.fresh()
        do {
          let database = try fixture.openQuiet()
          try fixture.fill(database, 0..<5)
          try fixture.fill(database, 0..<4, durability: .none)
          fixture.fileSystem.losePower(atCall: 0)
        }
        let after = fixture.restarted(.processEnd, life: 50)
        let disk = after.fileSystem
        disk.capacityBytes = disk.usedBytes + free
        let database = try after.openQuiet()
        try fixture.expectNewest(database)
        do {
          try database.write { try $0.delete("doc-1") }
        } catch let error as DatabaseError {
          try expect([.readOnly, .diskFull].contains(error.code), "\(error)")
        }
        try expect(disk.names(in: CrashFixture.path + "/tmp").isEmpty, "a temporary takes up room")
        try database.close()
        disk.capacityBytes = nil
        let later = try after.open()
        try expect(later.openingReport.damage.isEmpty, "\(free): \(later.openingReport)")
        try later.write { try $0.replace("x", with: [:]) }
      }
    },
    RuleCase(
      name: "rule 16: a reader that opens between any two calls sees every acknowledged commit"
    ) {
      for workload in [CrashWorkload.rotating, .overwriting, .compacting, .reopened] {
        let fixture = CrashFixture.fresh()
        try workload.prepare(fixture)
        try fixture.interrupting({ try workload.work(fixture) }) { _ in
          guard !fixture.segmentNames.isEmpty else { return }
          let before = fixture.fileSystem.contentHash
          let reader = try fixture.open { $0.isReadOnly = true }
          if let damage = reader.openingReport.damage.first { throw damage }
          _ = try fixture.oracle.identify(reader)
          try expect(fixture.fileSystem.contentHash == before, "a reader has changed the store")
        }
      }
    },
    RuleCase(name: "rule 16: a reader changes nothing") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try fixture.commit(database, [.put("a", size: 1)], durability: .none)
      // The file of a checkpoint that is being written.
      let file = try fixture.fileSystem.open(
        fixture.path(of: "tmp/0000000009.checkpoint"), .creating)
      try file.write(SharedBytes(copying: [1, 2, 3]), at: 0)
      let count = fixture.fileSystem.changingCallCount
      let reader = try fixture.openQuiet { $0.isReadOnly = true }
      try fixture.expectNewest(reader)
      try reader.close()
      try expect(fixture.fileSystem.changingCallCount == count, "a reader changed something")
      try database.close()
    },
    RuleCase(name: "rule 16: commits in the place of zeros are not taken for damage") {
      for isMapped in [false, true] {
        let fixture = CrashFixture(
          SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: isMapped)
        let database = try fixture.filledWithZeros()
        let isWriting = Atomic(false)
        let count = Atomic(0)
        fixture.fileSystem.observeCalls { call in
          guard [.read, .size].contains(call.verb), call.path.hasSuffix(".segment"),
            !isWriting.exchange(true, ordering: .relaxed)
          else { return }
          // The second of them says that the first one was flushed.
          if count.wrappingAdd(1, ordering: .relaxed).newValue < 30 {
            try? fixture.fill(database, 0..<2, size: 20)
          }
          isWriting.store(false, ordering: .relaxed)
        }
        let reader = try fixture.openQuiet { $0.isReadOnly = true }
        fixture.fileSystem.observeCalls(nil)
        try expect(
          reader.openingReport.damage.isEmpty && reader.openingReport.discardedBytes == 0,
          "mapped: \(isMapped), \(reader.openingReport)")
        var oracle = fixture.oracle
        oracle.secured = 0
        _ = try oracle.identify(reader)
      }
    },
    RuleCase(name: "rule 16: writes during a reader's opening are not taken for damage") {
      for moment in 1...60 {
        for isMerging in [true, false] {
          let isMapped = moment % 2 == 0
          let fixture = CrashFixture(
            SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: isMapped)
          let database = try fixture.openQuiet()
          try fixture.fill(database, 0..<4, size: 1500)
          try database.writeCheckpoint()
          try fixture.fill(database, 0..<3, size: 500)
          let calls = Atomic(0)
          fixture.fileSystem.observeCalls { _ in
            // Once, so that this work is not disturbed itself.
            guard calls.wrappingAdd(1, ordering: .relaxed).newValue == moment else { return }
            try? fixture.fill(database, 4..<12, size: 3000)
            if isMerging { try? database.compact() }
          }
          let secured = fixture.oracle.secured
          let reader = try fixture.open { $0.isReadOnly = true }
          fixture.fileSystem.observeCalls(nil)
          try expect(
            reader.openingReport.damage.isEmpty,
            "at call \(moment): \(reader.openingReport.damage)")
          var oracle = fixture.oracle
          oracle.secured = secured
          _ = try oracle.identify(reader)
        }
      }
    },
    RuleCase(name: "rule 16: a frame that a reader first sees half-written is not taken for damage")
    {
      let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: false)
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4, size: 200)
      let path = fixture.path(of: "0000000001.segment")
      let whole = try fixture.fileSystem.contents(of: path, limit: 1 << 20).array
      let ends = try fixture.segmentEnds(of: "0000000001.segment")
      // The third transaction is still being written to the file when a reader begins, and arrives
      // during the read, with the fourth, which proves it.
      let begin = Int(ends[1].offset)
      let left = fixture.restarted(.processEnd, life: 90)
      try left.fileSystem.overwrite(
        path, atOffset: begin, with: [UInt8](repeating: 0, count: Int(ends[2].offset) - begin))
      let isWritten = Atomic(false)
      let reads = Atomic(0)
      left.fileSystem.observeCalls { call in
        guard call.verb == .read, call.path == path else { return }
        // Header, and then frame after frame: the third one's header was read just before.
        guard reads.wrappingAdd(1, ordering: .relaxed).newValue == 7 else { return }
        guard !isWritten.exchange(true, ordering: .relaxed) else { return }
        try? left.fileSystem.overwrite(path, atOffset: 0, with: whole)
      }
      let reader = try left.open {
        $0.isReadOnly = true
        $0.readMode = .buffered
      }
      left.fileSystem.observeCalls(nil)
      try expect(isWritten.load(ordering: .relaxed), "the moment did not come")
      try fixture.expectNewest(reader)
    },
    RuleCase(name: "rule 17: opening a damaged store does not change it") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<9, size: 2000)
      try database.close()
      let disk = fixture.fileSystem
      try disk.corrupt(fixture.path(of: "0000000002.segment"), atOffset: 4096 + 900, mask: 8)
      let before = disk.contentHash
      for _ in 0..<2 {
        let opened = try fixture.open()
        try expect(
          opened.openingReport.damage.first?.path == fixture.path(of: "0000000002.segment"),
          "\(opened.openingReport)")
        try expectRefused(opened)
        try expect(try opened.snapshot().document("doc-8") != nil)
        try opened.close()
      }
      try expect(disk.contentHash == before, "a damaged store was changed")
    },
    RuleCase(
      name: "rule 17: damage that later commits prove is reported, and other commits stay readable"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4, size: 200)
      let path = fixture.path(of: "0000000001.segment")
      let ends = try fixture.segmentEnds(of: "0000000001.segment")
      // In the document's record; and in the commit's trailer, without which its records are not
      // proven.
      for (distance, isOfRecord) in [(160, true), (20, false)] {
        for number in 0..<4 {
          let left = fixture.restarted(.processEnd, life: 9)
          try left.fileSystem.corrupt(path, atOffset: Int(ends[number].offset) - distance, mask: 1)
          try left.vanish { $0 == "FLUSHED" }
          let opened = try left.openQuiet()
          // Without FLUSHED the last commit cannot be distinguished from a torn one.
          try expect(
            opened.openingReport.damage.isEmpty == (number == 3),
            "commit \(number + 1): \(opened.openingReport.damage)")
          guard number < 3 else { continue }
          try expectRefused(opened)
          let snapshot = try opened.snapshot()
          for other in 0..<4 {
            let document = try snapshot.document("doc-\(other)")
            try expect(
              (document == nil) == (other == number && isOfRecord),
              "doc-\(other) with \(number) damaged")
          }
          // Commits after the damage are known for certain, and not only found.
          var configuration = left.configuration()
          configuration.damage = Configuration().damage
          configuration.isReadOnly = true
          let certain = try Database(at: CrashFixture.path, configuration: configuration).snapshot()
          for other in number + 1..<4 {
            try expect(try certain.exists("doc-\(other)"), "doc-\(other) is not known")
          }
          try expectCode(.damaged) { _ = try certain.document("doc-\(number)") }
        }
      }
    },
    RuleCase(name: "rule 18: forged frames do not make the search for proof slow") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("a", size: 10)])
      let left = CrashFixture(
        fixture.fileSystem.restarted(.processEnd), fixture.writer, isMapped: false, life: 9)
      let path = left.path(of: "0000000001.segment")
      let header = try SegmentFile(1...1, in: left.directory).header
      let size = 192 << 10
      let start = try left.fileSystem.contents(of: path, limit: 1 << 20).count + 8
      var writer = ByteWriter(capacity: size)
      // Every frame claims all bytes up to the end.
      for offset in stride(from: 0, to: size - 64, by: 32) {
        let frame = FrameHeader(
          kind: .transaction, flags: [.last], payloadSize: max(0, size - offset - 256),
          payloadChecksum: 1, commit: 9, chain: 7)
        writer.appendZeros(32)
        _ = frame.encode(
          into: &writer, at: writer.count - 32, offset: start + offset,
          salt: header.preamble.salt)
      }
      try left.fileSystem.truncate(path, toSize: start)
      try left.fileSystem.overwrite(path, atOffset: start, with: writer.array + [0, 0])
      let reads = Atomic(0)
      left.fileSystem.observeCalls { call in
        if call.verb == .read { reads.add(1, ordering: .relaxed) }
      }
      _ = try left.open {
        $0.isReadOnly = true
        $0.readMode = .buffered
      }
      left.fileSystem.observeCalls(nil)
      // There are six thousand frames, and half a dozen of them claim four times the file.
      let count = reads.load(ordering: .relaxed)
      try expect(count < 200, "\(count) reads")
    },
  ]
}

extension CrashFixture {
  /// Throws if two files cover the same numbers, or a temporary file was left.
  func expectTidy() throws {
    var numbers: [ClosedRange<UInt64>] = []
    for case .segment(let range)? in segmentNames.map({ FileName($0) }) { numbers.append(range) }
    numbers.sort { $0.lowerBound < $1.lowerBound }
    for (one, next) in zip(numbers, numbers.dropFirst()) where one.overlaps(next) {
      throw CrashOracle.Mismatch("segments \(one) and \(next) were both left")
    }
    let temporaries = fileSystem.names(in: "\(CrashFixture.path)/tmp")
    try expect(temporaries.isEmpty, "temporaries were left: \(temporaries)")
  }
}

extension SimulatedDisk.FailedFlush {
  /// The ways in which a flush fails immediately.
  static let tried: [SimulatedDisk.FailedFlush] = [
    .keepsNewBytes, .revertsToOldBytes(afterCalls: 0), .revertsToOldBytes(afterCalls: 7),
  ]
}
