import Divan
import DivanLog
import DivanTesting
import Synchronization

/// One run of a workload in which one call fails, and three continuations.
package struct FaultTrial: Sendable {
  let workload: CrashWorkload
  /// The number of the call, from 1, counting calls of any kind.
  let call: Int
  /// The number of the call among the flushes of files, if it is one.
  let flushCall: Int?
  let site: CallSite
  let kind: FaultKind
  let isLasting: Bool
  let isMapped: Bool
  /// A second fault, and the number of calls after the first.
  var second: (afterCalls: Int, kind: FaultKind)?

  var name: String {
    "\(workload.name), call \(call), \(kind)\(isLasting ? " for good" : ""), "
      + (isMapped ? "mapped" : "buffered")
      + (second.map { ", then \($0.kind) after \($0.afterCalls)" } ?? "") + "."
  }
}

/// The store at the beginning of a workload, from which trials are repeated.
package struct FaultStart: Sendable {
  let disk: SimulatedFileSystem
  let oracle: CrashOracle

  init(_ workload: CrashWorkload, isMapped: Bool) throws {
    let fixture = CrashFixture(
      SimulatedFileSystem(),
      CrashWriter(seed: 1, history: workload.history, revisionDepth: workload.revisionDepth),
      isMapped: isMapped)
    try workload.prepare(fixture)
    disk = fixture.fileSystem
    oracle = fixture.writer.oracle.withLock { $0 }
  }

  /// Returns the store on a disk of its own.
  ///
  /// Its writer draws other numbers than the one that prepared the store. Otherwise revisions that
  /// are made elsewhere would have the same names, and be known already.
  func fixture(isMapped: Bool) -> CrashFixture {
    CrashFixture(
      disk.restarted(.processEnd), CrashWriter(oracle, seed: 2), isMapped: isMapped, life: 20)
  }
}

extension FaultTrial {
  /// Throws if anything is not as promised.
  func run(from start: FaultStart) throws {
    do {
      try goOn(from: start)
      try stop(from: start)
    } catch {
      throw CrashOracle.Mismatch("\(error) [\(site)]")
    }
  }

  private func arm(_ disk: SimulatedFileSystem) {
    kind.arm(disk, atCall: call, flushCall: flushCall, isLasting: isLasting)
    if let second {
      second.kind.arm(
        disk, atCall: call + second.afterCalls, flushCall: 1 + second.afterCalls, isLasting: false)
    }
  }

  private func explains(_ error: DatabaseError) -> Bool {
    kind.explains(error) || second?.kind.explains(error) == true
  }

  private func check(_ error: DatabaseError) throws {
    guard explains(error) else {
      throw CrashOracle.Mismatch("an error without sense: \(error)")
    }
  }

  /// Continues in the same process, as if the program ignored the error.
  private func goOn(from start: FaultStart) throws {
    let fixture = start.fixture(isMapped: isMapped)
    let disk = fixture.fileSystem
    fixture.tolerance.keepsDatabase = true
    fixture.tolerance.goesOn = true
    arm(disk)
    do {
      try workload.work(fixture)
    } catch let error as DatabaseError {
      try check(error)
    }
    for error in fixture.tolerance.errors { try check(error) }
    disk.stopFailing()
    if let database = fixture.tolerance.takeDatabase() {
      try serve(database, fixture)
      fixture.writer.isUnsure.store(true, ordering: .relaxed)
      do { try database.close() } catch let error as DatabaseError { try check(error) }
    }
    try checkNothingLeaks(disk)
    try reopen(disk, fixture.writer, life: 60)
    // Data that was served also survives a loss of power.
    try reopen(disk.restarted(.strict), fixture.writer, life: 70)
  }

  /// Reads, and writes again, with a database that has had a failure.
  private func serve(_ database: Database, _ fixture: CrashFixture) throws {
    do {
      let oracle = fixture.writer.oracle.withLock { $0 }
      _ = try oracle.identify(database)
      try fixture.writer.commit(database, [.put("further", size: 20)])
      let after = fixture.writer.oracle.withLock { $0 }
      guard try after.identify(database) == after.versions.count - 1 else {
        throw CrashOracle.Mismatch("a commit that was acknowledged is not to be seen")
      }
    } catch let error as DatabaseError {
      // The workload may have closed it.
      guard error.code != .closed else { return }
      try check(error)
    }
  }

  /// Ends at the first error: then the power is lost, or the store is opened again.
  private func stop(from start: FaultStart) throws {
    let fixture = start.fixture(isMapped: isMapped)
    let disk = fixture.fileSystem
    fixture.tolerance.keepsDatabase = true
    arm(disk)
    var failed = false
    do {
      try workload.work(fixture)
    } catch let error as DatabaseError {
      failed = true
      try check(error)
    }
    if failed {
      let oracle = fixture.writer.oracle.withLock { $0 }
      let seed = UInt64(call)
      let losses: [SimulatedDisk.Loss] = [
        .strict, .everything, .random(seed: seed), .prefix(seed: seed), .dropOne(call),
      ]
      // Losses that leave the same bytes are examined once: first the one after which work goes on.
      let goingOn = call % losses.count
      var images: Set<UInt64> = []
      for index in [goingOn] + losses.indices.filter({ $0 != goingOn }) {
        let left = disk.restarted(losses[index])
        guard images.insert(left.imageHash).inserted else { continue }
        do {
          try examine(
            left, CrashWriter(oracle, seed: 3), life: 80 + index, goesOn: index == goingOn)
        } catch {
          throw CrashOracle.Mismatch("after \(losses[index]): \(error)")
        }
      }
    }
    // The last reference: the database is closed, while calls may still fail.
    _ = fixture.tolerance.takeDatabase()
    try checkNothingLeaks(disk)
    let oracle = fixture.writer.oracle.withLock { $0 }
    if isLasting {
      do {
        try examine(disk, CrashWriter(oracle, seed: 3), life: 90, goesOn: false)
      } catch let error as DatabaseError {
        try check(error)
      }
      disk.stopFailing()
      try checkNothingLeaks(disk)
    }
    disk.stopFailing()
    try reopen(disk, fixture.writer, life: 100)
  }

  private func checkNothingLeaks(_ disk: SimulatedFileSystem) throws {
    guard disk.openFileCount == 0 else {
      throw CrashOracle.Mismatch("\(disk.openFileCount) files were left open")
    }
    guard disk.lockCount == 0 else { throw CrashOracle.Mismatch("a lock is held") }
  }

  /// Opens without further failures: the result must be a possible version, and work continues.
  private func reopen(_ disk: SimulatedFileSystem, _ writer: CrashWriter, life: Int) throws {
    do {
      try examine(disk, writer, life: life, goesOn: true)
    } catch {
      throw CrashOracle.Mismatch("when opened again: \(error)")
    }
    try checkNothingLeaks(disk)
  }

  private func examine(
    _ disk: SimulatedFileSystem, _ writer: CrashWriter, life: Int, goesOn: Bool
  ) throws {
    let fixture = CrashFixture(disk, writer, isMapped: isMapped, life: life)
    var database = try fixture.open { $0.maintenance = .manual }
    try check(database)
    try writer.oracle.withLock { oracle in
      oracle.cut(after: try oracle.identify(database))
    }
    guard goesOn else { return }
    guard disk.names(in: "\(CrashFixture.path)/tmp").isEmpty else {
      throw CrashOracle.Mismatch("a temporary file was left")
    }
    let highest = writer.oracle.withLock { $0.highestSequence }
    try writer.commit(database, [.put("afterwards", size: 3)])
    guard let document = try database.snapshot().document("afterwards"), document.sequence > highest
    else { throw CrashOracle.Mismatch("a sequence up to \(highest) was handed out again") }
    try database.compact()
    try database.close()
    database = try fixture.open { $0.maintenance = .manual }
    try check(database)
    guard database.openingReport.ending == .closed else {
      throw CrashOracle.Mismatch("a closed store is found \(database.openingReport.ending)")
    }
    try writer.oracle.withLock { oracle in
      oracle.cut(after: try oracle.identify(database))
    }
  }

  private func check(_ database: Database) throws {
    if let damage = database.openingReport.damage.first {
      throw CrashOracle.Mismatch("a failing call was taken for damage: \(damage)")
    }
    if workload.asksViews { try ProofView.check(database) }
  }
}
