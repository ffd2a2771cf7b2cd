import DivanLog
import Synchronization

/// The counters of an open store.
///
/// They are updated once for each commit, flush, query or step of maintenance, not for each
/// document. Writers and queries have counters of their own, so that they do not wait for each
/// other.
final class MetricCounters: Sendable {
  /// The work of writers and of maintenance.
  private let writing = Guarded(DatabaseMetrics())
  /// The work of queries.
  private let querying = Guarded(DatabaseMetrics())
  let opened = ContinuousClock.now
}

extension MetricCounters {
  /// The sum of all counters.
  var total: DatabaseMetrics {
    var total = writing.withLock { $0 }
    total.add(querying.withLock { $0 })
    return total
  }

  /// Counts a commit that was appended to the log.
  func noteCommit(_ size: CommitSize) {
    writing.withLock { counters in
      counters.commits += 1
      counters.storedRevisions += size.revisionCount
      counters.appendedBytes += size.bytes
    }
  }

  /// Counts a flush that made a number of commits durable.
  func noteGroup(of commitCount: UInt64, _ duration: Duration) {
    writing.withLock { counters in
      counters.commitGroups += 1
      counters.groupedCommits += Int(clamping: commitCount)
      counters.flushSeconds += duration.inSeconds
    }
  }

  func noteQuery(candidates: Int, results: Int, hits: Int, misses: Int) {
    querying.withLock { counters in
      counters.queries += 1
      counters.queryCandidates += candidates
      counters.queryResults += results
      counters.predicateCacheHits += hits
      counters.predicateCacheMisses += misses
    }
  }

  func noteCheckpoint(size: Int, _ duration: Duration) {
    writing.withLock { counters in
      counters.checkpoints += 1
      counters.checkpointBytes += size
      counters.checkpointSeconds += duration.inSeconds
    }
  }

  func noteCompaction(sizeBefore: Int, sizeAfter: Int, _ duration: Duration) {
    writing.withLock { counters in
      counters.compactions += 1
      counters.compactedBytes += sizeAfter
      counters.reclaimedBytes += sizeBefore - sizeAfter
      counters.compactionSeconds += duration.inSeconds
    }
  }

  func noteMaintenanceFailure() { writing.withLock { $0.maintenanceFailures += 1 } }

  func noteDamage() { writing.withLock { $0.damageReports += 1 } }

  func noteRebuiltPage() { writing.withLock { $0.rebuiltPages += 1 } }
}
