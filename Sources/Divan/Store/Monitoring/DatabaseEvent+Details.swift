internal import DivanLog

extension DatabaseEvent {
  /// A checkpoint that was written.
  ///
  /// ```swift
  /// if let checkpoint = event.checkpoint {
  ///   print("Commit \(checkpoint.commit) is in a checkpoint of \(checkpoint.size) bytes")
  /// }
  /// ```
  public struct CheckpointDetails: Sendable, Equatable {
    /// The number of the last commit in it.
    public let commit: UInt64
    /// The size of its file, in bytes.
    public let size: Int
  }

  /// A compaction: one new segment has replaced others.
  ///
  /// ```swift
  /// if let compaction = event.compaction {
  ///   print("Compaction freed \(compaction.sizeBefore - compaction.sizeAfter) bytes")
  /// }
  /// ```
  public struct CompactionDetails: Sendable, Equatable {
    /// The number of segments that were compacted into one.
    public let segmentCount: Int
    /// The total size of these segments, in bytes.
    public let sizeBefore: Int
    /// The size of the new segment, in bytes.
    public let sizeAfter: Int
  }

  /// A query that was slow.
  ///
  /// ```swift
  /// guard let query = event.query else { return }
  /// print(event.message, query.text, query.plan)
  /// ```
  public struct QueryDetails: Sendable, Equatable {
    /// The query as text, with the values that it compares with.
    ///
    /// Control characters are escaped. A long text is cut after 2,000 characters.
    public let text: String
    /// The access path and the order, as in ``QuerySource/explain(_:)``, with values.
    public let plan: String
    /// The number of candidates that were examined.
    public let candidateCount: Int
    /// The number of documents that were read.
    public let documentsRead: Int
    /// The number of results.
    public let resultCount: Int
  }

  /// A transaction that was slow.
  ///
  /// ```swift
  /// if let commit = event.commit {
  ///   print("Waited \(commit.lockWait) for others and \(commit.flushWait) for the flush")
  /// }
  /// ```
  ///
  /// The rest of ``DatabaseEvent/duration`` is the time of the closure, and of appending to the
  /// log.
  public struct CommitDetails: Sendable, Equatable {
    /// The number of the commit.
    public let commit: UInt64
    /// The number of revisions that it stored.
    public let revisionCount: Int
    /// Its size in the log, in bytes.
    public let size: Int
    /// The time that the transaction waited for other transactions, and for maintenance.
    public let lockWait: Duration
    /// The time that it waited for the flush.
    public let flushWait: Duration
  }
}

extension DatabaseEvent {
  /// The users' data of the event, on one line: paths, IDs, queries with their values.
  ///
  /// Control characters are escaped. Keep it out of logs that others read.
  public var details: String {
    var parts = ["store \(path)"]
    if let query {
      parts.append("query \(query.text)")
      parts.append("plan \(query.plan)")
    }
    if let error { parts.append("error \(error)") }
    if kind == .opened, let openingReport { parts.append("report \(openingReport)") }
    return printable(parts.joined(separator: "; "))
  }
}

extension DatabaseEvent: CustomStringConvertible {
  /// The level, the kind, the message and the details, on one line.
  public var description: String { "\(level) \(kind): \(message) (\(details))" }
}
