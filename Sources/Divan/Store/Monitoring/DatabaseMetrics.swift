/// What a database has done since it was opened, and its present state, for a dashboard.
///
/// ``Database/metrics`` returns them. *Counters* only rise until the database is closed; *gauges*
/// are values of the moment. Times are in seconds and sizes in bytes, as the names say.
///
/// ```swift
/// let before = database.metrics
/// try importEverything()
/// print(database.metrics.delta(since: before))
/// ```
public struct DatabaseMetrics: Sendable, Hashable, Codable {
  // MARK: Commits

  /// The commits that were appended to the log, including those of maintenance.
  public internal(set) var commits = 0
  /// The revisions that these commits stored, deletions included.
  public internal(set) var storedRevisions = 0
  /// The bytes that these commits take in the log.
  public internal(set) var appendedBytes = 0
  /// The commit groups: flushes that commits waited for.
  ///
  /// The commits of a group share its flush.
  public internal(set) var commitGroups = 0
  /// The commits that these flushes made durable; divided by ``commitGroups``, the mean group size.
  public internal(set) var groupedCommits = 0
  /// The time that these flushes took.
  public internal(set) var flushSeconds = 0.0
  /// How often a transaction, or a step of maintenance, had to wait for the writer lock.
  public internal(set) var writerWaits = 0
  /// The time of these waits.
  public internal(set) var writerWaitSeconds = 0.0

  // MARK: Reads

  /// The snapshots and other views of the database that were taken.
  public internal(set) var snapshots = 0
  /// The executions of queries, including those of live queries.
  ///
  /// Reads by ID do not count.
  public internal(set) var queries = 0
  /// The candidates that queries examined.
  public internal(set) var queryCandidates = 0
  /// The results of queries.
  public internal(set) var queryResults = 0
  /// The candidates that the predicate cache decided.
  public internal(set) var predicateCacheHits = 0
  /// The candidates of queries with a cached filter that the predicate cache did not decide.
  public internal(set) var predicateCacheMisses = 0

  // MARK: Maintenance

  /// The checkpoints that were written.
  public internal(set) var checkpoints = 0
  /// The sizes of these checkpoints.
  public internal(set) var checkpointBytes = 0
  /// The time that they took.
  public internal(set) var checkpointSeconds = 0.0
  /// The compactions.
  public internal(set) var compactions = 0
  /// The sizes of the segments that compactions wrote.
  public internal(set) var compactedBytes = 0
  /// The bytes by which these segments are smaller than those that they replaced.
  public internal(set) var reclaimedBytes = 0
  /// The time that compactions took.
  public internal(set) var compactionSeconds = 0.0
  /// The failures of maintenance in the background.
  public internal(set) var maintenanceFailures = 0

  // MARK: Problems

  /// The reads and checks that met damage, several times for the same position.
  public internal(set) var damageReports = 0
  /// The damaged pages of the index that were rebuilt from the log.
  public internal(set) var rebuiltPages = 0
  /// The events that were dropped because ``Configuration/eventHandler`` was too slow.
  public internal(set) var droppedEvents = 0

  // MARK: The present state

  /// The time since the database was opened.
  public internal(set) var openSeconds = 0.0
  /// The documents that are not deleted.
  public internal(set) var documents = 0
  /// The size of the segments of the log, as of the last visible commit.
  public internal(set) var logBytes = 0
  /// The part of it that superseded records take; compactions reclaim it.
  public internal(set) var deadBytes = 0
  /// The bytes of the log after the last checkpoint, which an opening after a crash has to read.
  public internal(set) var replayBytes = 0
  /// The index entries in memory that are in no checkpoint yet.
  public internal(set) var pendingIndexEntries = 0
  /// The threads that wait for the writer lock.
  public internal(set) var waitingWriters = 0
  /// The outdated versions that snapshots hold, and whose space cannot be freed for that reason.
  public internal(set) var heldVersions = 0
  /// The time since the oldest of these versions became outdated; 0 if there is none.
  public internal(set) var oldestHeldVersionSeconds = 0.0

  init() {}
}

extension DatabaseMetrics {
  /// Returns what was done since earlier metrics of the same opening.
  ///
  /// Counters are subtracted. Gauges are the later ones, except ``openSeconds``, which becomes the
  /// time between the two.
  public func delta(since earlier: DatabaseMetrics) -> DatabaseMetrics {
    var delta = self
    delta.openSeconds -= earlier.openSeconds
    for field in DatabaseMetrics.fields where field.isCounter {
      switch field.path {
      case .number(let path): delta[keyPath: path] -= earlier[keyPath: path]
      case .seconds(let path): delta[keyPath: path] -= earlier[keyPath: path]
      }
    }
    return delta
  }

  /// Adds the counters of another part of the database.
  mutating func add(_ other: DatabaseMetrics) {
    for field in DatabaseMetrics.fields where field.isCounter {
      switch field.path {
      case .number(let path): self[keyPath: path] += other[keyPath: path]
      case .seconds(let path): self[keyPath: path] += other[keyPath: path]
      }
    }
  }
}

extension DatabaseMetrics: CustomStringConvertible {
  /// The values that are not zero, as `name=value`, on one line.
  public var description: String {
    samples.filter { $0.value != 0 }.map { "\($0.name)=\($0.text)" }.joined(separator: " ")
  }
}
