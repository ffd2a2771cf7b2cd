import DivanSync
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of sending requests with `URLSession` to a server on this machine.
@Suite(.timeLimit(.minutes(5)))
struct URLSessionTransportTests {
  private static func answer(_ status: String, _ headers: String, _ body: Data) -> [Data] {
    let head =
      "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return [Data(head.utf8), body]
  }

  private static let content = Data(
    (0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

  @Test func `a large response is the same for a slow reader`() async throws {
    let server = try LocalServer { _ in Self.answer("200 OK", "X-Test: yes\r\n", Self.content) }
    let response = try await URLSessionTransport().send(HTTPRequest("GET", server.url("/a")))
    #expect(response.status == 200 && response.headers["x-test"] == "yes")
    var received = Data()
    for try await piece in response.body {
      received += piece
      // Slower than what arrives, so that most of it has to wait.
      if received.count < 300_000 { try await Task.sleep(for: .milliseconds(20)) }
    }
    #expect(received == Self.content)
    #expect(server.requests.count == 1)
  }

  /// Regression test: a slow reader could fill the disk.
  @Test func `what waits for a slow reader has a limit`() async throws {
    let server = try LocalServer { _ in Self.answer("200 OK", "", Self.content) }
    let transport = URLSessionTransport(spoolSizeLimit: 2_000_000)
    let response = try await transport.send(HTTPRequest("GET", server.url("/a")))
    // Everything has arrived by then, or did not fit.
    try await Task.sleep(for: .seconds(2))
    let error = await #expect(throws: ReplicationError.self) {
      for try await _ in response.body {}
    }
    #expect(error?.code == .busy)
    #expect(error.map { "\($0)".contains("2000000") && "\($0)".contains("spoolSizeLimit") } == true)
  }

  @Test func `what was read or released makes room for other responses`() async throws {
    let server = try LocalServer { _ in Self.answer("200 OK", "", Self.content) }
    let transport = URLSessionTransport(spoolSizeLimit: 7_000_000)
    for isRead in [true, false, true, false, true] {
      let response = try await transport.send(HTTPRequest("GET", server.url("/a")))
      try await Task.sleep(for: .milliseconds(700))
      guard isRead else { continue }
      var received = Data()
      for try await piece in response.body { received += piece }
      #expect(received == Self.content)
    }
  }

  @Test func `a request reports how much of its body was sent`() async throws {
    let server = try LocalServer { _ in Self.answer("201 Created", "", Data("{}".utf8)) }
    let counts = Mutex<[Int]>([])
    var request = HTTPRequest("PUT", try server.url("/a"), body: .data(Self.content))
    request.progress = { count in counts.withLock { $0.append(count) } }
    #expect(try await URLSessionTransport().send(request).status == 201)
    #expect(counts.withLock { $0.last } == Self.content.count)
    #expect(counts.withLock { $0 == $0.sorted() && $0.count > 1 })
  }

  @Test func `bodies of requests come from memory and from files`() async throws {
    let server = try LocalServer { _ in Self.answer("201 Created", "", Data("{}".utf8)) }
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Self.content.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let transport = URLSessionTransport()
    for body in [HTTPRequest.Body.data(Self.content), .file(file)] {
      let request = HTTPRequest(
        "PUT", try server.url("/a%2Fb?rev=1"), headers: ["Content-Type": "a/b"], body: body)
      #expect(try await transport.send(request).status == 201)
    }
    #expect(server.requests.map(\.body) == [Self.content, Self.content])
    #expect(
      server.requests.allSatisfy {
        $0.head.hasPrefix("PUT /a%2Fb?rev=1 ") && $0.head.contains("Content-Type: a/b")
      })
  }

  @Test func `credentials do not follow a redirect to another host`() async throws {
    let other = try LocalServer { _ in Self.answer("200 OK", "", Data()) }
    let port = other.port
    let server = try LocalServer { _ in
      Self.answer("302 Found", "Location: http://localhost:\(port)/stolen\r\n", Data())
    }
    let response = try await URLSessionTransport().send(
      HTTPRequest("GET", server.url("/a"), headers: ["Authorization": "Basic secret"]))
    #expect(response.status == 302)
    #expect(other.requests.isEmpty)
  }

  @Test func `a connection that is cut is an error that may pass`() async throws {
    let server = try LocalServer { _ in
      let whole = Self.answer("200 OK", "", Self.content)
      return [whole[0], whole[1].prefix(100_000)]
    }
    let response = try await URLSessionTransport().send(HTTPRequest("GET", server.url("/a")))
    let error = await #expect(throws: ReplicationError.self) {
      for try await _ in response.body {}
    }
    #expect(error?.isTemporary == true)
  }

  @Test func `a response is read to its end, also when its transport is not kept`() async throws {
    let server = try LocalServer { _ in
      let whole = Self.answer("200 OK", "", Self.content)
      return [whole[0]]
        + stride(from: 0, to: Self.content.count, by: 65_536).map { start in
          Thread.sleep(forTimeInterval: 0.002)
          return Self.content[start..<min(start + 65_536, Self.content.count)]
        }
    }
    for _ in 0..<5 {
      let response = try await URLSessionTransport().send(HTTPRequest("GET", server.url("/a")))
      var count = 0
      for try await piece in response.body { count += piece.count }
      #expect(count == Self.content.count)
    }
  }

  @Test func `a server that is not there is an error that may pass`() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:1/notes"))
    let error = await #expect(throws: ReplicationError.self) {
      try await URLSessionTransport().send(HTTPRequest("GET", url))
    }
    #expect(error?.code == .unreachable)
  }

  /// Regression test: six requests for changes had all connections to a server.
  @Test func `requests that wait for changes do not keep others waiting`() async throws {
    let server = try LocalServer { request in
      if request.head.hasPrefix("GET /changes ") { Thread.sleep(forTimeInterval: 60) }
      return Self.answer("200 OK", "", Data("{}".utf8))
    }
    let transport = URLSessionTransport()
    let url = try server.url("/changes")
    let start = ContinuousClock.now
    let waiting = (0..<20).map { _ in
      Task { try await transport.send(HTTPRequest("GET", url)) }
    }
    defer { for task in waiting { task.cancel() } }
    let response = try await transport.send(HTTPRequest("GET", server.url("/a")))
    #expect(response.status == 200)
    while server.requests.count < 21, ContinuousClock.now - start < .seconds(50) {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(server.requests.count == 21)
  }

  @Test func `a cancelled task ends its request`() async throws {
    let server = try LocalServer { _ in
      Thread.sleep(forTimeInterval: 30)
      return []
    }
    let url = try server.url("/a")
    let task = Task { try await URLSessionTransport().send(HTTPRequest("GET", url)) }
    while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }
}
