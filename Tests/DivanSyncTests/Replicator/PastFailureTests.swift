import Divan
import Foundation
import Testing

@testable import DivanSync

/// Tests of documents that an earlier session could not copy.
struct PastFailureTests {
  private let here: Database
  private let there: Database

  init() throws { (here, there) = (try Database.inMemory(), try Database.inMemory()) }

  private func peer(_ fault: @escaping FaultyTransport.Fault = { _ in nil }) throws -> CouchDBPeer {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let service = ServiceTransport(CouchDBService(["notes": there]))
    return CouchDBPeer(url: url, transport: FaultyTransport(service, fault))
  }

  private func replicate(_ direction: Replicator.Direction) async throws -> ReplicationStatus {
    try await Replicator(here, peer(), direction: direction).replicate()
  }

  private func rejectSoup(in database: Database) {
    database.setValidation(named: "no soup") { revision in
      if revision.document["text"] == "Soup" { try revision.reject("no soup") }
    }
  }

  private func fill(_ database: Database) async throws {
    try await database.write { transaction in
      for (id, text) in [("a", "Tea"), ("b", "Soup"), ("c", "Cake"), ("d", "Soup")] {
        try transaction.put(Document(id: id, ["text": .string(text)]))
      }
    }
  }

  /// Regression test: only the session that had met them reported them.
  @Test(arguments: [Replicator.Direction.pull, .push])
  func `a later session reports what is still not copied, until it is`(
    _ direction: Replicator.Direction
  ) async throws {
    let (source, target) = direction == .pull ? (there, here) : (here, there)
    rejectSoup(in: target)
    try await fill(source)
    #expect(try await replicate(direction).failures.map(\.id) == ["b", "d"])
    for _ in 0..<2 {
      let status = try await replicate(direction)
      #expect(status.failures.map(\.id) == ["b", "d"])
      #expect(status.failures.allSatisfy { $0.isPulled == (direction == .pull) })
      let error = try #require(status.failures.first?.error as? ReplicationError)
      #expect(error.code == .failedBefore && !error.isTemporary)
      let side = direction == .pull ? status.pull : status.push
      #expect(side.counts.revisionsChecked == 0 && side.counts.revisionsFailed == 0)
    }
    // A revision that is copied brings its ancestors.
    try await source.update("b") { $0["text"] = "Soup of the day" }
    let third = try await replicate(direction)
    #expect(third.failures.map(\.id) == ["d"])
    #expect(try await replicate(direction).failures.map(\.id) == ["d"])
    // It can arrive in another way, too.
    target.setValidation(named: "no soup", nil)
    try await Replicator(source, DatabasePeer(target), direction: .push).replicate()
    #expect(try await replicate(direction).failures.isEmpty)
  }

  /// Regression test: the failure had no ID, so the log left it out.
  @Test func `a later session reports a change whose revision cannot be read`() async throws {
    let faulty = try peer { request in
      guard request.url.path.hasSuffix("/_changes") else { return nil }
      let isRead = request.url.query?.contains("since") == true
      let rows = isRead ? "" : #"{"id":"b","changes":[{"rev":"x"}]}"#
      return ScriptedTransport.json(
        200, #"{"results":[\#(rows)],"last_seq":"1-x","pending":0}"#)
    }
    let first = try await Replicator(here, faulty, direction: .pull).replicate()
    #expect(first.failures.map(\.id) == ["b"])
    let second = try await Replicator(here, faulty, direction: .pull).replicate()
    #expect(second.failures.map(\.id) == ["b"])
    let error = try #require(second.failures.first?.error as? ReplicationError)
    #expect(error.code == .failedBefore && error.message.contains("invalidRevisionID"))
  }

  @Test func `a newer failure of a document takes the place of the one before`() async throws {
    rejectSoup(in: there)
    try await fill(here)
    _ = try await replicate(.push)
    try await here.update("b") { $0["number"] = 2 }
    let status = try await replicate(.push)
    let failures = status.failures.filter { $0.id == "b" }
    #expect(failures.map(\.revision?.generation) == [2])
    let error = try #require(failures.first?.error as? ReplicationError)
    #expect(error.code == .refused)
    try await Replicator(here, peer(), direction: .push).removeCheckpoints()
    // Everything is compared again, and each failure is that of this session.
    let again = try await replicate(.push)
    #expect(Set(again.failures.map(\.id)) == ["b", "d"] && again.failures.count == 2)
  }

  @Test func `the reason is that of the server, and an error of this store is a code`() throws {
    let refusal = ReplicationError(
      .refused, "the server refuses “a”",
      underlying: ReplicationError(.refused, "PUT /a was answered: no soup"))
    let first = ReplicationLog.Failure(id: "a", revision: nil, refusal)
    #expect(first.reason == "the server refuses “a”: PUT /a was answered: no soup")
    let damage = DatabaseError(.damaged, "/home/ada/Notes.divan is damaged", documentID: "a")
    let second = ReplicationLog.Failure(id: "a", revision: nil, damage)
    #expect(second.reason == "damaged")
    let long = ReplicationError(.refused, String(repeating: "x", count: 5000))
    #expect(ReplicationLog.Failure(id: "a", revision: nil, long).reason.count == 200)
  }

  @Test func `a log remembers failures, the latest of many`() async throws {
    let revision = try #require(RevisionID("1-" + String(repeating: "a", count: 32)))
    var log = ReplicationLog(.init(sessionID: "s", position: .init("7-x")))
    log.failures = [
      .init(id: "a", revision: revision, reason: "no"),
      .init(id: "ä/1", revision: nil, reason: ""),
    ]
    #expect(ReplicationLog(log.properties) == log)
    let name = String(repeating: "n", count: 500)
    let past = (0..<300).map {
      ReplicationLog.Failure(id: "\(name)-\($0)", revision: revision, reason: "no")
    }
    let list = try await FailureList(past, missingIn: DatabasePeer(here))
    #expect(list.entries.count > 40 && list.entries.last == past.last)
    log.failures = list.entries
    #expect(Value.object(log.properties).json.utf8.count < 40_000)
  }
}
