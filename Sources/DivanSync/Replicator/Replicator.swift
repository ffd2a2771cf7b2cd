public import Divan

/// Copies the revisions of documents between a database and a peer.
///
/// ```swift
/// let replicator = Replicator(database, DatabasePeer(archive), direction: .push)
/// let status = try await replicator.replicate()
/// print(status.push.counts.revisionsWritten, "revisions were copied")
/// ```
///
/// Afterwards each side has the leaf revisions of the other, with their histories and attachments,
/// so both choose the same winners. Changes of the same document on both sides become branches.
/// Purges, expiry dates and local documents are not copied.
///
/// Both sides remember how far a replication came. The next one continues there, also after either
/// process was killed: it compares the changes since then, and copies those that are missing.
public struct Replicator: Sendable {
  /// The directions in which a replication copies.
  ///
  /// ```swift
  /// let direction: Replicator.Direction = isArchive ? .push : .both
  /// let replicator = Replicator(database, peer, direction: direction)
  /// try await replicator.replicate()
  /// ```
  public enum Direction: Sendable, CaseIterable {
    /// From the peer to the database.
    case pull
    /// From the database to the peer.
    case push
    /// Both of them at the same time.
    case both
  }

  /// The limits of a replication, and whether it copies design documents.
  ///
  /// ```swift
  /// var options = Replicator.Options()
  /// options.batchCount = 100
  /// ```
  public struct Options: Sendable {
    /// The number of changes that are compared with the target at once.
    public var batchCount = 500
    /// The size of the properties in bytes that are read from the source at once.
    ///
    /// Two such batches are in memory: one is read while the other is written.
    public var batchSize = 4 << 20
    /// How often a one-shot replication repeats a call that failed temporarily.
    ///
    /// A continuous replication repeats it for as long as it runs.
    public var retryLimit = 5
    /// The wait before the first repetition, which doubles with each one, with some jitter.
    public var retryDelay: Duration = .milliseconds(250)
    /// The longest wait between repetitions.
    ///
    /// After it, a continuous replication also asks again for attachments that were not sent.
    public var retryDelayLimit: Duration = .seconds(300)
    /// Whether design documents are copied, whose IDs begin with `_design/`.
    ///
    /// They are programs for a server, and no use to a database here but to be copied on. CouchDB
    /// lets only administrators store them: without that right, each of them is one of the
    /// ``ReplicationStatus/failures``, and the rest is copied. The filter must choose them, too.
    ///
    /// A replication with them has other checkpoints, so it begins with the first change.
    public var copiesDesignDocuments = false

    /// Creates the default options.
    public init() {}
  }

  let local: DatabasePeer
  let remote: any ReplicationPeer
  let direction: Direction
  let filter: ReplicationFilter
  let options: Options

  /// Creates a replicator, which does nothing until you call one of its methods.
  ///
  /// - Parameters:
  ///   - database: The database.
  ///   - peer: The other side.
  ///   - direction: The directions in which it copies.
  ///   - filter: The documents that it copies.
  ///   - options: Its limits, and whether it copies design documents.
  public init(
    _ database: Database, _ peer: some ReplicationPeer, direction: Direction = .both,
    filter: ReplicationFilter = .all, options: Options = Options()
  ) {
    local = DatabasePeer(database)
    remote = peer
    self.direction = direction
    self.filter = filter
    self.options = options
  }
}

extension Replicator {
  /// Copies what is missing, and returns when everything that was committed before is copied.
  ///
  /// - Returns: What was done. Revisions that one side refused are in its
  ///   ``ReplicationStatus/failures``, and the others are copied.
  /// - Throws: ``ReplicationError`` or `DatabaseError` if an error ends the replication, and
  ///   `CancellationError` if the task is cancelled. The next replication continues from there.
  @discardableResult
  public func replicate() async throws -> ReplicationStatus {
    let run = ReplicationRun(self, isContinuous: false)
    return try await run.finish()
  }

  /// Begins to copy what is missing and what changes from now on, until you cancel it.
  ///
  /// ```swift
  /// let run = replicator.start()
  /// for try await status in run.statuses {
  ///   if status.isUpToDate { print("up to date") }
  /// }
  /// ```
  ///
  /// If the peer cannot be reached, it tries again after a while. Retain the returned value:
  /// releasing it cancels the replication.
  public func start() -> ReplicationRun { ReplicationRun(self, isContinuous: true) }

  /// Makes both sides forget how far this replication came.
  ///
  /// The next one compares all revisions again, and copies those that are missing.
  public func removeCheckpoints() async throws {
    for replication in try await directed(StatusBoard(), isContinuous: false) {
      do {
        try await replication.source.setReplicationLog(nil, replication.id)
      } catch let error where error.refusesLog {
        // It has none then, or one that does not count without the target's.
      }
      try await replication.target.setReplicationLog(nil, replication.id)
    }
  }

  /// Returns the replications in each direction.
  func directed(
    _ board: StatusBoard, isContinuous: Bool
  ) async throws -> [DirectedReplication] {
    let (localName, remoteName) = (local.name, try await remote.name)
    var directions: [DirectedReplication] = []
    if direction != .push {
      directions.append(
        DirectedReplication(
          self, from: (remote, remoteName), to: (local, localName), board, \.pull, isContinuous))
    }
    if direction != .pull {
      directions.append(
        DirectedReplication(
          self, from: (local, localName), to: (remote, remoteName), board, \.push, isContinuous))
    }
    return directions
  }
}
