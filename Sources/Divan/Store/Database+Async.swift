import Dispatch

extension Database {
  /// The queue for work of asynchronous callers, which must not block a thread of Swift's pool.
  static let queue = DispatchQueue(
    label: "divan.async", attributes: .concurrent, autoreleaseFrequency: .workItem)

  /// Makes changes that are committed together, or not at all, without blocking the thread.
  ///
  /// This is ``write(timeout:_:)`` for asynchronous callers. A task that is cancelled before `body`
  /// begins gets ``DatabaseError/Code/cancelled``, and nothing is changed; later, the transaction
  /// completes.
  @discardableResult
  public func write<R: Sendable>(
    timeout: Duration? = nil, _ body: @escaping @Sendable (WriteTransaction) throws -> R
  ) async throws -> R {
    try await write(durability: store.configuration.durability, timeout: timeout, body)
  }

  /// Makes changes that are committed together, or not at all, with the durability that you choose.
  ///
  /// This is ``write(durability:timeout:_:)`` for asynchronous callers, whose thread it does not
  /// block.
  @discardableResult
  public func write<R: Sendable>(
    durability: Durability, timeout: Duration? = nil,
    _ body: @escaping @Sendable (WriteTransaction) throws -> R
  ) async throws -> R {
    try await Database.run { isCancelled in
      try self.store.write(durability: durability, timeout: timeout) { transaction in
        if isCancelled() { throw Database.cancelledError }
        return try body(transaction)
      }
    }
  }

  /// Reads from the database as it is now, off the caller's thread.
  public func read<R: Sendable>(
    _ body: @escaping @Sendable (Snapshot) throws -> R
  ) async throws -> R {
    try await Database.run { isCancelled in
      if isCancelled() { throw Database.cancelledError }
      return try body(try self.snapshot())
    }
  }

  /// Runs work with progress on another thread; a cancelled task stops it at its next report.
  static func run<R: Sendable>(
    reportingTo progress: (@Sendable (Double) throws -> Void)?,
    _ work: @escaping @Sendable (_ report: (Double) throws -> Void) throws -> R
  ) async throws -> R {
    try await run { isCancelled in
      try work { share in
        if isCancelled() { throw Database.stoppedError }
        try progress?(share)
      }
    }
  }

  private static let stoppedError = DatabaseError(
    .cancelled, "the task was cancelled before the work was complete")

  static let cancelledError = DatabaseError(
    .cancelled, "the task was cancelled before the work began; nothing was changed")

  static func run<R: Sendable>(
    _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> R
  ) async throws -> R {
    let cancellation = Cancellation()
    let queued = QueuedWork { try work { cancellation.isRequested } }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        queued.begin { continuation.resume() }
      }
    } onCancel: {
      cancellation.request()
    }
    return try queued.takeResult()
  }
}
