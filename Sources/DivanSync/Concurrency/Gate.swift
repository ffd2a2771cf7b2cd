import Synchronization

/// A gate at which tasks wait while it is closed.
///
/// A replication that is paused has a closed one. The gate of a service opens once, when it stops.
final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var waiterCount = 0
  }

  private let state: Mutex<State>

  init(isOpen: Bool) { state = Mutex(State(isOpen: isOpen)) }

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for each in waiting { each.resume() }
  }

  /// Returns when the gate is open, or throws when the task is cancelled.
  func wait() async throws {
    let number = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = state.withLock { state in
          // The handler below does not find a continuation that is not there yet.
          if state.isOpen || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
    try Task.checkCancellation()
  }
}

/// Wakes tasks that wait, as often as it is asked to.
final class Alarm: Sendable {
  private let next = Mutex(Gate(isOpen: false))

  /// A gate that opens when the alarm rings the next time.
  var gate: Gate { next.withLock { $0 } }

  func ring() {
    let gate = next.withLock { next in
      defer { next = Gate(isOpen: false) }
      return next
    }
    gate.open()
  }
}
