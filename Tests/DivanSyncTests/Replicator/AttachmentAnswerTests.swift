import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// Tests of pulling from servers that answer something else in the place of an attachment.
struct AttachmentAnswerTests {
  private static let count = 20

  private let here: Database
  private let there: Database
  private let server: ServiceTransport

  init() throws {
    (here, there) = (try Database.inMemory(), try Database.inMemory())
    server = ServiceTransport(CouchDBService(["notes": there]))
    try there.write { transaction in
      for number in 0..<Self.count {
        var document = Document(id: "doc-\(number)", ["number": .int(Int64(number))])
        document.attachments["photo"] = Document.Attachment(
          contentType: "image/png", [UInt8](repeating: UInt8(number), count: 1000))
        try transaction.put(document)
      }
    }
  }

  private func replicator(
    _ transport: any HTTPTransport, retryDelayLimit: Duration = .seconds(300)
  ) throws -> Replicator {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    var options = Replicator.Options()
    (options.retryLimit, options.retryDelay) = (0, .milliseconds(1))
    options.retryDelayLimit = retryDelayLimit
    return Replicator(
      here, CouchDBPeer(url: url, transport: transport), direction: .pull, options: options)
  }

  private static func isAttachment(_ request: HTTPRequest, of id: String) -> Bool {
    request.url.path == "/notes/\(id)/photo"
  }

  private static func answer(_ status: Int, isPage: Bool) -> HTTPResponse {
    isPage
      ? ScriptedTransport.json(status, "<html>no</html>", ["content-type": "text/html"])
      : ScriptedTransport.json(status, #"{"error":"no","reason":"why not"}"#)
  }

  /// Regression test: one such attachment ended the replication of all documents, each time.
  @Test(
    arguments: [
      (400, false), (500, false), (503, false), (302, false), (200, true), (404, true), (502, true),
    ])
  func `one attachment that a server fails to send does not stop the rest`(
    _ status: Int, _ isPage: Bool
  ) async throws {
    let failing = FaultyTransport(server) { request in
      Self.isAttachment(request, of: "doc-7") ? Self.answer(status, isPage: isPage) : nil
    }
    for checkedCount in [Self.count, 1] {
      let result = try await replicator(failing).replicate()
      #expect(result.failures.map(\.id) == ["doc-7"])
      let error = try #require(result.failures.first?.error as? ReplicationError)
      #expect(error.code == .unavailableContent && error.status == status)
      #expect("\(error)".contains("photo") && "\(error)".contains("doc-7"))
      #expect(result.pull.counts.revisionsChecked == checkedCount)
      #expect(try here.snapshot().count == Self.count - 1)
    }
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty && result.pull.counts.revisionsWritten == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(arguments: [(503, false), (502, true)])
  func `an attachment that a server fails to send for a moment is asked for again at once`(
    _ status: Int, _ isPage: Bool
  ) async throws {
    let requestCount = Mutex(0)
    let failing = FaultyTransport(server) { request in
      guard Self.isAttachment(request, of: "doc-7") else { return nil }
      let number = requestCount.withLock { count in
        count += 1
        return count
      }
      return number < 3 ? Self.answer(status, isPage: isPage) : nil
    }
    let result = try await replicator(failing).replicate()
    #expect(result.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(arguments: [(503, false), (200, true), (429, false)])
  func `a server that fails for everything is no reason to leave a document out`(
    _ status: Int, _ isPage: Bool
  ) async throws {
    let isFailing = Mutex(false)
    let failing = FaultyTransport(server) { request in
      if Self.isAttachment(request, of: "doc-7") { isFailing.withLock { $0 = true } }
      return isFailing.withLock { $0 } ? Self.answer(status, isPage: isPage) : nil
    }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicator(failing).replicate()
    }
    #expect(error?.code == .busy)
    let result = try await replicator(server).replicate()
    #expect(result.failures.isEmpty)
    // Nothing was recorded, and what had arrived is there.
    #expect(result.pull.counts.revisionsChecked == Self.count)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `a server that asks for fewer requests is not asked at once`() async throws {
    let failing = FaultyTransport(server) { request in
      Self.isAttachment(request, of: "doc-7") ? Self.answer(429, isPage: false) : nil
    }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicator(failing).replicate()
    }
    #expect(error?.code == .busy)
    #expect(failing.attachmentPaths.filter { $0.hasSuffix("/doc-7/photo") }.count == 1)
  }

  @Test func `a continuous replication asks again after a while`() async throws {
    let isFailing = Mutex(true)
    let failing = FaultyTransport(server) { request in
      Self.isAttachment(request, of: "doc-7") && isFailing.withLock { $0 }
        ? Self.answer(400, isPage: false) : nil
    }
    let run = try replicator(failing, retryDelayLimit: .milliseconds(50)).start()
    for try await status in run.statuses where status.isUpToDate && !status.failures.isEmpty {
      break
    }
    #expect(try here.snapshot().count == Self.count - 1)
    isFailing.withLock { $0 = false }
    for try await status in run.statuses {
      if try status.isUpToDate && here.snapshot().count == Self.count { break }
    }
    await run.cancel()
    #expect(try Contents(of: here) == Contents(of: there))
  }
}
