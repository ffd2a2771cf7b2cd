internal import DivanLog

// The events with their levels and messages. A message has no user's data: no ID, no value, no
// path.

extension DatabaseEvent {
  static func opened(_ report: OpeningReport) -> DatabaseEvent {
    let state =
      switch report.ending {
      case .created: "a new store"
      case .closed: "a store that had been closed"
      case .interrupted: "a store that had not been closed"
      }
    var event = DatabaseEvent(
      .opened, .info, "The database was opened in \(report.duration.text): \(state)",
      report.duration)
    event.openingReport = report
    return event
  }

  /// Returns nil if the store was closed properly.
  static func recovered(_ report: OpeningReport) -> DatabaseEvent? {
    guard report.ending == .interrupted else { return nil }
    var text =
      "The store had not been closed. \(report.replayedCommits) commits were read from the log"
    if report.securedCommits > 0 {
      text += ", \(report.securedCommits) were logged again to make them durable"
    }
    if report.discardedBytes > 0 {
      text += ", \(report.discardedBytes) bytes of an unfinished transaction were left out"
    }
    var event = DatabaseEvent(.recovered, .notice, text, report.duration)
    event.openingReport = report
    return event
  }

  static func openingFailed(_ error: any Error) -> DatabaseEvent {
    failure(.openingFailed, .error, "The database could not be opened", error)
  }

  static func closed(_ duration: Duration, _ error: (any Error)?) -> DatabaseEvent {
    guard let error else {
      return DatabaseEvent(.closed, .info, "The database was closed in \(duration.text)", duration)
    }
    var event = failure(.closed, .error, "The database was closed with an error", error)
    event.duration = duration
    return event
  }

  static func checkpointWritten(
    commit: UInt64, size: Int, _ duration: Duration
  ) -> DatabaseEvent {
    var event = DatabaseEvent(
      .checkpointWritten, .info,
      "A checkpoint of \(size) bytes was written in \(duration.text)", duration)
    event.checkpoint = CheckpointDetails(commit: commit, size: size)
    return event
  }

  static func compacted(
    _ segmentCount: Int, sizeBefore: Int, sizeAfter: Int, _ duration: Duration
  ) -> DatabaseEvent {
    let segments = segmentCount == 1 ? "1 segment was" : "\(segmentCount) segments were"
    var event = DatabaseEvent(
      .compacted, .info,
      "\(segments) compacted from \(sizeBefore) bytes to \(sizeAfter) in \(duration.text)",
      duration)
    event.compaction = CompactionDetails(
      segmentCount: segmentCount, sizeBefore: sizeBefore, sizeAfter: sizeAfter)
    return event
  }

  static func maintenanceFailed(_ error: DatabaseError) -> DatabaseEvent {
    failure(.maintenanceFailed, .warning, "Maintenance failed, and is tried again later", error)
  }

  static var maintenanceSucceeded: DatabaseEvent {
    DatabaseEvent(.maintenanceSucceeded, .notice, "Maintenance succeeded after an earlier failure")
  }

  static func slowQuery(_ query: QueryDetails, _ duration: Duration) -> DatabaseEvent {
    var event = DatabaseEvent(
      .slowQuery, .warning,
      "A query took \(duration.text): \(query.candidateCount) candidates examined, "
        + "\(query.documentsRead) documents read, \(query.resultCount) results", duration)
    event.query = query
    return event
  }

  static func slowCommit(_ commit: CommitDetails, _ duration: Duration) -> DatabaseEvent {
    var event = DatabaseEvent(
      .slowCommit, .warning,
      "A transaction took \(duration.text): \(commit.revisionCount) revisions, "
        + "\(commit.size) bytes, \(commit.lockWait.text) waiting for its turn, "
        + "\(commit.flushWait.text) waiting for the flush", duration)
    event.commit = commit
    return event
  }

  static func damageFound(_ error: DatabaseError) -> DatabaseEvent {
    failure(.damageFound, .error, "Damage was found", error)
  }

  static func pageRebuilt(_ duration: Duration) -> DatabaseEvent {
    DatabaseEvent(
      .pageRebuilt, .warning,
      "A damaged page of the index was rebuilt from the log in \(duration.text)", duration)
  }

  static func writingStopped(_ error: DatabaseError) -> DatabaseEvent {
    failure(.writingStopped, .error, "Writing stopped until the store is opened again", error)
  }

  static func autosaveFailed(_ error: any Error) -> DatabaseEvent {
    failure(.autosaveFailed, .warning, "A model could not be saved, and is tried again", error)
  }

  /// Creates an event about an error, whose message has no user's data if it is a `DatabaseError`.
  private static func failure(
    _ kind: Kind, _ level: Level, _ message: String, _ error: any Error
  ) -> DatabaseEvent {
    let cause = (error as? DatabaseError).map { ": \($0.message) (\($0.code))" }
    var event = DatabaseEvent(kind, level, message + (cause ?? ""))
    event.error = error
    return event
  }
}

extension Duration {
  /// The duration in seconds.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The duration for people: `12.3 ms`, `1.5 s`.
  var text: String {
    let isLong = inSeconds >= 1
    let tenths = (inSeconds * (isLong ? 10 : 10_000)).rounded()
    return "\(tenths / 10) \(isLong ? "s" : "ms")"
  }
}
