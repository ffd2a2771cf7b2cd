import Divan
import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of replicating over CouchDB's protocol, with a service in this process.
struct CouchDBPeerTests {
  private static let url = URL(filePath: "/").withHost

  private func makePeer(
    _ database: Database, cutAfter byteLimit: Int = .max
  ) -> (CouchDBPeer, ServiceTransport) {
    let transport = ServiceTransport(CouchDBService(["notes": database]), cutAfter: byteLimit)
    return (CouchDBPeer(url: Self.url, transport: transport), transport)
  }

  private func fill(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<10 {
        var document = Document(
          id: "doc/\(number) + ä", ["number": .int(Int64(number)), "text": "“Tea”\n\u{0}"])
        if number % 3 == 0 {
          document.attachments["data +\(number)"] = Document.Attachment(
            contentType: "text/plain", [UInt8](repeating: UInt8(number), count: 500 * number))
          document.attachments["empty"] = Document.Attachment(contentType: "a/b", [])
        }
        let stored = try transaction.put(document)
        if number == 5 { try transaction.delete(stored) }
        guard number == 6 else { continue }
        try transaction.update(stored.id) { $0["text"] = "Coffee" }
        var other = stored
        other["text"] = "Green tea"
        try transaction.put(other, onConflict: .branch)
      }
    }
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `documents arrive as they are`(_ direction: Replicator.Direction) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(direction == .pull ? there : here)
    let (peer, _) = makePeer(there)
    let status = try await Replicator(here, peer, direction: direction).replicate()
    #expect(status.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(try Contents(of: here).leaves["doc/6 + ä"]?.count == 2)
    let again = try await Replicator(here, peer, direction: direction).replicate()
    #expect(again.pull.counts.revisionsChecked + again.push.counts.revisionsChecked == 0)
  }

  /// Regression test: such a document was sent to the path of the server, whose answer ended the
  /// replication.
  @Test(arguments: [".", ".."], [Replicator.Direction.pull, .push])
  func `names of dots are no steps in a path`(
    _ name: String, _ direction: Replicator.Direction
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await (direction == .pull ? there : here).write { transaction in
      var document = Document(id: name, [:])
      document.attachments[name] = Document.Attachment(contentType: "a/b", [1, 2])
      try transaction.put(document)
    }
    let transport = FaultyTransport(ServiceTransport(CouchDBService(["notes": there]))) { _ in nil }
    let peer = CouchDBPeer(url: Self.url, transport: transport)
    let status = try await Replicator(here, peer, direction: direction).replicate()
    #expect(status.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
    let parts = transport.requests.flatMap { request in
      request.url.absoluteString.prefix { $0 != "?" }.split(separator: "/")
    }
    #expect(!parts.contains { $0 == "." || $0 == ".." })
  }

  /// Regression test: the levels that the protocol puts around a document counted as its own.
  @Test(arguments: [Replicator.Direction.pull, .push])
  func `a document that is nested as deep as possible arrives`(
    _ direction: Replicator.Direction
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let source = direction == .pull ? there : here
    try await source.write { transaction in
      for isAttached in [false, true] {
        // The object of the properties is a level, too.
        let value = (1..<DocumentLimits.depth).reduce(Value.int(7)) { value, _ in .array([value]) }
        var document = Document(id: "\(isAttached)", ["value": value])
        if isAttached {
          document.attachments["x"] = Document.Attachment(contentType: "a/b", [1, 2])
        }
        try transaction.put(document)
      }
    }
    let (peer, _) = makePeer(there)
    let status = try await Replicator(here, peer, direction: direction).replicate()
    #expect(status.failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(try here.snapshot().count == 2 && there.snapshot().count == 2)
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `an attachment that an ancestor has is not sent again`(
    _ direction: Replicator.Direction
  ) async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let source = direction == .pull ? there : here
    try await source.write { transaction in
      var document = Document(id: "picture", [:])
      document.attachments["photo"] = Document.Attachment(
        contentType: "image/png", [UInt8](repeating: 7, count: 200_000))
      try transaction.put(document)
    }
    let (peer, transport) = makePeer(there)
    try await Replicator(here, peer, direction: direction).replicate()
    #expect(transport.byteCount > 200_000)
    try await source.update("picture") { $0["seen"] = true }
    let before = transport.byteCount
    try await Replicator(here, peer, direction: direction).replicate()
    #expect(transport.byteCount - before < 10_000)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `a replication that is cut after any number of bytes is completed by the next one`(
    _ direction: Replicator.Direction
  ) async throws {
    let (first, second) = (try Database.inMemory(), try Database.inMemory())
    try fill(direction == .pull ? second : first)
    let (whole, counting) = makePeer(second)
    try await Replicator(first, whole, direction: direction).replicate()
    var options = Replicator.Options()
    (options.batchCount, options.retryLimit) = (4, 0)
    var cutCount = 0
    // Every byte of the first exchanges, and some of the others.
    for byteLimit in 0..<counting.byteCount where byteLimit < 400 || byteLimit % 211 == 0 {
      let (here, there) = (try Database.inMemory(), try Database.inMemory())
      let (source, target) = direction == .pull ? (there, here) : (here, there)
      try fill(source)
      do {
        try await Replicator(
          here, makePeer(there, cutAfter: byteLimit).0, direction: direction, options: options
        ).replicate()
      } catch let error as ReplicationError where error.isTemporary {
        cutCount += 1
      }
      try await Replicator(
        here, makePeer(there).0, direction: direction, options: options
      ).replicate()
      #expect(try Contents(of: here) == Contents(of: there), "cut after \(byteLimit) bytes")
      #expect(
        try target.snapshot().sequence <= source.snapshot().sequence,
        "cut after \(byteLimit) bytes")
    }
    #expect(cutCount > 400)
  }

  @Test func `a document that the server refuses is reported, and the others are stored`()
    async throws
  {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    there.setValidation(named: "no soup") { revision in
      if revision.document["text"] == "Soup" { try revision.reject("no soup") }
    }
    try await here.write { transaction in
      for (id, text) in [("a", "Tea"), ("b", "Soup"), ("c", "Soup"), ("d", "Cake")] {
        var document = Document(id: id, ["text": .string(text)])
        if id == "c" {
          document.attachments["x"] = Document.Attachment(contentType: "a/b", [1, 2])
        }
        try transaction.put(document)
      }
    }
    let (peer, _) = makePeer(there)
    let status = try await Replicator(here, peer, direction: .push).replicate()
    #expect(Set(status.failures.map(\.id)) == ["b", "c"])
    #expect(status.failures.allSatisfy { "\($0.error)".contains("no soup") })
    #expect(try there.snapshot().ids().collect() == ["a", "d"])
  }

  @Test func `a database that does not exist is an error`() async throws {
    let transport = ServiceTransport(CouchDBService([:]))
    let peer = CouchDBPeer(url: Self.url, transport: transport)
    let error = await #expect(throws: ReplicationError.self) {
      try await Replicator(try Database.inMemory(), peer).replicate()
    }
    #expect(error?.code == .notFound && error?.isTemporary == false)
  }

  @Test func `a continuous replication receives what is stored later`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let (peer, _) = makePeer(there)
    let run = Replicator(here, peer).start()
    try await there.write { try _ = $0.put(Document(id: "a", [:])) }
    for try await status in run.statuses where status.isUpToDate {
      if try here.snapshot().exists("a") { break }
    }
    try await here.write { try _ = $0.put(Document(id: "b", [:])) }
    for try await status in run.statuses where status.isUpToDate {
      if try there.snapshot().exists("b") { break }
    }
    await run.cancel()
  }
}

extension URL {
  /// The URL of the database `notes` of a server that does not exist.
  fileprivate var withHost: URL {
    URL(string: "http://server.invalid/notes") ?? self
  }
}
