import Divan
import Foundation
import Synchronization

/// What the requests of a service share: counters, and secrets that live as long as the process.
final class ServiceState: Sendable {
  let limits: CouchDBService.Limits
  /// How the regular expressions of requests are matched.
  let patternMatching: PatternMatching
  let memory: MemoryBudget
  let passwords: PasswordChecker
  /// Opens when the feeds that wait are to end.
  let stop = Gate(isOpen: false)
  /// The key of the cookies, which never leave the process.
  let cookieKey = HMAC256.Key.random()
  private let requests: Counter
  private let feeds: Counter
  private let requestRates: RateLimiter

  init(_ configuration: CouchDBService.Configuration) {
    limits = configuration.limits
    patternMatching = configuration.allowsBacktracking ? .backtracking : .linear
    memory = MemoryBudget(limits.bodyMemory)
    passwords = PasswordChecker(configuration)
    requests = Counter(limits.concurrentRequests)
    feeds = Counter(limits.waitingFeeds)
    requestRates = RateLimiter(rate: limits.requestsPerSecond, burst: limits.requestBurst)
  }

  /// Counts a request until the result is released.
  func takeSlot() throws -> Slot { try Slot(requests, "requests") }

  /// Counts a feed that waits until the result is released.
  func takeFeedSlot() throws -> Slot { try Slot(feeds, "feeds") }

  /// Counts a request of a user.
  func takeRequest(of user: String?) throws {
    // A user's name has no empty form.
    try requestRates.take(user ?? "")
  }
}

/// A count with a limit.
final class Counter: Sendable {
  private let count = Mutex(0)
  let limit: Int

  init(_ limit: Int) { self.limit = limit }

  /// Counts one more; returns false if there are too many.
  func increment() -> Bool {
    count.withLock { count in
      guard count < limit else { return false }
      count += 1
      return true
    }
  }

  func decrement() { count.withLock { $0 -= 1 } }
}

/// One of the requests that are answered at once.
final class Slot: Sendable {
  private let counter: Counter
  /// Whether this still counts; a feed that waits counts elsewhere.
  private let isTaken = Mutex(true)

  init(_ counter: Counter, _ things: String) throws {
    guard counter.increment() else {
      throw ServiceError(
        503, "service_unavailable", "Too many \(things) at once.", headers: ["retry-after": "1"])
    }
    self.counter = counter
  }

  deinit { release() }

  func release() {
    let wasTaken = isTaken.withLock { isTaken in
      defer { isTaken = false }
      return isTaken
    }
    if wasTaken { counter.decrement() }
  }
}

/// The memory for the bodies of all requests.
final class MemoryBudget: Sendable {
  private let used = Mutex(0)
  let limit: Int

  init(_ limit: Int) { self.limit = limit }

  /// Takes memory; returns false if there is too little.
  func take(_ size: Int) -> Bool {
    used.withLock { used in
      guard size <= limit - used else { return false }
      used += size
      return true
    }
  }

  func giveBack(_ size: Int) { used.withLock { $0 -= size } }
}

/// The memory of one request, which is given back when this is released.
final class MemoryReservation: Sendable {
  private let budget: MemoryBudget
  private let size = Mutex(0)

  init(_ budget: MemoryBudget) { self.budget = budget }

  deinit { budget.giveBack(size.withLock { $0 }) }

  func add(_ count: Int) throws {
    guard budget.take(count) else {
      throw ServiceError(
        503, "service_unavailable", "Too many large requests at once.",
        headers: ["retry-after": "1"])
    }
    size.withLock { $0 += count }
  }
}

/// Limits how often something happens, for each key: a token bucket.
///
/// A bucket holds `burst` tokens at most, and gets `rate` of them in a second. The keys are names of
/// users, so there are not many of them.
final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var time: ContinuousClock.Instant
  }

  private let buckets = Mutex<[String: Bucket]>([:])
  private let rate: Double
  private let burst: Double

  init(rate: Double, burst: Double) {
    self.rate = max(rate, 0.001)
    self.burst = max(burst, 1)
  }

  /// Takes a token.
  ///
  /// - Throws: ``ServiceError`` with the status 429 and the seconds until there is one.
  func take(_ key: String, at now: ContinuousClock.Instant = .now) throws {
    let wait = buckets.withLock { buckets -> Double in
      var bucket = buckets[key] ?? Bucket(tokens: burst, time: now)
      bucket.tokens = min(burst, bucket.tokens + rate * max(0, (now - bucket.time) / .seconds(1)))
      bucket.time = now
      defer { buckets[key] = bucket }
      guard bucket.tokens < 1 else {
        bucket.tokens -= 1
        return 0
      }
      return (1 - bucket.tokens) / rate
    }
    guard wait > 0 else { return }
    throw ServiceError(
      429, "too_many_requests", "Too many requests.",
      headers: ["retry-after": "\(Int(min(wait, 3600).rounded(.up)))"])
  }
}
