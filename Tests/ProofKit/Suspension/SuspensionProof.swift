import Divan
import DivanTesting

/// Suspends and resumes stores, with losses of power and other writers in between.
package struct SuspensionProof: Proof {
  package static let name = "suspension"
  package static let claim =
    "a suspended store has no lock and loses nothing, and what others write is seen afterwards"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 60, ci: 300, night: 10_000, release: 100_000)
    let cycles = run.budget.choose(test: 20, ci: 30, night: 50, release: 50)
    let series = (0..<UInt64((count + cycles - 1) / cycles)).map { $0 + 1 }
    run.forEach(series, name: { "series \($0)." }) { number in
      var series = SuspensionSeries(seed: run.seed &+ number)
      let ends = try series.play(cycles)
      run.count("cycles of suspension", cycles)
      for (name, count) in ends.sorted(by: { $0.key < $1.key }) {
        run.count("of them \(name)", count)
      }
    }
    run.require("cycles of suspension", atLeast: count)
    run.forEach(series, name: { "following \($0)." }) { number in
      var series = FollowingSeries(seed: run.seed &+ number)
      try series.play(cycles)
      run.count("refreshes beside a writer", series.refreshCount)
      run.count("of them with new commits", series.changeCount)
    }
    run.require("refreshes beside a writer", atLeast: 10 * count)
    run.require("of them with new commits", atLeast: count)
  }
}
