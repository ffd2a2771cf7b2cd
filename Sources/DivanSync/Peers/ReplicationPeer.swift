public import Divan

/// One side of a replication: a store of documents with revisions, here or elsewhere.
///
/// A ``Replicator`` copies revisions from one peer to another. It knows only these calls, so every
/// store that answers them can take part. ``DatabasePeer`` is a database in this process.
///
/// ```swift
/// let archive = DatabasePeer(try Database(at: "/var/lib/archive.divan"))
/// try await Replicator(database, archive, direction: .push).replicate()
/// ```
///
/// A call may be repeated after it failed, whatever it did before. So inserting a revision that the
/// peer has changes nothing.
public protocol ReplicationPeer: Sendable {
  /// The name of the peer, which is the same in every run.
  ///
  /// The checkpoints of a replication are found by the names of its peers. It has no credentials,
  /// because it is stored.
  var name: String { get async throws }

  /// Returns the next changes after a position, each document once.
  ///
  /// - Parameters:
  ///   - position: A position that this peer returned; nil to begin with the first change.
  ///   - limit: The number of changes to return at most.
  ///   - filter: The changes to return. Others are skipped.
  /// - Returns: The changes, in the peer's order.
  /// - Throws: ``ReplicationError`` with the code `unknownPosition` if the peer does not know the
  ///   position. The replication then begins with the first change.
  func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges

  /// Waits until there are changes after a position, which a filter need not include.
  func waitForChanges(since position: ReplicationPosition?) async throws

  /// Returns which of the given revisions the peer does not have, without the complete documents.
  func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions]

  /// Reads revisions with their histories and attachments.
  ///
  /// - Parameters:
  ///   - requests: The revisions, at least one.
  ///   - sizeLimit: The size of their properties in bytes, after which the rest is left out.
  /// - Returns: The answers to the first requests, at least one, in their order.
  /// - Throws: An error that concerns all of them, such as a cut connection.
  func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer]

  /// Stores revisions, each independently of the others.
  ///
  /// - Parameters:
  ///   - revisions: The revisions with their histories.
  ///   - origin: The name of the peer that they come from.
  /// - Returns: For each revision, whether it was stored, or why the peer refuses it. A revision
  ///   that the peer has is not stored. If the error of a revision is temporary, the replication
  ///   asks again for what the peer does not have.
  /// - Throws: An error that concerns all of them, such as a full disk.
  func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>]

  /// Makes everything durable that was inserted.
  func flush() async throws

  /// Returns the log of a replication; nil if there is none.
  func replicationLog(_ id: String) async throws -> ReplicationLog?

  /// Stores the log of a replication, which is never replicated itself; nil removes it.
  func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws
}

/// Some changes of a peer, in its order.
///
/// ```swift
/// var changes = ReplicationChanges([], position: nil, isEnd: false)
/// while !changes.isEnd {
///   changes = try await peer.changes(since: changes.position, limit: 100, filter: .all)
///   for (id, leaves) in changes.changes { print(id, leaves) }
/// }
/// ```
public struct ReplicationChanges: Sendable {
  /// The changed documents with their leaf revisions, deleted ones too.
  public var changes: [(id: String, leaves: [RevisionID])]
  /// The errors of changes that the peer cannot read, which are left out.
  public var unreadable: [any Error] = []
  /// The position after these changes; nil if there are no changes at all.
  public var position: ReplicationPosition?
  /// Whether these are the last changes for now.
  public var isEnd: Bool
  /// The number of changes that follow, or an upper bound of it; nil if the peer does not know it.
  public var followingCount: Int?

  /// Creates an answer.
  public init(
    _ changes: [(id: String, leaves: [RevisionID])], position: ReplicationPosition?, isEnd: Bool,
    followingCount: Int? = nil
  ) {
    self.changes = changes
    self.position = position
    self.isEnd = isEnd
    self.followingCount = followingCount
  }
}

/// A revision to read from a peer.
///
/// ```swift
/// let request = RevisionRequest(id: "film", revision: revision, knownAncestors: [known])
/// let answers = try await peer.revisions([request], sizeLimit: 4 << 20)
/// if case .found(let film)? = answers.first { print(film.document["title"] ?? .null) }
/// ```
public struct RevisionRequest: Hashable, Sendable {
  /// The ID of the document.
  public var id: String
  /// The revision.
  public var revision: RevisionID
  /// Revisions that the reader has, whose attachments need not be sent again.
  public var knownAncestors: [RevisionID]

  /// Creates a request.
  public init(id: String, revision: RevisionID, knownAncestors: [RevisionID] = []) {
    self.id = id
    self.revision = revision
    self.knownAncestors = knownAncestors
  }
}

/// The answer to a request for a revision.
///
/// ```swift
/// switch answer {
/// case .found(let revision): print(revision.document.id, revision.document["title"] ?? .null)
/// case .gone: print("It was purged, or has successors")
/// case .failed(let error): print("It cannot be read:", error)
/// }
/// ```
public enum RevisionAnswer: Sendable {
  /// The revision.
  case found(ReplicatedRevision)
  /// The peer has no such revision any more: it was purged, or has successors.
  case gone
  /// The peer cannot return this revision, for instance because it is damaged.
  case failed(any Error)
}
