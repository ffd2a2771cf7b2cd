import Divan
import DivanSync
import DivanTesting
import Foundation
import Observation
import Synchronization
import Testing

/// Tests of the state of a replication that user interfaces observe.
@MainActor
struct ReplicationStateTests {
  /// Waits until a condition is true, which is asked again after each change of what it read.
  private func wait(_ condition: @escaping @MainActor () -> Bool) async {
    let changes = AsyncStream<Void>.makeStream()
    while !withObservationTracking(condition, onChange: { changes.continuation.yield() }) {
      for await _ in changes.stream { break }
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `a view sees each phase of a continuous replication`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let state = ReplicationState(Replicator(here, DatabasePeer(there)).start())
    await wait { state.status.isUpToDate }
    try await there.write { try _ = $0.put(Document(id: "a", ["text": "Tea"])) }
    await wait { state.status.pull.counts.revisionsWritten == 1 }
    #expect(try here.snapshot().document("a")?["text"] == "Tea")
    #expect(state.error == nil && !state.hasEnded)
    state.run.pause()
    await wait { state.status.isPaused }
    await state.run.cancel()
    await wait { state.hasEnded }
    #expect(state.error == nil)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a view sees the error that ends a replication`() async throws {
    let here = try Database.inMemory()
    let state = ReplicationState(Replicator(here, RefusingPeer()).start())
    await wait { state.hasEnded }
    #expect((state.error as? ReplicationError)?.code == .unauthorized)
    #expect(state.status.pull.phase == .inactive && state.status.push.phase == .inactive)
  }

  @Test(.timeLimit(.minutes(5)))
  func `releasing the state ends the replication`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    weak var released: ReplicationRun?
    do {
      let state = ReplicationState(Replicator(here, DatabasePeer(there)).start())
      released = state.run
      await wait { state.status.isUpToDate }
    }
    // The task that follows ends on its own turn.
    while released != nil { await Task.yield() }
  }
}

/// A peer that refuses the credentials of each call.
private struct RefusingPeer: ReplicationPeer {
  private var refusal: ReplicationError { ReplicationError(.unauthorized, "Wrong password") }

  var name: String { get async throws { throw refusal } }
  func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges { throw refusal }
  func waitForChanges(since position: ReplicationPosition?) async throws { throw refusal }
  func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] { throw refusal }
  func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] { throw refusal }
  func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] { throw refusal }
  func flush() async throws { throw refusal }
  func replicationLog(_ id: String) async throws -> ReplicationLog? { throw refusal }
  func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws { throw refusal }
}
