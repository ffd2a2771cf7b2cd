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

  /// Begins a session where the logs of both peers agree.
  init(_ replication: DirectedReplication) async throws {
    async let source = replication.source.replicationLog(replication.id)
    async let target = replication.target.replicationLog(replication.id)
    (sourceLog, targetLog) = try await (source, target)
    start = ReplicationLog.commonPosition(source: sourceLog, target: targetLog)
  }

  /// Records in both peers that everything through a position is in the target.
  ///
  /// The target is flushed first. A position must never be recorded of what a crash can lose.
  mutating func record(
    _ position: ReplicationPosition, of replication: DirectedReplication
  ) async throws {
    try await replication.target.flush()
    var entry = ReplicationLog.Entry(sessionID: id, position: position)
    entry.counts = counts
    entry.begin = begin
    entry.end = Date.millisecondsSince1970
    sourceLog.record(entry)
    targetLog.record(entry)
    try await replication.target.setReplicationLog(targetLog, replication.id)
    try await replication.source.setReplicationLog(sourceLog, replication.id)
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
