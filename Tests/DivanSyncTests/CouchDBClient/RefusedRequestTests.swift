import Divan
import DivanSync
import Foundation
import Testing

/// Tests of servers that refuse a whole request for one of its documents.
struct RefusedRequestTests {
  private static let count = 50
  private static let page = ["content-type": "text/html"]
  private static let refusal = #"{"error":"bad_request","reason":"no such number"}"#

  private var options: Replicator.Options {
    var options = Replicator.Options()
    options.retryLimit = 0
    return options
  }

  private func push(
    _ database: Database, _ transport: any HTTPTransport
  ) async throws -> ReplicationStatus {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let peer = CouchDBPeer(url: url, transport: transport)
    return try await Replicator(database, peer, direction: .push, options: options).replicate()
  }

  private func fill(_ database: Database, hasAttachments: Bool) throws {
    try database.write { transaction in
      for number in 0..<Self.count {
        var document = Document(
          id: "doc-\(number)", ["text": number % 20 == 7 ? "poison" : "tea"])
        if hasAttachments {
          document.attachments["x"] = Document.Attachment(contentType: "a/b", [1, 2, 3])
        }
        try transaction.put(document)
      }
    }
  }

  private static func isInsertion(_ request: HTTPRequest) -> Bool {
    request.url.path.hasSuffix("/_bulk_docs")
      || request.method == "PUT" && !request.url.path.contains("/_local/")
  }

  /// Regression test: one document ended the replication.
  @Test(arguments: [false, true])
  func `one document that the server cannot read does not stop the others`(
    _ hasAttachments: Bool
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here, hasAttachments: hasAttachments)
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { request in
      guard Self.isInsertion(request), request.bodyText.contains("poison") else { return nil }
      return ScriptedTransport.json(400, Self.refusal)
    }
    let status = try await push(here, transport)
    #expect(Set(status.failures.map(\.id)) == ["doc-7", "doc-27", "doc-47"])
    #expect(status.failures.allSatisfy { "\($0.error)".contains("no such number") })
    #expect(status.push.counts.revisionsWritten == Self.count - 3)
    #expect(try there.snapshot().count == Self.count - 3)
    // A search by halves, and not a request for each document.
    let requestCount = transport.requests.filter { $0.url.path.hasSuffix("/_bulk_docs") }.count
    #expect(requestCount < 45)
  }

  /// Regression test: such a server ended each replication with many changes.
  @Test func `a server is asked about fewer revisions if it refuses to compare many`() async throws
  {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here, hasAttachments: false)
    var configuration = CouchDBService.Configuration()
    configuration.limits.offeredRevisions = 10
    let server = ServiceTransport(CouchDBService(["notes": there], configuration: configuration))
    let status = try await push(here, server)
    #expect(status.failures.isEmpty && status.push.counts.revisionsWritten == Self.count)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(server.requests.filter { $0 == "POST /notes/_revs_diff" }.count < 20)
  }

  /// Regression test: the answers of older servers with PouchDB counted as those of stored
  /// documents, and those of later ones ended the replication.
  @Test(arguments: ["error", "id"])
  func `a server can leave out the word of an error or the ID of the document`(
    _ missing: String
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here, hasAttachments: false)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let transport = RowTransport(service) { id in
      guard ["doc-7", "doc-27", "doc-47"].contains(id) else { return nil }
      let row: Value =
        missing == "id"
        ? ["error": "forbidden", "reason": "no such number"]
        : ["id": .string(id), "error": true, "name": "forbidden", "message": "no such number"]
      return row
    }
    let status = try await push(here, transport)
    #expect(Set(status.failures.map(\.id)) == ["doc-7", "doc-27", "doc-47"])
    #expect(status.failures.allSatisfy { "\($0.error)".contains("forbidden, no such number") })
    #expect(status.push.counts.revisionsWritten == Self.count - 3)
    #expect(try there.snapshot().count == Self.count - 3)
    // A search by halves, and not a request for each document.
    #expect(transport.bulkCount < 45)
    #expect(missing == "id" || transport.bulkCount == 1)
  }

  /// What refuses everything, and whether another attempt may succeed.
  @Test(
    arguments: [
      (400, [:], refusal, false), (400, page, "<html></html>", true), (403, [:], "{}", false),
      (401, [:], "{}", false), (401, page, "<html></html>", false),
    ] as [(Int, [String: String], String, Bool)], [false, true])
  func `what refuses every request is no reason to leave a document out`(
    _ answer: (Int, [String: String], String, Bool), _ hasAttachments: Bool
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here, hasAttachments: hasAttachments)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let refusing = FaultyTransport(service) { request in
      let isLog = request.url.path.contains("/_local/")
      guard request.method != "GET", !request.url.path.hasSuffix("/_revs_diff") || isLog else {
        return nil
      }
      return ScriptedTransport.json(answer.0, answer.2, answer.1)
    }
    let error = await #expect(throws: ReplicationError.self) { try await push(here, refusing) }
    #expect(error?.isTemporary == answer.3)
    let status = try await push(here, FaultyTransport(service) { _ in nil })
    #expect(status.failures.isEmpty && status.push.counts.revisionsWritten == Self.count)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  /// Regression test: a target could make the replication send revisions several times.
  @Test func `only what the target was asked for is sent, and once`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let first = try await here.write { try $0.put(Document(id: "a", ["n": 1])) }
    let second = try await here.update("a") { $0["n"] = 2 }
    let revisions = [first.revision, second?.revision, second?.revision].compactMap { $0 }
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { request in
      guard request.url.path.hasSuffix("/_revs_diff") else { return nil }
      let missing = revisions.map { "\"\($0)\"" }.joined(separator: ",")
      return ScriptedTransport.json(200, #"{"a":{"missing":[\#(missing)]}}"#)
    }
    let status = try await push(here, transport)
    #expect(status.push.counts.revisionsMissing == 1 && status.push.counts.revisionsRead == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }
}
