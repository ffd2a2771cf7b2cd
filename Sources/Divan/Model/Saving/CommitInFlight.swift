import Dispatch

/// A transaction of a context that runs on another thread.
///
/// A context has at most one of them. Calls that depend on its outcome wait for it: asynchronous
/// ones without blocking, synchronous ones by blocking their thread. The first of these that runs
/// after the transaction has ended takes over what it did. The transaction needs nothing from the
/// context's actor, so a thread that blocks there does not prevent it from ending.
final class CommitInFlight {
  private let ended = DispatchGroup()
  private let publish: () throws -> Void
  /// The error of the transaction, once its outcome was taken over; nil if it was committed.
  private(set) var failure: (any Error)?

  /// Begins the work.
  ///
  /// - Parameters:
  ///   - work: The transaction, which runs on another thread.
  ///   - publish: Takes over the outcome, on the context's actor, and throws its error.
  init<R: Sendable>(
    _ work: @escaping @Sendable () throws -> R,
    publish: @escaping (Result<R, any Error>) throws -> Void
  ) {
    let queued = QueuedWork(work)
    let ended = ended
    self.publish = { try publish(Result { try queued.takeResult() }) }
    ended.enter()
    queued.begin { ended.leave() }
  }

  /// Waits until the transaction has ended.
  func wait(isolation actor: isolated (any Actor)? = #isolation) async {
    let ended = ended
    await withCheckedContinuation { continuation in
      ended.notify(queue: Database.queue) { continuation.resume() }
    }
  }

  /// Blocks the thread until the transaction has ended.
  func block() { ended.wait() }

  func takeOver() {
    do { try publish() } catch { failure = error }
  }
}
