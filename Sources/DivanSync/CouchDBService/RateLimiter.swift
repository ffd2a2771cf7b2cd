import Synchronization

/// Limits how often something happens, for each key: a token bucket.
///
/// A bucket holds `burst` tokens at most, and gets `rate` of them in a second. A bucket that is
/// full again is forgotten when there are many. If as many are in use, further keys share one.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    var tokens: Double
    var time: ContinuousClock.Instant
  }

  private struct State {
    var buckets: [Key: Bucket] = [:]
    var shared: Bucket?
    var cleaning: ContinuousClock.Instant?
  }

  private let state = Mutex(State())
  private let rate: Double
  private let burst: Double
  private let keyLimit: Int

  init(rate: Double, burst: Double, keyLimit: Int = 10_000) {
    self.rate = max(rate, 0.001)
    self.burst = max(burst, 1)
    self.keyLimit = keyLimit
  }

  /// Takes a token.
  ///
  /// - Throws: ``ServiceError`` with the status 429 and the seconds until there is one.
  func take(_ key: Key, at now: ContinuousClock.Instant = .now) throws {
    let wait = state.withLock { state -> Double in
      if state.buckets[key] == nil, state.buckets.count >= keyLimit {
        clean(&state, now)
        guard state.buckets.count < keyLimit else { return take(&state.shared, now) }
      }
      return take(&state.buckets[key], now)
    }
    guard wait > 0 else { return }
    throw ServiceError(
      429, "too_many_requests", "Too many requests.",
      headers: ["retry-after": "\(Int(min(wait, 3600).rounded(.up)))"])
  }

  /// Takes a token from a bucket, which is full if there is none; returns the seconds to wait.
  private func take(_ place: inout Bucket?, _ now: ContinuousClock.Instant) -> Double {
    var bucket = place ?? Bucket(tokens: burst, time: now)
    bucket.tokens = tokens(in: bucket, now)
    bucket.time = now
    defer { place = bucket }
    guard bucket.tokens < 1 else {
      bucket.tokens -= 1
      return 0
    }
    return (1 - bucket.tokens) / rate
  }

  private func tokens(in bucket: Bucket, _ now: ContinuousClock.Instant) -> Double {
    min(burst, bucket.tokens + rate * max(0, (now - bucket.time) / .seconds(1)))
  }

  /// Forgets full buckets, once a second at most: it looks at all of them.
  private func clean(_ state: inout State, _ now: ContinuousClock.Instant) {
    if let last = state.cleaning, now - last < .seconds(1) { return }
    state.cleaning = now
    state.buckets = state.buckets.filter { tokens(in: $0.value, now) < burst }
  }
}
