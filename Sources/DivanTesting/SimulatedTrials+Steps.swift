import DivanLog
import Synchronization

/// Something that is to go wrong at a call.
struct PlannedFault {
  /// Counted from 1 over all calls.
  let call: Int
  let description: String
  let plan: (SimulatedDisk) -> Void
}

extension [SimulatedDisk.Verb] {
  /// All that can go wrong where these calls are made.
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
  /// What work does of a disk, as far as trials need it.
  struct Record: Equatable, Sendable {
    var verbs: [Verb] = []
    var greatestSize = 0
    var changingCallCount: Int { verbs.count { $0.isChanging } }
  }

  /// A disk of its own that is like this one, where nothing is open and nothing is to go wrong.
  func forked(_ event: String = "") -> SimulatedDisk {
    var random = random.withLock { $0 }
    return successor(files.forked(seed: random.next()), event)
  }

  /// Runs work twice without a fault; returns what it did.
  func rehearse(_ work: (SimulatedDisk) throws -> Void) throws -> Record {
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

  /// Runs `body`, which can see what was done so far; returns what was done.
  func recording(_ body: (() -> Record) throws -> Void) rethrows -> Record {
    let record = Guarded(Record())
    files.observeCalls { [unowned self] call in
      // Only what changes something takes space.
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

  /// Runs work that something goes wrong with; `hasFailed` tells whether it did already.
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
  /// A file system of its own that is like this one, where nothing is open.
  fileprivate func forked(seed: UInt64) -> SimulatedFileSystem {
    var fork = state.withLock { $0 }
    for index in fork.files.indices { fork.files[index].isLocked = false }
    return SimulatedFileSystem(fork, control.withLock { $0.afterProcessEnd(seed: seed) })
  }
}
