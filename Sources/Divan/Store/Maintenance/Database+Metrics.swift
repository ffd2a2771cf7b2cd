import DivanLog
import Synchronization

extension Database {
  /// What the database has done since it was opened, and its present state.
  ///
  /// Costs a few microseconds and no file access, whatever the size of the store: it adds up one
  /// number for each segment. It waits for no transaction, no flush and no maintenance, and can be
  /// read at any time, also after `close`.
  public var metrics: DatabaseMetrics {
    var metrics = store.counters.total
    metrics.droppedEvents = store.events?.droppedCount ?? 0
    metrics.openSeconds = store.counters.opened.duration(to: .now).inSeconds
    let waits = store.writerLock.waits
    metrics.writerWaits = waits.count
    metrics.writerWaitSeconds = waits.time.inSeconds
    metrics.waitingWriters = store.writerLock.waiterCount
    let usage = store.commits.usage()
    metrics.snapshots = usage.viewCount
    metrics.heldVersions = usage.heldCount
    metrics.oldestHeldVersionSeconds = usage.heldAge.inSeconds
    metrics.replayBytes = store.maintenance.state.withLock { $0.pendingSize }
    // A suspended database has no version in memory.
    guard let state = usage.visible?.state else { return metrics }
    metrics.documents = Int(clamping: state.documentCount)
    metrics.logBytes = state.segments.segments.reduce(0) { $0 + Int(clamping: $1.end.offset) }
    metrics.deadBytes = state.segments.usages.reduce(0) { $0 + Int(clamping: $1.dead) }
    metrics.pendingIndexEntries = state.documents.memtable.count + state.documents.immutableCount
    return metrics
  }

  /// Returns when the handler has received all events that were reported before, for tests.
  package func drainEvents() { store.events?.drain() }
}
