import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// Tests of pushes that are cut between the requests of a batch, or within one.
struct PartialPushTests {
  private static let count = 40

  private func replicator(
    _ database: Database, _ transport: any HTTPTransport, retryLimit: Int
  ) throws -> Replicator {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    var options = Replicator.Options()
    (options.retryLimit, options.retryDelay) = (retryLimit, .milliseconds(1))
    options.batchSize = 64 << 20
    let peer = CouchDBPeer(url: url, transport: transport)
    return Replicator(database, peer, direction: .push, options: options)
  }

  private func fill(_ database: Database) async throws {
    try await database.write { transaction in
      for number in 0..<Self.count {
        var document = Document(id: "doc-\(number)", ["number": .int(Int64(number))])
        document.attachments["x"] = Document.Attachment(
          contentType: "a/b", [UInt8](repeating: UInt8(number), count: 100))
        try transaction.put(document)
      }
    }
  }

  private static func isInsertion(_ request: HTTPRequest) -> Bool {
    request.method == "PUT" && !request.url.path.contains("/_local/")
  }

  /// A transport that loses every twelfth insertion: the request, or the answer to it.
  private final class LossyTransport: HTTPTransport {
    let base: ServiceTransport
    let losesAnswers: Bool
    private let count = Mutex(0)

    init(_ base: ServiceTransport, losesAnswers: Bool) {
      self.base = base
      self.losesAnswers = losesAnswers
    }

    var insertionCount: Int { count.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      guard PartialPushTests.isInsertion(request) else { return try await base.send(request) }
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number % 12 == 0 else { return try await base.send(request) }
      if losesAnswers { _ = try await base.send(request) }
      throw ReplicationError(.unreachable, "the connection was cut")
    }
  }

  /// Regression test: what was stored before a cut did not count.
  ///
  /// So a push ended after a few cuts, though each attempt got further.
  @Test(arguments: [false, true])
  func `a push that is cut again and again counts what was stored, and gets there`(
    _ losesAnswers: Bool
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await fill(here)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let transport = LossyTransport(service, losesAnswers: losesAnswers)
    let status = try await replicator(here, transport, retryLimit: 1).replicate()
    #expect(status.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
    // Three were cut. What was stored without an answer is not sent again, and not counted.
    let lostCount = losesAnswers ? 3 : 0
    #expect(transport.insertionCount == Self.count + (losesAnswers ? 0 : 3))
    #expect(status.push.counts.revisionsWritten == Self.count - lostCount)
    #expect(status.push.counts.attachmentsWritten == Self.count - lostCount)
  }

  @Test func `bulk requests before a cut one count`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let text = String(repeating: "x", count: 2_500_000)
    try await here.write { transaction in
      for number in 0..<3 {
        try transaction.put(Document(id: "\(number)", ["text": .string(text)]))
      }
    }
    let requestCount = Mutex(0)
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { request in
      guard request.url.path.hasSuffix("/_bulk_docs") else { return nil }
      let number = requestCount.withLock { count in
        count += 1
        return count
      }
      guard number == 3 else { return nil }
      throw ReplicationError(.unreachable, "the connection was cut")
    }
    let status = try await replicator(here, transport, retryLimit: 1).replicate()
    #expect(status.push.counts.revisionsWritten == 3)
    #expect(requestCount.withLock { $0 } == 4)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `one document that a server cannot store now does not hide that others are stored`()
    async throws
  {
    let transport = ScriptedTransport { _, _ in
      ScriptedTransport.json(201, #"[{"id":"b","error":"internal_server_error"}]"#)
    }
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let revision = try #require(RevisionID("1-a"))
    let results = try await CouchDBPeer(url: url, transport: transport).insert(
      ["a", "b", "c"].map {
        ReplicatedRevision(Document(id: $0), history: [revision], isDeleted: false)
      }, from: "test")
    #expect(try results[0].get() && results[2].get())
    let error = #expect(throws: ReplicationError.self) { try results[1].get() }
    #expect(error?.code == .notStored)
  }
}
