import Dispatch
import DivanLog
import Synchronization

/// A timer that fires when the next document expires.
///
/// Times come from the store's clock, which need not run like the machine's. So the timer checks
/// the store's clock again when it fires, and at least each hour.
final class ExpiryTimer: Sendable {
  private struct State {
    /// The time that it is armed for; nil if none.
    var due: UInt64?
    var isStopped = false
    /// Created on first use.
    var source: (any DispatchSourceTimer)?
  }

  private static let longestWait: UInt64 = 3_600_000

  private let queue: DispatchQueue
  private let state = Guarded(State())

  /// Creates a timer that works on a queue.
  init(_ queue: DispatchQueue) { self.queue = queue }

  deinit { stop() }
}

extension ExpiryTimer {
  /// Arms the timer for a time, in milliseconds since 1970, unless it fires earlier anyway.
  func arm(_ time: UInt64, _ store: Store) {
    let now = store.configuration.now()
    let wait = min(time > now ? time - now : 0, ExpiryTimer.longestWait)
    state.withLock { state in
      guard !state.isStopped, state.due.map({ time < $0 }) ?? true else { return }
      state.due = time
      if state.source == nil {
        let source = DispatchSource.makeTimerSource(queue: queue)
        // Retained until `stop`, which is called when the database is released. It is not a weak
        // reference: see ``ScheduledFlush``.
        source.setEventHandler { [store] in
          store.maintenance.expiry.noteAwake()
          store.purgeExpiredInBackground()
        }
        source.activate()
        state.source = source
      }
      state.source?.schedule(
        wallDeadline: .now() + .milliseconds(Int(wait)), leeway: .milliseconds(10))
    }
  }

  /// Notes that the timer fired.
  fileprivate func noteAwake() { state.withLock { $0.due = nil } }

  /// Lets the timer be armed again.
  func restart() { state.withLock { $0.isStopped = false } }

  /// Stops the timer, until it is restarted.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.due = nil
      state.source?.cancel()
      state.source = nil
    }
  }
}
