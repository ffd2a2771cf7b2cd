import DivanLog
import DivanTesting

import Divan

/// The rules for documents with several revisions, for attachments, and for history.
///
/// They also cover what a store has in addition to documents.
extension RuleCase {
  static let revisions: [RuleCase] = [
    RuleCase(name: "retained revisions are found where recovery reappended them") {
      for isCheckpointed in [false, true] {
        let fixture = CrashFixture.keeping(.unlimited)
        let session = CrashSession(fixture)
        try session.commit(.put("a", size: 1))
        if isCheckpointed { try fixture.checkpoint(session.database()) }
        try session.close()
        // Nothing proves that these are durable, so the next opening logs them again.
        try session.commit(.put("a", size: 2), .put("b", size: 3), durability: .none)
        try session.commit(.put("a", size: 4), .branch("a", size: 5), durability: .none)
        try session.lose(.processEnd)
        for _ in 0..<2 {
          try session.expectSoundAndTidy()
          try session.close()
        }
      }
    },
    RuleCase(
      name:
        "rule 5: a purge survives compaction while an older file may hold the purged records"
    ) {
      let fixture = CrashFixture.keeping(.disabled)
      let session = CrashSession(fixture)
      try session.commit(.put("a", size: 2000), .put("b", size: 10), .putLocal("state", size: 5))
      try session.fill(0..<4, size: 1500)
      try session.commit(
        .branch("b", size: 3), .insert("c", size: 4, isOnto: false, isDeleted: false))
      try session.commit(.insert("c", size: 5, isOnto: false, isDeleted: false))
      try session.fixture.checkpoint(session.database())
      for round in 0..<3 {
        // The first segment keeps its place: most of it is live.
        try session.fill(10..<16, size: 1500 + round)
        try session.commit(.put("d", size: round), .purge("b"), .removeLocal("state"))
        if round == 0 { try session.commit(.purgeLeaf("c", 0)) }
        try session.fixture.checkpoint(session.database())
        try session.fixture.merge(session.database())
      }
      try session.expectSound()
      try session.close()
      // Without a checkpoint, everything is read from the log.
      try fixture.vanish { $0.hasSuffix(".checkpoint") }
      try session.expectSound()
    },
    RuleCase(name: "rule 7: pruned history is below the horizon") {
      for kind in 0..<2 {
        let fixture = CrashFixture.keeping(HistoryRetention(revisions: 1))
        let session = CrashSession(fixture)
        var numbers: [UInt64] = []
        for round in 0..<5 {
          // With attachments, pruning is written to the log; without them, it is not.
          if kind == 0 {
            try session.commit(.put("a", size: round))
          } else {
            try session.commit(.attach("a", name: "x", seed: UInt8(round), size: 60))
          }
          numbers.append(try session.database().snapshot().sequence)
        }
        try session.fixture.compact(session.database())
        for isReopened in [false, true] {
          if isReopened {
            fixture.lose(.strict)
            session.forgetDatabase()
          }
          try expectCode(.versionNotRetained) {
            _ = try session.database().snapshot(at: numbers[1])
          }
          _ = try session.database().snapshot(at: numbers[4])
          try session.expectSound()
        }
      }
    },
    RuleCase(name: "rule 7: a named snapshot stays complete through pruning and compaction") {
      let fixture = CrashFixture.keeping(HistoryRetention(revisions: 1))
      let session = CrashSession(fixture)
      try session.enrich(closing: false)
      try fixture.name(session.database(), "one")
      for round in 0..<4 {
        try session.commit(.detach("rich-1"), .put("rich-3", size: round), .deleteAll("rich-5"))
        try fixture.compact(session.database())
        try session.expectSoundAndTidy()
      }
      try session.close()
      try session.expectSoundAndTidy()
    },
    RuleCase(name: "rule 22: pruned history does not return without its attachments") {
      let fixture = CrashFixture.keeping(HistoryRetention(revisions: 1))
      let session = CrashSession(fixture)
      for round in 0..<3 {
        try session.commit(
          .attach("a", name: "x", seed: UInt8(round), size: 90),
          .attach("a", name: "y", seed: UInt8(round), size: 20))
      }
      try session.fixture.checkpoint(session.database())
      try session.commit(.put("a", size: 1))
      try session.commit(.put("a", size: 2))
      let database = try session.database()
      try fixture.interrupting({ try database.compact() }) { call in
        for loss in SimulatedDisk.Loss.several(seed: UInt64(call)) {
          let left = fixture.restarted(loss, life: 500 + call)
          for isRebuilt in [false, true] {
            if isRebuilt { try left.vanish { $0.hasSuffix(".checkpoint") } }
            let opened = try left.openQuiet()
            _ = try left.oracle.identify(opened)
            if let problem = try opened.check().problems.first { throw problem }
          }
        }
      }
      try session.expectSoundAndTidy()
    },
    RuleCase(
      name: "rule 22: an attachment dropped with its revision is not damage in a rebuilt index"
    ) {
      for isShared in [false, true] {
        let fixture = CrashFixture.keeping(.disabled)
        let database = try fixture.open {
          $0.maintenance = .inline
          $0.segmentSizeGoal = 2048
          $0.checkpointInterval = 8 << 10
        }
        // Another document may have brought the content, which is then dropped with a segment of
        // its own.
        if isShared {
          try fixture.commit(database, [.attach("z", name: "x", seed: 1, size: 400)])
        }
        // So much beside it that merging the first segments does not pay off.
        try fixture.commit(database, [.put("a", size: 1), .put("b", size: 20_000)])
        try fixture.name(database, "first")
        try fixture.commit(
          database, [.attach("a", name: "x", seed: 1, size: 400), .put("c", size: 20_000)])
        if isShared { try fixture.commit(database, [.purge("z")]) }
        // A compaction drops the next record, so nothing shows that this one was not retained.
        for size in 0..<60 { try fixture.commit(database, [.put("a", size: 300 + size)]) }
        try database.close()
        let left = fixture.restarted(.everything, life: 500)
        for isRebuilt in [false, true] {
          if isRebuilt { try left.vanish { $0.hasSuffix(".checkpoint") } }
          let opened = try left.openQuiet()
          _ = try left.oracle.identify(opened)
          if let problem = try opened.check().problems.first { throw problem }
        }
      }
    },
    RuleCase(name: "rule 22: cleanup finds an attachment file whose name could not be flushed") {
      var leftCount = 0
      for call in 1...24 {
        let fixture = CrashFixture.keeping(.disabled)
        var database = try fixture.openQuiet()
        try fixture.commit(database, [.put("a", size: 1)])
        fixture.fileSystem.fail(atCall: call, with: .inputOutput)
        do {
          try fixture.commit(database, [.attach("a", name: "x", seed: 1, size: 400)])
        } catch is DatabaseError {}
        fixture.fileSystem.stopFailing()
        do { try database.close() } catch is DatabaseError {}
        leftCount += CrashFixture.attachmentFiles(on: fixture.fileSystem).count
        database = try fixture.openQuiet()
        try fixture.commit(database, [.purge("a")])
        try database.compact()
        let files = CrashFixture.attachmentFiles(on: fixture.fileSystem)
        try expect(files.isEmpty, "call \(call) leaves \(files)")
        try database.close()
      }
      try expect(leftCount > 0, "no call leaves a file")
    },
    RuleCase(
      name: "rule 22: an attachment file is deleted only once its last reference is durably gone"
    ) {
      let fixture = CrashFixture.keeping(.disabled)
      let session = CrashSession(fixture)
      try session.enrich(closing: false)
      try session.commit(.detach("rich-1"), .detach("rich-2"), .purge("rich-5"), durability: .none)
      let database = try session.database()
      try fixture.interrupting({ try database.compact() }) { call in
        let left = fixture.restarted(.strict, life: 500 + call)
        _ = try left.oracle.identify(left.openQuiet())
      }
      try session.expectSoundAndTidy()
    },
    RuleCase(name: "rule 22: an attachment stored for a document that is not committed yet is kept")
    {
      let fixture = CrashFixture.keeping(.disabled)
      let database = try fixture.openQuiet()
      var content: [UInt8]? = AttachedContent.bytes(3, 300)
      var document = Document(id: "a")
      document.attachments["x"] = try database.storeAttachment(contentType: "x/y") {
        () -> [UInt8]? in
        defer { content = nil }
        return content
      }
      try database.compact()
      try database.write { _ = try $0.put(document) }
      document.attachments = [:]
      try database.compact()
      try AttachedContent.check(require(database.snapshot().document("a"), "document"))
    },
    RuleCase(name: "rule 22: a snapshot keeps its attachments while others are deleted") {
      let fixture = CrashFixture.keeping(.disabled)
      let session = CrashSession(fixture)
      try session.commit(
        .attach("a", name: "x", seed: 1, size: 90), .attach("b", name: "x", seed: 2, size: 90))
      let oracle = fixture.oracle
      let snapshot = try session.database().snapshot()
      for id in ["a", "b"] {
        try session.commit(.delete(id))
        try fixture.compact(session.database())
      }
      _ = try oracle.identify(snapshot)
    },
    RuleCase(name: "an expiry and local documents survive compaction and reopening") {
      let fixture = CrashFixture.keeping(.disabled)
      let session = CrashSession(fixture)
      try session.commit(
        .put("a", size: 1), .expire("a", seconds: 50), .putLocal("state", size: 7),
        .put("b", size: 2))
      try session.close()
      try session.expectSoundAndTidy()
      try session.commit(.put("a", size: 2), .putLocal("state", size: 8), .expire("b", seconds: 10))
      try fixture.compact(session.database())
      try session.close()
      try fixture.vanish { $0.hasSuffix(".checkpoint") }
      try session.expectSound()
      try fixture.purgeExpired(session.database(), afterSeconds: 60)
      try session.expectSoundAndTidy()
      try expect(try session.database().snapshot().count == 1, "what expired is there")
    },
  ]
}

extension CrashFixture {
  /// Creates an empty disk, for a store that keeps some replaced revisions.
  fileprivate static func keeping(_ history: HistoryRetention) -> CrashFixture {
    CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1, history: history))
  }
}

extension CrashSession {
  /// Throws unless the store is the newest version, and the check finds no problem.
  func expectSound() throws {
    let database = try database()
    if let damage = database.openingReport.damage.first { throw damage }
    let oracle = fixture.oracle
    let found = try oracle.identify(database)
    try expect(found == oracle.versions.count - 1, "version \(found) is found")
    if let problem = try database.check().problems.first { throw problem }
  }

  /// Does the same, and checks that cleaning leaves no surplus attachment file.
  func expectSoundAndTidy() throws {
    try expectSound()
    let oracle = fixture.oracle
    let version = try require(oracle.versions.last, "version")
    try fixture.checkAttachmentFiles(database(), version, oracle.history)
    try expectSound()
  }
}
