import Divan
import DivanLog
import DivanTesting
import Synchronization

/// One run of a workload on a disk that lies once or always, and the result.
struct LyingTrial: Sendable {
  /// The operation that the disk lies about.
  enum Kind: String, CaseIterable, Sendable {
    case lostWrite = "a write is lost"
    case misdirectedInFile = "a write hits another place in its file"
    case misdirectedElsewhere = "a write hits another file"
    case ignoredFlush = "a flush does nothing"
    case ignoredDirectoryFlush = "a directory's flush does nothing"
    case ignoredFlushes = "flushes do nothing from then on"
    case belatedError = "a flush fails, and the next flush reports it"
    case belatedErrorOfAnyCall = "a flush fails, and the next write, flush or closing reports it"
  }

  /// The result, from best to worst.
  enum Outcome: String, CaseIterable, Sendable {
    case same = "everything"
    case reported = "reported damage"
    case older = "an older version"
    case nothing = "an empty store"
    case gone = "no store at all"
    case mixed = "a mixture"
  }

  let workload: CrashWorkload
  let kind: Kind
  /// The number, from 1, among the writes, or the flushes of files, or of directories.
  let call: Int
  let loss: SimulatedDisk.Loss
  /// The number of calls after which the page cache drops its contents; never if nil.
  let forgottenAfterCalls: Int?
  let isMapped: Bool

  var name: String {
    "\(workload.name), \(kind.rawValue), \(call), \(loss)"
      + (forgottenAfterCalls.map { ", forgotten after \($0)" } ?? "")
      + (isMapped ? ", mapped." : ", buffered.")
  }
}

extension LyingTrial.Kind {
  /// Whether the lie surfaces as an error of a later call.
  var isBelated: Bool { self == .belatedError || self == .belatedErrorOfAnyCall }
}

extension LyingTrial {
  struct Result: Sendable {
    let outcome: Outcome
    let isClosed: Bool
    /// The number of fully durable commits that are missing without an error.
    let missing: Int
  }

  private func arm(_ disk: SimulatedFileSystem) {
    func lie(_ lie: SimulatedDisk.Lie, isLasting: Bool = false) {
      disk.lie(
        lie, atCall: call, isLasting: isLasting, forgottenAfterCalls: forgottenAfterCalls)
    }
    switch kind {
    case .lostWrite: lie(.lostWrite)
    case .misdirectedInFile: lie(.misdirectedWrite(path: nil, offset: 64 * (call % 80)))
    case .misdirectedElsewhere:
      let names = disk.names(in: CrashFixture.path).filter { $0.contains(".") }
      let victim = names.isEmpty ? "none" : names[call % names.count]
      lie(
        .misdirectedWrite(path: "\(CrashFixture.path)/\(victim)", offset: 512 * (call % 11)))
    case .ignoredFlush: lie(.ignoredFlush)
    case .ignoredDirectoryFlush: lie(.ignoredDirectoryFlush)
    case .ignoredFlushes:
      lie(.ignoredFlush, isLasting: true)
      lie(.ignoredDirectoryFlush, isLasting: true)
    case .belatedError: disk.failFlush(atCall: call, .reportsAtNextFlush)
    case .belatedErrorOfAnyCall: disk.failFlush(atCall: call, .reportsAtNextCall)
    }
  }

  /// Runs the trial; throws if it finds data that was never stored.
  func run(from start: FaultStart) throws -> Result {
    let fixture = start.fixture(isMapped: isMapped)
    let disk = fixture.fileSystem
    fixture.tolerance.keepsDatabase = true
    fixture.tolerance.goesOn = true
    arm(disk)
    var isReported = false
    do { try workload.work(fixture) } catch let error as DatabaseError {
      // The late error may be reported to a caller that opens the store, or copies it.
      if !kind.isBelated || ![.inputOutput, .outcomeUnknown].contains(error.code) {
        guard error.code == .damaged else { throw error }
        isReported = true
      }
    }
    for error in fixture.tolerance.errors where error.code == .damaged { isReported = true }
    let database = fixture.tolerance.takeDatabase()
    let isClosed = (try? database?.snapshot()) == nil
    disk.stopFailing()
    let left = disk.restarted(loss)
    let oracle = fixture.writer.oracle.withLock { $0 }
    guard left.names(in: "/").contains("store.divan") else {
      return Result(outcome: .gone, isClosed: isClosed, missing: 0)
    }
    let last = oracle.secured
    let found: Int?
    do { found = try examine(left, oracle) } catch let error as CrashOracle.Mismatch {
      // No guarantee is possible for a disk that keeps arbitrary parts of everything written.
      guard kind == .ignoredFlushes, case .random = loss else { throw error }
      return Result(outcome: .mixed, isClosed: isClosed, missing: 0)
    }
    switch found {
    case nil: return Result(outcome: .reported, isClosed: isClosed, missing: 0)
    case let index? where index >= last:
      return Result(outcome: isReported ? .reported : .same, isClosed: isClosed, missing: 0)
    case let index?:
      return Result(
        outcome: isReported ? .reported : index == 0 ? .nothing : .older, isClosed: isClosed,
        missing: isReported ? 0 : last - index)
    }
  }

  /// Returns the version that is found without an error; nil if damage is reported.
  private func examine(_ disk: SimulatedFileSystem, _ oracle: CrashOracle) throws -> Int? {
    var oracle = oracle
    oracle.secured = 0
    let fixture = CrashFixture(disk, CrashWriter(oracle, seed: 3), isMapped: isMapped, life: 90)
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      if !database.openingReport.damage.isEmpty {
        try oracle.requireNoInventions(in: database)
        return nil
      }
      let index = try oracle.identify(database)
      // Damage in parts that were not read yet shows when everything is read.
      oracle.secured = index
      let writer = CrashWriter(oracle, seed: 5)
      writer.oracle.withLock { $0.cut(after: index) }
      try writer.commit(database, [.put("afterwards", size: 3)])
      try database.compact()
      _ = try writer.oracle.withLock { try $0.identify(database) }
      try database.close()
      return index
    } catch let error as DatabaseError {
      guard [.damaged, .notAStore, .readOnly].contains(error.code) else { throw error }
      return nil
    }
  }
}
