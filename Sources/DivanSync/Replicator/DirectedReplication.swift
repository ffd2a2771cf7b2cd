import Divan
import Foundation

/// A replication in one direction.
struct DirectedReplication: Sendable {
  typealias SidePath = any WritableKeyPath<ReplicationStatus, ReplicationStatus.Side> & Sendable

  let source: any ReplicationPeer
  let target: any ReplicationPeer
  let sourceName: String
  /// The ID of its log.
  let id: String
  let filter: ReplicationFilter
  let options: Replicator.Options
  private let board: StatusBoard
  private let side: SidePath
  private let isContinuous: Bool

  init(
    _ replicator: Replicator, from source: (any ReplicationPeer, name: String),
    to target: (any ReplicationPeer, name: String), _ board: StatusBoard, _ side: SidePath,
    _ isContinuous: Bool
  ) {
    self.source = source.0
    self.target = target.0
    sourceName = source.name
    filter = replicator.filter
    options = replicator.options
    id = ReplicationID.make(
      source: source.name, target: target.name, filter: filter,
      copiesDesignDocuments: options.copiesDesignDocuments)
    self.board = board
    self.side = side
    self.isContinuous = isContinuous
  }

  /// Runs sessions until everything is copied, or permanently.
  ///
  /// An error that may pass begins another session, after a wait or when `alarm` rings.
  func run(_ gate: Gate, _ alarm: Alarm) async throws {
    var backoff = Backoff(options)
    var beginsAgain = false
    while true {
      do {
        try await copy(gate, fromBeginning: &beginsAgain, &backoff)
        guard isContinuous else { return }
      } catch let error as ReplicationError where error.code == .unknownPosition && !beginsAgain {
        beginsAgain = true
      } catch let error where error.mayPass {
        guard isContinuous || backoff.attemptCount < options.retryLimit else { throw error }
        let wait = backoff.next(atLeast: (error as? ReplicationError)?.retryDelay)
        // It may ring as soon as the phase is known.
        let wake = alarm.gate
        update { $0.phase = .offline(until: Date(timeIntervalSinceNow: wait / .seconds(1))) }
        try await Self.sleep(for: wait, orUntil: wake)
      }
    }
  }

  private static func sleep(for wait: Duration, orUntil wake: Gate) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Task.sleep(for: wait) }
      group.addTask { try await wake.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Copies everything that is missing, as one session of the log.
  ///
  /// A continuous one ends when there is something to ask for again. `fromBeginning` becomes false
  /// with the first position that is recorded.
  private func copy(
    _ gate: Gate, fromBeginning: inout Bool, _ backoff: inout Backoff
  ) async throws {
    update { $0.phase = .active }
    let retryTime = ContinuousClock.now + options.retryDelayLimit
    var session = try await ReplicationSession(self)
    let isOfTargetOnly = session.isOfTargetOnly
    let past = session.pastFailures
    board.update { status in
      status[keyPath: side].isCheckpointOfTargetOnly = isOfTargetOnly
      for failure in past { status.addPast(.init(past: failure, isPulled: side == \.pull)) }
    }
    let reader = BatchReader(
      self, since: fromBeginning ? nil : session.start,
      retries: fromBeginning ? [] : session.pastRetries)
    try await gate.wait()
    var batch = try await reader.next()
    while true {
      while let written = batch {
        update { $0.phase = .active }
        try await gate.wait()
        // The next batch is read while this one is written.
        async let following = reader.next()
        try await write(written, &session, &backoff)
        if written.position != nil { fromBeginning = false }
        batch = try await following
      }
      guard isContinuous else { return }
      backoff.reset()
      update {
        $0.phase = .upToDate
        $0.pendingCount = 0
      }
      let end = session.hasRetries ? retryTime : nil
      guard try await waitForChanges(since: reader.position, until: end) else { return }
      try await gate.wait()
      batch = try await reader.next()
    }
  }

  /// Waits for changes; returns false if there are none until a time.
  private func waitForChanges(
    since position: ReplicationPosition?, until end: ContinuousClock.Instant?
  ) async throws -> Bool {
    guard let end else {
      try await source.waitForChanges(since: position)
      return true
    }
    return try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await source.waitForChanges(since: position)
        return true
      }
      group.addTask {
        try await Task.sleep(until: end)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }

  /// What became of a batch.
  private struct Outcome {
    var counts: ReplicationCounts
    var failures: [ReplicationBatch.Failure]
    /// The revisions that were copied or refused: earlier failures of their ancestors are over.
    var settled: [ReplicatedRevision] = []
    /// A temporary error of some revisions.
    var interruption: (any Error)?
  }

  /// Writes a batch, and records its position.
  ///
  /// A temporary error of some revisions is thrown after the others were counted.
  private func write(
    _ batch: ReplicationBatch, _ session: inout ReplicationSession, _ backoff: inout Backoff
  ) async throws {
    var outcome = Outcome(counts: batch.counts, failures: batch.failures)
    if !batch.revisions.isEmpty {
      let shared = SharedAttachments()
      let results = try await insert(batch.revisions, shared)
      // A revision without a result must not count as stored.
      guard results.count == batch.revisions.count else {
        throw ReplicationError(
          .invalidAnswer,
          "the target returned \(results.count) results for \(batch.revisions.count) revisions")
      }
      for (index, (revision, result)) in zip(batch.revisions, results).enumerated() {
        switch result {
        case .success(let isNew):
          if isNew { outcome.counts.add(revision, at: index, shared) }
          outcome.settled.append(revision)
        case .failure(let error) where error.mayPass: outcome.interruption = error
        case .failure(let error):
          outcome.settled.append(revision)
          outcome.failures.append((revision.document.id, revision.revision, error))
        }
      }
    }
    session.remember(outcome.failures, after: outcome.settled)
    outcome.counts.revisionsFailed += outcome.failures.count
    session.counts += outcome.counts
    // Revisions that were written are progress, also on a connection that is cut again and again.
    if outcome.counts.revisionsWritten > 0 { backoff.reset() }
    if let position = batch.position, outcome.interruption == nil {
      try await session.record(position, after: batch.lastChange, of: self)
    }
    // What is tried again and fails again is no progress.
    if outcome.interruption == nil, !batch.isOfRetries { backoff.reset() }
    show(outcome, of: batch, session)
    if let interruption = outcome.interruption { throw interruption }
  }

  /// Stores revisions in the target, and shows how far their attachments are.
  ///
  /// `shared` gets the attachments whose content the target has.
  private func insert(
    _ revisions: [ReplicatedRevision], _ shared: SharedAttachments
  ) async throws -> [Result<Bool, any Error>] {
    guard revisions.contains(where: { !$0.newAttachments.isEmpty }) else {
      return try await target.insert(revisions, from: sourceName)
    }
    let size = revisions.reduce(0) { $0.saturatingSum($1.newAttachmentSize) }
    update { ($0.batchAttachmentBytes, $0.batchAttachmentBytesDone) = (size, 0) }
    defer { update { ($0.batchAttachmentBytes, $0.batchAttachmentBytesDone) = (0, 0) } }
    let progress = { @Sendable (count: Int) in
      // A peer of a user can report any number.
      update { side in
        side.batchAttachmentBytesDone = max(0, min(size, side.batchAttachmentBytesDone &+ count))
      }
    }
    var reporting = revisions
    for index in reporting.indices {
      for number in reporting[index].attachments.indices {
        reporting[index].attachments[number].progress = progress
        reporting[index].attachments[number].onSharing = { shared.insert(index, number) }
      }
    }
    return try await target.insert(reporting, from: sourceName)
  }

  /// Shows in the status what was done with a batch.
  private func show(
    _ outcome: Outcome, of batch: ReplicationBatch, _ session: ReplicationSession
  ) {
    let isOfTargetOnly = session.isOfTargetOnly
    let isPulled = side == \.pull
    board.update { status in
      status[keyPath: side].counts += outcome.counts
      status[keyPath: side].isCheckpointOfTargetOnly = isOfTargetOnly
      status[keyPath: side].pendingCount = batch.followingCount
      if !status.failures.isEmpty {
        for revision in outcome.settled { status.removeFailures(of: revision, isPulled: isPulled) }
      }
      for (id, revision, error) in outcome.failures {
        status.add(.init(id: id, revision: revision, isPulled: isPulled, error: error))
      }
    }
  }

  private func update(_ change: (inout ReplicationStatus.Side) -> Void) {
    board.update { change(&$0[keyPath: side]) }
  }
}

extension ReplicationCounts {
  /// Counts a revision that was written, with the attachments that were sent for it.
  fileprivate mutating func add(
    _ revision: ReplicatedRevision, at index: Int, _ shared: SharedAttachments
  ) {
    revisionsWritten += 1
    guard !revision.attachments.isEmpty else { return }
    let generation = revision.knownAncestorGeneration
    for (number, attachment) in revision.attachments.enumerated()
    where attachment.isNew(after: generation) && !shared.contains(index, number) {
      attachmentsWritten += 1
      attachmentBytes += attachment.length
    }
  }
}
