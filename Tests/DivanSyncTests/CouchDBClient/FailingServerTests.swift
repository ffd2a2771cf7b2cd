import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// Tests of pushing to servers that fail whenever they should store one of the documents.
struct FailingServerTests {
  private static let count = 20

  private let here: Database
  private let there: Database
  private let server: ServiceTransport

  /// Creates twenty documents, of which every second has an attachment.
  init() throws {
    (here, there) = (try Database.inMemory(), try Database.inMemory())
    server = ServiceTransport(CouchDBService(["notes": there]))
    try here.write { transaction in
      for number in 0..<Self.count {
        var document = Document(id: "doc-\(number)", ["number": .int(Int64(number))])
        if number % 2 == 1 {
          document.attachments["photo"] = Document.Attachment(
            contentType: "image/png", [UInt8](repeating: UInt8(number), count: 1000))
        }
        try transaction.put(document)
      }
    }
  }

  private func replicator(
    _ transport: any HTTPTransport, retryLimit: Int = 0
  ) throws -> Replicator {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    var options = Replicator.Options()
    (options.retryLimit, options.retryDelay) = (retryLimit, .milliseconds(1))
    return Replicator(
      here, CouchDBPeer(url: url, transport: transport), direction: .push, options: options)
  }

  /// Whether a request stores a document, alone or among others.
  private static func isStoring(_ request: HTTPRequest, _ id: String) -> Bool {
    if request.method == "PUT" { return request.url.path == "/notes/\(id)" }
    guard request.url.path.hasSuffix("_bulk_docs"), case .data(let body) = request.body else {
      return false
    }
    return String(decoding: body, as: UTF8.self).contains("\"\(id)\"")
  }

  private static func failure(_ status: Int) -> HTTPResponse {
    ScriptedTransport.json(status, #"{"error":"unknown_error","reason":"badmatch"}"#)
  }

  /// Regression test: such a document ended the replication of all documents, each time.
  @Test(arguments: [("doc-7", 500), ("doc-7", 504), ("doc-8", 500)])
  func `a document that a server fails to store does not stop the rest, and is tried again later`(
    _ id: String, _ status: Int
  ) async throws {
    let failing = FaultyTransport(server) { request in
      Self.isStoring(request, id) ? Self.failure(status) : nil
    }
    for checkedCount in [Self.count, 1] {
      let result = try await replicator(failing).replicate()
      #expect(result.failures.map(\.id) == [id])
      let error = try #require(result.failures.first?.error as? ReplicationError)
      #expect(error.code == .notStored && error.status == status)
      #expect("\(error)".contains(id) && "\(error)".contains("badmatch"))
      #expect(result.push.counts.revisionsChecked == checkedCount)
      #expect(try there.snapshot().count == Self.count - 1)
    }
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty && result.push.counts.revisionsWritten == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(arguments: ["doc-7", "doc-8"])
  func `a document that a server fails to store for a moment is sent again at once`(
    _ id: String
  ) async throws {
    let failureCount = Mutex(0)
    let failing = FaultyTransport(server) { request in
      guard Self.isStoring(request, id) else { return nil }
      let number = failureCount.withLock { count in
        count += 1
        return count
      }
      return number < 3 ? Self.failure(500) : nil
    }
    let result = try await replicator(failing).replicate()
    #expect(result.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(arguments: [("doc-7", 500), ("doc-7", 503), ("doc-8", 500)])
  func `a server that fails for every document is no reason to leave one out`(
    _ id: String, _ status: Int
  ) async throws {
    let isFailing = Mutex(false)
    let failing = FaultyTransport(server) { request in
      if Self.isStoring(request, id) { isFailing.withLock { $0 = true } }
      return isFailing.withLock { $0 } ? Self.failure(status) : nil
    }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicator(failing).replicate()
    }
    #expect(error?.code == .busy)
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty)
    // Nothing was recorded.
    #expect(result.push.counts.revisionsChecked == Self.count)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  /// A row whose word is not one of those that are known.
  private static func row(_ id: String, hasID: Bool = true) -> Value {
    var row: Value.Object = ["error": "unknown_error", "reason": "badmatch"]
    if hasID { row["id"] = .string(id) }
    return .object(row)
  }

  /// Regression test: such a row ended each session, though the other documents were stored.
  @Test(arguments: [true, false])
  func `a row with an unknown error is of its document if the server stores others`(
    _ hasID: Bool
  ) async throws {
    let failing = RowTransport(server) { $0 == "doc-8" ? Self.row($0, hasID: hasID) : nil }
    // The second session sends the document alone.
    for checkedCount in [Self.count, 1] {
      let result = try await replicator(failing).replicate()
      #expect(result.failures.map(\.id) == ["doc-8"])
      let error = try #require(result.failures.first?.error as? ReplicationError)
      #expect(error.code == .notStored && "\(error)".contains("unknown_error, badmatch"))
      #expect(result.push.counts.revisionsChecked == checkedCount)
      #expect(try there.snapshot().count == Self.count - 1)
    }
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty && result.push.counts.revisionsWritten == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `rows with unknown errors of all documents are no reason to leave one out`()
    async throws
  {
    let failing = RowTransport(server) { Self.row($0) }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicator(failing).replicate()
    }
    #expect(error?.code == .busy)
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty)
    // Nothing was recorded.
    #expect(result.push.counts.revisionsChecked == Self.count)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a document that fails again does not keep a replication from giving up`() async throws {
    let failing = RowTransport(server) { id in
      ["doc-8", "doc-new"].contains(id) ? Self.row(id) : nil
    }
    #expect(try await replicator(failing).replicate().failures.map(\.id) == ["doc-8"])
    try await here.write { try _ = $0.put(Document(id: "doc-new", [:])) }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicator(failing, retryLimit: 3).replicate()
    }
    #expect(error?.code == .busy)
  }
}
