import Synchronization

/// The outdated versions that readers may still hold.
///
/// A version is added when a newer one takes its place while a reader has it. That costs a commit
/// one check of a reference count, and readers nothing.
struct HeldVersions: Sendable {
  private struct Entry {
    weak var version: VersionBox?
    /// When a newer version took its place.
    let outdated: ContinuousClock.Instant
  }

  /// Oldest first; some may have been released since.
  private var entries: [Entry] = []
  /// The number of entries at which released ones are removed.
  private var limit = 16
}

extension HeldVersions {
  /// Adds a version that was just replaced.
  mutating func add(_ version: VersionBox) {
    if entries.count >= limit {
      removeReleased()
      limit = max(16, 2 * entries.count)
    }
    entries.append(Entry(version: version, outdated: .now))
  }

  private mutating func removeReleased() { entries.removeAll { $0.version == nil } }

  /// The number of versions that are held, and how long the oldest of them is outdated.
  mutating func summary() -> (count: Int, age: Duration) {
    removeReleased()
    return (entries.count, entries.first?.outdated.duration(to: .now) ?? .zero)
  }
}
