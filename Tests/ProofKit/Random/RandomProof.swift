import DivanLog
import DivanTesting

/// Runs random operations of every kind, and compares the store with a plain model.
package struct RandomProof: Proof {
  package static let name = "random"
  package static let claim =
    "a store equals a plain model under random operations, faults and crashes"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 8, ci: 500, night: 200_000, release: 1_000_000)
    let length = run.budget.choose(test: 150, ci: 300, night: 300, release: 500)
    var cases = FoundSeeds.all.filter { $0.proof == RandomProof.name }
      .map { Case(seed: $0.seed, isRich: false) }
    for number in 0..<UInt64(count) {
      // Half have documents with properties only, so that these are changed often.
      cases.append(Case(seed: run.seed &+ number, isRich: number % 2 == 1))
    }
    // The same operations with a cipher between the store and its files.
    let encryptedCount = max(1, count / 16)
    for number in 0..<UInt64(encryptedCount) {
      cases.append(Case(seed: run.seed &+ number, isRich: number % 2 == 0, isEncrypted: true))
    }
    run.forEach(cases, name: \.name) { try attempt($0, length: length, run) }
    run.require("runs", atLeast: count + encryptedCount)
  }

  private struct Case: Sendable {
    let seed: UInt64
    let isRich: Bool
    var isEncrypted = false
    var name: String {
      "seed \(seed)\(isRich ? " with everything" : "")\(isEncrypted ? ", encrypted" : "")."
    }
  }

  private func attempt(_ each: Case, length: Int, _ run: ProofRun) throws {
    let seed = each.seed
    var random = SeededGenerator(seed: seed)
    var setting = RandomSetting(&random, isRich: each.isRich)
    setting.isEncrypted = each.isEncrypted
    let operations = RandomOperation.list(length, isRich: each.isRich, &random)
    // A run of selected cases is meant for debugging.
    let listener = run.only.map { _ in Recorder<String>() }
    let trial = RandomRun(setting, seed: seed, listener: listener)
    do {
      try trial.run(operations)
      if let lines = listener?.all {
        let checksum = CRC32C.checksum(SharedBytes(utf8: lines.joined(separator: "\n")))
        run.note("\(each.name) \(lines.count) calls and operations: \(checksum)")
      }
    } catch {
      let shrinking = RandomShrinking(
        setting, seed: seed, for: .seconds(run.only == nil ? 15 : 120))
      let shorter = shrinking.shrink(operations)
      let failure = RandomShrinking.failure(shorter, setting, seed: seed) ?? "\(error)"
      if run.only != nil {
        let listener = Recorder<String>()
        do {
          try RandomRun(setting, seed: seed, listener: listener).run(shorter)
          listener.append("did not fail when it was listened to")
        } catch {
          listener.append("\(error)")
        }
        for line in listener.all { run.note(line) }
      }
      throw CrashOracle.Mismatch(
        "\(failure)\n    with \(setting)\n    "
          + shorter.map { "\($0)" }.joined(separator: "\n    "))
    }
    run.count("runs")
    run.count("operations", operations.count)
    for (what, count) in trial.counts.sorted(by: { $0.key < $1.key }) { run.count(what, count) }
  }
}
