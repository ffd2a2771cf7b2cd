package import DivanTesting

/// A way to lose power.
package struct CrashLoss: Sendable, CustomStringConvertible {
  package let loss: SimulatedDisk.Loss
  package var tearing: SimulatedDisk.Tearing?

  package var description: String { "\(loss)\(tearing.map { " \($0)" } ?? "")" }

  /// All that is tried at one call.
  package static func all(_ disk: SimulatedFileSystem, _ call: Int) -> [CrashLoss] {
    var all = [CrashLoss(loss: .strict), CrashLoss(loss: .processEnd)]
    let count = disk.unflushedChangeCount
    // Nothing to lose: every loss leaves the same.
    guard count > 0 else { return all }
    all.append(CrashLoss(loss: .everything))
    let seed = UInt64(call &* 64)
    let remainders = SimulatedDisk.Tearing.Remainder.allCases
    let rounds = max(1, Int(3 * testBudget))
    for round in 0..<rounds {
      let seed = seed &+ UInt64(round)
      let tearing = SimulatedDisk.Tearing(
        granularityBytes: [1, 8, 512, 4096][round % 4],
        remainder: remainders[(call + round) % remainders.count])
      all.append(CrashLoss(loss: .prefix(seed: seed), tearing: tearing))
      all.append(CrashLoss(loss: .random(seed: seed)))
      all.append(CrashLoss(loss: .random(seed: seed &+ 1), tearing: tearing))
      all.append(CrashLoss(loss: .sizeFirst(seed: seed)))
      all.append(CrashLoss(loss: .dataFirst(seed: seed)))
      all.append(CrashLoss(loss: .first(call &+ round)))
    }
    for dropped in 0..<min(count, 3) { all.append(CrashLoss(loss: .dropOne(call &+ dropped))) }
    return all
  }

  /// The few that are tried at each call of a recovery.
  package static func few(seed: UInt64) -> [CrashLoss] {
    [
      CrashLoss(loss: .strict), CrashLoss(loss: .everything), CrashLoss(loss: .random(seed: seed)),
      CrashLoss(loss: .prefix(seed: seed)), CrashLoss(loss: .processEnd),
    ]
  }
}
