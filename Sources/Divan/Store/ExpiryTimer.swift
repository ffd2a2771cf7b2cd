import Dispatch
import DivanLog
import Synchronization

/// Wakes up when the next document expires.
///
/// Times are those of the store's clock, which need not go like the machine's; so it looks at that again
/// when it wakes up, and at least each hour.
final class ExpiryTimer: Sendable {
  private struct State {
    /// What it will wake up for; nil if nothing.
    var due: UInt64?
    var isStopped = false
    /// Made when it is first needed.
    var source: (any DispatchSourceTimer)?
  }

  private static let longestWait: UInt64 = 3_600_000

  private let queue: DispatchQueue
  private let state = Guarded(State())

  /// Makes a timer that works on a queue.
  init(_ queue: DispatchQueue) { self.queue = queue }

  deinit { stop() }
}

extension ExpiryTimer {
  /// Wakes up at a time, in milliseconds since 1970, unless it does so earlier anyway.
  func arm(_ time: UInt64, _ store: Store) {
    let now = store.configuration.now()
    let wait = min(time > now ? time - now : 0, ExpiryTimer.longestWait)
    state.withLock { state in
      guard !state.isStopped, state.due.map({ time < $0 }) ?? true else { return }
      state.due = time
      if state.source == nil {
        let source = DispatchSource.makeTimerSource(queue: queue)
        // Held until `stop`, which whoever lets go of the database calls, and not by a weak reference:
        // see ``ScheduledFlush``.
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

  /// Notes that it woke up.
  fileprivate func noteAwake() { state.withLock { $0.due = nil } }

  /// Wakes up no more.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.source?.cancel()
      state.source = nil
    }
  }
}
