import DivanLog
import DivanTesting
import Synchronization

/// Tests disks that report work as done that they did not do.
package struct LyingProof: Proof {
  package static let name = "lies"
  package static let claim =
    "data that a lying disk lost is reported, within the limits of the promises"

  package init() {}

  private struct Key: Hashable {
    let kind: LyingTrial.Kind
    let isClosed: Bool
    let outcome: LyingTrial.Outcome
  }

  package func gather(_ run: ProofRun) throws {
    let workloads = (CrashWorkload.all + CrashWorkload.alsoForFaults).filter {
      // Lies about large files show nothing that lies about small ones do not. A reader beside the
      // writer sees what the page cache drops during the work. A workload that checks
      // a view compares it with the documents, some of which may be lost.
      !$0.isHeavy && $0.name != CrashWorkload.readingOnly.name && !$0.asksViews
    }
    let starts = try workloads.map { try FaultStart($0, isMapped: true) }
    let plan = try FaultPlan(workloads, starts)
    let byName = Dictionary(
      zip(workloads.map(\.name), starts), uniquingKeysWith: { first, _ in first })
    var trials = plan.lies
    if run.only == nil {
      let share = run.budget.choose(test: 200, ci: 1, night: 1, release: 1)
      trials = trials.enumerated().filter { $0.offset % share == 0 }.map(\.element)
    }
    let counts = Mutex<[Key: (count: Int, missing: Int)]>([:])
    run.forEach(trials, name: \.name) { trial in
      guard let start = byName[trial.workload.name] else { return }
      let result = try trial.run(from: start)
      try judge(trial, result)
      run.count("lies")
      let key = Key(kind: trial.kind, isClosed: result.isClosed, outcome: result.outcome)
      counts.withLock {
        let before = $0[key] ?? (0, 0)
        $0[key] = (before.count + 1, max(before.missing, result.missing))
      }
    }
    report(counts.withLock { $0 }, run)
  }

  /// Throws if a result is not acceptable even though the disk lied.
  private func judge(_ trial: LyingTrial, _ result: LyingTrial.Result) throws {
    guard result.outcome == .older || result.outcome == .nothing else { return }
    // If no flush has an effect, the whole store is as it was at some time.
    if trial.kind == .ignoredFlushes { return }
    if result.isClosed {
      throw CrashOracle.Mismatch(
        "\(result.missing) commits of a closed store are missing without a report")
    }
    if result.missing > 1 {
      throw CrashOracle.Mismatch("\(result.missing) commits are missing without a report")
    }
  }

  private func report(_ counts: [Key: (count: Int, missing: Int)], _ run: ProofRun) {
    for isClosed in [true, false] {
      for kind in LyingTrial.Kind.allCases {
        let parts = LyingTrial.Outcome.allCases.compactMap { outcome -> String? in
          guard let found = counts[Key(kind: kind, isClosed: isClosed, outcome: outcome)] else {
            return nil
          }
          let missing = found.missing > 0 ? " (up to \(found.missing) commits missing)" : ""
          return "\(found.count) times \(outcome.rawValue)\(missing)"
        }
        guard !parts.isEmpty else { continue }
        run.note(
          "\(isClosed ? "closed" : "not closed"), \(kind.rawValue): "
            + parts.joined(separator: ", "))
      }
    }
  }
}

extension FaultPlan {
  /// Every lie about every write and flush.
  fileprivate var lies: [LyingTrial] {
    var trials: [LyingTrial] = []
    for workload in workloads.indices {
      func count(_ verb: SimulatedDisk.Verb) -> Int {
        calls.count { $0.workload == workload && $0.site.verb == verb }
      }
      for kind in LyingTrial.Kind.allCases {
        let verb: SimulatedDisk.Verb =
          switch kind {
          case .lostWrite, .misdirectedInFile, .misdirectedElsewhere: .write
          case .ignoredFlush, .ignoredFlushes, .belatedError, .belatedErrorOfAnyCall: .flush
          case .ignoredDirectoryFlush: .flushDirectory
          }
        for call in 1...max(1, count(verb)) {
          for (loss, forgotten) in [
            (.strict, nil), (.everything, nil), (.strict, 3), (.random(seed: UInt64(call)), 20),
          ] as [(SimulatedDisk.Loss, Int?)] where forgotten == nil || !kind.isBelated {
            trials.append(
              LyingTrial(
                workload: workloads[workload], kind: kind, call: call, loss: loss,
                forgottenAfterCalls: forgotten, isMapped: (call + workload) % 2 == 0))
          }
        }
      }
    }
    return trials
  }
}
