import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of file system calls that fail, with each kind of error at each call.
///
/// None traps, each error is accurate, and the store is in a state that the oracle allows.
struct FaultTests {
  /// Runs a part of what `Proofs ci faults` tries.
  @Test(.partOfProof)
  func `no acknowledged commit is lost, whichever call fails`() throws {
    let run = ProofRun(FaultProof.name, budget: .test)
    try FaultProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3))")
    #expect(run.figure("faults") > 50)
  }

  @Test
  func `a failed flush stops writing but not reading, and reopening finds a consistent state`()
    throws
  {
    let behaviors: [SimulatedDisk.FailedFlush] = [
      .keepsNewBytes, .revertsToOldBytes(afterCalls: 0), .revertsToOldBytes(afterCalls: 7),
    ]
    for behavior in behaviors {
      for durability in [Durability.full, .none] {
        let fileSystem = SimulatedFileSystem()
        let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
        let database = try fixture.open { $0.maintenance = .manual }
        try fixture.fill(database, 0..<4)
        try fixture.commit(database, [.put("doc-1", size: 5)], durability: durability)
        fileSystem.failFlush(behavior)
        let error = #expect(throws: DatabaseError.self) {
          try fixture.commit(database, [.put("doc-2", size: 7)])
        }
        #expect(error?.code == .outcomeUnknown)
        let later = #expect(throws: DatabaseError.self) {
          try database.write { try $0.replace("doc-3", with: [:]) }
        }
        #expect(later?.code == .writerStopped)
        let oracle = fixture.writer.oracle.withLock { $0 }
        if durability == .full {
          // Readers see the state that was durable before, not the one that may be lost.
          #expect(try oracle.identify(database) == oracle.versions.count - 2)
        }
        let last = #expect(throws: DatabaseError.self) { try database.close() }
        #expect(last?.code == .outcomeUnknown)
        let same = CrashFixture(fileSystem.restarted(.processEnd), fixture.writer, life: 100)
        let reopened = try same.open { $0.maintenance = .manual }
        #expect(reopened.openingReport.damage.isEmpty)
        var served = oracle
        served.secured = try oracle.identify(reopened)
        // The state that was served is durable now, though the flush failed.
        let after = CrashFixture(same.fileSystem.restarted(.strict), fixture.writer, life: 200)
        _ = try served.identify(after.open())
      }
    }
  }

  /// Regression: closing succeeded, though a commit that was to become durable later never did.
  @Test func `closing throws an error if a background flush has failed`() throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .inline
      $0.checkpointInterval = 512
    }
    try fixture.commit(database, [.put("a", size: 5)])
    // Maintenance that is due after the commit flushes a checkpoint's file and the log. Its errors
    // are not the transaction's.
    fileSystem.failFlush(atCall: 2, .keepsNewBytes)
    try fixture.commit(database, [.put("b", size: 5000)], durability: .none)
    let error = #expect(throws: DatabaseError.self) { try database.close() }
    #expect(error?.code == .outcomeUnknown)
    try database.close()
  }

  /// Regression: the versions were dropped while their flush was in progress.
  ///
  /// So a commit was acknowledged that its own process could not read. Found by recorded histories
  /// under the thread sanitizer.
  @Test func `a commit that becomes durable while the writer stops can be read`() throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { _ = try $0.replace("a", with: [:]) }
    fileSystem.observeCalls { [unowned database] call in
      guard call.verb == .flush else { return }
      database.store.commits.fail(DatabaseError(.outcomeUnknown, "another thread could not write"))
    }
    try database.write { _ = try $0.replace("b", with: ["n": 1]) }
    fileSystem.observeCalls(nil)
    #expect(try database.snapshot().document("b")?["n"] == 1)
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.replace("c", with: [:]) }
    }
    #expect(error?.code == .writerStopped)
    #expect(try database.snapshot().count == 2)
  }

  @Test func `a failed flush of the log for a checkpoint stops the writer, too`() throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("a", size: 5)])
    try fixture.commit(database, [.put("a", size: 6)], durability: .none)
    // The checkpoint's own file is flushed first, then the log.
    fileSystem.failFlush(atCall: 2, .keepsNewBytes)
    #expect(throws: DatabaseError.self) { try database.writeCheckpoint() }
    let error = #expect(throws: DatabaseError.self) {
      try database.write(durability: Durability.none) { try $0.replace("b", with: [:]) }
    }
    #expect(error?.code == .writerStopped)
    #expect(try database.snapshot().document("a")?["text"]?.stringValue?.count == 6)
  }

  @Test func `maintenance after a failed flush publishes no commit that is not durable`() throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("a", size: 5)])
    fileSystem.failFlush(.keepsNewBytes)
    #expect(throws: DatabaseError.self) { try fixture.commit(database, [.put("a", size: 6)]) }
    // A checkpoint or a compaction that began earlier does this at its end.
    database.store.withLockedState { writer in writer.changeNewest { _ in } }
    #expect(try database.snapshot().document("a")?["text"]?.stringValue?.count == 5)
  }

  @Test func `deletions succeed on a full disk, and all writes do once there is space`()
    throws
  {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.reserveSize = 32 << 10
    }
    try fixture.fill(database, 0..<6)
    #expect(fileSystem.names(in: CrashFixture.path).contains("RESERVE"))
    fileSystem.capacityBytes = fileSystem.usedBytes + 1000
    var oracle = fixture.writer.oracle.withLock { $0 }
    let error = #expect(throws: DatabaseError.self) {
      try fixture.commit(database, [.put("doc-0", size: 3000)])
    }
    #expect(error?.code == .diskFull)
    // The segment was made under a temporary name, which the error had.
    #expect(error?.path?.hasSuffix(".segment") == true)
    #expect(error?.path?.contains("/tmp/") == false)
    #expect(!fileSystem.names(in: CrashFixture.path).contains("RESERVE"))
    // Nothing changed.
    #expect(try oracle.identify(database) == oracle.versions.count - 1)
    oracle.cut(after: oracle.versions.count - 1)
    let writer = CrashWriter(oracle, seed: 2)
    try writer.commit(database, [.delete("doc-0"), .delete("doc-1")])
    fileSystem.capacityBytes = fileSystem.usedBytes
    #expect(throws: DatabaseError.self) {
      try database.write {
        try $0.replace("x", with: ["y": .string(String(repeating: "z", count: 5000))])
      }
    }
    fileSystem.capacityBytes = nil
    try writer.commit(database, [.put("doc-9", size: 3000)])
    try database.close()
    let reopened = try fixture.open()
    _ = try writer.oracle.withLock { try $0.identify(reopened) }
    #expect(fileSystem.names(in: CrashFixture.path).contains("RESERVE"))
  }

  @Test func `a used ballast file is created again once there is space`() throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let reserve = "\(CrashFixture.path)/RESERVE"
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.reserveSize = 32 << 10
    }
    try fixture.fill(database, 0..<6)
    fileSystem.capacityBytes = fileSystem.usedBytes + 1000
    var oracle = fixture.writer.oracle.withLock { $0 }
    #expect(throws: DatabaseError.self) {
      try fixture.commit(database, [.put("doc-0", size: 3000)])
    }
    #expect(try !fileSystem.exists(reserve))
    oracle.cut(after: oracle.versions.count - 1)
    let writer = CrashWriter(oracle, seed: 2)
    // There is space for a checkpoint, but not for the ballast file: no part of it is left behind.
    fileSystem.capacityBytes = fileSystem.usedBytes + (32 << 10)
    try database.writeCheckpoint()
    #expect(try !fileSystem.exists(reserve))
    #expect(fileSystem.names(in: CrashFixture.path + "/tmp").isEmpty)
    try writer.commit(database, [.delete("doc-0")])
    fileSystem.capacityBytes = nil
    try database.writeCheckpoint()
    #expect(try fileSystem.status(reserve).size == 32 << 10)
    // The ballast file works again.
    fileSystem.capacityBytes = fileSystem.usedBytes + 1000
    #expect(throws: DatabaseError.self) {
      try database.write {
        try $0.replace("x", with: ["y": .string(String(repeating: "z", count: 5000))])
      }
    }
    try writer.commit(database, [.delete("doc-1")])
    try database.close()
    fileSystem.capacityBytes = nil
    let reopened = try fixture.open()
    _ = try writer.oracle.withLock { try $0.identify(reopened) }
  }

  @Test
  func `a full disk never prevents reading, and incomplete files are removed`()
    throws
  {
    for free in stride(from: 0, through: 30_000, by: 1111) {
      let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
      do {
        let database = try fixture.open { $0.maintenance = .manual }
        try fixture.fill(database, 0..<5)
        try fixture.fill(database, 0..<4, durability: .none)
        fixture.fileSystem.losePower(atCall: 0)
      }
      let disk = fixture.fileSystem.restarted(.processEnd)
      disk.capacityBytes = disk.usedBytes + free
      let after = CrashFixture(disk, fixture.writer, life: 50)
      let database = try after.open { $0.maintenance = .manual }
      let oracle = fixture.writer.oracle.withLock { $0 }
      #expect(try oracle.identify(database) == oracle.versions.count - 1)
      do {
        try database.write { try $0.delete("doc-1") }
      } catch let error as DatabaseError {
        #expect([.readOnly, .diskFull].contains(error.code), "\(error)")
      }
      #expect(disk.names(in: CrashFixture.path + "/tmp").isEmpty)
      try database.close()
      disk.capacityBytes = nil
      let later = try after.open()
      #expect(later.openingReport.damage.isEmpty, "\(free): \(later.openingReport)")
      try later.write { try $0.replace("x", with: [:]) }
    }
  }
}

/// Regression tests of bugs that failing calls revealed.
extension FaultTests {
  private func filled(_ sessions: Int = 4, isMapped: Bool = true) throws -> CrashFixture {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: isMapped)
    for session in 0..<sessions {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, session..<session + 5)
      if session == 1 { try fixture.checkpoint(database) }
      try fixture.close(database)
    }
    return fixture
  }

  /// A write may arrive whole although the system reports an error.
  ///
  /// Regression: the commit was reported as not done, and was there when the store was reopened.
  @Test func `a failed write that may be complete in the file has an unknown outcome`() throws {
    let fixture = try filled()
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("a", size: 10)])
    fixture.fileSystem.fail(.write, with: .inputOutput, completion: .everything)
    let error = #expect(throws: DatabaseError.self) {
      try fixture.commit(database, [.put("a", size: 20)])
    }
    #expect(error?.code == .outcomeUnknown)
    let later = #expect(throws: DatabaseError.self) {
      try fixture.commit(database, [.put("a", size: 30)])
    }
    #expect(later?.code == .writerStopped)
    // A partial write counts as nothing, and writing continues.
    let other = try filled()
    let second = try other.open { $0.maintenance = .manual }
    try other.commit(second, [.put("a", size: 10)])
    other.fileSystem.fail(.write, with: .inputOutput)
    let refused = #expect(throws: DatabaseError.self) {
      try other.commit(second, [.put("a", size: 20)])
    }
    #expect(refused?.code == .inputOutput)
    try other.commit(second, [.put("a", size: 30)])
    for fixture in [fixture, other] {
      let left = fixture.fileSystem.restarted(.everything)
      let found = try CrashFixture(left, fixture.writer, life: 50).open()
      _ = try fixture.writer.oracle.withLock { try $0.identify(found) }
    }
  }

  /// Regression: after a segment was removed and another call failed, every checkpoint failed.
  ///
  /// The segment could not be removed again.
  @Test func `maintenance continues after a failed call that did remove its segment`() throws {
    for call in 1...8 {
      let fixture = try filled()
      let database = try fixture.open { $0.maintenance = .manual }
      fixture.fileSystem.fail(.remove, atCall: call, with: .inputOutput, completion: .everything)
      try? database.compact()
      fixture.fileSystem.stopFailing()
      try fixture.commit(database, [.put("a", size: 20)])
      try database.compact()
      try database.close()
      #expect(
        fixture.fileSystem.names(in: CrashFixture.path).filter { $0.hasSuffix("segment") }.count < 3
      )
    }
  }

  /// Regression: a page that the system failed to read in a compaction was reported as damaged.
  @Test func `a failed read during compaction is not reported as damage`() throws {
    for call in 1...60 {
      let fixture = try filled(isMapped: false)
      let database = try fixture.open { $0.maintenance = .manual }
      fixture.fileSystem.fail(.read, atCall: call, with: .tooManyOpenFiles, isLasting: true)
      do {
        try database.compact()
      } catch let error as DatabaseError {
        #expect(error.code == .resourceExhausted, "\(error)")
      }
      fixture.fileSystem.stopFailing()
      try database.compact()
    }
  }

  /// Regression: of two processes that created one store at the same time, one failed.
  ///
  /// Its error suggested another path.
  @Test func `a store directory that another process creates first is opened as it is`() throws {
    for call in 1...3 {
      let fixture = try filled()
      fixture.fileSystem.fail(.status, atCall: call, with: .notFound)
      let database = try fixture.open()
      _ = try fixture.writer.oracle.withLock { try $0.identify(database) }
    }
  }

  /// Regression: a new segment was in place, but HEAD could not be replaced.
  ///
  /// Neither the transaction nor the segment counted. A checkpoint did not list the segment, which
  /// was then missing.
  @Test func `a segment that a failed transaction began stays part of the log`() throws {
    for call in 1...14 {
      let fixture = try filled()
      var database = try fixture.open {
        $0.maintenance = .manual
        $0.segmentSizeGoal = 512
      }
      try fixture.commit(database, [.put("a", size: 10)], durability: .none)
      fixture.fileSystem.fail(atCall: call, with: .inputOutput)
      try? fixture.commit(database, [.put("a", size: 20)], durability: .none)
      fixture.fileSystem.stopFailing()
      try? fixture.commit(database, [.put("a", size: 30)])
      try? database.writeCheckpoint()
      try? database.close()
      database = try fixture.open()
      #expect(database.openingReport.damage.isEmpty, "call \(call)")
      _ = try fixture.writer.oracle.withLock { try $0.identify(database) }
    }
  }

  /// Regression: a store that was closed after a failed write never looked closed again.
  ///
  /// The failed write had left bytes after the end of the log.
  @Test func `a store that is closed after a failed write opens as closed`() throws {
    let fixture = try filled()
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("a", size: 10)])
    fixture.fileSystem.fail(.write, with: .inputOutput)
    #expect(throws: DatabaseError.self) { try fixture.commit(database, [.put("a", size: 2000)]) }
    try database.close()
    let reopened = try fixture.open()
    #expect(reopened.openingReport.ending == .closed)
    #expect(reopened.openingReport.discardedBytes == 0)
  }

  /// Regression: restoring did not notice that the log of a backup had lost its end.
  ///
  /// Opening the backup did. Restoring took the rest for the whole log.
  @Test func `a backup with a truncated log is not restored`() throws {
    let fixture = try filled()
    let database = try fixture.open { $0.maintenance = .manual }
    try database.backup(to: "/copy.divan")
    let disk = fixture.fileSystem
    let name = try #require(disk.names(in: "/copy.divan").first { $0.hasSuffix("segment") })
    try disk.truncate("/copy.divan/\(name)", toSize: 4096)
    let error = #expect(throws: DatabaseError.self) {
      try Database.restore(
        from: "/copy.divan", to: "/restored.divan", configuration: fixture.configuration())
    }
    #expect(error?.code == .damaged)
    #expect(!disk.names(in: "/").contains("restored.divan"))
  }
}

/// Tests of disks that report success for what they did not do.
extension FaultTests {
  /// Works with a store whose disk reports a failed flush late, loses power, and reopens it.
  ///
  /// The flush of the commit `doc-1` fails, and the next flush of the same file reports it. `rest`
  /// runs before the power loss.
  private func afterBelatedError(
    _ rest: (CrashFixture, Database) throws -> Void
  ) throws -> (found: Database, oracle: CrashOracle) {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("doc-0", size: 600)])
    fixture.fileSystem.failFlush(.reportsAtNextFlush)
    try fixture.commit(database, [.put("doc-1", size: 600)])
    let oracle = fixture.writer.oracle.withLock { $0 }
    try rest(fixture, database)
    let left = CrashFixture(fixture.fileSystem.restarted(.strict), fixture.writer, life: 100)
    return (try left.open { $0.maintenance = .manual }, oracle)
  }

  /// The loss of `doc-1` is not reported before the next flush, which then stops the writer.
  @Test func `a loss that only the next flush reports is found as damage on opening`() throws {
    let (afterError, _) = try afterBelatedError { fixture, database in
      let error = #expect(throws: DatabaseError.self) {
        try fixture.commit(database, [.put("doc-2", size: 600)])
      }
      #expect(error?.code == .outcomeUnknown)
      let later = #expect(throws: DatabaseError.self) {
        try database.write { try $0.replace("doc-3", with: [:]) }
      }
      #expect(later?.code == .writerStopped)
    }
    #expect(!afterError.openingReport.damage.isEmpty)
    let (afterClosing, _) = try afterBelatedError { try $0.close($1) }
    #expect(!afterClosing.openingReport.damage.isEmpty)
    // If nothing after the lost commit shows the loss, it is taken for a torn write.
    var (atOnce, oracle) = try afterBelatedError { _, _ in }
    #expect(atOnce.openingReport.damage.isEmpty)
    oracle.secured = 0
    #expect(try oracle.identify(atOnce) == oracle.versions.count - 2)
  }

  /// Runs a part of what `Proofs ci lies` tries.
  @Test(.partOfProof)
  func `losses of a disk that reports false success are detected, within limits`() throws {
    let run = ProofRun(LyingProof.name, budget: .test)
    try LyingProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3))")
    #expect(run.figure("lies") > 50)
  }
}
