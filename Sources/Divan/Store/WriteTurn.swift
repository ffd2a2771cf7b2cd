import Dispatch
import DivanLog
import Synchronization

/// Who may write: one thread at a time, in the order of asking.
final class WriteTurn: Sendable {
  private struct State {
    /// The thread whose turn it is.
    var holder: ThreadID?
    var waiters: [Waiter] = []
  }

  private struct Waiter {
    let thread: ThreadID
    let semaphore: DispatchSemaphore
  }

  private let state = Guarded(State())
}

extension WriteTurn {
  /// Whether it is the turn of the thread that asks.
  var isMine: Bool {
    let me = ThreadID.current
    return state.withLock { $0.holder == me }
  }

  /// How many threads wait for the turn.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Waits for the turn.
  func take() { enqueue()?.wait() }

  /// Waits for the turn, at most for `timeout`; returns false if it did not come in time.
  func take(timeout: Duration) -> Bool {
    guard let waiter = enqueue() else { return true }
    return waiter.wait(timeout: .now() + timeout.dispatchInterval) == .success || giveUp(waiter)
  }

  /// Takes the turn if it is nobody's; otherwise returns what is signalled when it comes.
  private func enqueue() -> DispatchSemaphore? {
    let me = ThreadID.current
    return state.withLock { state in
      guard state.holder != nil else {
        state.holder = me
        return nil
      }
      let semaphore = DispatchSemaphore(value: 0)
      state.waiters.append(Waiter(thread: me, semaphore: semaphore))
      return semaphore
    }
  }

  /// Waits no longer; returns whether the turn came all the same, between the end of the wait and now.
  func giveUp(_ waiter: DispatchSemaphore) -> Bool {
    state.withLock { state in
      let index = state.waiters.firstIndex { $0.semaphore === waiter }
      if let index { state.waiters.remove(at: index) }
      return index == nil
    }
  }

  /// Gives the turn to whoever has waited longest.
  func pass() {
    let next: Waiter? = state.withLock { state in
      let next = state.waiters.isEmpty ? nil : state.waiters.removeFirst()
      state.holder = next?.thread
      return next
    }
    next?.semaphore.signal()
  }
}

extension Duration {
  /// The same time for Dispatch, rounded to nanoseconds and capped at some years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return .nanoseconds(0) }
    guard seconds < 100_000_000 else { return .seconds(100_000_000) }
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }
}
