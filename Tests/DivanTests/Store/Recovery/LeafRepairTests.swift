import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that reads return the stored documents when a leaf of the index is damaged.
struct LeafRepairTests {
  /// A closed store whose index has several leaves in each of two checkpoints.
  private struct Stored {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    var model = PlainStore()

    init() throws {
      let database = try fixture.open { $0.maintenance = .manual }
      for number in 0..<300 { try put(number, 0, database) }
      try database.writeCheckpoint()
      for number in stride(from: 0, to: 300, by: 10) { try put(number, 1, database) }
      try database.writeCheckpoint()
      try database.close()
    }

    mutating func put(_ number: Int, _ round: Int64, _ database: Database) throws {
      model.note(
        try database.write(durability: .none) {
          try $0.replace("document-\(1000 + number)", with: ["round": .int(round)])
        })
    }

    var checkpoints: [String] {
      get throws {
        try fixture.fileSystem.list(CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }
      }
    }

    /// Returns the number of pages of a checkpoint.
    func pageCount(_ name: String) throws -> Int {
      try fixture.fileSystem.status("\(CrashFixture.path)/\(name)").size / 4096 - 1
    }

    /// Returns the store with one byte of a page changed.
    func damaged(_ name: String, page: Int, isMapped: Bool) throws -> CrashFixture {
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt("\(CrashFixture.path)/\(name)", atOffset: 4096 * (page + 1) + 1000, mask: 4)
      return CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
    }
  }

  @Test(arguments: [false, true])
  func `reads return the stored documents, whichever page of a checkpoint is damaged`(
    isMapped: Bool
  ) throws {
    // Regression: a rebuilt leaf of the sequence tree did not know which numbers were removed, so
    // older changes came back from the checkpoint below.
    let stored = try Stored()
    #expect(try stored.checkpoints.count == 2)
    var pages = 0
    for name in try stored.checkpoints {
      for page in 0..<(try stored.pageCount(name)) {
        pages += 1
        let fixture = try stored.damaged(name, page: page, isMapped: isMapped)
        let database = try fixture.open { $0.maintenance = .manual }
        #expect(database.openingReport.damage.isEmpty)
        try stored.model.compare(with: database.snapshot())
        let report = try database.check()
        #expect(report.isSound, "\(name) page \(page): \(report.problems.prefix(2))")
      }
    }
    #expect(pages > 8)
  }

  @Test func `two readers that find the same damaged page can both read on`() throws {
    // Regression: the second one got an error if the first had rebuilt the page meanwhile.
    let stored = try Stored()
    var found = 0
    for name in try stored.checkpoints {
      for page in 0..<(try stored.pageCount(name)) {
        let fixture = try stored.damaged(name, page: page, isMapped: true)
        let database = try fixture.open { $0.maintenance = .manual }
        let state = try database.store.view().state
        for run in Version.trees.flatMap({ state[keyPath: $0].runs }) {
          var scan = run.scan(compactionCount: state.compactionCount)
          do throws(PageError) {
            while try scan.next() != nil {}
          } catch {
            found += 1
            for _ in 0..<2 { try database.store.environment.repairIndex(error, in: state) }
            while try scan.next() != nil {}
          }
        }
      }
    }
    #expect(found > 4)
  }

  @Test func `a leaf is rebuilt even if the layer below must be rebuilt first`() throws {
    let stored = try Stored()
    let names = try stored.checkpoints
    let (base, delta) = (names[0], names[1])
    for lower in 0..<(try stored.pageCount(base)) {
      for upper in 0..<(try stored.pageCount(delta)) {
        let fixture = try stored.damaged(base, page: lower, isMapped: false)
        try fixture.fileSystem.corrupt(
          "\(CrashFixture.path)/\(delta)", atOffset: 4096 * (upper + 1) + 1000, mask: 4)
        let database = try fixture.open { $0.maintenance = .manual }
        try stored.model.compare(with: database.snapshot())
        #expect(database.openingReport.damage.isEmpty, "pages \(lower) and \(upper)")
      }
    }
  }

  @Test(arguments: [false, true])
  func `a damaged leaf is rebuilt for a lookup of one document and for the next checkpoint`(
    isMapped: Bool
  ) throws {
    let stored = try Stored()
    let first = try #require(try stored.checkpoints.first)
    for page in 0..<(try stored.pageCount(first)) {
      let fixture = try stored.damaged(first, page: page, isMapped: isMapped)
      let database = try fixture.open { $0.maintenance = .manual }
      #expect(try database.snapshot().document("document-1002")?["round"] == 0)
      #expect(try database.snapshot().document("document-1299")?["round"] == 0)
      // Enough changes that the sorted runs are merged.
      try database.write(durability: .none) { transaction in
        for number in 0..<200 {
          try transaction.replace("document-\(1000 + number)", with: ["round": 2])
        }
      }
      try database.writeCheckpoint()
      #expect(try database.check().isSound)
      #expect(try database.snapshot().count == 300)
      try database.close()
      let reopened = try fixture.open { $0.maintenance = .manual }
      #expect(reopened.openingReport.notes.isEmpty)
      #expect(try reopened.check().isSound)
    }
  }

  @Test func `a snapshot that is older than a leaf repair reads the same documents as before`()
    throws
  {
    // Regression: a leaf was rebuilt from the newest version of the store, and then used for all
    // versions.
    let stored = try Stored()
    for name in try stored.checkpoints {
      for page in 0..<(try stored.pageCount(name)) {
        let fixture = try stored.damaged(name, page: page, isMapped: true)
        let database = try fixture.open { $0.maintenance = .manual }
        let old = try database.snapshot()
        try database.write(durability: .none) { transaction in
          for number in 0..<300 where number % 4 == 0 {
            try transaction.replace("document-\(1000 + number)", with: ["round": 3])
          }
        }
        try database.compact()
        // The newest version touches the leaf first.
        #expect(try database.check().isSound)
        try stored.model.compare(with: old)
        #expect(try database.check().isSound)
      }
    }
  }

  /// The compacted segment keeps its input's name if the input is a single segment.
  @Test(arguments: [1, 2])
  func `a leaf is rebuilt while the input files of a compaction still exist`(
    sessionCount: Int
  ) throws {
    // Regression: the segments were read one after the other. The sequence numbers seemed to go
    // back, which was reported as damage.
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    for session in 0..<sessionCount {
      let database = try fixture.open { $0.maintenance = .manual }
      try database.write { transaction in
        for number in 0..<150 {
          try transaction.putLocal("local-\(session)-\(number)", ["n": .int(Int64(number))])
          _ = try transaction.replace("document-\(number)", with: ["n": .int(Int64(number))])
        }
      }
      if session == sessionCount - 1 { try database.writeCheckpoint() }
      try database.close()
    }
    let name = try #require(
      try fixture.fileSystem.list(CrashFixture.path).first { $0.hasSuffix(".checkpoint") })
    let pageCount = try fixture.fileSystem.status("\(CrashFixture.path)/\(name)").size / 4096 - 1
    for page in 0..<pageCount {
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt("\(CrashFixture.path)/\(name)", atOffset: 4096 * (page + 1) + 1000, mask: 4)
      let database = try CrashFixture(disk, CrashWriter(seed: 0), isMapped: false, life: 70).open {
        $0.maintenance = .manual
      }
      let store = database.store
      let state = try store.view().state
      let inputs = state.segments.segments.sorted {
        $0.header.numbers.lowerBound < $1.header.numbers.lowerBound
      }
      #expect(inputs.count == sessionCount)
      let order = SegmentCompaction.Order(
        inputs: inputs, fileID: 999, salt: 5, now: 0, evaluatedAt: state.commit,
        releasedThrough: 0, isMapped: false)
      let output = try SegmentCompaction.run(
        order, in: store.directory, keep: { (_) throws(LogError) in true },
        flushLog: { () throws(LogError) in })
      store.withLockedState { writer in writer.changeNewest { $0.segments.update(output) } }
      let snapshot = try database.snapshot()
      for number in 0..<150 {
        for session in 0..<sessionCount {
          let local = try snapshot.localDocument("local-\(session)-\(number)")
          #expect(local?["n"] == .int(Int64(number)))
        }
        #expect(try snapshot.document("document-\(number)")?["n"] == .int(Int64(number)))
      }
    }
  }

  @Test func `a failed read of a page throws an error, and the page can be read later`() throws {
    let stored = try Stored()
    let fixture = CrashFixture(
      stored.fixture.fileSystem.restarted(.processEnd), CrashWriter(seed: 0), isMapped: false)
    let database = try fixture.open { $0.maintenance = .manual }
    fixture.fileSystem.fail(.read, with: .inputOutput, isLasting: true)
    let error = #expect(throws: DatabaseError.self) {
      try database.snapshot().document("document-1002")
    }
    #expect(error?.code == .inputOutput)
    fixture.fileSystem.stopFailing()
    try stored.model.compare(with: database.snapshot())
  }

  @Test func `damage to both a leaf and the log that it is rebuilt from is reported`()
    throws
  {
    let stored = try Stored()
    let first = try #require(try stored.checkpoints.first)
    let fixture = try stored.damaged(first, page: 0, isMapped: false)
    let log = "\(CrashFixture.path)/0000000001.segment"
    try fixture.fileSystem.corrupt(log, atOffset: 4096 + 100, mask: 1)
    let database = try fixture.open { $0.maintenance = .manual }
    #expect(database.openingReport.damage.isEmpty)
    let error = #expect(throws: DatabaseError.self) {
      try database.snapshot().document("document-1002")
    }
    #expect(error?.code == .damaged)
    #expect(error?.path == log)
    // If the log cannot be read at the moment, nothing is reported as damaged.
    try fixture.fileSystem.corrupt(log, atOffset: 4096 + 100, mask: 1)
    fixture.fileSystem.fail(.read, atCall: 3, with: .inputOutput)
    let other = #expect(throws: DatabaseError.self) {
      try database.snapshot().document("document-1002")
    }
    #expect(other?.code == .inputOutput)
    try stored.model.compare(with: database.snapshot())
  }

  @Test func `damage to both a catalog leaf and the log of its local documents is reported`() throws
  {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { try $0.putLocal("state", ["n": 1]) }
    try database.write { transaction in
      _ = try transaction.replace("a", with: [:])
      // Enough local documents that "state" is not in the first leaf, which every opening reads to
      // find the indexes.
      for number in 100..<500 { try transaction.putLocal("local-\(number)", ["n": 2]) }
    }
    try database.writeCheckpoint()
    try database.close()
    let log = "\(CrashFixture.path)/0000000001.segment"
    let disk = fixture.fileSystem.restarted(.processEnd)
    let checkpoint = "\(CrashFixture.path)/0000000001.checkpoint"
    let pages = 1..<(try disk.status(checkpoint).size / 4096)
    /// Returns the local document read with a page damaged, or nil if the opening reports damage.
    func read(page: Int, _ life: Int) throws -> Value.Object? {
      let disk = disk.restarted(.processEnd)
      try disk.corrupt(checkpoint, atOffset: 4096 * page + 1000, mask: 4)
      let left = CrashFixture(disk, CrashWriter(seed: 0), life: life)
      let database = try left.open { $0.maintenance = .manual }
      let found = try database.snapshot().localDocument("state")
      let isReported = database.openingReport.damage.contains { $0.path == log }
      try database.close()
      return isReported ? nil : found
    }
    for page in pages { #expect(try read(page: page, 70) == ["n": 1], "page \(page)") }
    try disk.corrupt(log, atOffset: 4096 + 40, mask: 1)
    var refusedCount = 0
    for page in pages {
      do {
        // Only this read fails, unless the opening replays the whole log instead of using the
        // checkpoint.
        _ = try read(page: page, 80)
      } catch let error as DatabaseError {
        #expect(error.code == .damaged && error.path == log, "page \(page)")
        refusedCount += 1
      }
    }
    // The damaged record is read for at least one of the pages.
    #expect(refusedCount > 0)
  }

  @Test
  func `removing the checkpoints repairs a leaf that cannot be rebuilt, as the hint says`()
    throws
  {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<3000 { try transaction.replace("document-\(number)", with: [:]) }
    }
    // A checkpoint of the wrong documents: the records that belong in its only leaf do not fit into
    // one.
    let entry = try database.entry(of: "document-5")
    database.tamper { state in
      state.documents = LayeredTree()
      state.set(entry, for: Array("document-5".utf8))
    }
    try database.writeCheckpoint()
    try database.close()
    let names = try fixture.fileSystem.list(CrashFixture.path).filter {
      $0.hasSuffix(".checkpoint")
    }
    let path = "\(CrashFixture.path)/\(try #require(names.first))"
    try fixture.fileSystem.corrupt(path, atOffset: 4096 + 1000, mask: 1)
    let opened = try fixture.open { $0.maintenance = .manual }
    let error = #expect(throws: DatabaseError.self) { try opened.snapshot().document("document-5") }
    #expect(error?.code == .damaged)
    #expect(error?.hint?.contains("remove its checkpoints") == true)
    try opened.close()
    try fixture.fileSystem.vanish(path)
    let rebuilt = try fixture.open { $0.maintenance = .manual }
    #expect(try rebuilt.snapshot().count == 3000)
    #expect(try rebuilt.check().isSound)
  }
}
