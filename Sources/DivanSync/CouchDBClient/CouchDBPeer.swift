public import Divan
public import Foundation
import Synchronization

/// A database of a CouchDB server, or of another one that speaks its protocol.
///
/// ```swift
/// let server = CouchDBPeer(
///   url: URL(string: "https://sync.example.com/notes")!,
///   authorization: .session(name: "ada", password: password))
/// let run = Replicator(database, server).start()
/// ```
///
/// If the URL has a name and a password, they are sent as
/// ``CouchDBAuthorization/basic(name:password:)``.
public final class CouchDBPeer: ReplicationPeer {
  let connection: CouchDBConnection
  /// The revisions of the logs that were read or written, which the next write has to name.
  private let logRevisions = Mutex<[String: String]>([:])
  /// Whether the server has said in this session that it has no `_bulk_get`.
  let lacksBulkGet = Atomic(false)

  /// Creates a peer.
  ///
  /// Nothing is sent yet.
  ///
  /// - Parameters:
  ///   - url: The URL of the database.
  ///   - authorization: The credentials.
  ///   - transport: What sends the requests.
  public init(
    url: URL, authorization: CouchDBAuthorization = .none,
    transport: any HTTPTransport = URLSessionTransport()
  ) {
    connection = CouchDBConnection(url, authorization, transport)
  }

  /// The URL of the database without credentials.
  public var name: String { connection.database }
}

// MARK: Changes

extension CouchDBPeer {
  /// Returns the next changes after a position, each document once.
  public func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges {
    var target = CouchDBConnection.Target(
      "GET", "_changes",
      query: [("style", "all_docs"), ("limit", "\(limit)")] + Self.query(since: position))
    var body: Value?
    switch filter.kind {
    case .all: break
    case .ids(let ids):
      body = ["doc_ids": .array(ids.sorted().map { .string($0) })]
      target.query.append(("filter", "_doc_ids"))
    case .types(let types):
      let known: Value = ["type": ["$in": .array(types.sorted().map { .string($0) })]]
      body = ["selector": ["$or": [known, ["_deleted": true]]]]
      target.query.append(("filter", "_selector"))
    case .selector(let selector):
      body = ["selector": selector.valueForChanges]
      target.query.append(("filter", "_selector"))
    case .closure(let name, _):
      throw ReplicationError(
        .refused, "the filter “\(name)” is a closure, which a server cannot call")
    }
    if body != nil { target.method = "POST" }
    let answer = try await changes(target, body, since: position)
    guard let rows = answer["results"]?.arrayValue, let last = answer["last_seq"] else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) has no changes")
    }
    let pending = answer["pending"]?.intValue
    var changes = ReplicationChanges(
      [], position: ReplicationPosition(last), isEnd: rows.isEmpty || pending == 0,
      followingCount: pending)
    // A service of this package names the changes that it cannot read; see `ChangeOmissions`.
    for entry in answer["unreadable"]?.arrayValue ?? [] {
      changes.unreadable.append(
        DatabaseError(
          .damaged, "the server cannot read a change: \(entry["reason"]?.stringValue ?? "")",
          documentID: entry["id"]?.stringValue))
    }
    for row in rows { try Self.add(row, to: &changes) }
    return changes
  }

  /// Asks for changes; throws `unknownPosition` if the server is not the one with the position.
  private func changes(
    _ target: CouchDBConnection.Target, _ body: Value?, since position: ReplicationPosition?
  ) async throws -> Value {
    do {
      return try await connection.json(target, body)
    } catch let error as ReplicationError where error.status == 400 && position != nil {
      throw ReplicationError(
        .unknownPosition, "\(name) does not know the position", underlying: error)
    }
  }

  /// Adds a row of an answer to the changes that it contains.
  private static func add(_ row: Value, to changes: inout ReplicationChanges) throws {
    guard let id = row["id"]?.stringValue, let entries = row["changes"]?.arrayValue else {
      throw ReplicationError(.invalidAnswer, "a change has no ID or no revisions")
    }
    let leaves = entries.compactMap { $0["rev"]?.stringValue.flatMap { RevisionID($0) } }
    changes.changes.append((id, leaves))
    if leaves.count < entries.count {
      changes.unreadable.append(
        DatabaseError(
          .invalidRevisionID, "a revision ID is not one that can be stored", documentID: id))
    }
  }

  private static func query(since position: ReplicationPosition?) -> [(String, String)] {
    guard let value = position?.value else { return [] }
    return [("since", value.stringValue ?? value.json)]
  }

  /// Waits until there are changes after a position.
  public func waitForChanges(since position: ReplicationPosition?) async throws {
    let target = CouchDBConnection.Target(
      "GET", "_changes",
      query: [("feed", "longpoll"), ("limit", "1"), ("heartbeat", "30000")]
        + Self.query(since: position))
    while true {
      let answer = try await changes(target, nil, since: position)
      guard let rows = answer["results"]?.arrayValue else {
        throw ReplicationError(.invalidAnswer, "the answer to \(target.name) has no changes")
      }
      if !rows.isEmpty || answer["unreadable"] != nil { return }
      // A server may end the request before there is a change, and a proxy at once.
      try await Task.sleep(for: .seconds(1))
    }
  }

  /// Returns which of the given revisions the peer does not have.
  ///
  /// A server, or a proxy before it, can refuse to be asked about as many at once. It is asked
  /// about half of the documents then.
  public func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] {
    do {
      return try await missingRevisions(amongAll: revisions)
    } catch let error as ReplicationError where error.status == 413 && revisions.count > 1 {
      var halves: [[String: [RevisionID]]] = [[:], [:]]
      for (index, entry) in revisions.enumerated() { halves[index % 2][entry.key] = entry.value }
      var missing: [String: MissingRevisions] = [:]
      for half in halves {
        missing.merge(try await missingRevisions(among: half)) { first, _ in first }
      }
      return missing
    }
  }

  /// Asks with one request which of the given revisions the peer does not have.
  private func missingRevisions(
    amongAll revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] {
    var body: Value.Object = [:]
    for (id, revisions) in revisions {
      body[id] = .array(revisions.map { .string($0.description) })
    }
    let target = CouchDBConnection.Target("POST", "_revs_diff")
    guard let answer = try await connection.json(target, .object(body)).objectValue else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) is not an object")
    }
    var missing: [String: MissingRevisions] = [:]
    for (id, entry) in answer {
      func revisions(_ key: String) -> [RevisionID] {
        (entry[key]?.arrayValue ?? []).compactMap { $0.stringValue.flatMap { RevisionID($0) } }
      }
      missing[id] = MissingRevisions(
        missing: revisions("missing"), possibleAncestors: revisions("possible_ancestors"))
    }
    return missing
  }
}

// MARK: Logs

extension CouchDBPeer {
  /// Asks the peer to make everything durable, which newer servers do by themselves.
  public func flush() async throws {
    let target = CouchDBConnection.Target("POST", "_ensure_full_commit")
    let response = try await connection.send(target, .data(Data("{}".utf8)))
    guard ![404, 405].contains(response.status) || response.isPage else { return }
    try await CouchDBConnection.check(response, of: target)
  }

  /// Returns the log of a replication.
  public func replicationLog(_ id: String) async throws -> ReplicationLog? {
    // A session begins. The server may be a newer one now, or a proxy may have answered before.
    lacksBulkGet.store(false, ordering: .relaxed)
    let target = CouchDBConnection.Target("GET", "_local", CouchDBConnection.encoded(id))
    let response = try await connection.send(target)
    if response.status == 404, !response.isPage {
      // The database must exist; a log need not.
      _ = try await connection.json(CouchDBConnection.Target("GET"))
      logRevisions.withLock { $0[id] = nil }
      return nil
    }
    let members = try await CouchDBConnection.json(response, of: target, sizeLimit: 1 << 20)
    logRevisions.withLock { $0[id] = members["_rev"]?.stringValue }
    return members.objectValue.flatMap(ReplicationLog.init(_:))
  }

  /// Stores the log of a replication; nil removes it.
  public func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws {
    // A log that was never read may exist.
    if log == nil { _ = try await replicationLog(id) }
    do {
      try await write(log, id)
    } catch let error as ReplicationError where error.status == 409 {
      // Another run has written it.
      _ = try await replicationLog(id)
      try await write(log, id)
    }
  }

  private func write(_ log: ReplicationLog?, _ id: String) async throws {
    var target = CouchDBConnection.Target("PUT", "_local", CouchDBConnection.encoded(id))
    let revision = logRevisions.withLock { $0[id] }
    guard let log else {
      guard let revision else { return }
      target.method = "DELETE"
      target.query = [("rev", revision)]
      _ = try await connection.json(target)
      logRevisions.withLock { $0[id] = nil }
      return
    }
    var members = log.properties
    members["_id"] = .string("_local/" + id)
    if let revision { members["_rev"] = .string(revision) }
    let answer = try await connection.json(target, .object(members))
    logRevisions.withLock { $0[id] = answer["rev"]?.stringValue }
  }
}
