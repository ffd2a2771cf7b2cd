import Divan
import DivanSync
import DivanTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of servers and proxies that answer what they must not, in the middle of a replication.
@Suite(.timeLimit(.minutes(5)))
struct HostileAnswerTests {
  private static func peer(_ transport: any HTTPTransport) throws -> CouchDBPeer {
    CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/notes")), transport: transport)
  }

  private static var options: Replicator.Options {
    var options = Replicator.Options()
    (options.batchCount, options.retryLimit) = (3, 0)
    return options
  }

  private static func fill(_ database: Database, _ prefix: String) throws {
    try database.write { transaction in
      for number in 0..<12 {
        var document = Document(id: "\(prefix)-\(number)", ["number": .int(Int64(number))])
        if number % 4 == 0 {
          document.attachments["x"] = Document.Attachment(
            contentType: "text/plain", [UInt8](repeating: UInt8(number), count: 700))
        }
        let stored = try transaction.put(document)
        if number % 5 == 0 { try transaction.update(stored.id) { $0["again"] = true } }
      }
    }
  }

  /// A service of which some answers are replaced.
  private struct ReplacedAnswers: HTTPTransport {
    let base: ServiceTransport
    /// Returns what is answered in place of the service, which may have done what was requested.
    let replacement: @Sendable (HTTPRequest) -> HTTPResponse?

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      let response = try await base.send(request)
      return replacement(request) ?? response
    }
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `a page of a proxy in place of any answer is an error and loses nothing`(
    _ direction: Replicator.Direction
  ) async throws {
    var number = 0
    while true {
      let (here, there) = (try Database.inMemory(), try Database.inMemory())
      try Self.fill(direction == .pull ? there : here, "doc")
      let service = CouchDBService(["notes": there])
      let count = Atomic(0)
      let replaced = Atomic(false)
      let at = number
      let transport = ReplacedAnswers(base: ServiceTransport(service)) { _ in
        guard count.wrappingAdd(1, ordering: .relaxed).oldValue == at else { return nil }
        replaced.store(true, ordering: .relaxed)
        return ScriptedTransport.json(200, "<html>Log in to use this network.</html>")
      }
      do {
        let status = try await Replicator(
          here, Self.peer(transport), direction: direction, options: Self.options
        ).replicate()
        // An attachment is what the peer sends; all other answers are read.
        for failure in status.failures {
          #expect((failure.error as? ReplicationError)?.code == .invalidAnswer)
        }
      } catch let error as ReplicationError {
        // A page in place of an attachment is like a connection that was cut.
        let codes: [ReplicationError.Code] = [.invalidAnswer, .unreachable]
        #expect(codes.contains(error.code), "answer \(number): \(error)")
      }
      guard replaced.load(ordering: .relaxed) else { break }
      try await Self.expectCompleted(here, there, service, direction, "answer \(number)")
      number += 1
    }
    #expect(number > 15)
  }

  /// Expects that the target has nothing wrong, and has everything after another replication.
  private static func expectCompleted(
    _ here: Database, _ there: Database, _ service: CouchDBService,
    _ direction: Replicator.Direction, _ message: String
  ) async throws {
    for (source, target) in direction == .pull ? [(there, here)] : [(here, there)] {
      let (all, some) = (try Contents(of: source), try Contents(of: target))
      for (id, leaves) in some.leaves {
        #expect(all.leaves[id] == leaves, "\(message): the document \(id)")
      }
      #expect(try await target.check().isSound)
    }
    let replicator = Replicator(
      here, try peer(ServiceTransport(service)), direction: direction, options: options)
    // What was refused is not tried again, unless everything is compared.
    try await replicator.removeCheckpoints()
    #expect(try await replicator.replicate().failures.isEmpty)
    #expect(try Contents(of: here) == Contents(of: there), "\(message)")
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64], [Replicator.Direction.pull, .push])
  func `statuses and bodies at random lose nothing and store nothing wrong`(
    _ seed: UInt64, _ direction: Replicator.Direction
  ) async throws {
    let random = Mutex(SeededGenerator(seed: seed))
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try Self.fill(direction == .pull ? there : here, "doc")
    let service = CouchDBService(["notes": there])
    let statuses = [
      200, 201, 204, 301, 302, 400, 401, 403, 404, 405, 409, 412, 413, 415, 429, 500, 502, 503, 700,
    ]
    let bodies = [
      "", "{}", "[]", "null", "<html></html>", #"{"results":[]}"#, #"{"error":"x"}"#, "{\"",
      "1e999",
    ]
    let transport = ReplacedAnswers(base: ServiceTransport(service)) { _ in
      random.withLock { random in
        guard Int.random(in: 0..<12, using: &random) == 0 else { return nil }
        return ScriptedTransport.json(
          statuses.randomElement(using: &random)!, bodies.randomElement(using: &random)!)
      }
    }
    for _ in 0..<15 {
      do {
        try await Replicator(
          here, Self.peer(transport), direction: direction, options: Self.options
        ).replicate()
      } catch is ReplicationError {}
    }
    try await Self.expectCompleted(here, there, service, direction, "seed \(seed)")
  }

  // MARK: Sizes

  @Test func `documents that are too large for a request are sent in smaller ones`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await here.write { transaction in
      for number in 0..<40 {
        try transaction.put(
          Document(
            id: "doc-\(number)",
            ["text": .string(String(repeating: "x", count: number == 17 ? 9000 : 500))]))
      }
    }
    let base = ServiceTransport(CouchDBService(["notes": there]))
    let sizes = Mutex<[Int]>([])
    let transport = SizeLimit(base: base, limit: 4000) { size in sizes.withLock { $0.append(size) }
    }
    let status = try await Replicator(here, Self.peer(transport), direction: .push).replicate()
    #expect(status.failures.map(\.id) == ["doc-17"])
    #expect(status.failures.allSatisfy { "\($0.error)".contains("too large") })
    #expect(try there.snapshot().count == 39)
    // Halves of halves, and no request for each document.
    #expect(sizes.withLock { $0.count } < 40)
  }

  /// A proxy that refuses large requests before the server sees them.
  private struct SizeLimit: HTTPTransport {
    let base: ServiceTransport
    let limit: Int
    let note: @Sendable (Int) -> Void

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      if case .data(let data) = request.body, request.url.path.hasSuffix("_bulk_docs") {
        note(data.count)
        if data.count > limit {
          return ScriptedTransport.json(413, "<html>Request Entity Too Large</html>")
        }
      }
      return try await base.send(request)
    }
  }

  @Test func `a server that asks for patience gets it`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try Self.fill(there, "doc")
    let calls = Atomic(0)
    let transport = ReplacedAnswers(base: ServiceTransport(CouchDBService(["notes": there]))) { _ in
      calls.wrappingAdd(1, ordering: .relaxed).oldValue == 3
        ? ScriptedTransport.json(503, "<html>Busy</html>", ["retry-after": "1"]) : nil
    }
    var options = Replicator.Options()
    options.retryDelay = .milliseconds(1)
    let start = ContinuousClock.now
    try await Replicator(here, Self.peer(transport), direction: .pull, options: options)
      .replicate()
    #expect(ContinuousClock.now - start >= .seconds(1))
    #expect(try Contents(of: here) == Contents(of: there))
  }

  // MARK: Compressed bodies

  /// A small gzip body (RFC 1952) of many zeros: a block with one literal and repetitions of it.
  static func bomb(_ size: Int) -> Data {
    var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    var (pending, count) = (UInt64(0), UInt64(0))
    func add(_ bits: UInt64, _ length: UInt64) {
      pending |= bits << count
      count += length
      while count >= 8 {
        bytes.append(UInt8(truncatingIfNeeded: pending))
        pending >>= 8
        count -= 8
      }
    }
    // The last block, with fixed codes. Codes begin with their highest bit (RFC 1951, 3.2.6).
    add(0b011, 3)
    add(UInt64(UInt8(0b0011_0000).reversedBits), 8)
    // The length 258 and the distance 1.
    for _ in 0..<size / 258 { add(UInt64(UInt8(0b1100_0101).reversedBits), 13) }
    add(0, 7)
    add(0, 7)
    return Data(bytes) + Data(count: 8)
  }

  @Test func `a compressed body that grows without measure is cut off`() async throws {
    let bomb = Self.bomb(80 << 20)
    #expect(bomb.count < 1 << 20)
    let server = try LocalServer { request in
      let body: Data
      if request.head.contains("/_local/") || request.head.hasPrefix("GET /notes HTTP") {
        body = Data("{}".utf8)
      } else {
        body = bomb
      }
      let encoding = body.count < 10 ? "" : "Content-Encoding: gzip\r\n"
      return [
        Data(
          "HTTP/1.1 200 OK\r\n\(encoding)Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
            .utf8), body,
      ]
    }
    let database = try Database.inMemory()
    let error = await #expect(throws: ReplicationError.self) {
      try await Replicator(
        database, CouchDBPeer(url: server.url("/notes")), direction: .pull, options: Self.options
      ).replicate()
    }
    #expect(error?.code == .invalidAnswer)
  }

  @Test func `a compressed attachment that is larger than announced is not stored`() async throws {
    let bomb = Self.bomb(20 << 20)
    let revision = "1-00000000000000000000000000000001"
    let document = """
      {"_id":"a","_rev":"\(revision)","_attachments":{"x":{"content_type":"a/b","length":5,
      "revpos":1,"digest":"md5-x","stub":true}}}
      """
    let changes = #"{"results":[{"seq":1,"id":"a","changes":[{"rev":"\#(revision)"}]}],"#
    let server = try LocalServer { request in
      let words = request.head.split(separator: " ")
      let path = words.count > 1 ? words[1].prefix { $0 != "?" } : ""
      var (body, encoding, status) = (Data("{}".utf8), "", "200 OK")
      switch path {
      case "/notes/_changes": body = Data((changes + #""last_seq":1,"pending":0}"#).utf8)
      case "/notes/_bulk_get":
        body = Data(#"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#.utf8)
      case "/notes/a/x": (body, encoding) = (bomb, "Content-Encoding: gzip\r\n")
      case let path where path.contains("_local") && words[0] == "GET": status = "404 No"
      default: break
      }
      let head = "HTTP/1.1 \(status)\r\n\(encoding)Content-Length: \(body.count)\r\n"
      return [Data((head + "Connection: close\r\n\r\n").utf8), body]
    }
    let database = try Database.inMemory()
    let status = try await Replicator(
      database, CouchDBPeer(url: server.url("/notes")), direction: .pull, options: Self.options
    ).replicate()
    #expect(status.failures.map(\.id) == ["a"])
    #expect(status.failures.allSatisfy { "\($0.error)".contains("longer than was announced") })
    #expect(try database.snapshot().count == 0)
    #expect(try await database.check().isSound)
  }

  // MARK: Histories

  @Test func `histories that contradict each other do no harm`() async throws {
    func document(_ digests: [Character]) throws -> Value {
      let texts = digests.map { String(repeating: $0, count: 32) }
      return try Value(
        json: """
          {"_id":"a","_rev":"\(digests.count)-\(texts[0])","n":\(digests.count),
          "_revisions":{"start":\(digests.count),"ids":[\(texts.map { "\"\($0)\"" }.joined(separator: ","))]}}
          """)
    }
    // The parent of 2-b is another one in each, and in the last one a revision is its own ancestor.
    let source = ScriptedSource(
      try [["c", "b", "a"], ["d", "b", "e"], ["b", "f"], ["9", "b", "b"]].map(document))
    let database = try Database.inMemory()
    let replicator = Replicator(
      database, try Self.peer(source), direction: .pull, options: Self.options)
    try await replicator.replicate()
    try await replicator.replicate()
    #expect(try await database.check().isSound)
    let leaves = try database.snapshot().leaves(of: "a")
    #expect(!leaves.isEmpty && leaves.allSatisfy { ($0.revision?.generation ?? 0) == 3 })
  }
}

extension UInt8 {
  fileprivate var reversedBits: UInt8 {
    (0..<8).reduce(0) { $0 | ((self >> $1) & 1) << (7 - $1) }
  }
}
