/// Power lost at every call of many short workloads, with every kind of loss.
package struct CrashProof: Proof {
  package static let name = "crash"
  package static let claim = "whenever the power goes, a prefix of the commits is left"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    run.forEach(CrashWorkload.all, name: \.name) { workload in
      let explorer = CrashExplorer(workload)
      try explorer.explore()
      run.note("\(workload.name): \(explorer.summary)")
      for failure in explorer.failures.all { run.fail(failure, caseName: workload.name) }
      run.count("states", explorer.stateCount)
    }
  }
}
