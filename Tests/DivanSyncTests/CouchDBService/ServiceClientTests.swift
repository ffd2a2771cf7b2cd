import Divan
import DivanTesting
import Foundation
import Testing

@testable import DivanSync

/// Tests that one client does not keep others from being answered.
struct ServiceClientTests {
  private static func credentials(_ name: String, _ password: String = "right") -> [String: String]
  {
    ["Authorization": "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()]
  }

  private func makePeer(
    _ change: (inout CouchDBService.Configuration) -> Void
  ) throws -> ServiceFixture {
    var configuration = CouchDBService.Configuration()
    configuration.users = ["ada", "byron"].map { name in
      CouchDBService.User(
        name: name, password: PasswordHash(of: "right", iterationCount: 10),
        permissions: ["*": .write])
    }
    change(&configuration)
    return try ServiceFixture("peer", configuration)
  }

  /// The body of a request that does not end.
  private struct EndlessBody: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
      mutating func next() async throws -> Data? {
        try await Task.sleep(for: .seconds(3600))
        return nil
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  /// Begins a request whose body does not end, and returns its task when it reads the body.
  private func begin(
    _ method: String, _ path: String, _ peer: ServiceFixture
  ) async throws -> Task<HTTPResponse, Never> {
    let url = try #require(URL(string: "http://server.invalid" + path))
    let service = peer.service
    let task = Task {
      await service.respond(
        to: HTTPRequest(method, url), body: HTTPBody(EndlessBody()))
    }
    try await Task.sleep(for: .milliseconds(50))
    return task
  }

  @Test func `requests without a user do not keep users out`() async throws {
    let peer = try makePeer {
      $0.limits.concurrentRequests = 2
      $0.limits.requestsWithoutUser = 3
    }
    var logins: [Task<HTTPResponse, Never>] = []
    for _ in 0..<3 { logins.append(try await begin("POST", "/_session", peer)) }
    #expect(try await peer.send("GET", "//_session").status == 503)
    #expect(try await peer.send("GET", "", headers: Self.credentials("ada")).status == 200)
    #expect(try await peer.send("GET", "//_up").status == 200)
    for login in logins {
      login.cancel()
      _ = await login.value
    }
    logins = []
    #expect(try await peer.send("GET", "//_session").status == 200)
  }

  @Test func `one user does not keep others out`() async throws {
    let peer = try makePeer {
      $0.limits.concurrentRequestsPerClient = 2
      $0.limits.waitingFeedsPerUser = 2
    }
    let (ada, byron) = (Self.credentials("ada"), Self.credentials("byron"))
    var open = [
      try await peer.open("GET", "/_all_docs", ada), try await peer.open("GET", "/_all_docs", ada),
    ]
    #expect(try await peer.send("GET", "", headers: ada).status == 503)
    #expect(try await peer.send("GET", "", headers: byron).status == 200)
    open = []
    for _ in 0..<2 {
      open.append(try await peer.open("GET", "/_changes?feed=longpoll&since=now", ada))
    }
    #expect(open.map(\.status) == [200, 200])
    let more = try await peer.send("GET", "/_changes?feed=longpoll&since=now", headers: ada)
    #expect(more.status == 503 && more.reason == "Too many feeds at once.")
    #expect(try await peer.open("GET", "/_changes?feed=longpoll", byron).status == 200)
    #expect(try await peer.send("GET", "", headers: ada).status == 200)
  }

  @Test func `the memory of one user is not that of others`() async throws {
    let peer = try makePeer { $0.limits.answerMemory = 400_000 }
    let (ada, byron) = (Self.credentials("ada"), Self.credentials("byron"))
    let long = Value.string(String(repeating: "y", count: 40_000))
    #expect(try await peer.send("PUT", "/a", ["x": long], headers: ada).status == 201)
    var open = [try await peer.open("GET", "/a", ada), try await peer.open("GET", "/a", ada)]
    #expect(open.map(\.status) == [200, 200])
    #expect(try await peer.send("GET", "/a", headers: ada).status == 503)
    #expect(try await peer.send("GET", "/a", headers: byron).status == 200)
    open = []
    #expect(try await peer.send("GET", "/a", headers: ada).status == 200)
  }

  @Test func `a feed counts as a request until it waits`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.concurrentRequests = 1
    }
    try await peer.database.write { _ = try $0.put(Document(id: "a")) }
    let response = try await peer.open("GET", "/_changes?feed=continuous&heartbeat=60000")
    #expect(try await peer.send("GET").status == 503)
    let reader = Task { for try await _ in response.body {} }
    var status = 503
    for _ in 0..<500 where status == 503 {
      try await Task.sleep(for: .milliseconds(10))
      status = try await peer.send("GET").status
    }
    #expect(status == 200)
    reader.cancel()
    _ = await reader.result
  }

  @Test func `feeds of one address do not keep others out`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.waitingFeedsPerUser = 2
    }
    func open(_ address: String) async throws -> HTTPResponse {
      try await peer.open("GET", "/_changes?feed=longpoll&since=now", from: address)
    }
    let feeds = [try await open("192.0.2.1"), try await open("192.0.2.1")]
    #expect(feeds.map(\.status) == [200, 200])
    #expect(try await open("192.0.2.1").status == 503)
    #expect(try await open("192.0.2.2").status == 200)
  }

  @Test(arguments: ["longpoll", "continuous", "eventsource"])
  func `a feed without heartbeats ends after a while`(_ feed: String) async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.longestSilence = .milliseconds(300)
    }
    // A connection that was closed is not noticed before something is sent.
    let start = ContinuousClock.now
    let answer = try await peer.send("GET", "/_changes?feed=\(feed)&since=now&timeout=86400000")
    #expect(answer.status == 200)
    #expect(ContinuousClock.now - start < .seconds(3600))
    let waits = try await peer.send(
      "GET", "/_changes?feed=\(feed)&since=now&heartbeat=86400000&timeout=2500")
    #expect(waits.text.contains(feed == "eventsource" ? "heartbeat" : "\n\n"))
  }

  @Test func `heartbeats are sent while the filter includes nothing`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.shortestHeartbeat = .milliseconds(1)
    }
    try await peer.database.write { transaction in
      for number in 0..<11_000 { try transaction.put(Document(id: "d\(number)")) }
    }
    let answer = try await peer.send(
      "POST", "/_changes?feed=continuous&filter=_selector&heartbeat=1&timeout=0",
      ["selector": ["x": 1]])
    // The beginning, and one after each part that is read.
    #expect(answer.text.prefix { $0 == "\n" }.count >= 3)
    #expect(answer.text.contains("\"last_seq\":\"11000-"))
  }

  @Test(arguments: ["longpoll", "continuous"])
  func `a feed whose filter takes long goes on where it ends`(_ feed: String) async throws {
    let peer = try makePeer {
      $0.users = nil
      // One document has so much time.
      $0.limits.filterTime = .zero
    }
    for number in 0..<5 {
      try await peer.database.write {
        _ = try $0.put(Document(id: "d\(number)", ["n": .int(Int64(number))]))
      }
    }
    var (since, found, count) = ("0", [Value](), 0)
    while found.isEmpty, count < 10 {
      let answer = try await peer.send(
        "POST", "/_changes?feed=\(feed)&filter=_selector&timeout=0&since=\(since)",
        ["selector": ["n": 4]])
      let lines = feed == "longpoll" ? [answer.json] : ServiceFixture.rows(answer.text)
      let last = lines.compactMap { $0["last_seq"]?.stringValue }
      since = try #require(last.first)
      found = lines.compactMap { $0["id"] } + lines.compactMap { $0["results"]?[0]?["id"] }
      count += 1
    }
    #expect(found == ["d4"] && count == 5)
    // Another answer would look complete.
    await #expect(throws: ServiceError.self) {
      try await peer.send("POST", "/_changes?filter=_selector", ["selector": ["n": 4]])
    }
  }

  @Test func `heartbeats have a shortest time`() async throws {
    let peer = try makePeer { $0.users = nil }
    let start = ContinuousClock.now
    let answer = try await peer.send("GET", "/_changes?feed=continuous&heartbeat=10&timeout=1500")
    #expect(ContinuousClock.now - start >= .seconds(1))
    // The beginning, and a heartbeat each second, before the last line.
    let text = String(answer.text.prefix { $0 != "{" })
    #expect((1...2).contains(text.count) && text.allSatisfy { $0 == "\n" })
  }

  @Test func `a password that comes too slowly ends the request`() async throws {
    let peer = try makePeer { $0.limits.loginTime = .milliseconds(100) }
    let login = try await begin("POST", "/_session", peer)
    #expect(await login.value.status == 408)
  }

  @Test func `the health is answered however many requests there are`() async throws {
    let peer = try makePeer {
      $0.limits.concurrentRequests = 1
      $0.limits.requestBurst = 2
      $0.limits.requestsPerSecond = 0.001
    }
    let open = try await peer.open("GET", "/_all_docs", Self.credentials("ada"))
    for _ in 0..<5 { #expect(try await peer.send("GET", "//_up").status == 200) }
    #expect(open.status == 200)
    #expect(try await peer.send("POST", "//_up", [:]).status == 405)
  }

  @Test func `wrong passwords from one address do not keep a user out at another`() async throws {
    let peer = try makePeer {
      $0.limits.passwordCheckBurst = 3
      $0.limits.passwordChecksPerSecond = 0.001
    }
    func status(_ name: String, _ password: String, _ address: String?) async throws -> Int {
      try await peer.send(
        "GET", "", data: Data(), Self.credentials(name, password), from: address
      ).status
    }
    for number in 0..<3 {
      #expect(try await status("ada", "guess \(number)", "192.0.2.1") == 401)
    }
    #expect(try await status("ada", "guess", "192.0.2.1") == 429)
    #expect(try await status("ada", "right", "192.0.2.1") == 429)
    #expect(try await status("ada", "right", "192.0.2.2") == 200)
    // What was right once is remembered.
    #expect(try await status("ada", "right", "192.0.2.1") == 200)
    // One network of IPv6 is one client.
    for number in 0..<3 {
      #expect(try await status("byron", "guess", "2001:db8::\(number)") == 401)
    }
    #expect(try await status("byron", "right", "2001:db8:0:0:5::1") == 429)
    #expect(try await status("byron", "right", "2001:db8:0:1::1") == 200)
  }

  /// Regression test: names that no user has were counted together, so the others were known.
  @Test(arguments: ["192.0.2.1", nil])
  func `the answers to wrong passwords do not say which users there are`(
    _ address: String?
  ) async throws {
    let peer = try makePeer {
      $0.limits.passwordCheckBurst = 3
      $0.limits.passwordChecksPerSecond = 1e-9
    }
    func statuses(_ name: String) async throws -> [Int] {
      var statuses: [Int] = []
      for number in 0..<4 {
        let guess = Self.credentials(name, "guess \(number)")
        statuses.append(
          try await peer.send("GET", "", data: Data(), guess, from: address).status)
      }
      return statuses
    }
    for name in ["unknown", "ada", "another"] {
      #expect(try await statuses(name) == [401, 401, 401, 429])
    }
    // The address, or all clients without one, have no more checks.
    for name in ["byron", "one more"] {
      #expect(try await statuses(name) == [429, 429, 429, 429])
    }
  }

  @Test func `an address that tries many names has fewer checks`() async throws {
    let names = (0..<20).map { "user \($0)" }
    let peer = try makePeer {
      $0.users = names.map { name in
        CouchDBService.User(
          name: name, password: PasswordHash(of: "right", iterationCount: 10), permissions: [:])
      }
      $0.limits.passwordCheckBurst = 2
      // So few that none is added, however long the test takes.
      $0.limits.passwordChecksPerSecond = 1e-9
    }
    var statuses: [Int] = []
    for name in names {
      statuses.append(
        try await peer.send(
          "GET", "", data: Data(), Self.credentials(name, "guess"), from: "192.0.2.1"
        ).status)
    }
    #expect(statuses == [Int](repeating: 401, count: 8) + [Int](repeating: 429, count: 12))
  }

  @Test func `requests without users are counted for each address`() async throws {
    let peer = try makePeer {
      $0.users = nil
      $0.limits.requestBurst = 2
      $0.limits.requestsPerSecond = 0.001
    }
    func status(_ address: String?) async throws -> Int {
      try await peer.send("GET", "", data: Data(), [:], from: address).status
    }
    for address in ["192.0.2.1", "192.0.2.2", nil] {
      var statuses: [Int] = []
      for _ in 0..<3 { statuses.append(try await status(address)) }
      #expect(statuses == [200, 200, 429])
    }
    #expect(try await status("127.0.0.1") == 429)
  }

  @Test func `addresses are those of a client or of its network`() throws {
    func key(_ text: String) -> ClientAddress? { ClientAddress(text) }
    #expect(key("192.0.2.1") != key("192.0.2.2"))
    #expect(key("::ffff:192.0.2.1") == key("192.0.2.1"))
    #expect(key("2001:db8:1:2:3:4:5:6") == key("2001:DB8:1:2::"))
    #expect(key("2001:db8:1:2:3:4:5:6") != key("2001:db8:1:3::"))
    #expect(key("2001:db8::1") == key("2001:0db8:0:0:ffff::"))
    #expect(key("fe80::1%eth0") == key("[fe80::2]"))
    #expect(key("64:ff9b::192.0.2.1") == key("64:ff9b::192.0.2.2"))
    for none in ["", "127.0.0.1", "::1", "::ffff:127.0.0.1"] { #expect(key(none) == nil) }
    for odd in ["::::", ":", "1::2::3", "x:y:z:w:v", String(repeating: ":", count: 1000)] {
      #expect(key(odd) != nil)
    }
  }

  @Test func `many addresses take little memory, and share a bucket beyond a number`() throws {
    let rates = RateLimiter<Int>(rate: 1, burst: 2, keyLimit: 10)
    let start = ContinuousClock.now
    for key in 0..<10 { for _ in 0..<2 { try rates.take(key, at: start) } }
    try rates.take(10, at: start)
    try rates.take(11, at: start)
    #expect(throws: ServiceError.self) { try rates.take(12, at: start) }
    // Full buckets are forgotten, and there is room again.
    for key in 20..<30 { for _ in 0..<2 { try rates.take(key, at: start + .seconds(10)) } }
    #expect(throws: ServiceError.self) { try rates.take(20, at: start + .seconds(10)) }
  }

  @Test func `a session is renewed when a tenth of its time is over`() async throws {
    let peer = try makePeer { $0.sessionDuration = .seconds(20) }
    let login = try await peer.send("POST", "//_session", ["name": "ada", "password": "right"])
    let cookie = String(try #require(login.headers["set-cookie"]).prefix { $0 != ";" })
    let early = try await peer.send("GET", "", headers: ["Cookie": cookie])
    #expect(early.status == 200 && early.headers["set-cookie"] == nil)
    try await Task.sleep(for: .seconds(2.5))
    let late = try await peer.send("GET", "", headers: ["Cookie": cookie])
    let renewed = String(try #require(late.headers["set-cookie"]).prefix { $0 != ";" })
    func expiry(_ cookie: String) throws -> Int {
      try #require(Int(cookie.split(separator: ".")[1], radix: 16))
    }
    #expect(try expiry(renewed) >= expiry(cookie) + 2)
    #expect(try await peer.send("GET", "", headers: ["Cookie": renewed]).status == 200)
    // An error is an answer, too.
    let missing = try await peer.send("GET", "/none", headers: ["Cookie": cookie])
    #expect(missing.status == 404 && missing.headers["set-cookie"] != nil)
  }
}
