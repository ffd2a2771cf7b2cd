import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// Tests of pulling documents whose attachments cannot all be read.
struct AttachmentReadingTests {
  private static let count = 40

  private func peer(_ transport: any HTTPTransport) throws -> CouchDBPeer {
    CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/notes")), transport: transport)
  }

  private func fill(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<Self.count {
        var document = Document(id: "doc-\(number)", ["number": .int(Int64(number))])
        document.attachments["photo"] = Document.Attachment(
          contentType: "image/png", [UInt8](repeating: UInt8(number), count: 30_000 + number))
        try transaction.put(document)
      }
    }
  }

  private var options: Replicator.Options {
    var options = Replicator.Options()
    (options.retryLimit, options.retryDelay) = (0, .milliseconds(1))
    return options
  }

  /// Regression test: nothing of a batch was stored when the line was cut.
  @Test(arguments: [300_000, 700_000, 1_100_000])
  func `documents that were complete before a cut are not read again`(
    _ byteLimit: Int
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(there)
    let service = CouchDBService(["notes": there])
    let cut = ServiceTransport(service, cutAfter: byteLimit)
    let error = await #expect(throws: ReplicationError.self) {
      try await Replicator(here, peer(cut), direction: .pull, options: options).replicate()
    }
    #expect(error?.code == .unreachable)
    let storedCount = try here.snapshot().count
    // All but what was on its way, six attachments at most.
    #expect(storedCount >= (byteLimit - 60_000) / 30_100 - 6 && storedCount > 0)
    let whole = FaultyTransport(ServiceTransport(service)) { _ in nil }
    let status = try await Replicator(here, peer(whole), direction: .pull, options: options)
      .replicate()
    #expect(whole.attachmentPaths.count == Self.count - storedCount)
    #expect(status.pull.counts.attachmentsWritten == Self.count - storedCount)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(try here.snapshot().sequence == UInt64(Self.count))
  }

  @Test func `attachments of a revision that lacks one are read again`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await there.write { transaction in
      for id in ["a", "b"] {
        var document = Document(id: id, [:])
        document.attachments["first"] = Document.Attachment(contentType: "a/b", Array(id.utf8))
        document.attachments["second"] = Document.Attachment(contentType: "a/b", [1, 2, 3])
        try transaction.put(document)
      }
    }
    let isFirst = Mutex(true)
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { request in
      guard request.url.path == "/notes/b/second", isFirst.withLock({ $0 }) else { return nil }
      isFirst.withLock { $0 = false }
      throw ReplicationError(.unreachable, "the connection was cut")
    }
    var options = options
    options.retryLimit = 1
    try await Replicator(here, peer(transport), direction: .pull, options: options).replicate()
    let counts = transport.attachmentPaths.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    #expect(
      counts == [
        "/notes/a/first": 1, "/notes/a/second": 1, "/notes/b/first": 2, "/notes/b/second": 2,
      ])
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `a line that is cut again and again gets there`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(there)
    let service = CouchDBService(["notes": there])
    let answerCount = Mutex(0)
    // Every twelfth attachment is not sent, more often than a replication is repeated in vain.
    let transport = FaultyTransport(ServiceTransport(service)) { request in
      guard request.url.path.hasSuffix("/photo") else { return nil }
      let number = answerCount.withLock { count in
        count += 1
        return count
      }
      guard number % 12 == 0 else { return nil }
      throw ReplicationError(.unreachable, "the connection was cut")
    }
    var options = options
    options.retryLimit = 1
    let status = try await Replicator(here, peer(transport), direction: .pull, options: options)
      .replicate()
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(status.pull.counts.revisionsWritten == Self.count)
    #expect(status.pull.counts.attachmentsWritten == Self.count && status.failures.isEmpty)
  }

  @Test func `several attachments are read at the same time, and not too many`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(there)
    let transport = CountingTransport(base: ServiceTransport(CouchDBService(["notes": there])))
    try await Replicator(here, peer(transport), direction: .pull, options: options).replicate()
    #expect((4...8).contains(transport.most))
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `batches end after some megabytes of attachments`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let bytes = [UInt8](repeating: 7, count: 6 << 20)
    try await here.write { transaction in
      for number in 0..<5 {
        var document = Document(id: "doc-\(number)", [:])
        document.attachments["film"] = Document.Attachment(contentType: "a/b", bytes)
        try transaction.put(document)
      }
      try transaction.put(Document(id: "small", [:]))
    }
    let sizes = Mutex<[Int]>([])
    var peer = NamedPeer(there, "there")
    peer.observer = { count in sizes.withLock { $0.append(count) } }
    try await Replicator(here, peer, direction: .push).replicate()
    #expect(sizes.withLock { $0 } == [3, 3])
    // What the target has in an ancestor does not count.
    try await here.write { transaction in
      for number in 0..<5 { try transaction.update("doc-\(number)") { $0["seen"] = true } }
    }
    sizes.withLock { $0 = [] }
    try await Replicator(here, peer, direction: .push).replicate()
    #expect(sizes.withLock { $0 } == [5])
    #expect(try Contents(of: here) == Contents(of: there))
  }

  /// Regression test: attachments that were not sent counted as sent.
  @Test(arguments: [false, true])
  func `content that is here already does not count as written`(_ isRemote: Bool) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let photo = Document.Attachment(contentType: "image/png", [UInt8](repeating: 7, count: 1000))
    try await there.write { transaction in
      var document = Document(id: "a", [:])
      document.attachments["first"] = photo
      document.attachments["empty"] = Document.Attachment(contentType: "a/b", [])
      let base = try transaction.put(document)
      // A branch with the same content, which is read once.
      try transaction.update("a") { $0.attachments["second"] = photo }
      var other = base
      other["branch"] = 2
      other.attachments["second"] = photo
      try transaction.put(other, onConflict: .branch)
    }
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { _ in nil }
    let remote = try peer(transport)
    func pull() async throws -> ReplicationCounts {
      let replicator =
        isRemote
        ? Replicator(here, remote, direction: .pull)
        : Replicator(here, DatabasePeer(there), direction: .pull)
      return try await replicator.replicate().pull.counts
    }
    let first = try await pull()
    #expect(first.revisionsWritten == 2)
    #expect(first.attachmentsWritten == 2 && first.attachmentBytes == 1000)
    if isRemote { #expect(transport.attachmentPaths.count == 2) }
    // Another name for content that is here.
    try await there.update("a") { $0.attachments["third"] = photo }
    let second = try await pull()
    #expect(second.revisionsWritten == 1)
    #expect(second.attachmentsWritten == 0 && second.attachmentBytes == 0)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  // MARK: Attachments that are refused

  /// Regression test: the document was left out for good.
  @Test(arguments: [403, 404])
  func `a document whose attachment is refused is asked for again by the next replication`(
    _ status: Int
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(there)
    let service = CouchDBService(["notes": there])
    let refusing = FaultyTransport(ServiceTransport(service)) { request in
      guard request.url.path == "/notes/doc-7/photo" else { return nil }
      return ScriptedTransport.json(status, #"{"error":"no","reason":"why not"}"#)
    }
    for round in 0..<2 {
      let result = try await Replicator(here, peer(refusing), direction: .pull, options: options)
        .replicate()
      #expect(result.failures.map(\.id) == ["doc-7"])
      let error = try #require(result.failures.first?.error as? ReplicationError)
      #expect(error.code == .unavailableContent && error.status == status)
      #expect("\(error)".contains("why not") && "\(error)".contains("photo"))
      #expect(result.pull.counts.revisionsChecked == (round == 0 ? Self.count : 1))
      #expect(try here.snapshot().count == Self.count - 1)
    }
    let whole = ServiceTransport(service)
    for checkedCount in [1, 0] {
      let result = try await Replicator(here, peer(whole), direction: .pull, options: options)
        .replicate()
      #expect(result.failures.isEmpty)
      #expect(result.pull.counts.revisionsChecked == checkedCount)
      #expect(try Contents(of: here) == Contents(of: there))
    }
  }

  @Test func `a document that was purged meanwhile is not asked for again`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(there)
    let service = CouchDBService(["notes": there])
    let refusing = FaultyTransport(ServiceTransport(service)) { request in
      request.url.path == "/notes/doc-7/photo" ? ScriptedTransport.json(404, "{}") : nil
    }
    try await Replicator(here, peer(refusing), direction: .pull, options: options).replicate()
    try await there.write { try _ = $0.purge("doc-7") }
    for checkedCount in [1, 0] {
      let result = try await Replicator(here, peer(refusing), direction: .pull, options: options)
        .replicate()
      #expect(result.failures.isEmpty && result.pull.counts.revisionsChecked == checkedCount)
    }
  }

  @Test func `more refused attachments than a log remembers are found again`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let name = String(repeating: "n", count: 200)
    try await there.write { transaction in
      for number in 0..<300 {
        var document = Document(id: "\(name)-\(number)", [:])
        document.attachments["x"] = Document.Attachment(contentType: "a/b", [1, 2, 3])
        try transaction.put(document)
      }
    }
    let service = CouchDBService(["notes": there])
    let refusing = FaultyTransport(ServiceTransport(service)) { request in
      request.url.path.hasSuffix("/x") ? ScriptedTransport.json(403, "{}") : nil
    }
    let first = try await Replicator(here, peer(refusing), direction: .pull, options: options)
      .replicate()
    #expect(first.pull.counts.revisionsFailed == 300)
    let whole = ServiceTransport(service)
    try await Replicator(here, peer(whole), direction: .pull, options: options).replicate()
    #expect(try Contents(of: here) == Contents(of: there))
  }
}

/// A transport that counts how many attachments are read at the same time.
private final class CountingTransport: HTTPTransport {
  private let base: ServiceTransport
  private let counts = Mutex((now: 0, most: 0))

  init(base: ServiceTransport) { self.base = base }

  var most: Int { counts.withLock { $0.most } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard request.url.path.hasSuffix("/photo") else { return try await base.send(request) }
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
    defer { counts.withLock { $0.now -= 1 } }
    try await Task.sleep(for: .milliseconds(20))
    return try await base.send(request)
  }
}
