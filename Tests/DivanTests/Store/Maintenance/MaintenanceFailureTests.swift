import DivanLog
import DivanTesting
import Dispatch
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of backups, deletion, checkpoints and compactions that encounter obstacles.
///
/// The error names the cause, nothing is lost, and the next attempt succeeds.
struct MaintenanceFailureTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var disk: SimulatedFileSystem { fixture.fileSystem }

  private func store(
    _ count: Int = 9, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    let database = try fixture.open {
      $0.maintenance = .manual
      change(&$0)
    }
    try fixture.fill(database, 0..<count, size: 100)
    return database
  }

  private func expectWhole(_ database: Database) throws {
    let oracle = fixture.writer.oracle.withLock { $0 }
    #expect(try oracle.identify(database) == oracle.versions.count - 1)
    #expect(try database.check().isSound)
  }

  // MARK: Backup and deletion

  @Test func `a damaged backup is not restored`() throws {
    // Regression: damage at the end of the log was ignored, and the rest was restored without an
    // error: here, nothing.
    let database = try store()
    try database.backup(to: "/backup.divan")
    let path = "/backup.divan/0000000001.segment"
    try disk.corrupt(path, atOffset: 4096 + 100, mask: 1)
    let configuration = fixture.configuration()
    #expect(
      code {
        try Database.restore(
          from: "/backup.divan", to: "/again.divan", configuration: configuration)
      } == .damaged)
    #expect(!Database.exists(at: "/again.divan", configuration: configuration))
    #expect(code { try database.backup(to: "/backup.divan") } == .alreadyExists)
  }

  @Test func `deleting a store removes all of its files, and no others`() throws {
    let database = try store()
    try database.close()
    let configuration = fixture.configuration()
    for path in ["attachments", "attachments/3f"] {
      if try !disk.exists("\(CrashFixture.path)/\(path)") {
        try disk.makeDirectory("\(CrashFixture.path)/\(path)")
      }
    }
    let digest = "3f" + String(repeating: "9a", count: 31)
    for path in ["tmp/attachment-7", "tmp/0000000009.segment", "attachments/3f/\(digest)"] {
      _ = try disk.open("\(CrashFixture.path)/\(path)", .creating)
    }
    try disk.makeDirectory("/other")
    _ = try disk.open("/other/letter.txt", .creating)
    #expect(code { try Database.delete(at: "/other", configuration: configuration) } == .notAStore)
    #expect(code { try Database.delete(at: "/none", configuration: configuration) } == .notFound)
    #expect(!Database.exists(at: "/none", configuration: configuration))
    try Database.delete(at: CrashFixture.path, configuration: configuration)
    #expect(try disk.list("/") == ["other"])
    #expect(try disk.list("/other") == ["letter.txt"])
    // If the directory contains another file, both stay.
    let again = try fixture.open()
    try again.close()
    _ = try disk.open("\(CrashFixture.path)/letter.txt", .creating)
    let left = try Database.delete(at: CrashFixture.path, configuration: configuration)
    #expect(left == ["letter.txt"])
    #expect(disk.names(in: CrashFixture.path) == ["letter.txt"])
  }

  @Test(arguments: ["makes a new store there", "removes the directory too"])
  func `deletion succeeds even if another process recreates or removes the directory`(
    other: String
  ) throws {
    try store().close()
    let (disk, fixture) = (disk, fixture)
    let isFirst = Atomic(true)
    let newStore = Recorder<Database>()
    disk.observeCalls { call in
      // The lock file is removed, and the directory, which was moved aside, is about to be
      // removed.
      guard call.verb == .removeDirectory, call.path.hasSuffix(".deleting"),
        isFirst.exchange(false, ordering: .relaxed)
      else { return }
      if other == "makes a new store there" {
        if let database = try? fixture.open() { newStore.append(database) }
      } else {
        try? disk.removeDirectory(call.path)
      }
    }
    try Database.delete(at: CrashFixture.path, configuration: fixture.configuration())
    disk.observeCalls(nil)
    let wasCalled = !isFirst.load(ordering: .relaxed)
    #expect(wasCalled)
    guard other == "makes a new store there" else {
      #expect(try disk.list("/").isEmpty)
      return
    }
    let database = try #require(newStore.all.first)
    try database.write { _ = try $0.replace("new", with: [:]) }
    try database.close()
    let reopened = try fixture.open()
    #expect(try reopened.snapshot().count == 1)
    #expect(reopened.openingReport.damage.isEmpty)
  }

  @Test func `the parent of a path without a slash is the current directory`() {
    #expect(parentDirectory(of: "store.divan") == ".")
    #expect(parentDirectory(of: "a/store.divan") == "a")
    #expect(parentDirectory(of: "/store.divan") == "/")
    #expect(parentDirectory(of: "/a/b/store.divan") == "/a/b")
  }

  @Test func `statistics skip a file that is removed while they are computed`() throws {
    let database = try store()
    try database.write { try $0.delete("doc-1") }
    try database.writeCheckpoint()
    let before = try database.statistics
    #expect(before.deadSize > 0)
    #expect(before.liveSize > 0)
    let disk = disk
    disk.observeCalls { call in
      if call.verb == .status, call.path.hasSuffix(".checkpoint") { try? disk.vanish(call.path) }
    }
    let after = try database.statistics
    disk.observeCalls(nil)
    #expect(after.checkpointSize == 0)
    #expect(after.documentCount == before.documentCount)
  }

  // MARK: Checkpoints

  @Test func `no checkpoint is written for an empty store or after the writer has stopped`()
    throws
  {
    let empty = try fixture.open { $0.maintenance = .manual }
    try empty.writeCheckpoint()
    try empty.compact()
    try empty.compactWhatPays()
    #expect(!disk.names(in: CrashFixture.path).contains { $0.hasSuffix(".checkpoint") })
    try empty.close()

    let database = try store()
    try database.writeCheckpoint()
    disk.fail(.flush, with: .inputOutput)
    #expect(code { try fixture.commit(database, [.put("x", size: 1)]) } == .outcomeUnknown)
    #expect(code { try fixture.commit(database, [.put("y", size: 1)]) } == .writerStopped)
    let names = disk.names(in: CrashFixture.path)
    try database.writeCheckpoint()
    try database.compactWhatPays()
    #expect(disk.names(in: CrashFixture.path) == names)
    #expect(code { try database.write { _ in try database.compact() } } == .writerStopped)
  }

  @Test func `compaction and backup within a transaction throw nestedWrite`() throws {
    let database = try store()
    try database.write { _ in
      #expect(code { try database.compact() } == .nestedWrite)
      #expect(code { try database.backup(to: "/copy.divan") } == .nestedWrite)
    }
  }

  /// The backup runs between the passes of maintenance, and such a call waited for its end: it
  /// ended the process.
  @Test func `calls that wait for maintenance throw nestedWrite while a backup reports progress`()
    throws
  {
    let database = try store()
    var reportCount = 0
    try database.backup(to: "/copy.divan") { _ in
      reportCount += 1
      #expect(code { try database.compact() } == .nestedWrite)
      #expect(code { try database.backup(to: "/other.divan") } == .nestedWrite)
      #expect(code { try database.suspend() } == .nestedWrite)
      #expect(code { try database.close() } == .nestedWrite)
      // These do not wait for it.
      #expect(try database.refresh() == false)
      try database.resume()
      try database.addIndex(DocumentIndex("while copying \(reportCount)", on: "size"))
      try fixture.commit(database, [.put("while copying", size: reportCount)])
    }
    #expect(reportCount > 0)
    for number in 1...reportCount {
      #expect(try database.removeIndex(named: "while copying \(number)"))
    }
    try database.compact()
    try expectWhole(database)
  }

  @Test func `a checkpoint that fails at any write leaves the store unchanged`() throws {
    let database = try store()
    // More than 256 KiB of pages, so that they are written in several pieces.
    try database.write { transaction in
      for number in 0..<7000 { try transaction.replace("page-\(number)", with: [:]) }
    }
    for call in 1...3 {
      disk.fail(.write, atCall: call, with: .noSpace)
      #expect(code { try database.writeCheckpoint() } == .diskFull, "\(call)")
      disk.stopFailing()
      #expect(disk.names(in: "\(CrashFixture.path)/tmp").isEmpty)
    }
    try database.writeCheckpoint()
    #expect(try database.check().isSound)
    let count = try database.snapshot().count
    #expect(count > 7000)
    try database.close()
    let reopened = try fixture.open { $0.maintenance = .manual }
    #expect(reopened.openingReport.replayedCommits == 0)
    #expect(try reopened.snapshot().count == count)
  }

  @Test func `a checkpoint that fails while the store closes loses no documents`() throws {
    for step in ["create", "compact"] {
      let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
      let database = try fixture.open {
        $0.maintenance = .manual
        $0.readMode = .buffered
      }
      try fixture.fill(database, 0..<40, size: 40_000)
      if step == "create" {
        fixture.fileSystem.fail(.create, with: .noSpace)
        #expect(code { try database.close() } == .diskFull)
      } else {
        // A compaction that could not be installed: a checkpoint would now depend on both segments.
        try database.writeCheckpoint()
        try fixture.fill(database, 0..<40, size: 40_000)
        try database.writeCheckpoint()
        let disk = fixture.fileSystem
        disk.observeCalls { call in
          if call.verb == .rename, call.path.contains("-") {
            disk.fail(.read, with: .inputOutput, isLasting: true)
          }
        }
        #expect(code { try database.compact() } == .inputOutput)
        disk.observeCalls(nil)
        disk.stopFailing()
        try fixture.fill(database, 0..<40, size: 40_000)
        try database.close()
      }
      let reopened = try fixture.open { $0.maintenance = .manual }
      let oracle = fixture.writer.oracle.withLock { $0 }
      #expect(try oracle.identify(reopened) == oracle.versions.count - 1)
      #expect(reopened.openingReport.damage.isEmpty)
    }
  }

  @Test func `a writer waits for maintenance that is far behind, and then continues`() throws {
    let disk = disk
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isFirst = Atomic(true)
    let database = try fixture.open {
      $0.maintenance = .background
      $0.checkpointInterval = 4096
      $0.segmentSizeGoal = 1 << 20
    }
    disk.observeCalls { call in
      guard call.verb == .create, call.path.hasSuffix(".checkpoint"),
        isFirst.exchange(false, ordering: .relaxed)
      else { return }
      begun.signal()
      goOn.wait()
    }
    try fixture.fill(database, 0..<2, size: 3000)
    begun.wait()
    try fixture.fill(database, 2..<8, size: 3000)
    let waits = Atomic(false)
    let done = DispatchSemaphore(value: 0)
    let fixture = fixture
    DispatchQueue(label: "writes").async {
      waits.store(true, ordering: .releasing)
      try? fixture.fill(database, 8..<9, size: 3000)
      done.signal()
    }
    while !waits.load(ordering: .acquiring)
      || database.store.maintenance.state.withLock({ $0.waiters.isEmpty })
    {}
    goOn.signal()
    #expect(done.wait(timeout: .now() + 30) == .success)
    disk.observeCalls(nil)
    try expectWhole(database)
    try database.close()
  }

  /// Writes do not start another maintenance pass while one runs.
  @Test func `writes during a maintenance pass start the next pass at once`() throws {
    for _ in 0..<8 {
      let database = try store(1)
      try database.close()
    }
    let last = try store(1)
    try last.writeCheckpoint()
    try last.close()
    let disk = disk
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isFirst = Atomic(true)
    disk.observeCalls { call in
      guard call.verb == .create, call.path.hasSuffix(".checkpoint"),
        isFirst.exchange(false, ordering: .relaxed)
      else { return }
      begun.signal()
      goOn.wait()
    }
    let database = try fixture.open {
      $0.maintenance = .background
      $0.checkpointInterval = 8 << 10
      $0.segmentSizeGoal = 1 << 20
    }
    // The first commit starts the compaction of the small segments although no checkpoint is due.
    // The compaction is followed by a checkpoint.
    try fixture.fill(database, 0..<1, size: 10)
    #expect(begun.wait(timeout: .now() + 100) == .success)
    try fixture.fill(database, 1..<5, size: 3000)
    goOn.signal()
    try database.store.maintenance.exclusively(database.store) { () throws(DatabaseError) in }
    disk.observeCalls(nil)
    let covered = database.store.maintenance.state.withLock { $0.checkpoint?.position.end.commit }
    #expect(try covered == database.store.view().state.commit)
    try expectWhole(database)
    try database.close()
  }

  // MARK: Compaction

  /// Regression: the file stayed.
  ///
  /// A later compaction could overlap its range, and then an opening without a checkpoint took
  /// segments for missing.
  @Test func `the output of a compaction that failed after naming it is deleted`() throws {
    let database = try store()
    try fixture.fill(database, 0..<12, size: 3000)
    let disk = disk
    func outputCount() -> Int {
      disk.names(in: CrashFixture.path).count { $0.hasSuffix(".segment") && $0.contains("-") }
    }
    disk.observeCalls { call in
      guard call.verb == .rename, call.path.hasSuffix(".segment"), call.path.contains("-") else {
        return
      }
      disk.fail(.flushDirectory, with: .tooManyOpenFiles, completion: .nothing)
    }
    #expect(code { try database.compact() } == .resourceExhausted)
    disk.observeCalls(nil)
    #expect(outputCount() == 1)
    try database.writeCheckpoint()
    #expect(outputCount() == 0)
    try expectWhole(database)
    // The next attempt makes a file of the same name, which stays.
    try database.compact()
    #expect(outputCount() > 0)
    try database.writeCheckpoint()
    try expectWhole(database)
    try database.close()
    try expectWhole(try fixture.open())
  }

  @Test
  func `compaction handles more data than a frame and more documents than a batch`()
    throws
  {
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.segmentSizeGoal = 1 << 20
      $0.compactedSegmentSizeLimit = 64 << 20
    }
    let text = Value.string(String(repeating: "x", count: 400))
    for round in 0..<2 {
      for part in 0..<3 {
        try database.write { transaction in
          for number in 0..<1500 where round == 0 || number % 2 == 0 {
            try transaction.replace("doc-\(part)-\(number)", with: ["text": text])
          }
        }
      }
    }
    try database.compact()
    #expect(try database.snapshot().count == 4500)
    #expect(try database.check().isSound)
    #expect(try database.statistics.segments.filter { !$0.isActive }.count == 1)
  }

  @Test func `compaction creates no segment above its size limit`() throws {
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.segmentSizeGoal = 8 << 10
      $0.compactedSegmentSizeLimit = 24 << 10
    }
    try fixture.fill(database, 0..<60, size: 1000)
    try fixture.fill(database, 0..<10, size: 900)
    try database.compact()
    let sizes = try database.statistics.segments.map(\.size)
    #expect(sizes.count > 3)
    #expect(sizes.allSatisfy { $0 < 40 << 10 }, "\(sizes)")
    try expectWhole(database)
  }

  @Test func `many small neighboring segments are compacted even without dead records`() throws {
    for session in 0..<8 {
      let database = try fixture.open {
        $0.maintenance = .manual
        $0.segmentSizeGoal = 1 << 20
      }
      try database.write { _ = try $0.replace("doc-\(session)", with: [:]) }
      try database.close()
    }
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.segmentSizeGoal = 1 << 20
    }
    try database.write { _ = try $0.replace("doc-8", with: [:]) }
    try database.writeCheckpoint()
    let statistics = try database.statistics
    #expect(statistics.deadSize == 0)
    try database.compactWhatPays()
    #expect(try database.statistics.segments.count < statistics.segments.count)
    #expect(try database.snapshot().count == 9)
    #expect(try database.check().isSound)
  }

  @Test func `a failed call in a compaction loses nothing and is not reported as damage`()
    throws
  {
    var codes: [DatabaseError.Code: Int] = [:]
    for (verb, failure) in [
      (SimulatedDisk.Verb.read, SystemError.Code.inputOutput), (.write, .noSpace),
    ] {
      for call in 1...24 {
        let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: false)
        let first = try fixture.open { $0.maintenance = .manual }
        try fixture.fill(first, 0..<20, size: 300)
        try fixture.fill(first, 0..<5, size: 30)
        try first.writeCheckpoint()
        try first.close()
        // Reopened, so that the compaction reads pages of the index from the file.
        let database = try fixture.open { $0.maintenance = .manual }
        fixture.fileSystem.fail(verb, atCall: call, with: failure)
        if let code = code({ try database.compact() }) {
          codes[code, default: 0] += 1
        }
        fixture.fileSystem.stopFailing()
        let oracle = fixture.writer.oracle.withLock { $0 }
        try database.compact()
        #expect(try oracle.identify(database) == oracle.versions.count - 1)
        #expect(try database.check().isSound)
      }
    }
    #expect(Set(codes.keys) == [.inputOutput, .diskFull])
  }

  /// Fills three segments, the third with a removal; returns their paths.
  private func storeWithRemoval() throws -> (Database, paths: [String]) {
    for session in 0..<3 {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, session * 20..<session * 20 + 20, size: 200)
      if session == 2 {
        try fixture.fill(database, 20..<35, size: 10)
        try database.write { try $0.putLocal("gone", [:]) }
        try database.write { _ = try $0.removeLocal("gone") }
        try database.writeCheckpoint()
      }
      try database.close()
    }
    // What follows is in another segment, so the third one can be compacted.
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    try database.write { try $0.putLocal("end", [:]) }
    try database.writeCheckpoint()
    let paths = disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".segment") }.sorted()
    return (database, paths.map { "\(CrashFixture.path)/\($0)" })
  }

  /// The compaction of a removal reads older segments, and one of them ended every compaction.
  @Test(arguments: [DatabaseError.Code.damaged, .inputOutput])
  func `a segment that cannot be read prevents only its own compaction`(
    reason: DatabaseError.Code
  ) throws {
    let (database, paths) = try storeWithRemoval()
    try #require(paths.count >= 4)
    let (disk, path) = (disk, paths[0])
    if reason == .damaged {
      try disk.corrupt(path, atOffset: 4096 + 100, mask: 1)
    } else {
      disk.observeCalls { call in
        if call.verb == .read, call.path == path { disk.fail(.read, with: .inputOutput) }
      }
    }
    let before = try database.statistics.segments.count
    let error = #expect(throws: DatabaseError.self) { try database.compact() }
    #expect(error?.code == reason && error?.path == path)
    // The others were compacted by the same call, and there is nothing left to report.
    #expect(try database.statistics.segments.count < before)
    #expect(disk.names(in: CrashFixture.path).contains { path.hasSuffix($0) })
    try database.compact()
    disk.observeCalls(nil)
  }

  @Test func `a compacted segment that is damaged before it is installed is not used`() throws {
    let database = try store(30) { $0.readMode = .buffered }
    try fixture.fill(database, 0..<12, size: 20)
    let disk = disk
    disk.observeCalls { call in
      // Once the file has its final name.
      if call.verb == .flushDirectory, call.path == CrashFixture.path,
        let name = disk.names(in: CrashFixture.path).first(where: { $0.contains("-") })
      {
        try? disk.corrupt("\(CrashFixture.path)/\(name)", atOffset: 4096 + 200, mask: 1)
      }
    }
    let error = #expect(throws: DatabaseError.self) { try database.compact() }
    disk.observeCalls(nil)
    #expect(error?.code == .damaged)
    let oracle = fixture.writer.oracle.withLock { $0 }
    #expect(try oracle.identify(database) == oracle.versions.count - 1)
  }

  @Test func `compaction refuses a segment with an invalid document record, which opening reports`()
    throws
  {
    let database = try store()
    var record = try DocumentRecord.forged(
      "odd", sequence: 100, RevisionID(generation: 0, digest: .own(1, 2)))
    try database.adopt(record)
    record.revision = RevisionID(generation: 1, digest: .own(1, 2))
    let locator = RecordLocator(fileID: 1, offset: 5000, size: 10)
    database.tamper {
      $0.set(
        DocumentEntry(
          revision: record.revision,
          location: DocumentLocation(
            locator: locator, sequence: 100, winningSequence: nil, isDeleted: false)),
        for: Array("odd".utf8))
    }
    try database.close()
    let next = try fixture.open { $0.isReadOnly = true }
    #expect(next.openingReport.damage.map(\.path) == ["\(CrashFixture.path)/0000000001.segment"])
    #expect(throws: DatabaseError.self) { try next.compact() }
  }
}
