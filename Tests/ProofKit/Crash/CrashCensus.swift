import Synchronization

/// The combined counts of all explorers of a run.
///
/// A state is what a loss left on the disk together with how the store was then recovered: which
/// calls the opening made, what it reported, and which version it served. The same state counts
/// once, in however many workloads, at however many calls and by however many losses it occurs.
package final class CrashCensus: Sendable {
  /// The counts for one kind of case.
  package struct Tally: Sendable, Codable {
    /// The number of trials.
    package var tried = 0
    /// The number of different images that resulted, counted separately for each workload.
    package var images = 0
  }

  /// All counts, for one workload or for all.
  package struct Counts: Sendable {
    package var calls = 0
    package var tried = 0
    package var examined = 0
    package var recoveryCrashesTried = 0
    /// The numbers of examined crashes during the first and during the second recovery.
    package var recoveryCrashes = [0, 0]
    package var readings = 0
    package var continuations = 0
    package var sites: [CallSite: Tally] = [:]
    package var recoverySites: [CallSite: Int] = [:]
    package var personalities: [String: Tally] = [:]
    /// The hashes of the states; the next property has those of the durable images alone.
    package var states: Set<UInt64> = []
    package var images: Set<UInt64> = []
  }

  private let counts = Mutex(Counts())

  package init() {}

  package var total: Counts { counts.withLock { $0 } }

  /// Adds the counts of an explorer.
  package func add(_ other: Counts) {
    counts.withLock { counts in
      counts.calls += other.calls
      counts.tried += other.tried
      counts.examined += other.examined
      counts.recoveryCrashesTried += other.recoveryCrashesTried
      for depth in other.recoveryCrashes.indices {
        counts.recoveryCrashes[depth] += other.recoveryCrashes[depth]
      }
      counts.readings += other.readings
      counts.continuations += other.continuations
      counts.sites.merge(other.sites) { $0 + $1 }
      counts.recoverySites.merge(other.recoverySites, uniquingKeysWith: +)
      counts.personalities.merge(other.personalities) { $0 + $1 }
      counts.states.formUnion(other.states)
      counts.images.formUnion(other.images)
    }
  }
}

extension CrashCensus.Tally {
  static func + (one: Self, other: Self) -> Self {
    Self(tried: one.tried + other.tried, images: one.images + other.images)
  }
}
