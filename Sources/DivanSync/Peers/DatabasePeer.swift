public import Divan
import DivanLog
import Foundation

/// A database in this process as one side of a replication.
///
/// ```swift
/// let (phone, desk) = (DatabasePeer(first), DatabasePeer(second))
/// ```
public struct DatabasePeer: ReplicationPeer {
  /// The database.
  public let database: Database

  /// Creates a peer.
  public init(_ database: Database) { self.database = database }

  /// `divan:` and the ID of the store.
  public var name: String { "divan:\(database.storeID)" }
}

// MARK: Reading

extension DatabasePeer {
  /// How many changes are looked at for each that may be returned.
  ///
  /// A filter that chooses few documents would otherwise make one call read the whole store, which
  /// cannot be paused, and whose progress is lost with it.
  private static var scanFactor: Int { 20 }

  /// Returns the next changes after a position, each document once.
  ///
  /// If a filter chooses few of them, there may be fewer than `limit` before the end.
  public func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges {
    let start = try sequence(of: position)
    return try await database.read { snapshot in
      guard start <= snapshot.sequence else {
        throw ReplicationError(
          .unknownPosition, "the position \(start) is after the last change of the store")
      }
      var changes = ReplicationChanges([], position: position, isEnd: false)
      var cursor = snapshot.changes(since: start)
      var last = start
      var scanCount = 0
      while changes.changes.count < limit, scanCount / Self.scanFactor < limit {
        scanCount += 1
        let previous = cursor.position
        do {
          guard let change = try cursor.next() else {
            changes.isEnd = true
            break
          }
          last = change.sequence
          let leaves = try filter.leaves(of: change, in: snapshot)
          if !leaves.isEmpty { changes.changes.append((change.id, leaves)) }
        } catch let error as DatabaseError
          where error.code == .damaged && cursor.position > previous
        {
          // The cursor continues after a change that it cannot read.
          changes.unreadable.append(error)
          last = max(last, cursor.position)
        }
      }
      if changes.isEnd { last = snapshot.sequence }
      changes.position = ReplicationPosition(.string("\(last)-\(database.storeID)"))
      changes.followingCount = changes.isEnd ? 0 : try snapshot.followingCount(after: last)
      return changes
    }
  }

  /// Waits until there are changes after a position.
  public func waitForChanges(since position: ReplicationPosition?) async throws {
    do {
      var feed = database.changeFeed(since: try sequence(of: position)).makeAsyncIterator()
      _ = try await feed.next()
    } catch let error as DatabaseError where error.code == .damaged {
      // There is a change, and the next call of `changes` reports that it cannot be read. If it
      // cannot be skipped either, the replication must not try without a pause.
      try await Task.sleep(for: .seconds(1))
    }
    try Task.checkCancellation()
  }

  /// Returns the sequence number of a position of this store.
  private func sequence(of position: ReplicationPosition?) throws -> UInt64 {
    guard let position else { return 0 }
    guard let text = position.value.stringValue, let known = FeedPosition(text),
      known.storeID == database.storeID
    else {
      throw ReplicationError(
        .unknownPosition, "\(position.value.json) is not a position in the store \(name)")
    }
    return known.sequence
  }

  /// Returns which of the given revisions the database does not have.
  public func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] {
    try await database.read { snapshot in
      do {
        return try snapshot.missingRevisions(among: revisions)
      } catch let error as DatabaseError where error.code == .damaged {
        var missing: [String: MissingRevisions] = [:]
        for (id, wanted) in revisions {
          do {
            missing.merge(try snapshot.missingRevisions(among: [id: wanted])) { $1 }
          } catch let error as DatabaseError where error.code == .damaged {
            // Storing one of them reports the damage, and stores nothing.
            missing[id] = MissingRevisions(missing: wanted)
          }
        }
        return missing
      }
    }
  }

  /// Reads revisions with their histories and attachments.
  public func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    try await database.read { snapshot in
      var answers: [RevisionAnswer] = []
      var size = 0
      for request in requests where size < sizeLimit {
        do {
          let answer = try snapshot.replicated(request)
          if case .found(let revision) = answer { size += revision.sizeEstimate }
          answers.append(answer)
        } catch let error as DatabaseError where error.code == .damaged {
          answers.append(.failed(error))
        }
      }
      return answers
    }
  }
}

extension Snapshot {
  /// Returns the number of changes that follow, or an upper bound if there are many.
  ///
  /// It is asked for with each batch, and counting takes time in proportion to it.
  fileprivate func followingCount(after sequence: UInt64) throws -> Int {
    let revisionCount = self.sequence - sequence
    return revisionCount > 100_000 ? Int(clamping: revisionCount) : try changeCount(since: sequence)
  }

  /// Returns a revision with its history, its attachments apart from its document.
  func replicated(_ request: RevisionRequest) throws -> RevisionAnswer {
    guard var document = try revision(request.revision, of: request.id) else { return .gone }
    let history = try revisions(leadingTo: request.revision, of: request.id)
    let attachments = document.replicatedAttachments
    document.attachments = [:]
    var revision = ReplicatedRevision(
      document, history: history, isDeleted: document.isDeleted, attachments: attachments)
    revision.knownAncestors = request.knownAncestors
    return .found(revision)
  }
}

extension Document {
  /// The attachments, which are in a store.
  var replicatedAttachments: [ReplicatedAttachment] {
    attachments.map { name, attachment in
      var replicated = ReplicatedAttachment(
        name: name, contentType: attachment.contentType, length: attachment.length,
        generation: attachment.generation, foreignDigest: attachment.foreignDigest,
        .stored(attachment))
      replicated.digest = attachment.digest
      return replicated
    }
  }
}

extension ReplicatedRevision {
  /// About as many bytes as the revision takes in memory, without its attachments.
  var sizeEstimate: Int {
    ((try? document.encoded().bytes.count) ?? 0) + 40 * history.count
  }
}

// MARK: Logs

extension DatabasePeer {
  /// Returns the log of a replication, which is a local document.
  public func replicationLog(_ id: String) async throws -> ReplicationLog? {
    try await database.read { try $0.localDocument(id) }.flatMap(ReplicationLog.init(_:))
  }

  /// Stores the log of a replication as a local document; nil removes it.
  public func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws {
    try await database.write { transaction in
      if let log {
        try transaction.putLocal(id, log.properties)
      } else {
        try transaction.removeLocal(id)
      }
    }
  }
}
