/// How much the crash suite tries at each call.
package struct CrashEffort: Sendable {
  /// The number of cuts of a new write at single bytes; then at multiples of 8, 512 and 4,096.
  package var cuts: [Int]
  /// The number of cuts of each older write that is also not flushed yet.
  package var olderCuts: Int
  /// The number of single changes to drop, and of prefixes to try.
  package var changes: Int
  /// The number of seeds of each loss that has one.
  package var seeds: Int
  /// After one in this many states, the store is written to and opened again.
  package var goingOnStride: Int
  /// One in this many states is also opened for reading only.
  package var readingStride = 16
  /// Power is lost again at each call of the recovery of one in this many states.
  package var recoveryStride: Int
  /// The same for the recovery from one in this many of the resulting states.
  package var secondRecoveryStride: Int
  /// One in this many losses is tried at a call, different ones at each call.
  package var stride: Int
  /// The same for workloads whose files are large.
  package var heavyStride: Int

  /// Creates the effort that a budget allows.
  ///
  /// It is less for `isOneOfMany`: if there are many workloads of this kind. In a test, it is more
  /// for `isPicked`: a workload that was selected by name keeps everything that may find a bug in
  /// it.
  package init(
    _ budget: Budget, isPicked: Bool = false, isOneOfMany: Bool = false, isRich: Bool = false
  ) {
    cuts = budget.choose(
      test: [2, 1, 1, 1], ci: [24, 14, 8, 4], night: [4096, 64, 32, 8],
      release: [4096, 512, 64, 8])
    olderCuts = budget.choose(test: 0, ci: 1, night: 3, release: 8)
    changes = budget.choose(test: 2, ci: 24, night: 64, release: 256)
    seeds = budget.choose(test: 1, ci: 6, night: 8, release: 32)
    stride = budget.choose(test: isPicked ? 1 : 20, ci: 2, night: 1, release: 1)
    // With so many states, a sample is enough.
    goingOnStride = budget.choose(test: 3, ci: 10, night: 10, release: 10)
    recoveryStride = budget.choose(test: 150, ci: 225, night: 400, release: 100)
    secondRecoveryStride = budget.choose(test: 25, ci: 25, night: 25, release: 8)
    if isOneOfMany, budget == .night || budget == .release {
      self = CrashEffort(.ci)
      if budget == .release {
        cuts = [64, 32, 16, 8]
        seeds = 12
      }
      recoveryStride = 1000
      return
    }
    if isRich, budget == .ci { stride = 6 }
    heavyStride = budget.choose(test: 320, ci: 24, night: 8, release: 4)
  }
}
