import Divan
import DivanSync
import Foundation
import Testing

@testable import ServerKit

/// Tests of the server over sockets.
@Suite(.serialized)
struct ServerTests {
  @Test func `a store is served, and replicates in both directions`() async throws {
    try await RunningServer.run { server in
      #expect(try await server.send("GET", "/_up").json == ["status": "ok"])
      #expect(try await server.send("PUT", "/films/a%2Fb", ["title": "Metropolis"]).status == 201)
      let local = try Database.inMemory()
      try await local.write { transaction in
        for number in 0..<500 {
          try transaction.put(Document(id: "d\(number)", ["n": .int(Int64(number))]))
        }
        var document = Document(id: "picture", [:])
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        document.attachments["photo"] = Document.Attachment(contentType: "image/png", bytes)
        try transaction.put(document)
      }
      let peer = CouchDBPeer(url: try server.url("/films"))
      let status = try await Replicator(local, peer).replicate()
      #expect(status.failures.isEmpty)
      let served = try #require(server.server.databases["films"])
      #expect(try served.snapshot().count == 502 && local.snapshot().count == 502)
      #expect(try local.snapshot().document("a/b")?["title"] == "Metropolis")
      let photo = try served.snapshot().document("picture")?.attachments["photo"]
      let here = try local.snapshot().document("picture")?.attachments["photo"]
      #expect(photo != nil && photo == here)
      let other = try Database.inMemory()
      try await Replicator(other, peer, direction: .pull).replicate()
      #expect(try other.snapshot().document("picture")?.attachments["photo"] == here)
    }
  }

  @Test func `a continuous replication receives a change within a tenth of a second`()
    async throws
  {
    try await RunningServer.run { server in
      let served = try #require(server.server.databases["films"])
      let local = try Database.inMemory()
      let run = Replicator(
        local, CouchDBPeer(url: try server.url("/films")), direction: .pull
      ).start()
      for try await status in run.statuses where status.isUpToDate { break }
      try await Task.sleep(for: .milliseconds(300))
      var feed = local.changeFeed().makeAsyncIterator()
      let start = ContinuousClock.now
      try await served.write { _ = try $0.put(Document(id: "new")) }
      #expect(try await feed.next()?.id == "new")
      let time = ContinuousClock.now - start
      #expect(time < .seconds(1), "\(time)")
      await run.cancel()
    }
  }

  @Test func `users are asked for their passwords, and the log has no secrets`() async throws {
    try await RunningServer.run { options, folder in
      let path = folder.appending(path: "users.json").path
      for (name, permission) in [("ada", "films:write"), ("guest", "*:read")] {
        _ = try UserCommand.run(
          ["add-user", name, "--users", path, "--permission", permission], iterationCount: 10
        ) { "secret of \(name)" }
      }
      options.usersFile = path
    } _: { server in
      func basic(_ name: String, _ password: String) -> [String: String] {
        ["Authorization": "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()]
      }
      #expect(try await server.send("GET", "/films").status == 401)
      let wrong = basic("ada", "secret of guest")
      #expect(try await server.send("GET", "/films", headers: wrong).status == 401)
      let guest = basic("guest", "secret of guest")
      #expect(try await server.send("GET", "/films", headers: guest).status == 200)
      #expect(try await server.send("PUT", "/films/a", [:], headers: guest).status == 403)
      let ada = basic("ada", "secret of ada")
      #expect(try await server.send("PUT", "/films/a", [:], headers: ada).status == 201)
      let session = CouchDBAuthorization.session(name: "guest", password: "secret of guest")
      let local = try Database.inMemory()
      let peer = CouchDBPeer(url: try server.url("/films"), authorization: session)
      try await Replicator(local, peer, direction: .pull).replicate()
      #expect(try local.snapshot().exists("a"))
      let log = server.log.all.joined(separator: "\n")
      #expect(log.contains("GET /films 401 unauthorized ada"))
      #expect(log.contains("PUT /films/a 201 ada"))
      #expect(!log.contains("secret") && !log.contains("AuthSession"))
    }
  }

  @Test func `a thousand connections are served at once`() async throws {
    try await RunningServer.run { server in
      try await server.server.databases["films"]?.write { _ = try $0.put(Document(id: "a")) }
      var connections: [RawConnection] = []
      for _ in 0..<1000 { connections.append(try RawConnection(port: server.port)) }
      for connection in connections {
        await connection.send(
          "GET /films/_changes?feed=longpoll&since=now HTTP/1.1\r\nHost: localhost\r\n\r\n")
      }
      for connection in connections {
        #expect(await connection.receive().hasPrefix("HTTP/1.1 200"))
      }
      #expect(try await server.send("GET", "/films/a").status == 200)
      try await server.server.databases["films"]?.write { _ = try $0.put(Document(id: "b")) }
      for connection in connections {
        var text = ""
        while !text.contains("last_seq") {
          let piece = await connection.receive()
          guard !piece.isEmpty else { break }
          text += piece
        }
        #expect(text.contains("\"id\":\"b\""))
      }
    }
  }

  @Test func `connections beyond the limit wait`() async throws {
    try await RunningServer.run { options, _ in
      options.connectionLimit = 3
    } _: { server in
      var connections: [RawConnection] = []
      for _ in 0..<3 {
        let connection = try RawConnection(port: server.port)
        await connection.send("GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(await connection.receive().hasPrefix("HTTP/1.1 200"))
        connections.append(connection)
      }
      let late = try RawConnection(port: server.port)
      await late.send("GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n")
      connections.removeAll()
      #expect(await late.receive().hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test(arguments: [
    "", "GET /_up", "GET /films HTTP/1.1\r\nHost: x",
    "PUT /films/a HTTP/1.1\r\nHost: localhost\r\n"
      + "Content-Length: 100000\r\n\r\n{",
  ])
  func `a request that does not go on is cut`(_ beginning: String) async throws {
    try await RunningServer.run { options, _ in
      options.idleTimeout = .seconds(1)
    } _: { server in
      let connection = try RawConnection(port: server.port)
      if !beginning.isEmpty { await connection.send(beginning) }
      let start = ContinuousClock.now
      while await !connection.receive().isEmpty {}
      #expect(ContinuousClock.now - start < .seconds(10))
      #expect(try await server.send("GET", "/_up").status == 200)
    }
  }

  @Test func `a body that comes a byte at a time is cut`() async throws {
    try await RunningServer.run { options, _ in
      options.idleTimeout = .seconds(1)
    } _: { server in
      let connection = try RawConnection(port: server.port)
      await connection.send(
        "PUT /films/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")
      let start = ContinuousClock.now
      while ContinuousClock.now - start < .seconds(20), await connection.send(" ") {
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(ContinuousClock.now - start < .seconds(10))
      #expect(await connection.receive().hasPrefix("HTTP/1.1 408"))
    }
  }

  @Test(arguments: [
    ("GET /%FF HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("GET /films/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ("GET /%2e%2e/%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ("GET //films HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ("GET /films/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ("GET /films%2f..%2f..%2fetc HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ("GET /films/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", "40"),
    ("GET /films/a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("GET /films/%c0%ae%c0%ae HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("GET /films/%4 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ("TRACE /films HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
    ("GET /films HTTP/1.1\r\nHost: films.example.com\r\n\r\n", "403"),
    (
      "GET /films HTTP/1.1\r\nHost: localhost\r\nX: " + String(repeating: "x", count: 200_000)
        + "\r\n\r\n", "4"
    ),
    (
      "GET /" + String(repeating: "x", count: 30_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "414"
    ),
    ("nonsense\r\n\r\n", "400"),
    (
      "POST /films HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Content-Length: 99999999999\r\n\r\n", "413"
    ),
  ])
  func `hostile requests are refused, and the server goes on`(
    _ request: String, _ status: String
  ) async throws {
    try await RunningServer.run { server in
      let connection = try RawConnection(port: server.port)
      await connection.send(request)
      let answer = await connection.receive()
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
      if status == "403" { #expect(server.log.all.contains("GET … 403 forbidden -")) }
      #expect(try await server.send("GET", "/films").status == 200)
    }
  }

  @Test func `names that look like paths are names in the store`() async throws {
    var folder: URL?
    try await RunningServer.run { options, directory in
      folder = directory
    } _: { server in
      let id = "../../%00/..\\etc/passwd"
      let path = "..%2F..%2F%2500%2F..%5Cetc%2Fpasswd"
      let connection = try RawConnection(port: server.port)
      for target in [path, path + "/../../x"] {
        await connection.send(
          "PUT /films/\(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        let answer = await connection.receive()
        // The attachment needs the revision of its document.
        let status = target == path ? "201" : "409"
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
      }
      #expect(try await server.send("GET", "/films/" + path).json["_id"]?.stringValue == id)
      let files = try FileManager.default.subpathsOfDirectory(atPath: #require(folder).path)
      #expect(files.allSatisfy { $0.hasPrefix("Films.divan") && !$0.contains("passwd") })
    }
  }

  @Test func `stopping ends feeds that wait, and closes the stores`() async throws {
    var path = ""
    try await RunningServer.run { options, folder in
      path = folder.appending(path: "Films.divan").path
    } _: { server in
      #expect(try await server.send("PUT", "/films/a", [:]).status == 201)
      let connection = try RawConnection(port: server.port)
      await connection.send(
        "GET /films/_changes?feed=longpoll&since=now&heartbeat=60000 HTTP/1.1\r\n"
          + "Host: localhost\r\n\r\n")
      #expect(await connection.receive().hasPrefix("HTTP/1.1 200"))
      let start = ContinuousClock.now
      try await server.stop()
      #expect(ContinuousClock.now - start < .seconds(5))
      var text = ""
      while case let piece = await connection.receive(), !piece.isEmpty { text += piece }
      #expect(text.contains("last_seq"), "\(text)")
      #expect(throws: DatabaseError.self) { try server.server.databases["films"]?.snapshot() }
      let again = try Database(at: path)
      #expect(try again.snapshot().exists("a"))
      try await again.close()
    }
  }
}
