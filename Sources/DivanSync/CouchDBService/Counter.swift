import Synchronization

/// A count with a limit, and with one for each key.
final class Counter<Key: Hashable & Sendable>: Sendable {
  private struct Counts {
    var all = 0
    var keys: [Key: Int] = [:]
  }

  private let counts = Mutex(Counts())
  private let limit: Int
  private let keyLimit: Int

  init(_ limit: Int, each keyLimit: Int) {
    self.limit = limit
    self.keyLimit = keyLimit
  }

  /// Counts some more; returns false if there are too many.
  ///
  /// A key that is nil counts with all others only.
  func increment(_ key: Key?, by size: Int = 1) -> Bool {
    counts.withLock { counts in
      guard size <= limit - counts.all else { return false }
      if let key, size > 0 {
        let count = counts.keys[key, default: 0]
        guard size <= keyLimit - count else { return false }
        counts.keys[key] = count + size
      }
      counts.all += size
      return true
    }
  }

  /// Whether a key may have so much if nothing else is counted.
  func canHave(_ key: Key?, _ size: Int) -> Bool {
    size <= (key == nil ? limit : min(limit, keyLimit))
  }

  func decrement(_ key: Key?, by size: Int = 1) {
    counts.withLock { counts in
      counts.all -= size
      guard let key, let count = counts.keys[key] else { return }
      counts.keys[key] = count > size ? count - size : nil
    }
  }
}

/// A place among the requests or the feeds that are answered at once, until it is released.
final class Slot: Sendable {
  private let giveBack: Mutex<(@Sendable () -> Void)?>

  /// Creates a slot that takes no place yet.
  init() { giveBack = Mutex(nil) }

  deinit { release() }

  /// Takes a place.
  ///
  /// - Throws: ``ServiceError`` with the status 503 if there is none.
  func take<Key>(_ counter: Counter<Key>, _ key: Key?, _ things: String) throws {
    guard counter.increment(key) else {
      throw ServiceError(
        503, "service_unavailable", "Too many \(things) at once.", headers: ["retry-after": "1"])
    }
    release()
    giveBack.withLock { $0 = { counter.decrement(key) } }
  }

  func release() {
    let end = giveBack.withLock { end in
      defer { end = nil }
      return end
    }
    end?()
  }
}
