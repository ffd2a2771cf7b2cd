import Dispatch
import DivanLog
import Synchronization

/// A fair (first in, first out) writer lock.
final class WriterLock: Sendable {
  private struct State {
    /// The thread that holds the lock.
    var holder: ThreadID?
    var waiters: [Waiter] = []
    var waits = Waits()
  }

  /// How often and how long threads had to wait.
  struct Waits {
    var count = 0
    var time = Duration.zero
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

  /// The waits for the lock that have ended.
  var waits: Waits { state.withLock { $0.waits } }

  /// Waits for the lock.
  func acquire() {
    guard let waiter = enqueue() else { return }
    measuring { waiter.wait() }
  }

  /// Waits for the lock for at most `timeout`; returns false if it was not acquired in time.
  func acquire(timeout: Duration) -> Bool {
    guard let waiter = enqueue() else { return true }
    return measuring {
      waiter.wait(timeout: .now() + timeout.dispatchInterval) == .success || giveUp(waiter)
    }
  }

  /// Counts a wait.
  private func measuring<R>(_ wait: () -> R) -> R {
    let start = ContinuousClock.now
    defer {
      let time = start.duration(to: .now)
      state.withLock { state in
        state.waits.count += 1
        state.waits.time += time
      }
    }
    return wait()
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
