import Divan
import DivanSync
import Foundation
import Testing

/// Tests with a server that is named by the environment, such as Apache CouchDB.
///
/// `DIVAN_COUCHDB_URL` is the URL of the server, `DIVAN_COUCHDB_USER` and `DIVAN_COUCHDB_PASSWORD`
/// are an administrator's. Each test creates a database with a name of its own, and removes it.
@Suite(
  .enabled(
    if: LiveServer.url != nil, "DIVAN_COUCHDB_URL is not set: there are no tests with a server"),
  .timeLimit(.minutes(5)))
struct LiveServerTests {
  @Test(arguments: LiveServer.Credentials.allCases)
  func `documents arrive on both sides`(_ credentials: LiveServer.Credentials) async throws {
    try await LiveServer.withDatabase { server in
      let (first, second) = (try Database.inMemory(), try Database.inMemory())
      try await first.write { transaction in
        for (number, id) in ["a", "ä/b c", "p+q", "x:y", "50%", "😀", "q?r=1&s#t"].enumerated() {
          try transaction.put(
            Document(
              id: id, ["n": .int(Int64(number)), "text": "“Tea”\n", "list": [1, 2.5, .null]]))
        }
        try transaction.delete("x:y")
      }
      let peer = try server.peer(credentials)
      let status = try await Replicator(first, peer, direction: .push).replicate()
      #expect(status.failures.isEmpty && status.push.counts.revisionsWritten == 7)
      try await Replicator(second, peer, direction: .pull).replicate()
      #expect(try Contents(of: first) == Contents(of: second))
      let again = try await Replicator(second, peer).replicate()
      #expect(again.pull.counts.revisionsChecked == 0)
      #expect(again.push.counts.revisionsMissing == 0)
    }
  }

  @Test func `a conflict has the same winner on both sides`() async throws {
    try await LiveServer.withDatabase { server in
      let databases = [try Database.inMemory(), try Database.inMemory()]
      let peer = try server.peer(.basic)
      try await databases[0].write { try _ = $0.put(Document(id: "a", ["n": 0])) }
      for database in databases { try await Replicator(database, peer).replicate() }
      for (number, database) in databases.enumerated() {
        try await database.update("a") { $0["n"] = .int(Int64(number + 1)) }
      }
      for database in databases + databases.prefix(1) {
        try await Replicator(database, peer).replicate()
      }
      let contents = try Contents(of: databases[0])
      #expect(try Contents(of: databases[1]) == contents)
      #expect(contents.leaves["a"]?.count == 2)
      let document = try await server.json("GET", "a?conflicts=true")
      #expect(document["_rev"]?.stringValue == contents.winners["a"]?.description)
      #expect(document["_conflicts"]?.arrayValue?.count == 1)
      // The server's own change wins over both.
      let winner = document["_rev"] ?? .null
      _ = try await server.json("PUT", "a", ["_rev": winner, "n": 9])
      for database in databases { try await Replicator(database, peer).replicate() }
      for database in databases {
        #expect(try database.snapshot().document("a")?["n"] == 9)
        #expect(try database.snapshot().leaves(of: "a").count == 2)
      }
    }
  }

  @Test func `attachments arrive on both sides, compressed ones too`() async throws {
    try await LiveServer.withDatabase { server in
      let (first, second) = (try Database.inMemory(), try Database.inMemory())
      let peer = try server.peer(.basic)
      let text = Data(String(repeating: "Divan ", count: 20_000).utf8)
      let binary = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 5) })
      try await first.write { transaction in
        var document = Document(id: "a", [:])
        document.attachments["ä +.txt"] = Document.Attachment(contentType: "text/plain", text)
        document.attachments["b"] = Document.Attachment(contentType: "image/png", binary)
        document.attachments["empty"] = Document.Attachment(contentType: "a/b", [])
        try transaction.put(document)
      }
      for database in [first, second] { try await Replicator(database, peer).replicate() }
      #expect(try Contents(of: first) == Contents(of: second))
      // What the server has changed since then brings no content along.
      var stubs = try #require(try await server.json("GET", "a").objectValue)
      stubs["seen"] = true
      _ = try await server.json("PUT", "a", .object(stubs))
      for database in [first, second] {
        let status = try await Replicator(database, peer).replicate()
        #expect(status.failures.isEmpty)
        let document = try #require(try database.snapshot().document("a"))
        #expect(document["seen"] == true)
        #expect(try await document.attachments["ä +.txt"]?.data() == text)
        #expect(try await document.attachments["b"]?.data() == binary)
      }
      // And back again, changed here.
      try await second.update("a") { $0.attachments["b"] = nil }
      for database in [second, first] { try await Replicator(database, peer).replicate() }
      #expect(try Contents(of: first) == Contents(of: second))
    }
  }

  @Test func `only the documents of a filter arrive`() async throws {
    try await LiveServer.withDatabase { server in
      let first = try Database.inMemory()
      let peer = try server.peer(.basic)
      try await first.write { transaction in
        for number in 0..<20 {
          try transaction.put(
            Document(
              id: "doc-\(number)",
              ["type": .string(number % 2 == 0 ? "film" : "person"), "n": .int(Int64(number))]))
        }
      }
      try await Replicator(first, peer, direction: .push).replicate()
      for (filter, count) in [
        (ReplicationFilter.documentIDs(["doc-3", "doc-4", "none"]), 2),
        (.documentTypes("film"), 10),
      ] {
        let second = try Database.inMemory()
        let status = try await Replicator(second, peer, direction: .pull, filter: filter)
          .replicate()
        #expect(status.failures.isEmpty)
        #expect(try second.snapshot().count == count)
      }
    }
  }

  @Test func `a continuous replication receives a change`() async throws {
    try await LiveServer.withDatabase { server in
      let database = try Database.inMemory()
      let run = Replicator(database, try server.peer(.basic)).start()
      for try await status in run.statuses where status.isUpToDate { break }
      _ = try await server.json("PUT", "a", ["n": 1])
      for try await status in run.statuses where status.isUpToDate {
        if try database.snapshot().exists("a") { break }
      }
      await run.cancel()
      #expect(try database.snapshot().document("a")?["n"] == 1)
    }
  }

  @Test func `checkpoints are removed, and a missing database is an error`() async throws {
    let database = try Database.inMemory()
    try await database.write { try _ = $0.put(Document(id: "a", [:])) }
    let gone = try await LiveServer.withDatabase { server in
      let peer = try server.peer(.basic)
      let replicator = Replicator(database, peer, direction: .push)
      try await replicator.replicate()
      try await replicator.removeCheckpoints()
      let status = try await replicator.replicate()
      #expect(status.push.counts.revisionsChecked == 1)
      #expect(status.push.counts.revisionsMissing == 0)
      return peer
    }
    let error = await #expect(throws: ReplicationError.self) {
      try await Replicator(database, gone).replicate()
    }
    #expect(error?.code == .notFound)
  }
}

/// A database of the server that the environment names.
struct LiveServer {
  enum Credentials: CaseIterable { case basic, session }

  private static let environment = ProcessInfo.processInfo.environment
  static let url = environment["DIVAN_COUCHDB_URL"].flatMap { URL(string: $0) }
  private static let user = environment["DIVAN_COUCHDB_USER"]
  private static let password = environment["DIVAN_COUCHDB_PASSWORD"] ?? ""

  private let transport = URLSessionTransport()
  private let database: URL

  /// Creates a database, and removes it afterwards.
  static func withDatabase<R>(_ body: (LiveServer) async throws -> R) async throws -> R {
    let name = "divan-test-" + UUID().uuidString.lowercased()
    let server = LiveServer(database: try #require(url).appending(path: name))
    _ = try await server.json("PUT", "")
    let result: Result<R, any Error>
    do {
      result = .success(try await body(server))
    } catch {
      result = .failure(error)
    }
    _ = try await server.json("DELETE", "")
    return try result.get()
  }

  func peer(_ credentials: Credentials) throws -> CouchDBPeer {
    let authorization: CouchDBAuthorization =
      switch (Self.user, credentials) {
      case (nil, _): .none
      case (let user?, .basic): .basic(name: user, password: Self.password)
      case (let user?, .session): .session(name: user, password: Self.password)
      }
    return CouchDBPeer(url: database, authorization: authorization)
  }

  /// Sends a request to the database, as another program would.
  func json(_ method: String, _ path: String, _ body: Value? = nil) async throws -> Value {
    let text = database.absoluteString + (path.isEmpty ? "" : "/" + path)
    var request = HTTPRequest(method, try #require(URL(string: text)))
    request.headers = ["Accept": "application/json", "Content-Type": "application/json"]
    if let user = Self.user {
      let credentials = Data("\(user):\(Self.password)".utf8).base64EncodedString()
      request.headers["Authorization"] = "Basic " + credentials
    }
    if let body { request.body = .data(Data(body.json.utf8)) }
    let response = try await transport.send(request)
    var data = Data()
    for try await piece in response.body { data += piece }
    #expect((200..<300).contains(response.status), "\(method) \(path): \(response.status)")
    return try Value(json: data)
  }
}
