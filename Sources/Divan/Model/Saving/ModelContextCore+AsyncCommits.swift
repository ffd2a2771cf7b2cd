import DivanLog
import Synchronization

extension ModelContextCore {
  /// Takes over the transaction that is in flight, if there is one, once it has ended.
  ///
  /// Call this before anything that depends on what the context has stored.
  func finishCommit() {
    // The transaction may be waiting for the one that this thread runs.
    guard let commit = commitInFlight, !source.isWritingOnThisThread else { return }
    commit.block()
    finish(commit)
  }

  /// Takes over the transaction that is in flight, if there is one, without blocking the thread.
  func finishCommit(isolation actor: isolated (any Actor)? = #isolation) async {
    while let commit = commitInFlight {
      await commit.wait()
      finish(commit)
    }
  }

  private func finish(_ commit: CommitInFlight) {
    // Another call may have taken it over while this one waited.
    guard commitInFlight === commit else { return }
    commitInFlight = nil
    commit.takeOver()
  }

  /// Makes changes in a transaction on another thread, and takes them over.
  ///
  /// The caller has finished the previous commit, without waiting for anything since. On the other
  /// thread, `prepare` runs before the transaction, and `body` in it; on the actor, `publish` takes
  /// over the outcome, and throws its error. If `isCancellable`, the transaction does not begin
  /// once the task is cancelled.
  func commit<R: Sendable>(
    to database: Database, isCancellable: Bool = true,
    isolation actor: isolated (any Actor)? = #isolation,
    preparing prepare: @escaping @Sendable () -> Void = {},
    _ body: @escaping @Sendable (WriteTransaction) throws -> R,
    publish: @escaping (Result<R, any Error>) throws -> Void
  ) async throws {
    let cancellation = Cancellation()
    let durability = durability ?? database.store.configuration.durability
    // The context is retained until its models have taken over what they stored.
    let handle = handle
    let commit = CommitInFlight {
      prepare()
      return try database.store.write(durability: durability, timeout: nil) { transaction in
        if cancellation.isRequested { throw Database.cancelledError }
        return try body(transaction)
      }
    } publish: { result in
      try withExtendedLifetime(handle) { try publish(result) }
    }
    commitInFlight = commit
    await withTaskCancellationHandler {
      await commit.wait()
    } onCancel: {
      if isCancellable { cancellation.request() }
    }
    finish(commit)
    if let failure = commit.failure { throw failure }
  }
}
