import Divan
import Foundation

/// A session of a replication: from its beginning to its end, or to an error.
struct ReplicationSession {
  /// The position from which it continues; nil for the first change.
  let start: ReplicationPosition?
  var counts = ReplicationCounts()
  private let id = UUID().uuidString
  private let begin = Date.millisecondsSince1970
  private var sourceLog: ReplicationLog?
  private var targetLog: ReplicationLog?
  /// Whether the source refused to store or to read its log in this session.
  private var isSourceRefusing = false
  /// Revisions that the next session asks for again.
  private var retries: [ReplicationLog.Retry] = []
  private var retrySize = 0
  /// Revisions that could not be copied, and are not asked for again.
  private var failures: FailureList
  /// The last change of the source through the position that is recorded next.
  private var lastChange: ReplicationLog.Change?

  /// Begins a session where the logs of both peers agree.
  ///
  /// If the source does not store logs, it begins where the target's log says, as far as the source
  /// has the changes that the log remembers.
  init(_ replication: DirectedReplication) async throws {
    async let source = Self.sourceLog(of: replication)
    async let target = replication.target.replicationLog(replication.id)
    ((sourceLog, isSourceRefusing), targetLog) = try await (source, target)
    let position =
      isSourceRefusing || targetLog?.isOfTargetOnly == true
      ? try await targetLog?.position(confirmedBy: replication.source)
      : ReplicationLog.commonPosition(source: sourceLog, target: targetLog)
    start = position
    // A session that begins with the first change meets them again.
    failures = try await FailureList(
      position == nil ? [] : targetLog?.failures ?? [], missingIn: replication.target)
    lastChange = targetLog?.history.first { $0.position == position }?.lastChange
  }

  private static func sourceLog(
    of replication: DirectedReplication
  ) async throws -> (ReplicationLog?, isRefused: Bool) {
    do {
      return (try await replication.source.replicationLog(replication.id), false)
    } catch let error where error.refusesLog {
      return (nil, true)
    }
  }

  /// Whether only the target keeps a log.
  var isOfTargetOnly: Bool { isSourceRefusing || targetLog?.isOfTargetOnly == true }

  /// The revisions that the session before asks for again, which are before the start.
  var pastRetries: [ReplicationLog.Retry] { start == nil ? [] : targetLog?.retries ?? [] }

  /// Whether the next session has something to ask for again.
  var hasRetries: Bool { !retries.isEmpty }

  /// The revisions that earlier sessions could not copy, and that the target does not have.
  var pastFailures: [ReplicationLog.Failure] { failures.entries }

  /// Remembers what could not be copied.
  ///
  /// The next session tries a revision again whose content may be sent, or that may be stored,
  /// then. What failed before of the ancestors of `settled`, or of them, is forgotten.
  mutating func remember(
    _ failed: [ReplicationBatch.Failure], after settled: [ReplicatedRevision]
  ) {
    for revision in settled { failures.removeAncestors(of: revision) }
    for (id, revision, error) in failed {
      let code = (error as? ReplicationError)?.code
      if let revision, code == .unavailableContent || code == .notStored {
        retryLater(.init(id: id, revision: revision))
      } else {
        failures.add(.init(id: id, revision: revision, error))
      }
    }
  }

  private mutating func retryLater(_ retry: ReplicationLog.Retry) {
    // A revision is listed again with each change of another branch.
    guard !retries.contains(retry) else { return }
    // Whether there is too much is known from the size; the list need not be longer.
    if retrySize <= ReplicationLog.retrySizeLimit { retries.append(retry) }
    retrySize += retry.size
  }

  /// Records in both peers that everything through the position of a batch is in the target.
  ///
  /// The target is flushed first. A position must never be recorded of what a crash can lose.
  mutating func record(
    _ position: ReplicationPosition, after lastChange: ReplicationLog.Change?,
    of replication: DirectedReplication
  ) async throws {
    self.lastChange = lastChange ?? self.lastChange
    // More revisions than a log can remember are found again by comparing from the last position.
    guard retrySize <= ReplicationLog.retrySizeLimit else { return }
    try await replication.target.flush()
    var entry = ReplicationLog.Entry(sessionID: id, position: position)
    entry.counts = counts
    entry.begin = begin
    entry.end = Date.millisecondsSince1970
    sourceLog.record(entry)
    entry.lastChange = self.lastChange
    targetLog.record(entry)
    targetLog?.retries = retries
    targetLog?.failures = failures.entries
    targetLog?.isOfTargetOnly = isSourceRefusing
    try await replication.target.setReplicationLog(targetLog, replication.id)
    guard !isSourceRefusing else { return }
    do {
      try await replication.source.setReplicationLog(sourceLog, replication.id)
    } catch let error where error.refusesLog {
      isSourceRefusing = true
      targetLog?.isOfTargetOnly = true
      try await replication.target.setReplicationLog(targetLog, replication.id)
    }
  }
}

extension Error {
  /// Whether a peer that can be read does not store logs.
  ///
  /// If the credentials are not valid at all, the next request says so.
  var refusesLog: Bool {
    if let error = self as? ReplicationError {
      // An error of a login has no status.
      let isRefused = error.code == .unauthorized && error.status != nil
      return isRefused || error.code == .forbidden || error.status == 405
    }
    return (self as? DatabaseError)?.code == .readOnly
  }
}

extension ReplicationLog? {
  fileprivate mutating func record(_ entry: ReplicationLog.Entry) {
    if self == nil { self = ReplicationLog(entry) } else { self?.record(entry) }
  }
}

extension Date {
  fileprivate static var millisecondsSince1970: Int {
    Int(Date().timeIntervalSince1970 * 1000)
  }
}

extension ReplicationCounts {
  static func += (a: inout ReplicationCounts, b: ReplicationCounts) {
    a.revisionsChecked += b.revisionsChecked
    a.revisionsMissing += b.revisionsMissing
    a.revisionsRead += b.revisionsRead
    a.revisionsWritten += b.revisionsWritten
    a.revisionsFailed += b.revisionsFailed
    a.attachmentsWritten += b.attachmentsWritten
    a.attachmentBytes += b.attachmentBytes
  }
}
