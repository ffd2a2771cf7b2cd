extension DatabaseMetrics {
  /// One metric, for exporters.
  ///
  /// ```swift
  /// for sample in database.metrics.samples {
  ///   lines.append("divan_\(sample.name) \(sample.text)")
  /// }
  /// ```
  public struct Sample: Sendable, Hashable {
    /// The name of the property, such as `appendedBytes`.
    public let name: String
    /// Whether it is a counter, which only rises while the database is open; otherwise a gauge.
    public let isCounter: Bool
    /// The value.
    public let value: Double
    /// The value as text; an integer has no decimals.
    public let text: String
  }

  /// All metrics with their names, in the order of their declarations.
  ///
  /// New metrics may come with new versions.
  public var samples: [Sample] {
    DatabaseMetrics.fields.map { field in
      switch field.path {
      case .number(let path):
        let value = self[keyPath: path]
        return Sample(
          name: field.name, isCounter: field.isCounter, value: Double(value), text: "\(value)")
      case .seconds(let path):
        let value = self[keyPath: path]
        return Sample(name: field.name, isCounter: field.isCounter, value: value, text: "\(value)")
      }
    }
  }

  struct Field: Sendable {
    enum Path: Sendable {
      case number(any WritableKeyPath<DatabaseMetrics, Int> & Sendable)
      case seconds(any WritableKeyPath<DatabaseMetrics, Double> & Sendable)
    }

    let name: String
    let path: Path
    var isCounter = true
  }

  static let fields: [Field] = [
    Field(name: "commits", path: .number(\.commits)),
    Field(name: "storedRevisions", path: .number(\.storedRevisions)),
    Field(name: "appendedBytes", path: .number(\.appendedBytes)),
    Field(name: "commitGroups", path: .number(\.commitGroups)),
    Field(name: "groupedCommits", path: .number(\.groupedCommits)),
    Field(name: "flushSeconds", path: .seconds(\.flushSeconds)),
    Field(name: "writerWaits", path: .number(\.writerWaits)),
    Field(name: "writerWaitSeconds", path: .seconds(\.writerWaitSeconds)),
    Field(name: "snapshots", path: .number(\.snapshots)),
    Field(name: "queries", path: .number(\.queries)),
    Field(name: "queryCandidates", path: .number(\.queryCandidates)),
    Field(name: "queryResults", path: .number(\.queryResults)),
    Field(name: "predicateCacheHits", path: .number(\.predicateCacheHits)),
    Field(name: "predicateCacheMisses", path: .number(\.predicateCacheMisses)),
    Field(name: "checkpoints", path: .number(\.checkpoints)),
    Field(name: "checkpointBytes", path: .number(\.checkpointBytes)),
    Field(name: "checkpointSeconds", path: .seconds(\.checkpointSeconds)),
    Field(name: "compactions", path: .number(\.compactions)),
    Field(name: "compactedBytes", path: .number(\.compactedBytes)),
    Field(name: "reclaimedBytes", path: .number(\.reclaimedBytes)),
    Field(name: "compactionSeconds", path: .seconds(\.compactionSeconds)),
    Field(name: "maintenanceFailures", path: .number(\.maintenanceFailures)),
    Field(name: "damageReports", path: .number(\.damageReports)),
    Field(name: "rebuiltPages", path: .number(\.rebuiltPages)),
    Field(name: "droppedEvents", path: .number(\.droppedEvents)),
    Field(name: "openSeconds", path: .seconds(\.openSeconds), isCounter: false),
    Field(name: "documents", path: .number(\.documents), isCounter: false),
    Field(name: "logBytes", path: .number(\.logBytes), isCounter: false),
    Field(name: "deadBytes", path: .number(\.deadBytes), isCounter: false),
    Field(name: "replayBytes", path: .number(\.replayBytes), isCounter: false),
    Field(name: "pendingIndexEntries", path: .number(\.pendingIndexEntries), isCounter: false),
    Field(name: "waitingWriters", path: .number(\.waitingWriters), isCounter: false),
    Field(name: "heldVersions", path: .number(\.heldVersions), isCounter: false),
    Field(
      name: "oldestHeldVersionSeconds", path: .seconds(\.oldestHeldVersionSeconds),
      isCounter: false),
  ]
}
