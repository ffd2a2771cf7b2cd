import Divan
import Foundation
import Synchronization
import Testing

@testable import DivanSync

/// Tests of what was received and waits for its reader.
struct PieceBufferTests {
  private static func piece(_ number: Int) -> Data {
    Data(repeating: UInt8(truncatingIfNeeded: number), count: 500_000)
  }

  /// Regression test: bytes that were read counted until the reader had caught up.
  @Test func `what was read makes room before the reader has caught up`() throws {
    let spool = Spool(sizeLimit: 4_000_000)
    var buffer = PieceBuffer(spool)
    for number in 0..<6 { try buffer.append(Self.piece(number)) }
    var received = Data()
    for number in 6..<60 {
      try buffer.append(Self.piece(number))
      while received.count < 500_000 * (number - 5), let piece = try buffer.popFirst() {
        received += piece
      }
    }
    while let piece = try buffer.popFirst() { received += piece }
    #expect(received.count == 60 * 500_000 && buffer.isEmpty)
    for number in 0..<60 {
      #expect(received[500_000 * number] == UInt8(number))
      #expect(received[500_000 * number + 499_999] == UInt8(number))
    }
  }

  @Test func `a response that is released gives back what was not read`() throws {
    let spool = Spool(sizeLimit: 3_000_000)
    for _ in 0..<5 {
      var buffer = PieceBuffer(spool)
      for number in 0..<7 { try buffer.append(Self.piece(number)) }
      for _ in 0..<6 { _ = try buffer.popFirst() }
    }
    var buffer = PieceBuffer(spool)
    for number in 0..<8 { try buffer.append(Self.piece(number)) }
    let error = #expect(throws: ReplicationError.self) { try buffer.append(Self.piece(8)) }
    #expect(error?.isTemporary == true)
  }

  private func pull(
    _ database: Database, _ there: Database, failing path: String, retryLimit: Int
  ) async throws -> ReplicationStatus {
    let count = Mutex(0)
    let service = ServiceTransport(CouchDBService(["notes": there]))
    let transport = FaultyTransport(service) { request in
      let isFirst = count.withLock { count in
        guard request.url.path == path else { return false }
        count += 1
        return count == 1
      }
      guard isFirst else { return nil }
      let error = Spool.isFull(sizeLimit: 1000)
      return HTTPResponse(
        status: 200,
        body: HTTPBody(AsyncThrowingStream<Data, any Error> { $0.finish(throwing: error) }))
    }
    let url = try #require(URL(string: "http://server.invalid/notes"))
    var options = Replicator.Options()
    (options.retryLimit, options.retryDelay) = (retryLimit, .milliseconds(1))
    let peer = CouchDBPeer(url: url, transport: transport)
    return try await Replicator(database, peer, direction: .pull, options: options).replicate()
  }

  private func fill(_ database: Database) async throws {
    try await database.write { transaction in
      for number in 0..<5 {
        var document = Document(id: "doc-\(number)", [:])
        document.attachments["x"] = Document.Attachment(contentType: "a/b", [UInt8(number)])
        try transaction.put(document)
      }
    }
  }

  /// Regression test: it ended the replication.
  @Test(arguments: ["/notes/_changes", "/notes/_bulk_get"])
  func `an answer for which there is no room is asked for again`(_ path: String) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await fill(there)
    let status = try await pull(here, there, failing: path, retryLimit: 1)
    #expect(status.failures.isEmpty && status.pull.counts.revisionsWritten == 5)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `an attachment for which there is no room does not stop the rest`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await fill(there)
    let first = try await pull(here, there, failing: "/notes/doc-2/x", retryLimit: 0)
    #expect(first.failures.map(\.id) == ["doc-2"])
    let error = first.failures.first?.error as? ReplicationError
    #expect(error?.code == .unavailableContent)
    #expect(error.map { "\($0)".contains("spoolSizeLimit") } == true)
    #expect(first.pull.counts.revisionsWritten == 4)
    let second = try await pull(here, there, failing: "none", retryLimit: 0)
    #expect(second.failures.isEmpty && second.pull.counts.revisionsWritten == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }
}
