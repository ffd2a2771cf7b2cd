import DivanLog
import Synchronization

/// A planned fault at a call.
struct PlannedFault {
  /// The number of the call, counted from 1 over all calls.
  let call: Int
  let description: String
  let plan: (SimulatedDisk) -> Void
}

extension [SimulatedDisk.Verb] {
  /// Returns all faults that are possible at these calls.
  func faults(
    _ failures: [SimulatedDisk.Failure], _ isLasting: [Bool]
  ) -> [PlannedFault] {
    var faults: [PlannedFault] = []
    var flush = 0
    for (index, verb) in enumerated() {
      let call = index + 1
      for isLasting in isLasting {
        for failure in failures {
          faults.append(
            PlannedFault(
              call: call,
              description: "fail(atCall: \(call), with: .\(failure), isLasting: \(isLasting))"
            ) { $0.fail(atCall: call, with: failure, isLasting: isLasting) })
        }
      }
      guard verb == .flush else { continue }
      flush += 1
      let ways: [SimulatedDisk.FailedFlush] = [
        .keepsNewBytes, .revertsToOldBytes(afterCalls: 2),
      ]
      for (isLasting, way) in isLasting.flatMap({ lasting in ways.map { (lasting, $0) } }) {
        faults.append(
          PlannedFault(
            call: call,
            description: "failFlush(atCall: \(flush), .\(way), isLasting: \(isLasting))"
          ) { [flush] in $0.failFlush(atCall: flush, way, isLasting: isLasting) })
      }
    }
    return faults
  }
}

extension SimulatedDisk {
  /// The calls that work makes to a disk, and the space that it takes.
  struct Record: Equatable, Sendable {
    var verbs: [Verb] = []
    var greatestSize = 0
    var changingCallCount: Int { verbs.count { $0.isChanging } }
  }

  /// Returns a copy of this disk where nothing is open and no fault is planned.
  func forked(_ event: String = "") -> SimulatedDisk {
    var random = random.withLock { $0 }
    return successor(files.forked(seed: random.next()), event)
  }

  /// Runs work twice without a fault; returns the calls that it made.
  func dryRun(_ work: (SimulatedDisk) throws -> Void) throws -> Record {
    var runs: [(record: Record, trace: UInt64)] = []
    for _ in 0..<2 {
      let disk = forked()
      let record = try disk.recording { _ in try work(disk) }
      runs.append((record, disk.traceHash))
    }
    guard runs[0].record == runs[1].record, runs[0].trace == runs[1].trace else {
      throw SimulatedTrialsDiffer()
    }
    return runs[0].record
  }

  /// Runs `body`, which can read the record so far; returns the whole record.
  func recording(_ body: (() -> Record) throws -> Void) rethrows -> Record {
    let record = Guarded(Record())
    files.observeCalls { [unowned self] call in
      // Only a call that changes something takes space.
      let size = call.verb.isChanging ? usedBytes : 0
      record.withLock { record in
        record.verbs.append(call.verb)
        record.greatestSize = max(record.greatestSize, size)
      }
    }
    defer { files.observeCalls(nil) }
    try body { record.withLock { $0 } }
    let size = usedBytes
    return record.withLock { record in
      record.greatestSize = max(record.greatestSize, size)
      return record
    }
  }

  /// Runs work that a fault disturbs; `hasFailed` returns whether the fault has occurred.
  func attempt(
    _ work: (SimulatedDisk) throws -> Void, hasFailed: () -> Bool
  ) throws {
    do {
      try work(self)
    } catch {
      if !hasFailed() { throw SimulatedTrialFailure(disk: "\(self)", underlying: error) }
    }
  }

  func check(
    _ losses: [Loss], _ trials: inout SimulatedTrials, _ check: (SimulatedDisk) throws -> Void
  ) throws {
    trials.runCount += 1
    for loss in losses {
      let left = restarted(loss)
      trials.checkCount += 1
      do {
        try check(left)
      } catch {
        throw SimulatedTrialFailure(disk: "\(left)", underlying: error)
      }
    }
  }
}

extension SimulatedFileSystem {
  /// Returns a copy of this file system where nothing is open.
  fileprivate func forked(seed: UInt64) -> SimulatedFileSystem {
    var fork = state.withLock { $0 }
    for index in fork.files.indices { fork.files[index].isLocked = false }
    return SimulatedFileSystem(fork, control.withLock { $0.afterProcessEnd(seed: seed) })
  }
}
