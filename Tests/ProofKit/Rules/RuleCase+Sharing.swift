import DivanLog
import DivanTesting

import Divan

/// Stores that are suspended, and stores that are followed while another opening writes.
extension RuleCase {
  static let sharing: [RuleCase] = [
    RuleCase(name: "rule 23: a suspended store has no lock, and its commits are durable") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try fixture.fill(database, 4..<8, durability: .none)
      let snapshot = try database.snapshot()
      let version = fixture.oracle.versions.count - 1
      try database.suspend()
      try expect(fixture.fileSystem.lockCount == 0, "the lock is held")
      for loss in SimulatedDisk.Loss.several(seed: 1) {
        let left = fixture.restarted(ProofRun.losesNothing ? .everything : loss)
        let opened = try left.openQuiet()
        try left.expectNewest(opened)
        try expect(opened.openingReport.ending == .closed, "\(loss): \(opened.openingReport)")
      }
      let calls = fixture.fileSystem.changingCallCount
      try expectSuspended { try fixture.fill(database, 8..<9) }
      try fixture.oracle.compare(snapshot, withCopyOf: version)
      try expect(fixture.fileSystem.changingCallCount == calls, "a suspended store is written to")
    },
    RuleCase(name: "rule 23: resuming reads what another opening has written, also purges") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<6)
      let before = try database.snapshot()
      try database.suspend()
      let other = try fixture.openQuiet()
      try other.write { transaction in
        try transaction.replace("x", with: ["n": 1])
        _ = try transaction.purge("doc-1")
      }
      try other.close()
      try database.resume()
      let after = try database.snapshot()
      try expect(try after.document("x")?["n"] == 1, "the commit of the other opening is missing")
      try expect(try !after.exists("doc-1"), "the purge of the other opening is missing")
      try expect(try before.exists("doc-1") && !before.exists("x"), "a snapshot has changed")
      try expect(after.hasPurged(since: before), "observers do not look for purged documents")
      try database.write { try _ = $0.replace("y", with: ["n": 2]) }
      try database.close()
      let opened = try fixture.openQuiet()
      try expect(
        try opened.snapshot().exists("x") && opened.snapshot().exists("y"), "a commit is lost")
    },
    RuleCase(name: "rule 23: a store that was replaced is not resumed") {
      let fixture = CrashFixture.fresh()
      let files = fixture.fileSystem
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      try database.suspend()
      try files.rename(CrashFixture.path, to: "/moved")
      let other = try fixture.openQuiet()
      for _ in 0..<9 { try other.write { try _ = $0.replace("x", with: ["n": 1]) } }
      try other.close()
      do {
        try database.resume()
        throw CrashOracle.Mismatch("another store was taken for this one")
      } catch DatabaseError.Code.notFound {}
      try expect(database.isSuspended && files.lockCount == 0, "it is not suspended any more")
    },
    RuleCase(
      name: "rule 23: an attachment that was stored before a suspension is not taken for durable"
    ) {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<2)
      var pieces = [[UInt8](repeating: 7, count: 200_000)]
      let attachment = try database.storeAttachment(contentType: "x/y") { pieces.popLast() }
      try database.suspend()
      let other = try fixture.openQuiet()
      try other.compact()
      try other.close()
      try database.resume()
      do {
        try database.write { transaction in
          var document = Document(id: "d", [:])
          document.attachments["x"] = attachment
          try _ = transaction.put(document)
        }
        throw CrashOracle.Mismatch("a document refers to a file that is gone")
      } catch is DatabaseError {}
      try expect(try !database.snapshot().exists("d"), "the document is there")
    },
    RuleCase(name: "rule 24: a follower never shows an older commit") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<4)
      try database.suspend()
      let copy = try fixture.contents()
      try database.resume()
      try fixture.fill(database, 4..<8)
      try database.close()
      let reader = try fixture.openQuiet { $0.isReadOnly = true }
      let newest = try reader.snapshot().sequence
      try fixture.vanish { $0 != "tmp" }
      for (name, bytes) in copy {
        let file = try fixture.fileSystem.open(fixture.path(of: name), .creating)
        try file.write(bytes, at: 0)
      }
      do {
        try reader.refresh()
        throw CrashOracle.Mismatch("an older copy of the store is shown")
      } catch DatabaseError.Code.damaged {}
      try expect(try reader.snapshot().sequence == newest, "the reader went back")
    },
    RuleCase(name: "rule 24: a follower reads the transactions that replace zeros") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.filledWithZeros()
      let reader = try fixture.openQuiet {
        $0.isReadOnly = true
        $0.readMode = .mapped
      }
      for index in 0..<60 {
        try fixture.commit(database, [.put("a", size: 200 + index)])
        try expect(try reader.refresh(), "commit \(index) is not seen")
        try fixture.expectNewest(reader)
        try expect(try !reader.refresh(), "zeros count as a commit")
      }
    },
    RuleCase(name: "rule 24: a follower does not pass over commits that were lost") {
      let fixture = CrashFixture.fresh()
      let files = fixture.fileSystem
      let database = try fixture.openQuiet()
      try fixture.fill(database, 0..<3)
      try database.write(durability: .none) { try _ = $0.replace("x", with: ["n": 1]) }
      let reader = try fixture.openQuiet { $0.isReadOnly = true }
      try expect(try reader.snapshot().exists("x"), "the reader does not see the commit")
      files.failFlush(atCall: 1, .revertsToOldBytes(afterCalls: 0))
      do { try database.flush() } catch DatabaseError.Code.outcomeUnknown {}
      files.endProcess()
      let next = try fixture.openQuiet()
      for number in 0..<3 {
        try next.write { try _ = $0.replace("y", with: ["n": .int(Int64(number))]) }
      }
      try expect(try !next.snapshot().exists("x"), "the commit is not lost")
      do {
        try reader.refresh()
        throw CrashOracle.Mismatch("later commits are shown after one that was lost")
      } catch DatabaseError.Code.outcomeUnknown {}
      try expect(try reader.snapshot().exists("x"), "the reader went back")
    },
    RuleCase(name: "rule 24: a follower sees every commit, between any two calls of the writer") {
      for seed in 1...12 as ClosedRange<UInt64> {
        var series = FollowingSeries(seed: seed)
        try series.play(12)
        try expect(series.changeCount > 10, "only \(series.changeCount) changes were seen")
      }
    },
  ]

  private static func expectSuspended(_ body: () throws -> Void) throws {
    do { try body() } catch DatabaseError.Code.suspended { return }
    throw CrashOracle.Mismatch("a suspended store accepts a call")
  }
}

extension CrashFixture {
  /// The bytes of the files in the store's directory, without those in folders.
  fileprivate func contents() throws -> [(name: String, bytes: SharedBytes)] {
    try fileSystem.names(in: CrashFixture.path).filter { $0 != "tmp" && $0 != "attachments" }.map {
      ($0, try fileSystem.contents(of: path(of: $0), limit: 1 << 24))
    }
  }
}
