public import Divan

/// What both peers of a replication remember of it: how far each of its sessions came.
///
/// It is stored in both peers under the same ID, in a form that CouchDB reads:
///
/// ```json
/// {"session_id": "…", "source_last_seq": "120-…", "replication_id_version": 1,
///  "history": [{"session_id": "…", "recorded_seq": "120-…", "docs_written": 12, …}]}
/// ```
///
/// A peer that was replaced by an older copy has an older log. The two logs then differ, and the
/// replication continues where both of them agree: see ``commonPosition(source:target:)``.
public struct ReplicationLog: Hashable, Sendable {
  /// The latest session.
  public var sessionID: String
  /// The source's position through which everything is in the target.
  public var position: ReplicationPosition?
  /// The sessions, newest first.
  public var history: [Entry]
  /// Revisions before the position that the next session asks for again, in the target's log only.
  ///
  /// The source did not send the content of an attachment of theirs.
  public var retries: [Retry] = []
  /// Revisions before the position that could not be copied, the latest last, in the target's log
  /// only.
  ///
  /// They are not asked for again. Later sessions report those that the target still does not have.
  public var failures: [Failure] = []
  /// Whether the source does not store logs, in the target's log only.
  ///
  /// The next session then continues after the newest ``Entry/lastChange`` that the source has.
  public var isOfTargetOnly = false

  /// A revision that the source is asked for again.
  ///
  /// ```swift
  /// log.retries = [ReplicationLog.Retry(id: "film", revision: revision)]
  /// let requests = log.retries.map { RevisionRequest(id: $0.id, revision: $0.revision) }
  /// let answers = try await source.revisions(requests[...], sizeLimit: 4 << 20)
  /// ```
  public struct Retry: Hashable, Sendable {
    /// The ID of the document.
    public var id: String
    /// The revision.
    public var revision: RevisionID

    /// Creates an entry.
    public init(id: String, revision: RevisionID) {
      self.id = id
      self.revision = revision
    }
  }

  /// A revision that could not be copied.
  ///
  /// ```swift
  /// log.failures.append(
  ///   ReplicationLog.Failure(id: "film", revision: revision, reason: "a film has a title"))
  /// for failure in log.failures { print(failure.id, "was not copied:", failure.reason) }
  /// ```
  public struct Failure: Hashable, Sendable {
    /// The ID of the document.
    public var id: String
    /// The revision; nil if the change itself cannot be read.
    public var revision: RevisionID?
    /// Why, for people.
    public var reason: String

    /// Creates an entry.
    public init(id: String, revision: RevisionID?, reason: String) {
      self.id = id
      self.revision = revision
      self.reason = reason
    }
  }

  /// A change of a document in the source.
  ///
  /// ```swift
  /// let change = ReplicationLog.Change(id: "film", leaves: [revision])
  /// let missing = try await source.missingRevisions(among: [change.id: change.leaves])
  /// if !missing.isEmpty { print("The source is an older copy of itself") }
  /// ```
  public struct Change: Hashable, Sendable {
    /// The ID of the document.
    public var id: String
    /// Its leaf revisions, some of them if there are many.
    public var leaves: [RevisionID]

    /// Creates a change.
    public init(id: String, leaves: [RevisionID]) {
      self.id = id
      self.leaves = leaves
    }
  }

  /// How far a session came.
  ///
  /// ```swift
  /// var entry = ReplicationLog.Entry(sessionID: "s1", position: changes.position)
  /// entry.counts.revisionsWritten = changes.changes.count
  /// try await target.setReplicationLog(ReplicationLog(entry), "films")
  /// ```
  public struct Entry: Hashable, Sendable {
    /// The session.
    public var sessionID: String
    /// The source's position through which everything is in the target.
    public var position: ReplicationPosition?
    /// The last change of the source through the position that the filter chose, in the target's
    /// log only.
    ///
    /// A source that does not have it any more is an older copy of itself.
    public var lastChange: Change?
    /// What the session did.
    public var counts = ReplicationCounts()
    /// When it began, in milliseconds since 1970.
    public var begin = 0
    /// When it last recorded its position, in milliseconds since 1970.
    public var end = 0

    /// Creates an entry.
    public init(sessionID: String, position: ReplicationPosition?) {
      self.sessionID = sessionID
      self.position = position
    }
  }

  /// The size in bytes of the IDs in ``retries`` at most.
  ///
  /// A session in which the source refuses more attachments records no position after them.
  public static let retrySizeLimit = 32 << 10

  /// The size in bytes of ``failures`` at most, of which the latest are remembered.
  public static let failureSizeLimit = 32 << 10

  /// The number of sessions that are remembered.
  public static let historyLimit = 50

  /// Creates a log with one session.
  public init(_ entry: Entry) {
    sessionID = entry.sessionID
    position = entry.position
    history = [entry]
  }
}

extension ReplicationLog.Retry {
  /// About as many bytes as it takes in a log.
  var size: Int { id.utf8.count + 64 }
}

extension ReplicationLog.Change {
  private static let leafLimit = 16
  private static let idSizeLimit = 1 << 10

  /// Creates a change to remember; nil if its ID is very long.
  init?(remembering change: (id: String, leaves: [RevisionID])) {
    guard change.id.utf8.count <= Self.idSizeLimit, !change.leaves.isEmpty else { return nil }
    self.init(id: change.id, leaves: Array(change.leaves.prefix(Self.leafLimit)))
  }
}

extension ReplicationLog {
  /// Records how far a session came, in place of what was recorded of it before.
  mutating func record(_ entry: Entry) {
    sessionID = entry.sessionID
    position = entry.position
    if history.first?.sessionID == entry.sessionID { history.removeFirst() }
    history.insert(entry, at: 0)
    history.removeLast(max(0, history.count - ReplicationLog.historyLimit))
  }

  /// Returns the position from which a replication continues; nil for the first change.
  ///
  /// If both logs have the same latest session, it is that session's position; where they differ,
  /// the one that was recorded first, since the other log is that of a later time. Otherwise it is
  /// the position of the newest session that both remember, again as it was recorded first. This is
  /// CouchDB's rule, which does not compare the two positions: the two histories are compared entry
  /// by entry, and the first match counts.
  public static func commonPosition(
    source: ReplicationLog?, target: ReplicationLog?
  ) -> ReplicationPosition? {
    guard let source, let target else { return nil }
    if source.sessionID == target.sessionID {
      guard let ours = source.history.first, let theirs = target.history.first,
        ours.sessionID == source.sessionID, theirs.sessionID == target.sessionID,
        ours.position != theirs.position
      else { return source.position }
      return isLater(ours, than: theirs) ? theirs.position : ours.position
    }
    var sourceEntries = source.history[...]
    var targetEntries = target.history[...]
    while let ours = sourceEntries.popFirst(), let theirs = targetEntries.first {
      if let same = targetEntries.first(where: { $0.sessionID == ours.sessionID }) {
        return isLater(ours, than: same) ? same.position : ours.position
      }
      if let same = sourceEntries.first(where: { $0.sessionID == theirs.sessionID }) {
        return isLater(theirs, than: same) ? same.position : theirs.position
      }
      targetEntries.removeFirst()
    }
    return nil
  }

  /// Whether an entry of a session was recorded after another one of the same session.
  ///
  /// Positions have no order that is known here, and the counts of a session only grow.
  private static func isLater(_ a: Entry, than b: Entry) -> Bool {
    (a.counts.revisionsChecked, a.end) > (b.counts.revisionsChecked, b.end)
  }
}

/// What a replication did.
///
/// ```swift
/// let counts = try await replicator.replicate().push.counts
/// print(counts.revisionsWritten, "of", counts.revisionsMissing, "revisions were sent")
/// print(counts.attachmentBytes, "bytes of attachments")
/// ```
public struct ReplicationCounts: Hashable, Sendable {
  /// Revisions that the target was asked for.
  public var revisionsChecked = 0
  /// Revisions that the target did not have.
  public var revisionsMissing = 0
  /// Revisions that were read from the source.
  public var revisionsRead = 0
  /// Revisions that were stored in the target.
  public var revisionsWritten = 0
  /// Revisions that could not be read, or that the target refused.
  public var revisionsFailed = 0
  /// Attachments whose content was sent, without those whose content a database here had.
  ///
  /// A server stores equal content once, too, and does not say whether it had it.
  public var attachmentsWritten = 0
  /// The size of these in bytes.
  public var attachmentBytes = 0

  /// Creates counts of nothing.
  public init() {}
}
