import Dispatch
import DivanLog
import Synchronization

/// Work that another thread runs once, and its result.
///
/// When the work has ended, that thread retains nothing of it. The caller may then have the last
/// reference to a database, in the result or elsewhere, and the store is closed when it drops that.
final class QueuedWork<R: Sendable>: Sendable {
  private enum State {
    case waiting(@Sendable () throws -> R)
    case running
    case ended(Result<R, any Error>)
    case taken
  }

  private let state: Guarded<State>

  init(_ work: @escaping @Sendable () throws -> R) { state = Guarded(.waiting(work)) }

  /// Runs the work on another thread, and then calls a closure there.
  func begin(_ hasEnded: @escaping @Sendable () -> Void) {
    Database.queue.async {
      self.run()
      hasEnded()
    }
  }

  private func run() {
    let work = state.withLock { state in
      guard case .waiting(let work) = state else { preconditionFailure("The work runs once") }
      state = .running
      return work
    }
    let result = Result { try work() }
    state.withLock { $0 = .ended(result) }
  }

  /// Returns or throws the result of work that has ended, once.
  func takeResult() throws -> R {
    let result = state.withLock { state in
      guard case .ended(let result) = state else { preconditionFailure("The work has not ended") }
      state = .taken
      return result
    }
    return try result.get()
  }
}
