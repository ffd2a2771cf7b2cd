public import Divan
public import Foundation

/// What a replication does, and what it has done.
///
/// ```swift
/// let status = try await replicator.replicate()
/// print(status.push.counts.revisionsWritten, "sent")
/// print(status.pull.counts.revisionsWritten, "received")
/// for failure in status.failures { print(failure.id, failure.error) }
/// ```
public struct ReplicationStatus: Sendable {
  /// The status of copying from the peer; nothing is counted if it does not.
  public var pull = Side()
  /// The status of copying to the peer.
  public var push = Side()
  /// The revisions that could not be copied, the latest last, at most ``failureLimit`` of them.
  ///
  /// Those of earlier sessions that the target still does not have come first, with the code
  /// ``ReplicationError/Code/failedBefore``; the log remembers 32 KiB of them. A revision that is
  /// copied later, itself or in the history of another one, is a failure no more.
  public var failures: [Failure] = []
  /// Whether the replication was paused.
  public var isPaused = false

  /// The number of failures that are remembered.
  public static let failureLimit = 100

  /// The status of one direction.
  ///
  /// ```swift
  /// let push = run.status.push
  /// print(push.pendingCount ?? 0, "changes to look at")
  /// print(push.batchAttachmentBytesDone, "of", push.batchAttachmentBytes, "bytes in this batch")
  /// ```
  public struct Side: Sendable {
    /// What it is doing.
    public var phase = Phase.inactive
    /// What it has done.
    public var counts = ReplicationCounts()
    /// The number of changes that it has not looked at; nil if the source does not know it.
    public var pendingCount: Int?
    /// The size in bytes of the attachments in the batch that is being written.
    ///
    /// It is 0 between batches, and does not count attachments that the target has in an ancestor.
    public var batchAttachmentBytes = 0
    /// How much of ``batchAttachmentBytes`` was copied.
    ///
    /// ``counts`` has an attachment only after its revision was stored. Content that the target has
    /// elsewhere is not copied, so it may be less at the end.
    public var batchAttachmentBytesDone = 0
    /// Whether the source does not let the replication store its log there.
    ///
    /// Only the target remembers then how far the replication came, and the last change. A session
    /// begins by asking whether the source still has it. So a source that was replaced by an older
    /// copy is noticed, except if the change was made before the copy: a filter can choose few.
    public var isCheckpointOfTargetOnly = false
  }

  /// What one direction of a replication is doing.
  ///
  /// ```swift
  /// let text =
  ///   switch run.status.push.phase {
  ///   case .inactive: "Not running"
  ///   case .active: "Sending"
  ///   case .upToDate: "Up to date"
  ///   case .offline(let next): "Offline, next attempt at \(next.formatted())"
  ///   }
  /// ```
  public enum Phase: Sendable, Equatable {
    /// It has not begun, has ended, or is not part of the replication.
    case inactive
    /// It compares and copies.
    case active
    /// Everything is copied; it waits for changes.
    case upToDate
    /// The peer cannot be reached. It tries again at this time.
    case offline(until: Date)
  }

  /// A revision that could not be copied.
  ///
  /// ```swift
  /// for failure in status.failures where failure.isPulled {
  ///   print(failure.id, "was not received:", failure.error)
  /// }
  /// ```
  public struct Failure: Sendable {
    /// The ID of the document; empty if it cannot be read.
    public var id: String
    /// The revision; nil if the change itself cannot be read.
    public var revision: RevisionID?
    /// Whether it was read from the peer, and not from the database.
    public var isPulled: Bool
    /// Why: the source could not read it, or the target refused it.
    public var error: any Error
  }

  /// Whether everything is copied in each direction.
  public var isUpToDate: Bool {
    let phases = [pull.phase, push.phase].filter { $0 != .inactive }
    return !phases.isEmpty && phases.allSatisfy { $0 == .upToDate }
  }

  /// Adds a failure, in place of the one that the same revision had before.
  mutating func add(_ failure: Failure) {
    failures.removeAll { $0.isSameRevision(as: failure) }
    if failures.count == ReplicationStatus.failureLimit { failures.removeFirst() }
    failures.append(failure)
  }
  /// Removes a revision and its ancestors, which it brought with it or took the place of.
  mutating func removeFailures(of revision: ReplicatedRevision, isPulled: Bool) {
    failures.removeAll { failure in
      failure.isPulled == isPulled
        && revision.contains(failure.revision, of: failure.id)
    }
  }

  /// Adds the failure of an earlier session, unless its error is there already.
  mutating func addPast(_ failure: Failure) {
    guard !failures.contains(where: { $0.isSameRevision(as: failure) }) else { return }
    add(failure)
  }
}

extension ReplicationStatus.Failure {
  /// Whether both are of the same revision, as far as it is known.
  fileprivate func isSameRevision(as other: ReplicationStatus.Failure) -> Bool {
    !id.isEmpty && id.utf8.elementsEqual(other.id.utf8) && revision == other.revision
      && isPulled == other.isPulled
  }
}
