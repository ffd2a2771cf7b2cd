import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// A transport that answers requests with a closure, and keeps them.
final class ScriptedTransport: HTTPTransport {
  private let answer: @Sendable (HTTPRequest, Int) throws -> HTTPResponse
  private let kept = Mutex<[HTTPRequest]>([])

  init(_ answer: @escaping @Sendable (_ request: HTTPRequest, _ number: Int) throws -> HTTPResponse)
  {
    self.answer = answer
  }

  var requests: [HTTPRequest] { kept.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let number = kept.withLock { kept in
      kept.append(request)
      return kept.count
    }
    return try answer(request, number)
  }

  static func json(_ status: Int, _ text: String, _ headers: [String: String] = [:]) -> HTTPResponse
  {
    HTTPResponse(status: status, headers: headers, body: HTTPBody(Data(text.utf8)))
  }
}

/// Tests of peers that answer what they must not, and of credentials.
struct HostilePeerTests {
  private static let url = "https://ada:secret@server.invalid:6984/notes/"

  private func peer(
    _ authorization: CouchDBAuthorization = .none, url: String = url,
    _ answer: @escaping @Sendable (HTTPRequest, Int) throws -> HTTPResponse
  ) throws -> (CouchDBPeer, ScriptedTransport) {
    let transport = ScriptedTransport(answer)
    let url = try #require(URL(string: url))
    return (CouchDBPeer(url: url, authorization: authorization, transport: transport), transport)
  }

  /// Pulls from a peer that has no log, and gives the answers to everything else.
  private func pull(
    _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) async throws -> (ReplicationStatus, Database) {
    let database = try Database.inMemory()
    let (peer, _) = try peer { request, _ in
      if request.url.path.contains("/_local/") {
        return request.method == "GET"
          ? ScriptedTransport.json(404, #"{"error":"not_found"}"#)
          : ScriptedTransport.json(201, #"{"ok":true,"rev":"0-1"}"#)
      }
      if request.url.path == "/notes" { return ScriptedTransport.json(200, "{}") }
      return try answer(request)
    }
    var options = Replicator.Options()
    options.retryLimit = 0
    let status = try await Replicator(database, peer, direction: .pull, options: options)
      .replicate()
    return (status, database)
  }

  private static let changes = """
    {"results":[{"seq":"1-x","id":"a","changes":[{"rev":"1-00000000000000000000000000000001"}]}],
    "last_seq":"1-x","pending":0}
    """

  // MARK: Credentials

  @Test func `the name of a peer and its errors have no credentials`() async throws {
    let (peer, transport) = try peer { _, _ in ScriptedTransport.json(403, "<html>no</html>") }
    #expect(peer.name == "https://server.invalid:6984/notes")
    let error = await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(error?.code == .forbidden)
    #expect(error.map { !"\($0)".contains("secret") && !"\($0)".contains("ada") } == true)
    let request = try #require(transport.requests.first)
    #expect(request.headers["Authorization"] == "Basic YWRhOnNlY3JldA==")
    #expect(request.url.user == nil && request.url.password == nil)
    #expect("\(CouchDBAuthorization.basic(name: "ada", password: "secret"))" == "basic")
  }

  @Test func `an expired session is renewed once`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { request, number in
      if request.url.path == "/_session" {
        return ScriptedTransport.json(
          200, "{}", ["set-cookie": "AuthSession=\(number); Version=1; Path=/; HttpOnly"])
      }
      // The first session has expired.
      return request.headers["Cookie"] == "AuthSession=1"
        ? ScriptedTransport.json(401, "{}") : ScriptedTransport.json(201, "{}")
    }
    try await peer.flush()
    try await peer.flush()
    #expect(
      transport.requests.map(\.url.path) == [
        "/_session", "/notes/_ensure_full_commit", "/_session", "/notes/_ensure_full_commit",
        "/notes/_ensure_full_commit",
      ])
    #expect(transport.requests.last?.headers["Cookie"] == "AuthSession=3")
  }

  @Test func `a session is renewed before it expires`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { request, number in
      request.url.path == "/_session"
        ? ScriptedTransport.json(
          200, "{}",
          [
            "set-cookie":
              "AuthSession=\(number); Version=1; Expires=Fri, 27-Nov-2026 10:00:00 GMT; Max-Age=1"
          ])
        : ScriptedTransport.json(201, "{}")
    }
    try await peer.flush()
    try await Task.sleep(for: .milliseconds(1000))
    try await peer.flush()
    #expect(
      transport.requests.map(\.url.path) == [
        "/_session", "/notes/_ensure_full_commit", "/_session", "/notes/_ensure_full_commit",
      ])
    #expect(transport.requests.last?.headers["Cookie"] == "AuthSession=3")
  }

  /// Regression test: the refusal of a renewal counted as that of the document that was to be sent.
  @Test func `a session that cannot be renewed is used while it is valid`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { request, number in
      guard request.url.path == "/_session" else { return ScriptedTransport.json(201, "{}") }
      return number == 1
        ? ScriptedTransport.json(200, "{}", ["set-cookie": "AuthSession=1; Max-Age=1"])
        : ScriptedTransport.json(403, "{}")
    }
    try await peer.flush()
    try await Task.sleep(for: .milliseconds(1000))
    try await peer.flush()
    #expect(transport.requests.last?.headers["Cookie"] == "AuthSession=1")
  }

  @Test(arguments: [(401, ReplicationError.Code.unauthorized), (403, .busy)])
  func `a login that is refused is not the answer to the request that needs it`(
    _ status: Int, _ code: ReplicationError.Code
  ) async throws {
    let (peer, _) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { _, _ in ScriptedTransport.json(status, "{}") }
    let error = await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(error?.code == code && error?.status == nil)
  }

  /// Regression test: the password was sent to a host of the name `_session`.
  @Test func `a URL without a database sends the password nowhere`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid"
    ) { _, _ in ScriptedTransport.json(200, "{}", ["set-cookie": "AuthSession=1"]) }
    await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(transport.requests.isEmpty)
  }

  @Test func `a cookie that the server sends along continues the session`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { request, number in
      let cookie = ["set-cookie": "AuthSession=\(number); Version=1; Max-Age=600"]
      // One that is empty ends a session, and others are not for this.
      let others = ["set-cookie": "AuthSession=; Max-Age=0, Other=5; Max-Age=0"]
      return ScriptedTransport.json(201, "{}", number < 3 ? cookie : others)
    }
    for _ in 0..<4 { try await peer.flush() }
    #expect(
      transport.requests.map { $0.headers["Cookie"] } == [
        nil, "AuthSession=1", "AuthSession=2", "AuthSession=2", "AuthSession=2",
      ])
  }

  @Test func `a cookie is not adopted without a session`() async throws {
    let (peer, transport) = try peer(.basic(name: "ada", password: "secret")) { _, _ in
      ScriptedTransport.json(201, "{}", ["set-cookie": "AuthSession=x"])
    }
    for _ in 0..<2 { try await peer.flush() }
    #expect(transport.requests.allSatisfy { $0.headers["Cookie"] == nil })
  }

  @Test func `requests at the same time log in once`() async throws {
    let (peer, transport) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/notes"
    ) { request, number in
      guard request.url.path == "/_session" else {
        // The first session is not valid any more.
        return ScriptedTransport.json(
          request.headers["Cookie"] == "AuthSession=1" ? 401 : 201, "{}")
      }
      return ScriptedTransport.json(200, "{}", ["set-cookie": "AuthSession=\(number)"])
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { try await peer.flush() } }
      try await group.waitForAll()
    }
    #expect(transport.requests.filter { $0.url.path == "/_session" }.count == 2)
  }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:49:58 GMT", 21),
      ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Mon, 07 Nov 1994 08:49:37 GMT", 3600),
      ("Sat, 05 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov", nil), ("soon", nil), ("-5", 0),
      ("Sun, 06 Nov 1994 08:49:99 GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("7", 7),
    ] as [(String, Int?)])
  func `a wait that a server asks for is a number or a date`(
    _ text: String, _ seconds: Int?
  ) async throws {
    let (peer, _) = try peer { _, _ in
      ScriptedTransport.json(
        503, "{}", ["retry-after": text, "date": "Sun, 06 Nov 1994 08:49:37 GMT"])
    }
    let error = await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(error?.retryDelay == seconds.map { .seconds($0) })
  }

  @Test func `a server that once lacked bulk requests is asked again by the next session`()
    async throws
  {
    let document = #"{"_id":"a","_rev":"\#(Self.revision)"}"#
    let (peer, transport) = try peer { request, number in
      switch request.url.path {
      case "/notes/_bulk_get": ScriptedTransport.json(404, "{}")
      case "/notes/a": ScriptedTransport.json(200, #"[{"ok":\#(document)}]"#)
      default: ScriptedTransport.json(200, "{}")
      }
    }
    let revision = try #require(RevisionID(Self.revision))
    let requests = [RevisionRequest(id: "a", revision: revision)]
    func bulkCount() -> Int {
      transport.requests.filter { $0.url.path == "/notes/_bulk_get" }.count
    }
    for expected in [1, 2] {
      _ = try await peer.replicationLog("x")
      for _ in 0..<2 { _ = try await peer.revisions(requests[...], sizeLimit: 1 << 20) }
      #expect(bulkCount() == expected)
    }
  }

  @Test func `a server that was replaced does not know the position of a wait`() async throws {
    let (peer, _) = try peer(.none) { _, _ in
      ScriptedTransport.json(400, #"{"error":"bad_request","reason":"Malformed sequence."}"#)
    }
    let error = await #expect(throws: ReplicationError.self) {
      try await peer.waitForChanges(since: ReplicationPosition("7-of another store"))
    }
    #expect(error?.code == .unknownPosition)
  }

  @Test func `a damaged document of a server is a failure of its own`() async throws {
    let (peer, _) = try peer(.none) { request, _ in
      request.url.path.hasSuffix("_bulk_docs")
        ? ScriptedTransport.json(
          201, #"[{"id":"a","error":"damaged","reason":"A part of the database is damaged."}]"#)
        : ScriptedTransport.json(
          200,
          #"{"results":[{"id":"a","docs":[{"error":{"id":"a","rev":"1-a","error":"damaged"}}]}]}"#)
    }
    let revision = try #require(RevisionID("1-a"))
    let answers = try await peer.revisions(
      [RevisionRequest(id: "a", revision: revision)], sizeLimit: 1 << 20)
    #expect(answers.count == 1)
    guard case .failed = answers.first else {
      Issue.record("\(answers)")
      return
    }
    let results = try await peer.insert(
      ["a", "b"].map {
        ReplicatedRevision(Document(id: $0), history: [revision], isDeleted: false)
      }, from: "test")
    #expect(throws: ReplicationError.self) { try results[0].get() }
    #expect(try results[1].get())
  }

  @Test func `credentials that are refused twice are an error`() async throws {
    let renewals = Mutex<[Bool]>([])
    let (peer, _) = try peer(
      .bearer { isRenewal in
        renewals.withLock { $0.append(isRenewal) }
        return "token"
      }, url: "https://server.invalid/notes"
    ) { _, _ in ScriptedTransport.json(401, "{}") }
    let error = await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(error?.code == .unauthorized && error?.isTemporary == false)
    #expect(renewals.withLock { $0 } == [false, true])
  }

  // MARK: Answers

  @Test(arguments: ["<html>Welcome</html>", "", "[]", "{}", #"{"results":1}"#, "{\"results\":["])
  func `an answer that is not JSON of changes is an error`(_ text: String) async throws {
    let error = await #expect(throws: ReplicationError.self) {
      try await pull { _ in ScriptedTransport.json(200, text) }
    }
    #expect(error?.code == .invalidAnswer)
  }

  @Test(arguments: [
    (429, true), (500, true), (503, true), (400, false), (403, false), (404, false), (302, false),
    (700, false),
  ])
  func `a status says whether another attempt may succeed`(
    _ status: Int, _ isTemporary: Bool
  ) async throws {
    let error = await #expect(throws: ReplicationError.self) {
      try await pull { _ in
        ScriptedTransport.json(status, #"{"error":"e","reason":"why"}"#, ["retry-after": "7"])
      }
    }
    #expect(error?.isTemporary == isTemporary && error?.status == status)
    #expect(error.map { "\($0)".contains("why") } == true)
    #expect(error?.retryDelay == .seconds(7))
  }

  /// Regression test: such pages meant that a revision is gone or cannot be stored.
  ///
  /// It was left out for good.
  @Test(arguments: [200, 302, 400, 403, 404, 405, 412, 511], ["_bulk_get", "a"])
  func `a page of a proxy is no answer of the server`(_ status: Int, _ path: String) async throws {
    let document = #"{"_id":"a","_rev":"\#(Self.revision)"}"#
    let error = await #expect(throws: ReplicationError.self) {
      try await pull { request in
        let name = request.url.lastPathComponent
        if name == path {
          return ScriptedTransport.json(
            status, "<html></html>", ["content-type": "text/html; charset=utf-8"])
        }
        switch name {
        case "_changes": return ScriptedTransport.json(200, Self.changes)
        case "_bulk_get" where path == "a": return ScriptedTransport.json(404, "{}")
        case "_bulk_get":
          return ScriptedTransport.json(
            200, #"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#)
        default: return ScriptedTransport.json(200, "{}")
        }
      }
    }
    #expect(error?.isTemporary == true)
  }

  /// Regression test: an answer of an allowed size took many times as much memory.
  @Test func `an answer with very many values is not read`() async throws {
    func log(_ count: Int) async throws -> ReplicationLog? {
      let list = [String](repeating: "0", count: count).joined(separator: ",")
      let (peer, _) = try peer { _, _ in
        ScriptedTransport.json(200, #"{"session_id":"s","history":[\#(list)]}"#)
      }
      return try await peer.replicationLog("x")
    }
    #expect(try await log(100_000) != nil)
    let error = await #expect(throws: ReplicationError.self) { try await log(200_000) }
    #expect(error?.code == .invalidAnswer)
  }

  @Test func `a body without an end is cut off`() async throws {
    let error = await #expect(throws: (any Error).self) {
      try await pull { _ in
        let endless = AsyncStream<Data> { Data(repeating: 0x20, count: 1 << 20) }
        return HTTPResponse(status: 200, body: HTTPBody(endless))
      }
    }
    #expect(error != nil)
  }

  @Test(arguments: [
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","_revisions":{"start":1,"ids":[]}}"#,
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","_revisions":{"start":1,"ids":[1]}}"#,
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","_attachments":[]}"#,
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","_attachments":{"x":{"length":-1}}}"#,
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","_unknown":1}"#,
    #"{"_id":"a","_rev":"1-00000000000000000000000000000001","n":1,"n":2}"#,
  ])
  func `a document that cannot be stored is reported`(_ document: String) async throws {
    let (status, database) = try await pull { request in
      switch request.url.path {
      case "/notes/_changes": ScriptedTransport.json(200, Self.changes)
      case "/notes/_bulk_get":
        ScriptedTransport.json(200, #"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#)
      default: ScriptedTransport.json(200, document)
      }
    }
    #expect(status.failures.map(\.id) == ["a"])
    #expect(try database.snapshot().count == 0)
  }

  @Test(arguments: [
    (
      #"[{"error":{"id":"a","rev":"\#(revision)","error":"not_found","reason":"missing"}}]"#, "gone"
    ),
    (#"[{"error":{"id":"a","rev":"\#(revision)","error":"forbidden","reason":"no"}}]"#, "failed"),
    (#"[{"error":{"id":"a","rev":"\#(revision)","error":"timeout","reason":"no"}}]"#, "temporary"),
    (#"[]"#, "failed"),
    (#"[{"ok":{"_id":"b","_rev":"\#(revision)"}}]"#, "failed"),
  ])
  func `a revision that is not returned is only left out if it is gone`(
    _ docs: String, _ outcome: String
  ) async throws {
    do {
      let (status, _) = try await pull { request in
        request.url.path == "/notes/_changes"
          ? ScriptedTransport.json(200, Self.changes)
          : ScriptedTransport.json(200, #"{"results":[{"id":"a","docs":\#(docs)}]}"#)
      }
      #expect(outcome == (status.failures.isEmpty ? "gone" : "failed"))
    } catch let error as ReplicationError {
      #expect(outcome == "temporary" && error.isTemporary)
    }
  }

  private static let revision = "1-00000000000000000000000000000001"

  @Test func `a busy server is no reason to leave a document out`() async throws {
    let error = await #expect(throws: ReplicationError.self) {
      try await pull { request in
        switch request.url.path {
        case "/notes/_changes": ScriptedTransport.json(200, Self.changes)
        case "/notes/_bulk_get": ScriptedTransport.json(404, "{}")
        default: ScriptedTransport.json(503, "{}")
        }
      }
    }
    #expect(error?.isTemporary == true)
  }

  @Test func `a login that fails temporarily may succeed later`() async throws {
    let (peer, _) = try peer(
      .session(name: "ada", password: "secret"), url: "https://server.invalid/couch/notes"
    ) { request, _ in
      #expect(request.url.path == "/couch/_session")
      return ScriptedTransport.json(503, "{}", ["retry-after": "9223372036854775807"])
    }
    let error = await #expect(throws: ReplicationError.self) { try await peer.flush() }
    #expect(error?.isTemporary == true && error?.retryDelay == .seconds(3600))
  }

  @Test(arguments: [
    (#"[]"#, "stored"), (#"[{"id":"a","error":"forbidden","reason":"no"}]"#, "failed"),
    (#"[{"id":"a","error":"unauthorized","reason":"who"}]"#, "failed"),
    (#"[{"id":"a","error":"internal_server_error","reason":"no"}]"#, "temporary"),
    (#"[{"id":"x","error":"forbidden","reason":"no"}]"#, "error"), (#"{"ok":true}"#, "error"),
    // Older servers with PouchDB write the word as the name.
    (#"[{"id":"a","error":true,"name":"forbidden","message":"no","status":403}]"#, "failed"),
    // Later ones leave out the ID.
    (#"[{"error":"forbidden","reason":"no"}]"#, "failed"),
    (#"[{"error":"forbidden"},{"error":"forbidden"}]"#, "failed"),
    (#"[{"id":"a","error":true}]"#, "temporary"), (#"[{"id":"a","error":{}}]"#, "temporary"),
    (#"[{"id":"a","ok":true,"error":null}]"#, "stored"),
    (#"[{"id":"a","ok":true,"error":false}]"#, "stored"),
  ])
  func `only an answer that says so means that a document was stored`(
    _ answer: String, _ outcome: String
  ) async throws {
    let database = try Database.inMemory()
    try await database.write { try _ = $0.put(Document(id: "a", [:])) }
    let (peer, _) = try peer { request, _ in
      switch request.url.lastPathComponent {
      case "_revs_diff":
        let body = if case .data(let data) = request.body { data } else { Data() }
        let id = try Value(json: body)["a"]?.arrayValue?.first?.stringValue ?? ""
        return ScriptedTransport.json(200, #"{"a":{"missing":["\#(id)"]}}"#)
      case "_bulk_docs": return ScriptedTransport.json(201, answer)
      case let name where name.hasPrefix("divan-") && request.method == "GET":
        return ScriptedTransport.json(404, "{}")
      default: return ScriptedTransport.json(201, "{}")
      }
    }
    var options = Replicator.Options()
    options.retryLimit = 0
    do {
      let status = try await Replicator(database, peer, direction: .push, options: options)
        .replicate()
      #expect(outcome == (status.failures.isEmpty ? "stored" : "failed"))
    } catch let error as ReplicationError {
      #expect(outcome == (error.isTemporary ? "temporary" : "error"))
    }
  }

  @Test func `an attachment of another length is not stored`() async throws {
    let document = """
      {"_id":"a","_rev":"1-00000000000000000000000000000001",
      "_attachments":{"x":{"content_type":"a/b","length":5,"revpos":1,"digest":"md5-x","stub":true}}}
      """
    func pullAttachment(_ content: String) async throws -> (ReplicationStatus, Database) {
      try await pull { request in
        switch request.url.path {
        case "/notes/_changes": ScriptedTransport.json(200, Self.changes)
        case "/notes/_bulk_get":
          ScriptedTransport.json(200, #"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#)
        default: ScriptedTransport.json(200, content)
        }
      }
    }
    let (status, database) = try await pullAttachment("sixsix")
    #expect(status.failures.map(\.id) == ["a"])
    #expect(try database.snapshot().count == 0)
    // A connection that was cut can look like this, so it is tried again.
    let error = await #expect(throws: ReplicationError.self) { try await pullAttachment("four") }
    #expect(error?.isTemporary == true)
    let (whole, stored) = try await pullAttachment("fives")
    #expect(whole.failures.isEmpty)
    let attachment = try stored.snapshot().document("a")?.attachments["x"]
    #expect(try await attachment?.data() == Data("fives".utf8))
  }

  @Test func `a server without bulk requests is asked for each document`() async throws {
    let (status, database) = try await pull { request in
      switch request.url.path {
      case "/notes/_changes": ScriptedTransport.json(200, Self.changes)
      case "/notes/_bulk_get": ScriptedTransport.json(404, #"{"error":"not_found"}"#)
      default:
        ScriptedTransport.json(
          200, #"[{"ok":{"_id":"a","_rev":"1-00000000000000000000000000000001","n":1}}]"#)
      }
    }
    #expect(status.failures.isEmpty)
    #expect(try database.snapshot().document("a")?["n"] == 1)
  }

  @Test func `the position of changes is sent back as it came`() async throws {
    for position in [#""12-g1AAAA+/=""#, "12"] {
      let (peer, transport) = try peer { _, _ in
        ScriptedTransport.json(200, #"{"results":[],"last_seq":\#(position)}"#)
      }
      let first = try await peer.changes(since: nil, limit: 10, filter: .all)
      _ = try await peer.changes(since: first.position, limit: 10, filter: .all)
      let query = transport.requests.last?.url.query
      #expect(query?.contains(position == "12" ? "since=12" : "since=12-g1AAAA%2B%2F%3D") == true)
    }
  }
}
