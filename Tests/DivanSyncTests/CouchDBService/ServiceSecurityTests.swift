import Divan
@testable import DivanSync
import DivanTesting
import Foundation
import Synchronization
import Testing

/// Tests of users, permissions, limits and hostile requests.
struct ServiceSecurityTests {
  private static func basic(_ name: String, _ password: String) -> [String: String] {
    ["Authorization": "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()]
  }

  private static func user(
    _ name: String, _ permissions: [String: CouchDBService.Permission]
  ) -> CouchDBService.User {
    CouchDBService.User(
      name: name, password: PasswordHash(of: name + "’s päss:word", iterationCount: 10),
      permissions: permissions)
  }

  private static func credentials(_ name: String) -> [String: String] {
    basic(name, name + "’s päss:word")
  }

  private final class Log: Sendable {
    let events = Mutex<[CouchDBService.Event]>([])
  }

  private func makePeer(
    _ log: Log = Log(), _ change: (inout CouchDBService.Configuration) -> Void = { _ in }
  ) throws -> ServiceFixture {
    var configuration = CouchDBService.Configuration()
    configuration.users = [
      Self.user("writer", ["peer": .write]), Self.user("reader", ["*": .read]),
      Self.user("other", ["films": .write]),
    ]
    configuration.limits.passwordCheckBurst = 1000
    configuration.eventHandler = { event in log.events.withLock { $0.append(event) } }
    change(&configuration)
    return try ServiceFixture("peer", configuration)
  }

  @Test func `passwords have hashes of PBKDF2`() throws {
    // RFC 7914, section 11, and vectors that other implementations publish for SHA-256.
    let one = PasswordHash.derive("passwd", Array("salt".utf8), 1)
    #expect(
      one.map { String($0, radix: 16) }.joined(separator: " ").hasPrefix(
        "55 ac 4 6e 56 e3 8 9f ec 16 91 c2 25 44 b6 5"))
    let many = PasswordHash.derive("password", Array("salt".utf8), 4096)
    #expect(
      many.map { String($0, radix: 16) }.joined(separator: " ")
        == "c5 e4 78 d5 92 88 c8 41 aa 53 d b6 84 5c 4c 8d 96 28 93 a0 1 ce 4e 11 a4 96 38 73 aa "
        + "98 13 4a")
    let hash = PasswordHash(of: "secret", iterationCount: 3)
    #expect(hash.matches("secret") && !hash.matches("Secret") && !hash.matches(""))
    #expect(PasswordHash(of: "secret", iterationCount: 3) != hash)
    #expect(PasswordHash("\(hash)") == hash)
    #expect(!"\(hash)".contains("secret"))
    for text in ["", "$$$", "pbkdf2-sha256$0$c2FsdHNhbHQ=$AA==", "md5$1$a$b"] {
      #expect(PasswordHash(text) == nil)
    }
  }

  @Test func `a user may do what was allowed, and nothing else`() async throws {
    let peer = try makePeer()
    #expect(try await peer.send("GET", "//").status == 200)
    #expect(try await peer.send("GET", "//_up").status == 200)
    let anonymous = try await peer.send("GET", "/a")
    #expect(anonymous.status == 401)
    #expect(anonymous.reason == "You are not authorized to access this db.")
    #expect(try await peer.send("GET", "//unknown").status == 401)
    #expect(try await peer.send("GET", "//_all_dbs").status == 401)
    let writer = Self.credentials("writer")
    #expect(try await peer.send("PUT", "/a", [:], headers: writer).status == 201)
    #expect(try await peer.send("GET", "//unknown", headers: writer).status == 403)
    let reader = Self.credentials("reader")
    #expect(try await peer.send("GET", "/a", headers: reader).status == 200)
    #expect(try await peer.send("GET", "//unknown", headers: reader).status == 404)
    for (method, path) in [
      ("PUT", "/b"), ("POST", ""), ("DELETE", "/a"), ("POST", "/_bulk_docs"), ("PUT", "/a/x"),
      ("DELETE", "/a/x"),
    ] {
      let refused = try await peer.send(method, path, [:], headers: reader)
      #expect(refused.status == 403 && refused.error == "forbidden", "\(method) \(path)")
    }
    for (method, path) in [
      ("GET", "/_changes"), ("POST", "/_revs_diff"), ("GET", "/_all_docs"),
      ("PUT", "/_local/log"),
    ] {
      let answer = try await peer.send(method, path, method == "GET" ? nil : [:], headers: reader)
      #expect([200, 201].contains(answer.status), "\(method) \(path)")
    }
    let other = Self.credentials("other")
    #expect(try await peer.send("GET", "/a", headers: other).status == 403)
    #expect(try await peer.send("GET", "//_all_dbs", headers: other).json == [])
    #expect(try await peer.send("GET", "//_all_dbs", headers: reader).json == ["peer"])
  }

  /// Regression test: the colon before such a password was not found.
  @Test func `a password can begin with a combining mark`() async throws {
    let password = "\u{301}a:b"
    let peer = try makePeer { configuration in
      configuration.users = [
        CouchDBService.User(
          name: "ada", password: PasswordHash(of: password, iterationCount: 10),
          permissions: ["*": .read])
      ]
    }
    #expect(try await peer.send("GET", "", headers: Self.basic("ada", password)).status == 200)
  }

  @Test func `each user has its own logs`() async throws {
    let peer = try makePeer()
    let (reader, writer) = (Self.credentials("reader"), Self.credentials("writer"))
    try await peer.send("PUT", "/_local/log", ["n": 1], headers: reader)
    #expect(try await peer.send("GET", "/_local/log", headers: writer).status == 404)
    try await peer.send("PUT", "/_local/log", ["n": 2], headers: writer)
    #expect(try await peer.send("GET", "/_local/log", headers: reader).json["n"] == 1)
  }

  @Test(arguments: [
    basic("writer", "wrong"), basic("stranger", "wrong"), basic("writer", ""),
    basic("reader", "writer’s päss:word"), ["Authorization": "Bearer abc"],
  ])
  func `wrong credentials are refused`(_ headers: [String: String]) async throws {
    let peer = try makePeer()
    for _ in 0..<2 {
      let refused = try await peer.send("GET", "/a", headers: headers)
      #expect(refused.status == 401 && refused.error == "unauthorized")
    }
  }

  @Test(arguments: [false, true])
  func `a session has a cookie that expires and cannot be made up`(_ isForm: Bool) async throws {
    let peer = try makePeer { $0.sessionDuration = .seconds(4) }
    let password = "writer’s päss:word"
    let encoded = password.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let body =
      isForm
      ? "name=writer&password=\(encoded)" : "{\"name\":\"writer\",\"password\":\"\(password)\"}"
    let type = isForm ? "application/x-www-form-urlencoded" : "application/json"
    let login = try await peer.send(
      "POST", "//_session", data: Data(body.utf8), ["Content-Type": type])
    #expect(login.json == ["ok": true, "name": "writer", "roles": []])
    let header = try #require(login.headers["set-cookie"])
    #expect(header.contains("HttpOnly") && header.contains("Max-Age=4"))
    let cookie = String(header.prefix { $0 != ";" })
    let session = try await peer.send("GET", "//_session", headers: ["Cookie": "a=b; " + cookie])
    #expect(session.json["userCtx"]?["name"] == "writer")
    #expect(session.json["info"]?["authenticated"] == "cookie")
    #expect(try await peer.send("PUT", "/a", [:], headers: ["Cookie": cookie]).status == 201)
    for index in cookie.indices.dropFirst(12) {
      var changed = cookie
      changed.replaceSubrange(index...index, with: cookie[index] == "A" ? "B" : "A")
      let refused = try await peer.send("GET", "/a", headers: ["Cookie": changed])
      #expect(refused.status == 401, "\(changed)")
    }
    // The largest expiry that a cookie can state is no date, and ended the process.
    let parts = cookie.split(separator: ".")
    for expiry in ["7fffffffffffffff", "-8000000000000000", "ffffffffffffffff", "-1", "0", ""] {
      let forged = "\(parts[0]).\(expiry).\(parts[2])"
      #expect(try await peer.send("GET", "/a", headers: ["Cookie": forged]).status == 401)
    }
    let out = try await peer.send("DELETE", "//_session", headers: ["Cookie": cookie])
    #expect(out.headers["set-cookie"]?.contains("Max-Age=0") == true)
    try await Task.sleep(for: .seconds(4.1))
    #expect(try await peer.send("GET", "/a", headers: ["Cookie": cookie]).status == 401)
    let anonymous = try await peer.send("GET", "//_session")
    #expect(anonymous.json["userCtx"]?["name"] == .null)
    let wrong = try await peer.send(
      "POST", "//_session", ["name": "writer", "password": "nope"])
    #expect(wrong.status == 401 && wrong.headers["set-cookie"] == nil)
  }

  @Test func `a session that ends later than any begins is over`() async throws {
    let peer = try makePeer()
    func status(_ duration: Double) async throws -> Int {
      let writer = try #require(peer.service.state.passwords.user("writer"))
      let cookie = SessionCookie(user: writer, expiry: Date().addingTimeInterval(duration)).text(
        peer.service.state)
      return try await peer.send("GET", headers: ["Cookie": "AuthSession=" + cookie]).status
    }
    #expect(try await status(599) == 200)
    // As if the clock was set back by an hour.
    #expect(try await status(4200) == 401)
    #expect(try await status(-5) == 401)
  }

  @Test func `guessing is slowed down, and a password that was right is not checked again`()
    async throws
  {
    let peer = try makePeer {
      $0.limits.passwordCheckBurst = 3
      $0.limits.passwordChecksPerSecond = 0.01
    }
    let right = Self.credentials("writer")
    #expect(try await peer.send("GET", "/_all_docs", headers: right).status == 200)
    var statuses: [Int] = []
    for number in 0..<4 {
      let guess = Self.basic("writer", "guess \(number)")
      statuses.append(try await peer.send("GET", "/_all_docs", headers: guess).status)
    }
    #expect(statuses == [401, 401, 429, 429])
    #expect(try await peer.send("GET", "/_all_docs", headers: right).status == 200)
  }

  @Test func `rates and requests at once have limits`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.requestBurst = 5
      $0.limits.requestsPerSecond = 0.01
    }
    for _ in 0..<5 { #expect(try await peer.send("GET").status == 200) }
    let refused = try await peer.send("GET")
    #expect(refused.status == 429 && refused.error == "too_many_requests")
    #expect(refused.headers["retry-after"].flatMap { Int($0) } ?? 0 > 0)
    let busy = try makePeer {
      $0.users = nil
      $0.limits.concurrentRequests = 1
    }
    var open: HTTPResponse? = try await busy.open("GET", "/_changes")
    #expect(try await busy.send("GET").status == 503)
    #expect(open?.status == 200)
    open = nil
    #expect(try await busy.send("GET").status == 200)
  }

  @Test func `what is too large is refused`() async throws {
    let peer = try makePeer { configuration in
      configuration.users = nil
      configuration.limits.documentSize = 300
      configuration.limits.bodySize = 2000
      configuration.limits.attachmentSize = 1000
      configuration.limits.inlineAttachmentSize = 500
      configuration.limits.localDocumentSize = 100
      configuration.limits.urlSize = 1000
      configuration.limits.headerSize = 1000
    }
    let long = Value.string(String(repeating: "y", count: 400))
    let document = try await peer.send("PUT", "/big", ["x": long])
    #expect(document.status == 413 && document.error == "document_too_large")
    let bulk = try await peer.send(
      "POST", "/_bulk_docs", ["docs": [["_id": "sm"], ["_id": "big", "x": long]]])
    #expect(bulk.status == 413 && bulk.reason == "big")
    let zeros = Data(repeating: 0, count: 3000)
    #expect(try await peer.send("POST", "/_bulk_docs", data: zeros, [:]).status == 413)
    #expect(try await peer.send("PUT", "/_local/x", ["x": long]).status == 413)
    let attachment = try await peer.send("PUT", "/d/x", data: zeros, [:])
    #expect(attachment.status == 413 && attachment.error == "attachment_too_large")
    #expect(try await peer.send("PUT", "/d/x", data: zeros.prefix(1000), [:]).status == 201)
    #expect(try await peer.send("GET", "/d?attachments=true").status == 413)
    #expect(
      try await peer.send(
        "GET", "/d?attachments=true", headers: ["Accept": "multipart/related"]
      ).status == 200)
    let path = String(repeating: "z", count: 1000)
    #expect(try await peer.send("GET", "/" + path).status == 414)
    #expect(try await peer.send("GET", "", headers: ["X": path]).status == 431)
    #expect(try peer.database.snapshot().ids().collect() == ["d"])
  }

  @Test func `bodies share their memory`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.bodyMemory = 1000
    }
    let body: Value = ["x": .string(String(repeating: "y", count: 600))]
    #expect(try await peer.send("PUT", "/a", body).status == 201)
    #expect(try await peer.send("PUT", "/b", body).status == 201)
    let large: Value = ["x": .string(String(repeating: "y", count: 1100))]
    #expect(try await peer.send("PUT", "/c", large).status == 413)
    // What others have now may be there later.
    #expect(peer.service.state.memory.increment(nil, by: 500))
    #expect(try await peer.send("PUT", "/c", body).status == 503)
    peer.service.state.memory.decrement(nil, by: 500)
    #expect(try await peer.send("PUT", "/c", body).status == 201)
  }

  @Test func `events have names of users and no secrets`() async throws {
    let log = Log()
    let peer = try makePeer(log)
    try await peer.send("PUT", "/a?secret=1", ["b": "body"], headers: Self.credentials("writer"))
    try await peer.send("GET", "/a%0A", headers: Self.basic("writer", "secret"))
    try await peer.send("POST", "//_session", ["name": "writer", "password": "secret"])
    let events = log.events.withLock { $0 }
    #expect(events.map(\.status) == [201, 401, 401])
    #expect(events.map(\.user) == ["writer", "writer", "writer"])
    #expect(events.map(\.path) == ["/peer/a", "/peer/a%0A", "/_session"])
    let text = events.map(\.description).joined(separator: "\n")
    #expect(!text.contains("secret") && !text.contains("päss") && !text.contains("body"))
    #expect(text.hasPrefix("PUT /peer/a 201 writer "))
  }

  @Test func `web pages of other origins are refused unless they are allowed`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.allowedOrigins = ["https://app.example.com"]
    }
    let foreign = ["Origin": "https://evil.example.com", "Host": "localhost:5984"]
    #expect(try await peer.send("GET", "", headers: foreign).status == 403)
    let own = ["Origin": "http://localhost:5984", "Host": "localhost:5984"]
    #expect(try await peer.send("GET", "", headers: own).status == 200)
    let allowed = ["Origin": "https://app.example.com", "Host": "localhost:5984"]
    let answer = try await peer.send("GET", "", headers: allowed)
    #expect(answer.headers["access-control-allow-origin"] == "https://app.example.com")
    let preflight = try await peer.send("OPTIONS", "/a", headers: allowed)
    #expect(preflight.status == 204)
    #expect(preflight.headers["access-control-allow-methods"]?.contains("PUT") == true)
  }

  @Test func `random requests have answers, and errors are JSON`() async throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let methods = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "X"]
    let names = [
      "", "peer", "c1", "_changes", "_all_docs", "_bulk_docs", "_bulk_get", "_revs_diff",
      "_local", "_design", "_session", "..", "%00", "%FF", "a%2Fb", "_up", "x",
    ]
    let parameters = [
      "rev", "revs", "open_revs", "since", "feed", "limit", "timeout", "atts_since", "startkey",
      "keys", "new_edits", "latest", "attachments", "descending", "heartbeat", "style",
    ]
    let values = [
      "", "true", "false", "0", "-1", "5", "all", "now", "longpoll", "continuous", "[]", "{}",
      "%5B%221-a%22%5D", "2-" + ServiceFixture.digest("b"), "%22a%22", "99999999999999999999",
      "null", "%FF",
    ]
    let bodies = [
      "", "{}", "[]", "{", "null", "{\"docs\":[1,{}]}", "{\"docs\":[{\"id\":5}]}",
      "{\"c1\":[\"1-a\"]}", "{\"new_edits\":false,\"docs\":[{\"_id\":\"\",\"_rev\":\"1-a\"}]}",
      "{\"_revisions\":{\"start\":-9223372036854775808,\"ids\":[\"a\"]}}",
      "{\"_id\":\"q\",\"_rev\":\"1-x\",\"_attachments\":{\"a\":{\"length\":-1,\"follows\":true}}}",
      "name=a&password=b", String(repeating: "[", count: 5000),
    ]
    for _ in 0..<2000 {
      var path = ""
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        path += "/" + (names.randomElement(using: &random) ?? "")
      }
      var query = "timeout=1"
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        query += "&" + (parameters.randomElement(using: &random) ?? "")
        query += "=" + (values.randomElement(using: &random) ?? "")
      }
      // Feeds that wait end at once.
      query += "&timeout=1&heartbeat=false"
      let method = methods.randomElement(using: &random) ?? ""
      let body = Data((bodies.randomElement(using: &random) ?? "").utf8)
      let types = ["application/json", "text/plain", "multipart/related; boundary=B"]
      let headers = ["Content-Type": types.randomElement(using: &random) ?? ""]
      let answer = try await peer.send(method, "/" + path + "?" + query, data: body, headers)
      let name = "\(method) \(path)?\(query) \(String(decoding: body.prefix(80), as: UTF8.self))"
      #expect((200..<600).contains(answer.status), "\(name), seed \(seed)")
      #expect(answer.status != 500, "\(name): \(answer.text), seed \(seed)")
      guard answer.status >= 400, method != "HEAD" else { continue }
      #expect(answer.error != nil && answer.reason != nil, "\(name): \(answer.text), seed \(seed)")
    }
  }
}
