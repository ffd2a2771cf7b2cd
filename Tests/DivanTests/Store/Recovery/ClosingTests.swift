import Dispatch
import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import Testing

@testable import Divan

/// Tests of maintenance and closing at the same time.
///
/// Closing waits for maintenance, and then does its own final work. Maintenance that began in
/// between used the same index, and two simultaneous checkpoints of it trapped.
struct ClosingTests {
  enum Call: String, CaseIterable, Sendable {
    case compact, backup, checkpoint, compactWhatPays

    func make(of database: Database) throws {
      switch self {
      case .compact: try database.compact()
      case .backup: try database.backup(to: "/copy.divan")
      case .checkpoint: try database.writeCheckpoint()
      case .compactWhatPays: try database.compactWhatPays()
      }
    }
  }

  /// Runs `body` on its own thread; records the error code, or `nil`.
  private func begin(_ body: @escaping @Sendable () throws -> Void) -> Recorder<DatabaseError.Code?>
  {
    let outcome = Recorder<DatabaseError.Code?>()
    DispatchQueue(label: "test").async {
      do {
        try body()
        outcome.append(nil)
      } catch {
        outcome.append((error as? DatabaseError)?.code ?? DatabaseError.Code("\(error)", 0))
      }
    }
    return outcome
  }

  private func wait(until isSo: () -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(100)
    while !isSo() {
      try #require(ContinuousClock.now < deadline, "the condition is never met")
      usleep(100)
    }
  }

  @Test(arguments: Call.allCases)
  func `maintenance that begins while the database closes is refused at once`(call: Call) throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<9)
    let (hasLock, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let writing = begin {
      try database.write { _ in
        hasLock.signal()
        mayEnd.wait()
      }
    }
    hasLock.wait()
    let closing = begin { try database.close() }
    // The thread waits for the writer lock, which is its next step.
    try wait { database.store.writerLock.waiterCount == 1 }
    let refused = begin { try call.make(of: database) }
    try wait { !refused.all.isEmpty || database.store.writerLock.waiterCount == 2 }
    #expect(refused.all == [.closed], "the call is not refused")
    mayEnd.signal()
    try wait { !writing.all.isEmpty && !closing.all.isEmpty && !refused.all.isEmpty }
    #expect(closing.all == [nil])
    #expect(fixture.fileSystem.names(in: "/") == ["store.divan"])
    let reopened = try fixture.open()
    #expect(reopened.openingReport.ending == .closed)
    _ = try fixture.writer.oracle.withLock { try $0.identify(reopened) }
  }

  @Test(arguments: [Call.compact, .checkpoint])
  func `closing waits for a checkpoint in progress before it writes its own`(call: Call)
    throws
  {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let disk = fixture.fileSystem
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<9)
    let (isWriting, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isFirst = Atomic(true)
    disk.observeCalls { call in
      guard call.verb == .write, call.path.hasSuffix(".checkpoint"),
        isFirst.exchange(false, ordering: .relaxed)
      else { return }
      isWriting.signal()
      mayGoOn.wait()
    }
    let working = begin { try call.make(of: database) }
    isWriting.wait()
    // Enough data that closing writes a checkpoint.
    try fixture.commit(
      database, (0..<70).map { .put("large-\($0)", size: 16 << 10) }, durability: .none)
    #expect(database.store.maintenance.isClosingCheckpointDue)
    let closing = begin { try database.close() }
    try wait { database.store.maintenance.isStopped }
    usleep(20_000)
    #expect(closing.all.isEmpty)
    mayGoOn.signal()
    try wait { !working.all.isEmpty && !closing.all.isEmpty }
    #expect(closing.all == [nil])
    #expect(working.all == [nil])
    disk.observeCalls(nil)
    let reopened = try fixture.open()
    #expect(reopened.openingReport.ending == .closed)
    #expect(reopened.openingReport.replayedCommits == 0)
    let oracle = fixture.writer.oracle.withLock { $0 }
    #expect(try oracle.identify(reopened) == oracle.versions.count - 1)
  }
}
