package import DivanLog
import Synchronization

extension SystemError.Code {
  /// The power of a simulated disk was lost.
  ///
  /// No system uses this number.
  package static let powerLost = Self(rawValue: -7_001)
}

/// A planned failure of a call.
struct SimulatedFault: Sendable {
  /// The verb that is counted, or nil for all.
  let verb: SimulatedDisk.Verb?
  /// The number of such calls left, including the one that fails.
  var callsLeft: Int
  let effect: Effect
  let isLasting: Bool
  /// Selects the position at which a failing write stops; a new random number for each.
  var random: UInt64 = 0

  enum Effect: Sendable {
    /// The call throws, after a share of its work.
    case error(SystemError.Code, SimulatedDisk.Completion)
    /// A flush fails as real systems do.
    case failedFlush(SimulatedDisk.FailedFlush, SystemError.Code)
    /// The call reports success, but does not do its work.
    case lie(SimulatedDisk.Lie, forgottenAfterCalls: Int?)
  }

  /// Returns the error of the fault; nil for a lie, which reports none.
  func error(_ call: String, _ path: String) -> SystemError? {
    switch effect {
    case .error(let code, _), .failedFlush(_, let code):
      SystemError(call: call, path: path, code: code)
    case .lie: nil
    }
  }

  /// Whether the call does all of its work and reports an error nevertheless.
  var takesEffect: Bool {
    if case .error(_, .everything) = effect { true } else { false }
  }

  /// Returns the number of a failing write's bytes that are written.
  func partOfWrite(_ count: Int) -> Int {
    guard case .error(_, let completion) = effect else { return 0 }
    return switch completion {
    case .nothing: 0
    case .part: Int(random % UInt64(count))
    case .everything: count
    }
  }
}

/// Bytes of a failed flush that can still be read, until the page cache evicts them.
struct SimulatedEviction: Sendable {
  let call: Int
  let file: Int
  let writes: [VolatileWrite]
}

/// The calls to a simulated disk so far, and its planned faults.
struct SimulatedControl: Sendable {
  private var random: SeededGenerator
  private var callCount = 0
  private(set) var changingCallCount = 0
  private(set) var trace = StableHash()
  private(set) var hasLostPower = false
  private var powerLossCall: Int?
  private var faults: [SimulatedFault] = []
  private var evictions: [SimulatedEviction] = []

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Returns an initial state that keeps only the page cache's pending evictions.
  func afterProcessEnd(seed: UInt64) -> SimulatedControl {
    var next = SimulatedControl(seed: seed)
    next.evictions = evictions.map {
      SimulatedEviction(call: $0.call - callCount, file: $0.file, writes: $0.writes)
    }
    return next
  }
}

extension SimulatedControl {
  /// Counts a call and returns the fault that is due at it.
  mutating func admit(
    _ verb: SimulatedDisk.Verb, _ path: String, offset: Int, count: Int
  ) throws(SystemError) -> SimulatedFault? {
    guard !hasLostPower else {
      throw Self.powerLost(verb, path)
    }
    callCount += 1
    trace.add(verb.rawValue)
    trace.add(path)
    trace.add(offset)
    trace.add(count)
    if verb.isChanging {
      changingCallCount += 1
      if changingCallCount == powerLossCall {
        hasLostPower = true
        throw Self.powerLost(verb, path)
      }
    }
    let fault = takeFault(due: verb)
    if let fault {
      trace.add("fault")
      trace.add(Int(truncatingIfNeeded: fault.random))
    }
    return fault
  }

  private static func powerLost(_ verb: SimulatedDisk.Verb, _ path: String) -> SystemError {
    // The system has no text for this code, so the name of the call says it.
    SystemError(
      call: "\(verb.rawValue) after the simulated loss of power", path: path, code: .powerLost)
  }

  private mutating func takeFault(due verb: SimulatedDisk.Verb) -> SimulatedFault? {
    var due: SimulatedFault?
    for index in faults.indices where faults[index].verb == nil || faults[index].verb == verb {
      if faults[index].callsLeft > 0 { faults[index].callsLeft -= 1 }
      if faults[index].callsLeft == 0, due == nil {
        due = faults[index]
        due?.random = random.next()
      }
    }
    faults.removeAll { $0.callsLeft == 0 && !$0.isLasting }
    return due
  }

  mutating func takeEvictionsDue() -> [SimulatedEviction] {
    guard !evictions.isEmpty else { return [] }
    let due = evictions.filter { $0.call <= callCount }
    evictions.removeAll { $0.call <= callCount }
    return due
  }

  mutating func evict(_ writes: [VolatileWrite], of file: Int, afterCalls calls: Int) {
    evictions.append(SimulatedEviction(call: callCount + calls, file: file, writes: writes))
  }

  mutating func add(_ fault: SimulatedFault) { faults.append(fault) }

  mutating func removeAllFaults() { faults.removeAll() }

  /// Loses power at the `call`-th changing call from now, or at once if that is 0.
  mutating func losePower(atCall call: Int) {
    if call <= 0 { hasLostPower = true } else { powerLossCall = changingCallCount + call }
  }
}

extension SimulatedFileSystem {
  package func losePower(atCall call: Int) { control.withLock { $0.losePower(atCall: call) } }

  package var hasLostPower: Bool { control.withLock { $0.hasLostPower } }

  package var changingCallCount: Int { control.withLock { $0.changingCallCount } }

  package var traceHash: UInt64 { control.withLock { $0.trace.value } }

  /// Makes the `call`-th call from now, counted from 1, throw `code`.
  package func fail(
    _ verb: SimulatedDisk.Verb? = nil, atCall call: Int = 1, with code: SystemError.Code,
    completion: SimulatedDisk.Completion = .part, isLasting: Bool = false
  ) {
    add(verb, call, .error(code, completion), isLasting)
  }

  /// Makes the `call`-th flush of a file from now, counted from 1, fail in a certain way.
  package func failFlush(
    atCall call: Int = 1, _ behavior: SimulatedDisk.FailedFlush,
    with code: SystemError.Code = .inputOutput, isLasting: Bool = false
  ) {
    add(.flush, call, .failedFlush(behavior, code), isLasting)
  }

  /// Makes the `call`-th write or flush from now, counted from 1, report a false success.
  package func lie(
    _ lie: SimulatedDisk.Lie, atCall call: Int = 1, isLasting: Bool = false,
    forgottenAfterCalls: Int? = nil
  ) {
    add(lie.verb, call, .lie(lie, forgottenAfterCalls: forgottenAfterCalls), isLasting)
  }

  private func add(
    _ verb: SimulatedDisk.Verb?, _ call: Int, _ effect: SimulatedFault.Effect, _ isLasting: Bool
  ) {
    require(call > 0, "Calls are counted from 1")
    let fault = SimulatedFault(
      verb: verb, callsLeft: call, effect: effect, isLasting: isLasting)
    control.withLock { $0.add(fault) }
  }

  package func stopFailing() { control.withLock { $0.removeAllFaults() } }

  func evict(_ writes: [VolatileWrite], of file: Int, afterCalls calls: Int) {
    control.withLock { $0.evict(writes, of: file, afterCalls: calls) }
  }

  package var capacityBytes: Int? {
    get { state.withLock { $0.capacityBytes } }
    set { state.withLock { $0.capacityBytes = newValue } }
  }

  package var usedBytes: Int { state.withLock { $0.usedBytes } }
}
