import Divan
import DivanSync
import Foundation
import NIOCore
import Testing

@testable import ServerKit

/// Tests of connections that end early, are slow or encrypted.
@Suite(.serialized)
struct ConnectionTests {
  /// Runs a program; returns its status and its output.
  private static func run(_ program: String, _ arguments: [String]) throws -> (Int32, String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  private static let hasPrograms =
    ["openssl", "curl"].allSatisfy { (try? run($0, ["version"]).0) != 127 }

  /// Adds a certificate for this machine, signed by itself.
  private static func addCertificate(_ options: inout ServerOptions, _ folder: URL) throws {
    let (key, chain) = (folder.appending(path: "key.pem"), folder.appending(path: "chain.pem"))
    let (status, output) = try run(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key.path, "-out",
        chain.path,
      ])
    try #require(status == 0, "\(output)")
    (options.keyFile, options.certificateFile) = (key.path, chain.path)
  }

  @Test(.enabled(if: hasPrograms, "openssl and curl are needed."))
  func `connections are encrypted with a certificate`() async throws {
    var folder: URL?
    try await RunningServer.run { options, directory in
      folder = directory
      try Self.addCertificate(&options, directory)
    } _: { server in
      let chain = try #require(folder).appending(path: "chain.pem").path
      let url = "https://localhost:\(server.port)/_up"
      #expect(
        try Self.run("curl", ["-sS", "--cacert", chain, url]) == (0, "{\"status\":\"ok\"}\n"))
      // A client that does not know the certificate refuses it, and old protocols are refused.
      #expect(try Self.run("curl", ["-sS", url]).0 == 60)
      let old = ["-sS", "--cacert", chain, "--tls-max", "1.1", url]
      #expect(try Self.run("curl", old).0 == 35)
      // Something that is no handshake ends its own connection only.
      let plain = try RawConnection(port: server.port)
      await plain.send("GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n")
      var text = ""
      while case let piece = await plain.receive(), !piece.isEmpty { text += piece }
      #expect(!text.contains("HTTP/1.1 200"))
      #expect(try Self.run("curl", ["-sS", "--cacert", chain, url]).0 == 0)
    }
  }

  @Test(.enabled(if: hasPrograms, "openssl and curl are needed."))
  func `a handshake that does not go on is cut`() async throws {
    try await RunningServer.run { options, directory in
      options.idleTimeout = .seconds(1)
      try Self.addCertificate(&options, directory)
    } _: { server in
      let silent = try RawConnection(port: server.port)
      let half = try RawConnection(port: server.port)
      await half.send("\u{16}\u{3}\u{1}")
      let start = ContinuousClock.now
      #expect(await silent.receive().isEmpty)
      while await !half.receive().isEmpty {}
      #expect(ContinuousClock.now - start < .seconds(10))
    }
  }

  @Test func `a client that does not read its response is cut`() async throws {
    try await RunningServer.run { options, _ in
      options.idleTimeout = .seconds(1)
    } _: { server in
      let served = try #require(server.server.databases["films"])
      try await served.write { transaction in
        var document = Document(id: "film", [:])
        let bytes = [UInt8](repeating: 7, count: 16_000_000)
        document.attachments["reel"] = Document.Attachment(contentType: "video/mp4", bytes)
        try transaction.put(document)
      }
      let connection = try RawConnection(port: server.port)
      await connection.send("GET /films/film/reel HTTP/1.1\r\nHost: localhost\r\n\r\n")
      // A connection that was closed refuses what is sent to it.
      let start = ContinuousClock.now
      while ContinuousClock.now - start < .seconds(60), await connection.send("x") {
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(ContinuousClock.now - start < .seconds(60))
      var size = 0
      while case let piece = await connection.receive(), !piece.isEmpty { size += piece.utf8.count }
      #expect(size < 16_000_000)
      #expect(try await server.send("GET", "/_up").status == 200)
    }
  }

  @Test func `a client that reads none of many small responses is cut`() async throws {
    try await RunningServer.run { options, _ in
      options.idleTimeout = .seconds(1)
    } _: { server in
      let text = Value.string(String(repeating: "y", count: 60_000))
      #expect(try await server.send("PUT", "/films/film", ["text": text]).status == 201)
      let connection = try RawConnection(port: server.port)
      let request = "GET /films/film HTTP/1.1\r\nHost: localhost\r\n\r\n"
      await connection.send(String(repeating: request, count: 400))
      let start = ContinuousClock.now
      while ContinuousClock.now - start < .seconds(60), await connection.send("x") {
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(ContinuousClock.now - start < .seconds(60))
      var size = 0
      while case let piece = await connection.receive(), !piece.isEmpty { size += piece.utf8.count }
      #expect(size < 400 * 60_000)
    }
  }

  @Test func `a client that waits is told to send its body`() async throws {
    try await RunningServer.run { server in
      let connection = try RawConnection(port: server.port)
      let head =
        "PUT /films/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        + "Expect: 100-continue\r\n\r\n"
      await connection.send(head)
      #expect(await connection.receive() == "HTTP/1.1 100 Continue\r\n\r\n")
      await connection.send("{}")
      #expect(await connection.receive().hasPrefix("HTTP/1.1 201"))
      let other = try RawConnection(port: server.port)
      await other.send(head.replacing("Length: 2", with: "Length: 99999999999"))
      #expect(await other.receive().hasPrefix("HTTP/1.1 413"))
    }
  }

  @Test func `an address has so many connections`() async throws {
    try await RunningServer.run { options, _ in
      options.connectionLimitPerAddress = 3
      options.limitsThisMachine = true
    } _: { server in
      func status() async throws -> (RawConnection, String) {
        let connection = try RawConnection(port: server.port)
        await connection.send("GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return (connection, String(await connection.receive().prefix(12)))
      }
      var open = [try await status(), try await status(), try await status()]
      #expect(open.map { $0.1 } == [String](repeating: "HTTP/1.1 200", count: 3))
      #expect(try await status().1 == "")
      open.removeLast()
      var answer = ""
      for _ in 0..<100 where answer.isEmpty {
        try await Task.sleep(for: .milliseconds(20))
        answer = try await status().1
      }
      #expect(answer == "HTTP/1.1 200" && open.count == 2)
    }
  }

  @Test func `addresses are counted for each client`() throws {
    let counter = AddressCounter(limit: 2)
    func key(_ text: String) throws -> String? {
      counter.key(of: try SocketAddress(ipAddress: text, port: 1))
    }
    #expect(try key("192.0.2.1") == "192.0.2.1")
    #expect(try key("::ffff:192.0.2.1") == key("192.0.2.1"))
    #expect(try key("2001:db8::1") == key("2001:db8::ffff:1"))
    #expect(try key("2001:db8::1") != key("2001:db8:0:1::1"))
    for own in ["127.0.0.1", "::1", "::ffff:127.0.0.2"] { #expect(try key(own) == nil) }
    let client = "192.0.2.1"
    #expect(
      [counter.add(client), counter.add(client), counter.add(client)] == [true, true, false])
    counter.remove(client)
    #expect(counter.add(client) && counter.add("192.0.2.2"))
  }

  @Test func `HEAD has the length of the answer, and no body`() async throws {
    try await RunningServer.run { server in
      #expect(try await server.send("PUT", "/films/a", ["n": 5]).status == 201)
      var lengths: [String] = []
      for method in ["GET", "HEAD"] {
        let connection = try RawConnection(port: server.port)
        await connection.send(
          "\(method) /films/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        var text = ""
        while case let piece = await connection.receive(), !piece.isEmpty { text += piece }
        let lines = text.components(separatedBy: "\r\n")
        lengths += lines.filter { $0.lowercased().hasPrefix("content-length:") }
        #expect(text.hasSuffix(method == "HEAD" ? "\r\n\r\n" : "}\n"))
      }
      #expect(lengths.count == 2 && lengths.first == lengths.last)
      #expect(lengths.first?.hasSuffix(" 0") == false)
    }
  }

  @Test func `requests that follow each other at once are answered in order`() async throws {
    try await RunningServer.run { server in
      let connection = try RawConnection(port: server.port)
      let put = "PUT /films/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{\"n\":5}"
      await connection.send(
        put + "GET /films/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
          + "GET /films/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      var text = ""
      while case let piece = await connection.receive(), !piece.isEmpty { text += piece }
      let statuses = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("HTTP/1.1 ") }
      #expect(statuses == ["HTTP/1.1 201 Created", "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found"])
    }
  }

  @Test func `stopping lets a request end that goes on`() async throws {
    var path = ""
    try await RunningServer.run { options, folder in
      path = folder.appending(path: "Films.divan").path
    } _: { server in
      let connection = try RawConnection(port: server.port)
      await connection.send(
        "PUT /films/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{\"n\"")
      try await Task.sleep(for: .milliseconds(300))
      async let stop: Void = server.stop()
      try await Task.sleep(for: .milliseconds(300))
      #expect(throws: RawConnection.Failure.self) { try RawConnection(port: server.port) }
      await connection.send(":1234}")
      #expect(await connection.receive().hasPrefix("HTTP/1.1 201"))
      try await stop
      let again = try Database(at: path)
      #expect(try again.snapshot().document("a")?["n"] == 1234)
      try await again.close()
    }
  }

  @Test func `stopping cuts a request that takes too long, and closes the stores`() async throws {
    var path = ""
    try await RunningServer.run { options, folder in
      options.shutdownTimeout = .seconds(1)
      path = folder.appending(path: "Films.divan").path
    } _: { server in
      #expect(try await server.send("PUT", "/films/a", [:]).status == 201)
      let connection = try RawConnection(port: server.port)
      await connection.send(
        "PUT /films/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
      try await Task.sleep(for: .milliseconds(300))
      let start = ContinuousClock.now
      try await server.stop()
      #expect(ContinuousClock.now - start < .seconds(10))
      #expect(await !connection.receive().hasPrefix("HTTP/1.1 2"))
      #expect(throws: DatabaseError.self) { try server.server.databases["films"]?.snapshot() }
      let again = try Database(at: path)
      #expect(try again.snapshot().exists("a") && !again.snapshot().exists("b"))
      try await again.close()
    }
  }
}
