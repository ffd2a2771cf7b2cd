import DivanLog
import DivanTesting
import Synchronization

/// Lets every call fail with each kind of fault, and continues in three ways.
package struct FaultProof: Proof {
  package static let name = "faults"
  package static let claim =
    "if any call fails in any way, nothing is lost, invented or left behind"

  package init() {}

  private struct Key: Hashable {
    let site: CallSite
    let kind: FaultKind
    let isLasting: Bool
  }

  package func gather(_ run: ProofRun) throws {
    var workloads = CrashWorkload.all + CrashWorkload.alsoForFaults
    if run.budget == .test {
      // Finding their calls takes long already.
      workloads = workloads.enumerated().filter { $0.offset % 12 == 0 }.map(\.element)
    }
    // Mapped or not, the stores are the same; only the reader differs.
    let starts = try workloads.map { try FaultStart($0, isMapped: true) }
    let plan = try FaultPlan(workloads, starts)
    let byName = Dictionary(
      zip(workloads.map(\.name), starts), uniquingKeysWith: { first, _ in first })
    var trials: [FaultTrial]
    if run.only != nil {
      trials = plan.everything
    } else {
      trials = plan.chosen(
        perPlace: run.budget.choose(test: 1, ci: 1, night: 200, release: 2000), seed: run.seed)
      if run.budget == .test {
        // A sample with a fixed stride.
        trials = trials.enumerated().filter { $0.offset % 20 == 0 }.map(\.element)
      }
    }
    trials += plan.compound(
      run.budget.choose(test: 20, ci: 1000, night: 200_000, release: 2_000_000), seed: run.seed)

    let counts = Mutex<[Key: Int]>([:])
    run.forEach(trials, name: \.name) { trial in
      guard let start = byName[trial.workload.name] else { return }
      try trial.run(from: start)
      run.count(trial.second == nil ? "faults" : "pairs of faults")
      counts.withLock {
        $0[Key(site: trial.site, kind: trial.kind, isLasting: trial.isLasting), default: 0] += 1
      }
    }
    run.count("calls", plan.calls.count)
    run.count("call sites", plan.sites.count)
    report(counts.withLock { $0 }, plan, run)
  }

  /// Reports for each call site the trials of the fault kind that was tried least.
  private func report(_ counts: [Key: Int], _ plan: FaultPlan, _ run: ProofRun) {
    guard run.only == nil, run.budget != .test else { return }
    var least = Int.max
    for site in plan.sites.sorted(by: { "\($0)" < "\($1)" }) {
      let tried = FaultKind.all(for: site.verb).flatMap { kind in
        [false, true].map { counts[Key(site: site, kind: kind, isLasting: $0)] ?? 0 }
      }
      let fewest = tried.min() ?? 0
      least = min(least, fewest)
      run.note(
        "\(site): \(tried.count) kinds, each \(fewest) times or more, "
          + "\(tried.reduce(0, +)) in all")
    }
    run.count("times or more each kind of fault at each call site", least)
    run.require("times or more each kind of fault at each call site", atLeast: 1)
  }
}
