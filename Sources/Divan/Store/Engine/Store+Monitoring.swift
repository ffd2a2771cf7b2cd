import DivanLog

// What the store reports to the handler of events, and counts.

extension EventDelivery {
  /// Creates the delivery to a configuration's handler; nil if there is none.
  convenience init?(_ configuration: Configuration, path: String) {
    guard let handler = configuration.eventHandler else { return nil }
    self.init(
      to: handler, path: path, slowQueryThreshold: configuration.slowQueryThreshold,
      slowCommitThreshold: configuration.slowCommitThreshold)
  }
}

extension Store {
  /// Reports that the store was opened, and what opening found.
  func reportOpening() {
    events?.report(.opened(report))
    if let recovered = DatabaseEvent.recovered(report) { events?.report(recovered) }
    for error in report.damage { note(error) }
    // A reader may lack an attachment because the writer has removed it since.
    if !configuration.isReadOnly { for error in report.unreadAttachments { note(error) } }
  }

  @discardableResult
  func note(_ error: DatabaseError) -> DatabaseError { environment.note(error) }

  /// Counts and reports the outcome of maintenance in the background.
  func noteMaintenance(_ problem: DatabaseError?, after earlier: DatabaseError?) {
    if let problem {
      counters.noteMaintenanceFailure()
      note(problem)
      events?.report(.maintenanceFailed(problem))
    } else if earlier != nil {
      events?.report(.maintenanceSucceeded)
    }
  }

  /// Counts and reports a checkpoint that was written since `start`.
  func noteCheckpoint(_ commit: UInt64, size: Int, since start: ContinuousClock.Instant) {
    let duration = start.duration(to: .now)
    counters.noteCheckpoint(size: size, duration)
    events?.report(.checkpointWritten(commit: commit, size: size, duration))
  }

  /// Counts and reports a compaction that was begun at `start`.
  func noteCompaction(
    of inputs: [Segment], into output: Segment, since start: ContinuousClock.Instant
  ) {
    let duration = start.duration(to: .now)
    let before = inputs.reduce(0) { $0 + Int(clamping: $1.end.offset) }
    let after = Int(clamping: output.end.offset)
    counters.noteCompaction(sizeBefore: before, sizeAfter: after, duration)
    events?.report(.compacted(inputs.count, sizeBefore: before, sizeAfter: after, duration))
  }

  /// Runs `close`, and reports that the store was closed, outside of all locks.
  func reportingClosing(_ close: () throws -> Void) throws {
    let wasClosed = isClosed
    let start = ContinuousClock.now
    let outcome = Result { try close() }
    if !wasClosed, isClosed, let events {
      let error: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
      events.end(with: .closed(start.duration(to: .now), error))
    }
    try outcome.get()
  }
}
