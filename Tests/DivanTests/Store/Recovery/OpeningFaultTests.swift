import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of openings that meet a full disk, a changing directory, or changing bytes.
///
/// Also tests writers whose calls other than those to the log fail.
struct OpeningFaultTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var disk: SimulatedFileSystem { fixture.fileSystem }

  private func expectNewest(_ database: Database) throws {
    let oracle = fixture.writer.oracle.withLock { $0 }
    #expect(try oracle.identify(database) == oracle.versions.count - 1)
  }

  /// Returns a store whose last commits may not be durable, as found after its process was killed.
  private func interrupted() throws -> CrashFixture {
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 200, durability: .none)
    return CrashFixture(disk.restarted(.processEnd), fixture.writer, isMapped: false, life: 40)
  }

  @Test func `a missing segment after a compacted one is reported as damage`() throws {
    var database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<9, size: 100)
    try database.close()
    database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 100)
    try database.close()
    database = try fixture.open { $0.maintenance = .manual }
    try database.compact()
    try fixture.fill(database, 4..<6, size: 100)
    try database.close()
    let newest = try #require(
      disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".segment") && !$0.contains("-") }
        .last)
    try disk.vanish("\(CrashFixture.path)/\(newest)")
    let opened = try fixture.open()
    #expect(opened.openingReport.damage.first?.message.contains("HEAD shows") == true)
    #expect(throws: DatabaseError.self) { try opened.write { _ in } }
    #expect(try opened.snapshot().document("doc-8") != nil)
  }

  @Test
  func `a store opens read-only if HEAD cannot be replaced after commits are reappended`()
    throws
  {
    let after = try interrupted()
    let disk = after.fileSystem
    disk.observeCalls { call in
      if call.verb == .create, call.path.hasSuffix("tmp/HEAD") {
        disk.fail(.create, with: .noSpace, isLasting: true)
      }
    }
    let full = try after.open { $0.maintenance = .manual }
    #expect(full.openingReport.notes.contains { $0.contains("full") })
    let error = #expect(throws: DatabaseError.self) { try full.write { _ in } }
    #expect(error?.code == .readOnly)
    try expectNewest(full)
    try full.close()
    disk.observeCalls(nil)
    disk.stopFailing()
    let later = try after.open { $0.maintenance = .manual }
    try expectNewest(later)
    try after.commit(later, [.put("new", size: 5)])
    try expectNewest(later)
  }

  /// Runs `body` for a store whose checkpoint cannot be read from the first or second read on.
  ///
  /// The reads are those of the header and of the directory.
  private func withUnreadableCheckpoint(
    _ code: SystemError.Code, _ body: (CrashFixture) throws -> Void
  ) throws {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 200)
      try database.writeCheckpoint()
      try database.close()
    }
    for failing in 1...2 {
      let left = CrashFixture(
        disk.restarted(.processEnd), fixture.writer, isMapped: false, life: 41)
      let disk = left.fileSystem
      let count = Atomic(0)
      disk.observeCalls { call in
        guard call.verb == .read, call.path.hasSuffix(".checkpoint") else { return }
        if count.wrappingAdd(1, ordering: .relaxed).newValue >= failing {
          disk.fail(.read, with: code)
        }
      }
      try body(left)
    }
  }

  @Test func `a checkpoint that the system cannot read now is used later`() throws {
    try withUnreadableCheckpoint(.tooManyOpenFiles) { left in
      let error = #expect(throws: DatabaseError.self) { try left.open { $0.maintenance = .manual } }
      #expect(error?.code == .resourceExhausted)
      left.fileSystem.observeCalls(nil)
      left.fileSystem.stopFailing()
      let database = try left.open { $0.maintenance = .manual }
      #expect(database.openingReport.notes.isEmpty && database.openingReport.replayedCommits == 0)
      try expectNewest(database)
    }
  }

  /// Regression: the segment counted as missing, and the checkpoint was deleted.
  @Test(arguments: [
    (SystemError.Code.tooManyOpenFiles, DatabaseError.Code.resourceExhausted),
    (.tooManyOpenFilesInSystem, .resourceExhausted), (.outOfMemory, .inputOutput),
    (.noAccess, .accessDenied),
  ])
  func `a checkpoint stays if the system cannot open a segment of it now`(
    code: SystemError.Code, expected: DatabaseError.Code
  ) throws {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 200)
      try database.writeCheckpoint()
      try database.close()
    }
    let disk = disk
    for isReadOnly in [true, false] {
      let isFirst = Atomic(true)
      disk.observeCalls { call in
        guard call.verb == .open, call.path.hasSuffix(".segment") else { return }
        if isFirst.exchange(false, ordering: .relaxed) { disk.fail(.open, with: code) }
      }
      let error = #expect(throws: DatabaseError.self) {
        try fixture.open {
          $0.maintenance = .manual
          $0.isReadOnly = isReadOnly
        }
      }
      #expect(error?.code == expected)
      disk.observeCalls(nil)
      disk.stopFailing()
    }
    let database = try fixture.open { $0.maintenance = .manual }
    #expect(database.openingReport.notes.isEmpty && database.openingReport.replayedCommits == 0)
    try expectNewest(database)
  }

  /// Regression: no opening succeeded, although the log had everything.
  @Test func `a checkpoint on a part of the medium that fails is not used`() throws {
    try withUnreadableCheckpoint(.inputOutput) { left in
      let database = try left.open { $0.maintenance = .manual }
      #expect(database.openingReport.notes.count == 1, "\(database.openingReport.notes)")
      #expect(database.openingReport.replayedCommits == 4)
      try expectNewest(database)
      left.fileSystem.observeCalls(nil)
      left.fileSystem.stopFailing()
      try database.writeCheckpoint()
      try database.close()
      let later = try left.open { $0.maintenance = .manual }
      #expect(later.openingReport.notes.isEmpty && later.openingReport.replayedCommits == 0)
    }
  }

  @Test func `bytes that change while they are reappended are damage`() throws {
    let after = try interrupted()
    let disk = after.fileSystem
    let isFirst = Atomic(true)
    disk.observeCalls { call in
      // The commits were read and are intact; now the new segment is created.
      if call.verb == .create, call.path.hasSuffix("tmp/0000000002.segment"),
        isFirst.exchange(false, ordering: .relaxed)
      {
        try? disk.corrupt("\(CrashFixture.path)/0000000001.segment", atOffset: 4096 + 700, mask: 1)
      }
    }
    let error = #expect(throws: DatabaseError.self) { try after.open { $0.maintenance = .manual } }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("have changed since they were read") == true)
    #expect(!disk.names(in: CrashFixture.path).contains("0000000002.segment"))
  }

  @Test func `damage is reported once, whichever reader finds it first`() throws {
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 200)
    try database.close()
    let path = "\(CrashFixture.path)/0000000001.segment"
    try disk.corrupt(path, atOffset: 4096 + 700, mask: 1)
    let opened = try fixture.open()
    #expect(opened.openingReport.damage.count == 1)
    let locations = try opened.check().problems.map { "\($0.path ?? "") \($0.offset ?? -1)" }
    #expect(Set(locations).count == locations.count)
    #expect(locations.contains { $0.hasPrefix(path) })
  }

  @Test func `a store whose directory changes at every listing can still be opened`() throws {
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<9, size: 3000)
    try database.close()
    let disk = disk
    let number = Atomic(1000)
    // At each listing, a file of the store is removed and another one is added.
    @Sendable func change(_ call: SimulatedCall) {
      guard call.verb == .list else { return }
      let next = number.wrappingAdd(1, ordering: .relaxed).newValue
      try? disk.vanish("\(CrashFixture.path)/000000\(next - 1).checkpoint")
      _ = try? disk.open("\(CrashFixture.path)/000000\(next).checkpoint", .creating)
    }
    disk.observeCalls(change)
    let sound = try fixture.open { $0.isReadOnly = true }
    try expectNewest(sound)
    try disk.corrupt("\(CrashFixture.path)/0000000002.segment", atOffset: 4096 + 900, mask: 8)
    let damaged = try fixture.open { $0.isReadOnly = true }
    #expect(!damaged.openingReport.damage.isEmpty)
    for name in disk.names(in: CrashFixture.path) where name.hasSuffix(".segment") {
      try disk.vanish("\(CrashFixture.path)/\(name)")
    }
    let error = #expect(throws: DatabaseError.self) { try fixture.open { $0.isReadOnly = true } }
    #expect(error?.code == .damaged)
    disk.observeCalls(nil)
  }

  @Test func `the holder of a lock without a note is reported as another process`() throws {
    let disk = disk
    try disk.makeDirectory(CrashFixture.path)
    guard case .acquired(let lock) = try disk.lock("\(CrashFixture.path)/LOCK", note: "") else {
      Issue.record("a free lock was refused")
      return
    }
    let error = #expect(throws: DatabaseError.self) { try fixture.open() }
    #expect(error?.code == .storeInUse)
    #expect(error?.message == "the store is open in another process")
    lock.release()
    try fixture.open().close()
  }

  @Test func `a HEAD that could not be replaced is replaced before the next commit`() throws {
    let database = try fixture.open { $0.maintenance = .manual }
    let disk = disk
    disk.observeCalls { call in
      if call.verb == .create, call.path.hasSuffix("tmp/HEAD") {
        disk.fail(.create, with: .inputOutput)
      }
    }
    #expect(throws: DatabaseError.self) { try fixture.commit(database, [.put("a", size: 1)]) }
    disk.observeCalls(nil)
    disk.stopFailing()
    #expect(!disk.names(in: CrashFixture.path).contains("HEAD"))
    try fixture.commit(database, [.put("b", size: 1)])
    #expect(disk.names(in: CrashFixture.path).contains("HEAD"))
    // From then on, a missing segment is reported as an error.
    let left = disk.restarted(.strict)
    try left.vanish("\(CrashFixture.path)/0000000001.segment")
    #expect(throws: DatabaseError.self) { try CrashFixture(left, fixture.writer, life: 60).open() }
    try expectNewest(database)
  }

  /// Regression: the other flush got the only report of the error, and the commit was acknowledged.
  @Test func `a commit is not acknowledged if another flush of the directory fails meanwhile`()
    throws
  {
    let database = try fixture.open { $0.maintenance = .manual }
    let disk = disk
    let directory = database.store.directory
    disk.observeCalls { call in
      guard call.verb == .rename, call.path.hasSuffix(".segment") else { return }
      disk.fail(.flushDirectory, with: .inputOutput)
      // As a reader does that finds a damaged page.
      try? directory.requestCheck()
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try _ = $0.replace("a", with: [:]) }
    }
    #expect(error?.code == .outcomeUnknown)
    disk.observeCalls(nil)
    let next = #expect(throws: DatabaseError.self) {
      try database.write { try _ = $0.replace("b", with: [:]) }
    }
    #expect(next?.code == .writerStopped)
  }

  @Test func `new records can be read even if they cannot be mapped into memory`() throws {
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.segmentSizeGoal = 64 << 20
    }
    disk.fail(.map, with: .outOfMemory, isLasting: true)
    try fixture.fill(database, 0..<3, size: 700_000)
    try expectNewest(database)
    disk.stopFailing()
    try fixture.fill(database, 3..<5, size: 700_000)
    try expectNewest(database)
  }
}
