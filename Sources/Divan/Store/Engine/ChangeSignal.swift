import DivanLog
import Synchronization

/// Wakes up tasks that wait for changes that can be read.
final class ChangeSignal: Sendable {
  private struct Waiter {
    let sequence: UInt64
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    /// The last change that can be read.
    var sequence: UInt64
    var isOver = false
    var waiters: [UInt64: Waiter] = [:]
    /// The number of waits that were begun so far.
    var waitCount: UInt64 = 0
  }

  private let state: Guarded<State>

  init(_ sequence: UInt64) { state = Guarded(State(sequence: sequence)) }
}

extension ChangeSignal {
  /// The last number that was noted.
  var last: UInt64 { state.withLock { $0.sequence } }

  /// The number of tasks that wait.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Notes that the changes through a sequence number can be read.
  func note(_ sequence: UInt64) {
    let ready: [Waiter] = state.withLock { state in
      guard sequence > state.sequence else { return [] }
      state.sequence = sequence
      guard !state.waiters.isEmpty else { return [] }
      let ready = state.waiters.filter { $0.value.sequence < sequence }
      for id in ready.keys { state.waiters[id] = nil }
      return Array(ready.values)
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  /// Notes that there will be no more changes.
  func end() {
    let ready = state.withLock { state in
      state.isOver = true
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  /// Waits like `wait(beyond:)`, but no longer than until a deadline, if one is given.
  func wait(beyond sequence: UInt64, until deadline: ContinuousClock.Instant?) async {
    guard let deadline else { return await wait(beyond: sequence) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait(beyond: sequence) }
      group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Waits until a change after a sequence number can be read.
  ///
  /// Returns also when there will be no more changes, and when the task is cancelled.
  func wait(beyond sequence: UInt64) async {
    let id: UInt64? = state.withLock { state in
      // A reader that is behind does not wait.
      guard state.sequence <= sequence, !state.isOver else { return nil }
      state.waitCount += 1
      return state.waitCount
    }
    guard let id else { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          // A task that is cancelled before this check is noticed here; later, the handler finds
          // the waiter.
          guard state.sequence <= sequence, !state.isOver, !Task.isCancelled else { return true }
          state.waiters[id] = Waiter(sequence: sequence, continuation: continuation)
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
    }
  }
}
