import DivanLog

/// What trials on a ``SimulatedDisk`` came to.
public struct SimulatedTrials: Equatable, Sendable {
  /// How many calls, or sizes of the disk, there were to go wrong at.
  public internal(set) var placeCount = 0
  /// How often the work was run and something went wrong.
  public internal(set) var runCount = 0
  /// How many disks were checked.
  public internal(set) var checkCount = 0
}

/// A check that failed after something went wrong on a ``SimulatedDisk``.
public struct SimulatedTrialFailure: Error, CustomStringConvertible {
  /// How the disk came to be that was checked.
  public let disk: String
  /// What the check threw.
  public let underlying: any Error

  /// The error, and how the disk came to be.
  public var description: String { "\(underlying), on \(disk)" }
}

/// Work on a simulated disk that is not the same in every run, so that no failure could be repeated.
public struct SimulatedTrialsDiffer: Error, CustomStringConvertible {
  /// What happened, and what may be the reason.
  public var description: String {
    """
    the work made other calls of the disk when it was run again: see that it uses one thread, and \
    neither the machine's clock nor random numbers without a seed
    """
  }
}

extension SimulatedDisk.Loss {
  /// Some losses of every kind.
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
  /// Runs work again and again, each time with the power lost at another of its calls, and checks what
  /// is found after restarting.
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
  /// Every run is on a fork of this disk, which stays as it is; so work can begin with an old store.
  /// The work is run twice without any loss at first, to count its calls and to see that they are the
  /// same each time. What it throws once the power is gone is taken for its end. What must survive is
  /// best noted in variables outside, as above: they are on no disk.
  ///
  /// - Parameters:
  ///   - calls: at which of the calls that change something or flush, counted from 1; at each of them
  ///     if nil.
  ///   - losses: what is left of unflushed changes, each tried after each run.
  ///   - work: what is interrupted.
  ///   - check: opens what is found, and throws if it is not as it should be. Each call gets a disk of
  ///     its own.
  /// - Returns: how much was tried.
  /// - Throws: ``SimulatedTrialFailure`` with the first error of `check`; ``SimulatedTrialsDiffer``; and
  ///   whatever `work` throws when nothing went wrong.
  @discardableResult
  public func forEachCrash(
    atCalls calls: ClosedRange<Int>? = nil, losses: [Loss]? = nil,
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    let usual = try rehearse(work)
    var trials = SimulatedTrials(placeCount: usual.changingCallCount)
    for call in stride(from: 1, through: usual.changingCallCount, by: 1)
    where calls?.contains(call) ?? true {
      let disk = forked("losePower(atCall: \(call))")
      disk.losePower(atCall: call)
      try disk.attempt(work, hasFailed: { disk.hasLostPower })
      try disk.check(losses ?? Loss.variety(seed: UInt64(call)), &trials, check)
    }
    return trials
  }

  /// Runs work again and again, each time with another of its calls failing, and checks what is found
  /// when the program is started again, at once or after a loss of power.
  ///
  /// Flushes fail in both of the ways of ``FailedFlush`` that tell of it at once, too; a flush that
  /// claims to have succeeded breaks what every store must assume, and is not tried. What the work
  /// throws once a call has failed is taken for its end. It may also go on.
  ///
  /// - Parameters:
  ///   - failures: why calls fail; each is tried at each call.
  ///   - isLasting: whether every later call fails, too; both are tried if nil.
  ///   - calls: which calls, counted from 1 over all calls; each of them if nil.
  ///   - losses: what is left when the program is started again.
  ///   - work: what is disturbed.
  ///   - check: opens what is found, and throws if it is not as it should be.
  /// - Returns: how much was tried.
  /// - Throws: as ``forEachCrash(atCalls:losses:_:check:)``.
  @discardableResult
  public func forEachFault(
    _ failures: [Failure] = [.inputOutput], isLasting: Bool? = nil,
    atCalls calls: ClosedRange<Int>? = nil,
    losses: [Loss] = [.processEnd, .strict, .random(seed: 1)],
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    let usual = try rehearse(work)
    var trials = SimulatedTrials(placeCount: usual.verbs.count)
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

  /// Runs work on disks of every size at which it does not fit, and checks what is found when the
  /// program is started again with space enough.
  ///
  /// What the work throws once the disk was full is taken for its end. It may also go on.
  ///
  /// - Parameters:
  ///   - stepBytes: how far the sizes are apart.
  ///   - losses: what is left when the program is started again.
  ///   - work: what is disturbed.
  ///   - check: opens what is found, and throws if it is not as it should be.
  /// - Returns: how much was tried.
  /// - Throws: as ``forEachCrash(atCalls:losses:_:check:)``.
  @discardableResult
  public func forEachCapacity(
    stepBytes: Int = 64, losses: [Loss] = [.processEnd, .strict],
    _ work: (SimulatedDisk) throws -> Void, check: (SimulatedDisk) throws -> Void
  ) throws -> SimulatedTrials {
    require(stepBytes > 0, "Sizes that do not differ")
    let usual = try rehearse(work)
    var trials = SimulatedTrials()
    for capacity in stride(from: usedBytes, to: usual.greatestSize, by: stepBytes) {
      let disk = forked("capacityBytes = \(capacity)")
      disk.capacityBytes = capacity
      try disk.attempt(work, hasFailed: { true })
      trials.placeCount += 1
      try disk.check(losses, &trials, check)
    }
    return trials
  }
}
