/// Shortens and simplifies a failing list of operations while it still fails.
struct RandomShrinking {
  let setting: RandomSetting
  let seed: UInt64
  private let clock = ContinuousClock()
  private let end: ContinuousClock.Instant

  init(_ setting: RandomSetting, seed: UInt64, for duration: Duration) {
    self.setting = setting
    self.seed = seed
    end = clock.now + duration
  }

  /// Returns why a list fails; nil if it does not.
  static func failure(
    _ operations: [RandomOperation], _ setting: RandomSetting, seed: UInt64
  ) -> String? {
    do {
      try RandomRun(setting, seed: seed).run(operations)
      return nil
    } catch {
      return "\(error)"
    }
  }
}

extension RandomShrinking {
  private var isOver: Bool { clock.now >= end }

  private func fails(_ operations: [RandomOperation]) -> Bool {
    RandomShrinking.failure(operations, setting, seed: seed) != nil
  }

  /// Returns the shortest list that was found in time.
  func shrink(_ operations: [RandomOperation]) -> [RandomOperation] {
    var best = operations
    var size = max(1, best.count / 2)
    while !isOver {
      let shorter = withoutChunks(best, of: size)
      let isShorter = shorter.count < best.count
      best = shorter
      if size > 1 { size /= 2 } else if !isShorter { break }
    }
    while !isOver, let simpler = simplerOnce(best) { best = simpler }
    return best
  }

  private func withoutChunks(_ operations: [RandomOperation], of size: Int) -> [RandomOperation] {
    var best = operations
    var start = 0
    while start < best.count, !isOver {
      var fewer = best
      fewer.removeSubrange(start..<min(best.count, start + size))
      if fails(fewer) { best = fewer } else { start += size }
    }
    return best
  }

  private func simplerOnce(_ operations: [RandomOperation]) -> [RandomOperation]? {
    for (index, operation) in operations.enumerated() {
      for simpler in operation.simpler {
        if isOver { return nil }
        var changed = operations
        changed[index] = simpler
        if fails(changed) { return changed }
      }
    }
    return nil
  }
}
