import DivanSync

/// Replicates through networks that fail, between stores whose processes are killed.
///
/// Several threads take part, so a seed repeats the edits and faults, and not each order of them.
package struct ReplicationProof: Proof {
  package static let name = "replication"
  package static let claim =
    "stores have the same leaves, winners, contents and attachments after any cut and kill"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let worlds = worlds(run)
    run.forEach(worlds, name: \.name) { world in
      var trial = try ReplicationTrial(seed: world.seed, editCount: world.editCount, run)
      do {
        try trial.play()
      } catch {
        throw CrashOracle.Mismatch(
          "\(error)\n  \(trial.told.joined(separator: "\n  "))\n  \(trial.evidence)")
      }
      run.count("worlds")
    }
    run.require("edits", atLeast: worlds.reduce(0) { $0 + $1.editCount })
    run.require("processes killed", atLeast: worlds.count)
    // With only a few exchanges, there may be none of some kind.
    let kinds =
      run.budget == .test
      ? [] : ["cuts", "stale answers", "answers of a proxy", "of them in conflict"]
    for figure in kinds {
      run.require(figure, atLeast: 1)
    }
    try gatherCuts(run)
  }

  private struct World {
    var seed: UInt64
    var editCount: Int
    var name: String { "world \(seed) of \(editCount) edits" }
  }

  private func worlds(_ run: ProofRun) -> [World] {
    let (count, editCount) = run.budget.choose(
      test: (2, 150), ci: (8, 400), night: (50, 2000), release: (200, 2000))
    var worlds = (0..<UInt64(count)).map {
      World(seed: run.seed &+ $0, editCount: editCount)
    }
    if run.budget == .release { worlds.insert(World(seed: run.seed, editCount: 100_000), at: 0) }
    return worlds
  }

  /// Cuts an exchange of ten documents at its bytes, in each direction.
  private func gatherCuts(_ run: ProofRun) throws {
    let step = run.budget.choose(test: 997, ci: 61, night: 1, release: 1)
    for direction in [Replicator.Direction.pull, .push] {
      let size = try CutTrial(direction).size()
      run.count("bytes of an exchange, \(direction)", size)
      // Another part of the bytes with each seed.
      let first = Int(run.seed % UInt64(step))
      let places = Array(stride(from: first, to: size, by: step))
      run.forEach(places, name: { "\(direction) cut at byte \($0)." }) { place in
        try CutTrial(direction).play(cutAt: place)
        run.count("cuts at a byte")
      }
    }
  }
}
