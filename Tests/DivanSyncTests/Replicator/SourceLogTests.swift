import Divan
import DivanSync
import Foundation
import Testing

/// Tests of sources that can be read, and do not store the log of a replication.
struct SourceLogTests {
  private func pull(
    _ database: Database, _ there: Database,
    _ fault: @escaping FaultyTransport.Fault = { _ in nil }
  ) async throws -> ReplicationStatus {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let peer = CouchDBPeer(url: url, transport: FaultyTransport(service, fault))
    var options = Replicator.Options()
    options.retryLimit = 0
    return try await Replicator(database, peer, direction: .pull, options: options).replicate()
  }

  /// Regression test: such a source could not be pulled.
  @Test(arguments: [401, 403, 405], [["PUT"], ["GET", "PUT"]])
  func `a source that stores no log is continued where the target's log says`(
    _ status: Int, _ refused: [String]
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await there.write { transaction in
      for number in 0..<20 { try transaction.put(Document(id: "doc-\(number)", [:])) }
    }
    let refusing: FaultyTransport.Fault = { request in
      guard request.url.path.contains("/_local/"), refused.contains(request.method) else {
        return nil
      }
      return ScriptedTransport.json(status, #"{"error":"unauthorized","reason":"readers only"}"#)
    }
    let first = try await pull(here, there, refusing)
    #expect(first.pull.counts.revisionsWritten == 20 && first.failures.isEmpty)
    #expect(first.pull.isCheckpointOfTargetOnly)
    let second = try await pull(here, there, refusing)
    #expect(second.pull.counts.revisionsChecked == 0 && second.pull.isCheckpointOfTargetOnly)
    try await there.update("doc-3") { $0["seen"] = true }
    let third = try await pull(here, there, refusing)
    #expect(third.pull.counts.revisionsChecked == 1 && third.pull.counts.revisionsWritten == 1)
    // Once the source stores logs, both count again.
    try await there.update("doc-4") { $0["seen"] = true }
    let fourth = try await pull(here, there)
    #expect(fourth.pull.counts.revisionsChecked == 1 && !fourth.pull.isCheckpointOfTargetOnly)
    #expect(try await pull(here, there).pull.counts.revisionsChecked == 0)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `credentials that are not valid end the replication`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let error = await #expect(throws: ReplicationError.self) {
      try await pull(here, there) { _ in ScriptedTransport.json(401, "{}") }
    }
    #expect(error?.code == .unauthorized)
  }

  @Test func `a log remembers what to ask for again`() throws {
    var log = ReplicationLog(.init(sessionID: "s", position: .init("7-x")))
    let revision = try #require(RevisionID("1-" + String(repeating: "a", count: 32)))
    log.retries = [.init(id: "ä/1", revision: revision)]
    log.isOfTargetOnly = true
    #expect(ReplicationLog(log.properties) == log)
    let damaged: Value.Object = ["session_id": "s", "retries": [1, ["id": "a", "rev": "x"]]]
    #expect(ReplicationLog(damaged)?.retries == [])
  }
}
