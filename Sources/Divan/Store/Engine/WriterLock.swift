import Dispatch
import DivanLog
import Synchronization

/// A fair (first in, first out) writer lock.
final class WriterLock: Sendable {
  private struct State {
    /// The thread that holds the lock.
    var holder: ThreadID?
    var waiters: [Waiter] = []
  }

  private struct Waiter {
    let thread: ThreadID
    let semaphore: DispatchSemaphore
  }

  private let state = Guarded(State())
}

extension WriterLock {
  /// Whether the current thread holds the lock.
  var isHeldByThisThread: Bool {
    let me = ThreadID.current
    return state.withLock { $0.holder == me }
  }

  /// The number of threads that wait for the lock.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Waits for the lock.
  func acquire() { enqueue()?.wait() }

  /// Waits for the lock for at most `timeout`; returns false if it was not acquired in time.
  func acquire(timeout: Duration) -> Bool {
    guard let waiter = enqueue() else { return true }
    return waiter.wait(timeout: .now() + timeout.dispatchInterval) == .success || giveUp(waiter)
  }

  /// Acquires the lock if it is free; otherwise returns a semaphore that is signalled when it is.
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

  /// Stops waiting; returns whether the lock was acquired between the timeout and now.
  func giveUp(_ waiter: DispatchSemaphore) -> Bool {
    state.withLock { state in
      let index = state.waiters.firstIndex { $0.semaphore === waiter }
      if let index { state.waiters.remove(at: index) }
      return index == nil
    }
  }

  /// Passes the lock to the thread that has waited longest.
  func release() {
    let next: Waiter? = state.withLock { state in
      let next = state.waiters.isEmpty ? nil : state.waiters.removeFirst()
      state.holder = next?.thread
      return next
    }
    next?.semaphore.signal()
  }
}

extension Duration {
  /// The duration as a Dispatch interval, rounded to nanoseconds and capped at about three years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return .nanoseconds(0) }
    guard seconds < 100_000_000 else { return .seconds(100_000_000) }
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }
}
