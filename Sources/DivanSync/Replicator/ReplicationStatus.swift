public import Divan
public import Foundation

/// What a replication does, and what it has done.
public struct ReplicationStatus: Sendable {
  /// The status of copying from the peer; nothing is counted if it does not.
  public var pull = Side()
  /// The status of copying to the peer.
  public var push = Side()
  /// The revisions that could not be copied, the latest last, at most ``failureLimit`` of them.
  public var failures: [Failure] = []
  /// Whether the replication was paused.
  public var isPaused = false

  /// The number of failures that are remembered.
  public static let failureLimit = 100

  /// The status of one direction.
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

  mutating func add(_ failure: Failure) {
    if failures.count == ReplicationStatus.failureLimit { failures.removeFirst() }
    failures.append(failure)
  }
}
