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
  /// An error that may pass begins another session.
  func run(_ gate: Gate) async throws {
    var backoff = Backoff(options)
    var beginsAgain = false
    while true {
      do {
        try await copy(gate, fromBeginning: &beginsAgain, &backoff)
        return
      } catch let error as ReplicationError where error.code == .unknownPosition && !beginsAgain {
        beginsAgain = true
      } catch let error where error.mayPass {
        guard isContinuous || backoff.attemptCount < options.retryLimit else { throw error }
        let wait = backoff.next(atLeast: (error as? ReplicationError)?.retryDelay)
        update { $0.phase = .offline(until: Date(timeIntervalSinceNow: wait / .seconds(1))) }
        try await Task.sleep(for: wait)
      }
    }
  }

  /// Copies everything that is missing, as one session of the log.
  ///
  /// `fromBeginning` becomes false with the first position that is recorded.
  private func copy(
    _ gate: Gate, fromBeginning: inout Bool, _ backoff: inout Backoff
  ) async throws {
    update { $0.phase = .active }
    var session = try await ReplicationSession(self)
    let reader = BatchReader(self, since: fromBeginning ? nil : session.start)
    try await gate.wait()
    var batch = try await reader.next()
    while true {
      while let written = batch {
        update { $0.phase = .active }
        try await gate.wait()
        // The next batch is read while this one is written.
        async let following = reader.next()
        try await write(written, &session)
        backoff.reset()
        if written.position != nil { fromBeginning = false }
        batch = try await following
      }
      guard isContinuous else { return }
      backoff.reset()
      update {
        $0.phase = .upToDate
        $0.pendingCount = 0
      }
      try await source.waitForChanges(since: reader.position)
      try await gate.wait()
      batch = try await reader.next()
    }
  }

  private func write(_ batch: ReplicationBatch, _ session: inout ReplicationSession) async throws {
    var counts = batch.counts
    var failures = batch.failures
    if !batch.revisions.isEmpty {
      let results = try await target.insert(batch.revisions, from: sourceName)
      // A revision without a result must not count as stored.
      guard results.count == batch.revisions.count else {
        throw ReplicationError(
          .invalidAnswer,
          "the target returned \(results.count) results for \(batch.revisions.count) revisions")
      }
      for (revision, result) in zip(batch.revisions, results) {
        switch result {
        case .success(let isNew):
          guard isNew else { continue }
          counts.revisionsWritten += 1
          for attachment in revision.attachments {
            if case .known = attachment.content { continue }
            counts.attachmentsWritten += 1
            counts.attachmentBytes += attachment.length
          }
        case .failure(let error):
          failures.append((revision.document.id, revision.revision, error))
        }
      }
    }
    counts.revisionsFailed += failures.count
    session.counts += counts
    if let position = batch.position { try await session.record(position, of: self) }
    board.update { status in
      status[keyPath: side].counts += counts
      status[keyPath: side].pendingCount = batch.followingCount
      for (id, revision, error) in failures {
        status.add(
          .init(id: id, revision: revision, isPulled: side == \.pull, error: error))
      }
    }
  }

  private func update(_ change: (inout ReplicationStatus.Side) -> Void) {
    board.update { change(&$0[keyPath: side]) }
  }
}

extension Error {
  /// Whether the same call may succeed later.
  fileprivate var mayPass: Bool {
    if let error = self as? ReplicationError { return error.isTemporary }
    guard let error = self as? DatabaseError else { return false }
    return [.suspended, .timedOut].contains(error.code)
  }
}
