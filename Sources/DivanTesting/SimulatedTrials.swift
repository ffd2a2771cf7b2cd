import DivanLog

/// The extent of trials on a ``SimulatedDisk``.
///
/// ```swift
/// let trials = try SimulatedDisk(seed: 1).forEachCrash { disk in
///   try open(disk).write { _ = try $0.put(Document(id: "note")) }
/// } check: { disk in
///   try #require(open(disk).check().isSound)
/// }
/// print(trials.runCount, "runs,", trials.checkCount, "checks")
/// ```
public struct SimulatedTrials: Equatable, Sendable {
  /// The number of calls, or of sizes of the disk, at which something could go wrong.
  public internal(set) var failurePointCount = 0
  /// The number of runs of the work in which something went wrong.
  public internal(set) var runCount = 0
  /// The number of disks that were checked.
  public internal(set) var checkCount = 0
}

/// A check that failed after something went wrong on a ``SimulatedDisk``.
///
/// ```swift
/// let failure = #expect(throws: SimulatedTrialFailure.self) {
///   try SimulatedDisk(seed: 5).forEachCrash(moveInTwoSteps, check: requireOne)
/// }
/// print(failure?.disk ?? "")  // the call at which the power was lost, and what was left
/// ```
public struct SimulatedTrialFailure: Error, CustomStringConvertible {
  /// The history of the disk that was checked.
  public let disk: String
  /// The error that the check threw.
  public let underlying: any Error

  /// The error, and the history of the disk.
  public var description: String { "\(underlying), on \(disk)" }
}

/// An error: the work differs from run to run, so that no failure could be repeated.
///
/// ```swift
/// #expect(throws: SimulatedTrialsDiffer.self) {
///   try SimulatedDisk(seed: 1).forEachCrash(writeUUID) { _ in }
/// }
/// ```
public struct SimulatedTrialsDiffer: Error, CustomStringConvertible {
  /// The problem, and what may be the reason.
  public var description: String {
    """
    the work made other calls of the disk when it was run again: make sure that it uses one \
    thread, and neither the machine's clock nor random numbers without a seed
    """
  }
}

extension SimulatedDisk.Loss {
  /// Returns losses of various kinds.
  public static func variety(seed: UInt64) -> [SimulatedDisk.Loss] {
    let seed = seed &* 8
    return [
      .strict, .everything, .first(1), .dropOne(0), .prefix(seed: seed), .random(seed: seed &+ 1),
      .random(seed: seed &+ 2), .sizeFirst(seed: seed &+ 3), .dataFirst(seed: seed &+ 4),
    ]
  }
}

// MARK: Trials

extension SimulatedDisk {
  /// Runs work repeatedly, loses the power at another call each time, and checks the disk left.
  ///
  /// ```swift
  /// var acknowledged = 0
  /// try SimulatedDisk(seed: 1).forEachCrash { disk in
  ///   acknowledged = 0
  ///   let database = try Database(at: "/notes.divan", configuration: disk.configuration())
  ///   for number in 1...20 {
  ///     try database.write { try $0.put(Document(id: "\(number)", ["text": "…"])) }
  ///     acknowledged = number
  ///   }
  /// } check: { disk in
  ///   let database = try Database(at: "/notes.divan", configuration: disk.configuration())
  ///   let count = try database.snapshot().count
  ///   if count < acknowledged { throw NotesAreMissing() }
  /// }
  /// ```
  ///
  /// Every run is on a fork of this disk, which does not change; so work can begin with an old
  /// store. The work is first run twice without any loss, to count its calls and to check that they
  /// are the same each time. An error that it throws after the loss of power ends it. Note what
  /// must survive in variables outside, as above: they are on no disk.
  ///
  /// - Parameters:
  ///   - calls: the calls at which the power is lost, of those that change something or flush,
  ///     counted from 1; each of them if nil.
  ///   - losses: the losses of unflushed changes, each tried after each run.
  ///   - work: the work that is interrupted.
  ///   - check: opens the database on the disk that is left, and throws if it is not as it should
  ///     be. Each call gets a disk of its own.
  /// - Returns: how much was tried.
  /// - Throws: ``SimulatedTrialFailure`` with the first error of `check`, or of `work` before the
  ///   fault; ``SimulatedTrialsDiffer``; and the errors of `work` in the runs without a fault.
  @discardableResult
  public func forEachCrash(
    atCalls calls: ClosedRange<Int>? = nil, losses: [Loss]? = nil,
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    let usual = try dryRun(work)
    var trials = SimulatedTrials(failurePointCount: usual.changingCallCount)
    for call in stride(from: 1, through: usual.changingCallCount, by: 1)
    where calls?.contains(call) ?? true {
      let disk = forked("losePower(atCall: \(call))")
      disk.losePower(atCall: call)
      try disk.attempt(work, hasFailed: { disk.hasLostPower })
      try disk.check(losses ?? Loss.variety(seed: UInt64(call)), &trials, check)
    }
    return trials
  }

  /// Runs work repeatedly, fails another of its calls each time, and checks the disk that is left.
  ///
  /// `check` gets the disk as the program's next start finds it, at once or after a loss of power.
  /// Flushes also fail in two ways of ``FailedFlush`` that report the error at once. A flush that
  /// falsely reports success breaks what every store must assume, and is not tried. An error that
  /// the work throws after a call has failed ends it. The work may also continue.
  ///
  /// - Parameters:
  ///   - failures: the errors of calls; each is tried at each call.
  ///   - isLasting: whether every later call fails, too; both are tried if nil.
  ///   - calls: the calls that fail, counted from 1 over all calls; each of them if nil.
  ///   - losses: the losses after which the program is started again.
  ///   - work: the work that is disturbed.
  ///   - check: opens the database on the disk that is left, and throws if it is not as it should
  ///     be.
  /// - Returns: how much was tried.
  /// - Throws: as ``forEachCrash(atCalls:losses:_:check:)``.
  @discardableResult
  public func forEachFault(
    _ failures: [Failure] = [.inputOutput], isLasting: Bool? = nil,
    atCalls calls: ClosedRange<Int>? = nil,
    losses: [Loss] = [.processEnd, .strict, .random(seed: 1)],
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    let usual = try dryRun(work)
    var trials = SimulatedTrials(failurePointCount: usual.verbs.count)
    for fault in usual.verbs.faults(failures, isLasting.map { [$0] } ?? [false, true])
    where calls?.contains(fault.call) ?? true {
      let disk = forked(fault.description)
      fault.plan(disk)
      _ = try disk.recording { record in
        try disk.attempt(work, hasFailed: { record().verbs.count >= fault.call })
      }
      try disk.check(losses, &trials, check)
    }
    return trials
  }

  /// Runs work on disks of every size at which it does not fit, and checks the disks that are left.
  ///
  /// `check` gets the disk as the program's next start finds it, with enough space. An error that
  /// the work throws after the disk was full ends it. The work may also continue.
  ///
  /// - Parameters:
  ///   - stepBytes: the difference between two sizes.
  ///   - losses: the losses after which the program is started again.
  ///   - work: the work that is disturbed.
  ///   - check: opens the database on the disk that is left, and throws if it is not as it should
  ///     be.
  /// - Returns: how much was tried.
  /// - Throws: as ``forEachCrash(atCalls:losses:_:check:)``.
  @discardableResult
  public func forEachCapacity(
    stepBytes: Int = 64, losses: [Loss] = [.processEnd, .strict],
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    require(stepBytes > 0, "stepBytes must be above 0")
    let usual = try dryRun(work)
    var trials = SimulatedTrials()
    for capacity in stride(from: usedBytes, to: usual.greatestSize, by: stepBytes) {
      let disk = forked("capacityBytes = \(capacity)")
      disk.capacityBytes = capacity
      try disk.attempt(work, hasFailed: { true })
      trials.failurePointCount += 1
      try disk.check(losses, &trials, check)
    }
    return trials
  }
}
