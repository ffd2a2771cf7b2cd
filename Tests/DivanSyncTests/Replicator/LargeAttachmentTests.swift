import Divan
import DivanSync
import Foundation
import TestSupport
import Testing

/// Tests that the size of an attachment does not matter for the memory of a replication.
///
/// `DIVAN_ATTACHMENT_SIZE` in bytes, such as 1073741824, makes the attachment that large. Then
/// nothing else may run in the process, since its memory is measured.
struct LargeAttachmentTests {
  private static let givenSize = ProcessInfo.processInfo.environment["DIVAN_ATTACHMENT_SIZE"]
    .flatMap { Int($0) }
  private static let size = givenSize ?? 5_000_000
  private static let growthLimit = 16 << 20

  /// The content of an attachment, a piece at a time.
  private struct Content: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
      var offset = 0

      mutating func next() async throws -> [UInt8]? {
        let count = Swift.min(1 << 16, LargeAttachmentTests.size - offset)
        guard count > 0 else { return nil }
        defer { offset += count }
        var piece = [UInt8](repeating: UInt8(truncatingIfNeeded: offset >> 16), count: count)
        piece[0] = UInt8(truncatingIfNeeded: offset >> 24)
        return piece
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  /// A transport that reads files a piece at a time, as a connection does.
  private struct StreamingTransport: HTTPTransport {
    let service: CouchDBService

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      var headers = request.headers
      let body: HTTPBody
      switch request.body {
      case .none: body = HTTPBody()
      case .data(let data):
        body = HTTPBody(data)
        headers["Content-Length"] = "\(data.count)"
      case .file(let file):
        body = HTTPBody(FilePieces(file: file))
        headers["Content-Length"] =
          "\(try FileManager.default.attributesOfItem(atPath: file.path)[.size] ?? 0)"
      }
      var request = request
      request.headers = headers
      return await service.respond(to: request, body: body)
    }
  }

  private struct FilePieces: AsyncSequence, Sendable {
    let file: URL

    struct AsyncIterator: AsyncIteratorProtocol {
      let file: URL
      var handle: FileHandle?

      mutating func next() async throws -> Data? {
        let handle = try handle ?? FileHandle(forReadingFrom: file)
        self.handle = handle
        return try handle.read(upToCount: 1 << 16)
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
  }

  /// The memory of this process that no file backs, in bytes; nil if the system does not provide
  /// it.
  private static func memory() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") })
    else { return nil }
    return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }

  /// Runs a body, and returns by how many bytes the memory grew at most.
  private func growth(_ body: () async throws -> Void) async throws -> Int {
    let before = Self.memory() ?? 0
    let watch = Task.detached {
      var most = 0
      while !Task.isCancelled {
        most = max(most, Self.memory() ?? 0)
        try? await Task.sleep(for: .milliseconds(10))
      }
      return most
    }
    try await body()
    watch.cancel()
    return await watch.value - before
  }

  @Test(arguments: [Replicator.Direction.push, .pull])
  func `a large attachment is copied in pieces`(_ direction: Replicator.Direction) async throws {
    let directory = try TemporaryDirectory()
    let here = try Database(at: directory.path + "/Here.divan")
    let there = try Database(at: directory.path + "/There.divan")
    let (source, target) = direction == .push ? (here, there) : (there, here)
    let attachment = try await source.storeAttachment(contentType: "a/b", pieces: Content())
    try await source.write { transaction in
      var document = Document(id: "large", [:])
      document.attachments["film"] = attachment
      try transaction.put(document)
    }
    let url = try #require(URL(string: "http://server.invalid/notes"))
    let peer = CouchDBPeer(
      url: url, transport: StreamingTransport(service: CouchDBService(["notes": there])))
    let growth = try await growth {
      let status = try await Replicator(here, peer, direction: direction).replicate()
      #expect(status.failures.isEmpty)
      #expect(status.pull.counts.attachmentBytes + status.push.counts.attachmentBytes == Self.size)
    }
    let arrived = try target.snapshot().document("large")?.attachments["film"]
    #expect(arrived?.length == Self.size && arrived?.digest == attachment.digest)
    guard Self.givenSize != nil else { return }
    print("\(direction) of \(Self.size) bytes: the memory grew by \(growth >> 10) KiB at most")
    #expect(growth <= Self.growthLimit)
  }
}
