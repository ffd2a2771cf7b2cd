import Synchronization

/// Says once to all that wait for it that a service stops.
final class StopSignal: Sendable {
  private struct State {
    var isSent = false
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextKey = 0
  }

  private let state = Mutex(State())

  func send() {
    let waiters = state.withLock { state in
      state.isSent = true
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until the signal is sent or the task is cancelled; returns whether it was sent.
  func wait() async -> Bool {
    let key = state.withLock { state in
      state.nextKey += 1
      return state.nextKey
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          // A task that is cancelled before this has no other chance to notice it.
          guard !state.isSent, !Task.isCancelled else { return true }
          state.waiters[key] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: key) }?.resume()
    }
    return state.withLock { $0.isSent }
  }
}
