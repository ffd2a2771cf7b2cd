import Divan
import DivanSync
import Foundation
import Testing

/// Tests that the status says how far a large attachment is.
struct AttachmentProgressTests {
  private static let size = 100_000

  private struct SlowPieces: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
      var count = 0

      mutating func next() async throws -> Data? {
        guard count < 10 else { return nil }
        count += 1
        try await Task.sleep(for: .milliseconds(30))
        return Data(repeating: 7, count: AttachmentProgressTests.size / 10)
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  /// Replicates until both sides are the same, and returns each progress that the status had.
  private func progress(
    _ database: Database, _ transport: FaultyTransport, _ direction: Replicator.Direction
  ) async throws -> [Int] {
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let peer = CouchDBPeer(url: url, transport: transport)
    let run = Replicator(database, peer, direction: direction).start()
    var progress: [Int] = []
    for try await status in run.statuses {
      let side = direction == .pull ? status.pull : status.push
      if side.batchAttachmentBytes > 0 {
        #expect(side.batchAttachmentBytes == Self.size)
        progress.append(side.batchAttachmentBytesDone)
      }
      if status.isUpToDate { break }
    }
    let end = direction == .pull ? run.status.pull : run.status.push
    #expect(end.batchAttachmentBytes == 0 && end.batchAttachmentBytesDone == 0)
    #expect(end.counts.attachmentBytes == Self.size)
    await run.cancel()
    return progress
  }

  private func fill(_ database: Database) async throws {
    try await database.write { transaction in
      var document = Document(id: "a", [:])
      document.attachments["x"] = Document.Attachment(
        contentType: "a/b", [UInt8](repeating: 7, count: Self.size))
      try transaction.put(document)
    }
  }

  @Test func `a pull says how much of an attachment has arrived`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await fill(there)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let transport = FaultyTransport(service) { request in
      request.url.path == "/notes/a/x"
        ? HTTPResponse(status: 200, body: HTTPBody(SlowPieces())) : nil
    }
    let progress = try await progress(here, transport, .pull)
    #expect(progress == progress.sorted())
    #expect(progress.contains { $0 > 0 && $0 < Self.size }, "\(progress)")
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `a push says how much of an attachment was sent`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await fill(here)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let transport = FaultyTransport(service) { request in
      guard request.method == "PUT", request.url.path == "/notes/a" else { return nil }
      for count in [1000, 50_000, 5_000_000] {
        request.progress?(count)
        Thread.sleep(forTimeInterval: 0.2)
      }
      return nil
    }
    let progress = try await progress(here, transport, .push)
    // A reader that is slow misses some of them.
    #expect(progress.contains { $0 > 0 }, "\(progress)")
    #expect(Set(progress).isSubset(of: [0, 1000, 50_000, Self.size]), "\(progress)")
    #expect(try Contents(of: here) == Contents(of: there))
  }
}
