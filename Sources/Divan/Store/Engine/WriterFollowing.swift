import Dispatch
import DivanLog
import Synchronization

/// A timer that reads what another process has written, while a store is open for reading only.
///
/// The timer retains the work, and with it the store, until it is stopped. It is not a weak
/// reference: see ``ScheduledFlush``.
final class WriterFollowing: Sendable {
  private let source = Guarded<(any DispatchSourceTimer)?>(nil)

  deinit { stop() }
}

extension WriterFollowing {
  /// Runs `work` whenever `interval` has passed, on a queue of its own.
  ///
  /// If a run takes longer, the next one begins after it, and what is overdue is not repeated.
  func start(every interval: Duration, _ work: @escaping @Sendable () -> Void) {
    // A shorter interval would keep a processor busy.
    let interval = max(interval, .milliseconds(1)).dispatchInterval
    source.withLock { source in
      source?.cancel()
      let timer = DispatchSource.makeTimerSource(
        queue: DispatchQueue(label: "divan.following", qos: .utility))
      timer.setEventHandler(handler: work)
      timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(1))
      timer.activate()
      source = timer
    }
  }

  /// Stops the timer; work that has begun is completed.
  func stop() {
    source.withLock { source in
      source?.cancel()
      source = nil
    }
  }
}
