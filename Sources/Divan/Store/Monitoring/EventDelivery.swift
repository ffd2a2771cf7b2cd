import Dispatch
import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Passes events to the handler of a configuration; made only if there is one.
///
/// Events are handed to a queue, so they may be reported anywhere, also while locks are held: the
/// handler runs on the queue's thread, without any lock.
final class EventDelivery: Sendable {
  private struct State {
    /// Nil once the database is closed.
    var handler: DatabaseEvent.Handler?
    var isEnded = false
    /// The number of events that were reported and not yet handled.
    var waitingCount = 0
    var droppedCount = 0
    /// The thread that runs the handler; nil between events.
    var deliverer: ThreadID?
    /// The damaged positions that were reported.
    var damages: Set<String> = []
  }

  /// The number of events at which newer ones are dropped.
  private static let waitingLimit = 1000

  private let state: Guarded<State>
  private let queue = DispatchQueue(label: "divan.events", qos: .utility)
  private let path: String
  private let slowQueryThreshold: Duration?
  private let slowCommitThreshold: Duration?

  init(
    to handler: DatabaseEvent.Handler, path: String, slowQueryThreshold: Duration?,
    slowCommitThreshold: Duration?
  ) {
    state = Guarded(State(handler: handler))
    self.path = path
    self.slowQueryThreshold = slowQueryThreshold
    self.slowCommitThreshold = slowCommitThreshold
  }
}

extension EventDelivery {
  /// Passes on an event, unless the handler's own call has caused it or too many wait.
  func report(_ event: DatabaseEvent) {
    let isAccepted = state.withLock { state in
      guard !state.isEnded, state.deliverer != ThreadID.current else { return false }
      guard state.waitingCount < EventDelivery.waitingLimit else {
        state.droppedCount += 1
        return false
      }
      state.waitingCount += 1
      return true
    }
    if isAccepted { enqueue(event) }
  }

  private func enqueue(_ event: DatabaseEvent) {
    var event = event
    event.path = path
    // Not by the configuration's clock: a simulated one may count its readings.
    event.date = Date(timeIntervalSince1970: Double(systemTime()) / 1000)
    queue.async { [event] in self.deliver(event) }
  }

  private func deliver(_ event: DatabaseEvent) {
    let handler = state.withLock { state in
      state.deliverer = .current
      return state.handler
    }
    handler?.receive(event)
    state.withLock { state in
      state.deliverer = nil
      state.waitingCount -= 1
    }
  }

  /// The number of events that were dropped because too many waited.
  var droppedCount: Int { state.withLock { $0.droppedCount } }

  /// Reports damage, once for each position.
  func reportDamage(_ error: DatabaseError) {
    let position =
      "\(error.path ?? "") \(error.offset ?? -1) \(error.offset == nil ? error.documentID ?? "" : "")"
    let isNew = state.withLock { state in
      // Beyond the limit no position is new: then a report of every one would flood the log.
      guard state.damages.count < EventDelivery.waitingLimit else { return false }
      return state.damages.insert(position).inserted
    }
    if isNew { report(.damageFound(error)) }
  }

  /// Passes on the last event, and releases the handler.
  ///
  /// Waits until the handler has received it, so that a program can end after closing a database.
  /// It does not wait longer than a second: the handler may wait for the thread that calls this.
  func end(with event: DatabaseEvent) {
    let isHandler: Bool? = state.withLock { state in
      // Two threads may close the database at the same time.
      guard !state.isEnded else { return nil }
      state.isEnded = true
      // The last event is passed on in any case.
      state.waitingCount += 1
      return state.deliverer == ThreadID.current
    }
    guard let isHandler else { return }
    enqueue(event)
    let isDone = DispatchSemaphore(value: 0)
    queue.async {
      // Released after the lock: the handler may retain objects that do anything when they end.
      let handler = self.state.withLock { $0.handler.take() }
      withExtendedLifetime(handler) { _ = isDone.signal() }
    }
    if !isHandler { _ = isDone.wait(timeout: .now() + 1) }
  }

  /// Returns when the handler has received everything that was reported before.
  func drain() { queue.sync {} }
}

// MARK: Slow work

extension EventDelivery {
  /// The time at which a query begins; nil if slow ones are not reported.
  var queryStart: ContinuousClock.Instant? {
    slowQueryThreshold == nil ? nil : .now
  }

  /// Returns the time since a query began if that is slow; nil otherwise.
  func slowDuration(since start: ContinuousClock.Instant) -> Duration? {
    let duration = start.duration(to: .now)
    guard let slowQueryThreshold, duration >= slowQueryThreshold else { return nil }
    return duration
  }

  /// Begins to measure a transaction; nil if slow ones are not reported.
  var commitWatch: CommitWatch? {
    slowCommitThreshold.map { CommitWatch(threshold: $0) }
  }
}

/// Measures a transaction from the wait for its turn to its flush.
struct CommitWatch {
  fileprivate let threshold: Duration
  private let start = ContinuousClock.now
  private var begin: ContinuousClock.Instant
  private var release: ContinuousClock.Instant

  fileprivate init(threshold: Duration) {
    self.threshold = threshold
    begin = start
    release = start
  }

  /// Notes that the transaction has the writer lock.
  mutating func noteBegin() { begin = .now }

  /// Notes that the transaction was appended, and released the writer lock.
  mutating func noteRelease() { release = .now }

  /// Returns the event of the finished transaction; nil if it was not slow.
  func event(commit: UInt64, _ size: CommitSize) -> DatabaseEvent? {
    let end = ContinuousClock.now
    let duration = start.duration(to: end)
    guard duration >= threshold else { return nil }
    return .slowCommit(
      DatabaseEvent.CommitDetails(
        commit: commit, revisionCount: size.revisionCount, size: size.bytes,
        lockWait: start.duration(to: begin), flushWait: release.duration(to: end)), duration)
  }
}

/// How much a transaction has written.
struct CommitSize {
  var revisionCount = 0
  /// The size in the log.
  var bytes = 0
}
