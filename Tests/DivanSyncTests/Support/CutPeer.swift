import Divan
import DivanSync
import Synchronization

/// A peer whose connection is cut at some of its calls.
final class CutPeer: ReplicationPeer {
  /// Whether a call fails, and whether the peer has done it nevertheless.
  enum Cut: Sendable, CaseIterable {
    case before, after
  }

  private let peer: DatabasePeer
  private let cut: @Sendable (Int) -> Cut?
  private let calls = Atomic(0)

  init(_ database: Database, cutting cut: @escaping @Sendable (_ call: Int) -> Cut?) {
    peer = DatabasePeer(database)
    self.cut = cut
  }

  /// The number of calls.
  var callCount: Int { calls.load(ordering: .relaxed) }

  private func call<R>(_ body: () async throws -> R) async throws -> R {
    let number = calls.wrappingAdd(1, ordering: .relaxed).newValue
    switch cut(number) {
    case .before: throw ReplicationError(.unreachable, "cut before call \(number)")
    case .after:
      _ = try await body()
      throw ReplicationError(.unreachable, "cut after call \(number)")
    case nil: return try await body()
    }
  }

  var name: String { peer.name }

  func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges {
    try await call { try await peer.changes(since: position, limit: limit, filter: filter) }
  }

  func waitForChanges(since position: ReplicationPosition?) async throws {
    try await call { try await peer.waitForChanges(since: position) }
  }

  func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] {
    try await call { try await peer.missingRevisions(among: revisions) }
  }

  func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    try await call { try await peer.revisions(requests, sizeLimit: sizeLimit) }
  }

  func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    try await call { try await peer.insert(revisions, from: origin) }
  }

  func flush() async throws { try await call { try await peer.flush() } }

  func replicationLog(_ id: String) async throws -> ReplicationLog? {
    try await call { try await peer.replicationLog(id) }
  }

  func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws {
    try await call { try await peer.setReplicationLog(log, id) }
  }
}
