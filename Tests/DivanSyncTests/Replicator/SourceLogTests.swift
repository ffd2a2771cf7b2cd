import Divan
import DivanSync
import Foundation
import TestSupport
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

  private static let refusingLogs: FaultyTransport.Fault = { request in
    guard request.url.path.contains("/_local/") else { return nil }
    return ScriptedTransport.json(403, #"{"error":"forbidden","reason":"readers only"}"#)
  }

  /// Regression test: changes that an older copy made at known positions were left out for good.
  @Test(arguments: [0, 1, 3])
  func `a source without a log that was replaced by an older copy is noticed`(
    _ sessionCount: Int
  ) async throws {
    let directory = try TemporaryDirectory()
    let (path, copyPath) = (directory.path + "/There.divan", directory.path + "/Copy.divan")
    let here = try Database.inMemory()
    var there = try Database(at: path)
    func put(_ ids: [String]) throws {
      try there.write { transaction in
        for id in ids { try transaction.put(Document(id: id, [:])) }
      }
    }
    for number in 0..<sessionCount {
      try put(["before-\(number)"])
      _ = try await pull(here, there, Self.refusingLogs)
    }
    try await there.close()
    try FileManager.default.copyItem(atPath: path, toPath: copyPath)
    there = try Database(at: path)
    try put(["lost-1", "lost-2"])
    let before = try await pull(here, there, Self.refusingLogs)
    #expect(before.pull.isCheckpointOfTargetOnly && before.pull.counts.revisionsWritten == 2)
    try await there.close()

    // The copy comes beyond the recorded position with other changes.
    there = try Database(at: copyPath)
    try put((0..<5).map { "new-\($0)" })
    let after = try await pull(here, there, Self.refusingLogs)
    #expect(after.pull.counts.revisionsWritten == 5)
    // It continues where the copy ended, if a session ended there.
    #expect(after.pull.counts.revisionsChecked == 5)
    #expect(try here.snapshot().count == sessionCount + 7)
    #expect(try await pull(here, there, Self.refusingLogs).pull.counts.revisionsChecked == 0)
    try await there.close()
  }

  @Test func `a source that refuses to compare is continued where the log says`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await there.write { try _ = $0.put(Document(id: "a", [:])) }
    let refusing: FaultyTransport.Fault = { request in
      guard request.url.path.hasSuffix("/_revs_diff") else {
        return try Self.refusingLogs(request)
      }
      return ScriptedTransport.json(405, "{}")
    }
    for checkedCount in [1, 0] {
      let status = try await pull(here, there, refusing)
      #expect(status.pull.counts.revisionsChecked == checkedCount && status.failures.isEmpty)
    }
  }

  @Test func `a last change that is an ancestor by now shows that the source is the same`()
    async throws
  {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await there.write { transaction in
      for number in 0..<20 { try transaction.put(Document(id: "doc-\(number)", [:])) }
    }
    _ = try await pull(here, there, Self.refusingLogs)
    for round in 0..<3 { try await there.update("doc-19") { $0["round"] = .int(Int64(round)) } }
    let status = try await pull(here, there, Self.refusingLogs)
    #expect(status.pull.counts.revisionsChecked == 1 && status.pull.counts.revisionsWritten == 1)
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
    log.history[0].lastChange = .init(id: "é", leaves: [revision, revision])
    #expect(ReplicationLog(log.properties) == log)
    let damaged: Value.Object = ["session_id": "s", "retries": [1, ["id": "a", "rev": "x"]]]
    #expect(ReplicationLog(damaged)?.retries == [])
  }
}
