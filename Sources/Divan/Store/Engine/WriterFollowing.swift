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
    let timer = DispatchSource.makeTimerSource(
      queue: DispatchQueue(label: "divan.following", qos: .utility))
    // A shorter interval would keep a processor busy.
    let interval = max(interval, .milliseconds(1)).dispatchInterval
    timer.setEventHandler(handler: work)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(1))
    timer.activate()
    let former = source.withLock { source in
      defer { source = timer }
      return source
    }
    former?.cancel()
  }

  /// Stops the timer; work that has begun is completed.
  func stop() {
    let timer = source.withLock { $0.take() }
    timer?.cancel()
  }
}
