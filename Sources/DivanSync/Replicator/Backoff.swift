/// The waits between attempts: each is twice the one before, with jitter, up to a limit.
struct Backoff {
  private(set) var attemptCount = 0
  private let first: Duration
  private let limit: Duration

  init(_ options: Replicator.Options) {
    first = options.retryDelay
    limit = options.retryDelayLimit
  }

  /// Returns the next wait: between half of the doubled time and all of it.
  ///
  /// Clients that lost the same server then do not all come back at once. If a peer says how long
  /// to wait, the wait is at least that long, up to an hour.
  mutating func next(atLeast requested: Duration?) -> Duration {
    let doubled = min(limit, first * (1 << min(attemptCount, 30)))
    attemptCount += 1
    let jittered = doubled * Double.random(in: 0.5...1)
    return max(jittered, min(requested ?? .zero, .seconds(3600)))
  }

  /// Begins with short waits again, after something succeeded.
  mutating func reset() { attemptCount = 0 }
}
