/// Loses power at every call of many short workloads, with every kind of loss.
package struct CrashProof: Proof {
  package static let name = "crash"
  package static let claim = "after any loss of power, a prefix of the commits is left"

  package init() {}

  /// A workload, and how it and the stores that it leaves are read.
  private struct Case: Sendable {
    let workload: CrashWorkload
    let isMapped: Bool
    var alternatesReading = false
    var name: String { workload.name + (isMapped ? "" : " (buffered)") }
  }

  package func gather(_ run: ProofRun) throws {
    let census = CrashCensus()
    let ledger = try run.ledgerPath.map { try CrashLedger(at: $0, run) }
    if let ledger { census.add(ledger.counts) }
    let done = ledger?.done ?? []
    run.count("workloads", done.count)
    run.forEach(cases(run).filter { !done.contains($0.name) }, name: \.name) { one in
      let explorer = CrashExplorer(
        one.workload, isMapped: one.isMapped, alternatesReading: one.alternatesReading,
        effort: CrashEffort(
          run.budget, isPicked: run.only != nil, isOneOfMany: one.workload.isOneOfMany,
          isRich: one.workload.isRich),
        seed: run.seed)
      try explorer.explore()
      census.add(explorer.result)
      run.count("workloads")
      let failures = explorer.failures.all
      for failure in failures.prefix(3) { run.fail(failure, caseName: one.name) }
      // Failed cases are tried again by the run that resumes.
      if failures.isEmpty { try ledger?.note(one.name, census) }
    }
    try ledger?.finish(census)
    report(census.total, run)
  }

  private func cases(_ run: ProofRun) -> [Case] {
    let workloads = CrashWorkload.all + CrashWorkload.alsoForCrashes
    let byHand = workloads.enumerated().flatMap { (index, workload) in
      let both = [
        Case(workload: workload, isMapped: true), Case(workload: workload, isMapped: false),
      ]
      switch run.budget {
      case .test: return [both[index % 2]]
      // The same images are left, mapped or not. Each is opened in one of both ways.
      case .ci: return [Case(workload: workload, isMapped: index % 2 == 0, alternatesReading: true)]
      case .night, .release: return both
      }
    }
    let composed = [
      CrashWorkload.plain(run.budget, seed: run.seed),
      CrashWorkload.rich(run.budget, seed: run.seed),
    ]
    return CrashProof.spread(
      [byHand]
        + composed.map { workloads in
          workloads.enumerated().map { .init(workload: $0.element, isMapped: $0.offset % 2 == 0) }
        })
  }

  /// Interleaves groups in one list, each spread over the whole of it.
  ///
  /// So a run that is interrupted has tried the same share of each group.
  private static func spread(_ groups: [[Case]]) -> [Case] {
    let placed = groups.enumerated().flatMap { (number, group) in
      group.enumerated().map { (index, one) in
        (share: Double(index) / Double(group.count), number: number, one: one)
      }
    }
    return placed.sorted { ($0.share, $0.number) < ($1.share, $1.number) }.map(\.one)
  }

  private func report(_ counts: CrashCensus.Counts, _ run: ProofRun) {
    reportPersonalities(counts, run)
    reportSites(counts, run)
    run.count("calls that changed something, at which power was lost", counts.calls)
    run.count("losses tried", counts.tried)
    run.count("images opened, each workload's by itself", counts.examined)
    run.count("distinct durable images", counts.images.count)
    run.count("distinct states", counts.states.count)
    run.count("states opened for reading only", counts.readings)
    run.count("states written to and opened again", counts.continuations)
    run.count("losses tried in recoveries", counts.recoveryCrashesTried)
    run.count("crashes in recovery", counts.recoveryCrashes.reduce(0, +))
    run.count("of these in the recovery from a crash in recovery", counts.recoveryCrashes[1])
    run.require("workloads", atLeast: run.budget.choose(test: 20, ci: 60, night: 60, release: 60))
    run.require(
      "distinct states",
      atLeast: run.budget.choose(test: 1_000, ci: 200_000, night: 5_000_000, release: 20_000_000))
    run.require(
      "crashes in recovery",
      atLeast: run.budget.choose(test: 20, ci: 25_000, night: 250_000, release: 1_000_000))
    run.require(
      "of these in the recovery from a crash in recovery",
      atLeast: run.budget.choose(test: 1, ci: 5_000, night: 100_000, release: 500_000))
  }

  private func reportPersonalities(_ counts: CrashCensus.Counts, _ run: ProofRun) {
    run.note("   losses   images  left by")
    for personality in CrashLoss.personalities {
      let tally = counts.personalities[personality] ?? .init()
      run.note("\(right(tally.tried, 9))\(right(tally.images, 9))  \(personality)")
      if tally.images == 0, run.only == nil, run.budget != .test {
        run.fail("no image is left by: \(personality)")
      }
    }
  }

  private func reportSites(_ counts: CrashCensus.Counts, _ run: ProofRun) {
    run.note("   losses   new images  in recovery  at")
    let found = Dictionary(uniqueKeysWithValues: counts.sites.map { ($0.key.description, $0) })
    let recovery = Dictionary(
      uniqueKeysWithValues: counts.recoverySites.map { ($0.key.description, $0.value) })
    for site in Set(found.keys).union(recovery.keys).sorted() {
      let tally = found[site]?.value ?? .init()
      run.note(
        "\(right(tally.tried, 9))\(right(tally.images, 13))\(right(recovery[site] ?? 0, 13))  \(site)"
      )
    }
    let unlisted = Set(found.keys).union(recovery.keys).subtracting(CrashSites.expected).sorted()
    if !unlisted.isEmpty {
      let list = unlisted.joined(separator: "; ")
      // Longer runs compose more workloads, and so reach calls that shorter ones do not.
      if run.budget == .test || run.budget == .ci {
        run.fail("add calls to CrashSites.swift: \(list)")
      } else {
        run.note("not in CrashSites.swift, since `ci` does not come there: \(list)")
      }
    }
    run.count("call sites", found.count)
    // With another seed, other workloads are chosen.
    guard run.only == nil, run.seed == 0, run.budget != .test else { return }
    let missed = CrashSites.expected.filter { found[$0] == nil && recovery[$0] == nil }
    if !missed.isEmpty {
      run.fail(
        "power was never lost at some calls; take those that are not made any more out of "
          + "CrashSites.swift: \(missed.joined(separator: "; "))")
    }
  }

  private func right(_ number: Int, _ width: Int) -> String {
    let text = "\(number)"
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
