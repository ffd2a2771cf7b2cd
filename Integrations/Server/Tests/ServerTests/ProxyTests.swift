import Divan
import DivanSync
import Foundation
import Testing

@testable import ServerKit

/// Tests of a server behind a proxy.
@Suite(.serialized)
struct ProxyTests {
  @Test(
    arguments: [
      ("X-Real-IP: 192.0.2.1", "192.0.2.1"),
      ("X-Forwarded-For: 192.0.2.1", "192.0.2.1"),
      ("X-Forwarded-For: 203.0.113.9, 192.0.2.1", "192.0.2.1"),
      ("X-Forwarded-For: 2001:db8::1", "2001:db8::1"),
      ("X-Forwarded-For: [2001:db8::1]:4711", "2001:db8::1"),
      ("X-Forwarded-For: 192.0.2.1:4711", "192.0.2.1"),
      ("Forwarded: for=192.0.2.1;proto=https", "192.0.2.1"),
      ("Forwarded: for=\"[2001:db8::1]:5\"", "2001:db8::1"),
      ("Forwarded: for=203.0.113.9, by=a;For=192.0.2.1", "192.0.2.1"),
      ("X-Forwarded-For: ", nil), ("Forwarded: by=a", nil), ("Host: localhost", nil),
    ] as [(String, String?)])
  func `the last proxy names the address`(_ header: String, _ expected: String?) {
    let parts = header.split(separator: ":", maxSplits: 1)
    let headers = [parts[0].lowercased(): String(parts[1].drop { $0 == " " })]
    let header = ServerOptions.ProxyHeader(rawValue: parts[0].lowercased())
    #expect(header.flatMap { ForwardedAddress.text(in: headers, $0) } == expected)
    // A client can send the headers that the proxy does not write.
    for other in ServerOptions.ProxyHeader.allCases where other != header {
      #expect(ForwardedAddress.text(in: headers, other) == nil)
    }
    #expect(ForwardedAddress.isForwarded(headers) == (header != nil))
  }

  @Test func `a proxy needs users`() throws {
    let arguments = ["--store", "films=/nonexistent/Films.divan", "--behind-tls-proxy"]
    let options = try ServerOptions(arguments)
    #expect(options.isBehindProxy && options.isLoopback)
    let error = #expect(throws: ServerOptions.Invalid.self) { try Server(options, log: { _ in }) }
    #expect(error?.description.contains("there are no users") == true)
  }

  @Test(arguments: ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "x-forwarded-proto"])
  func `without users, what a proxy passes on is refused`(_ header: String) async throws {
    try await RunningServer.run { server in
      let answer = try await server.send("GET", "/films", headers: [header: "192.0.2.1"])
      #expect(answer.status == 403)
      #expect(answer.json["reason"]?.stringValue?.contains("--behind-tls-proxy") == true)
      #expect(server.log.all.contains("GET … 403 forbidden -"))
      #expect(try await server.send("GET", "/films").status == 200)
    }
  }

  @Test func `behind a proxy, clients are told apart by what it says`() async throws {
    try await RunningServer.run { options, folder in
      let path = folder.appending(path: "users.json").path
      _ = try UserCommand.run(
        ["add-user", "ada", "--users", path, "--permission", "films:write"], iterationCount: 10
      ) { "secret" }
      options.usersFile = path
      options.isBehindProxy = true
      options.limits.passwordCheckBurst = 2
      options.limits.passwordChecksPerSecond = 0.001
    } _: { server in
      func status(_ password: String, _ address: String) async throws -> Int {
        let text = Data("ada:\(password)".utf8).base64EncodedString()
        return try await server.send(
          "GET", "/films",
          headers: [
            "Authorization": "Basic " + text, "X-Forwarded-For": "203.0.113.9, " + address,
          ]
        ).status
      }
      #expect(try await status("guess", "192.0.2.1") == 401)
      #expect(try await status("guess", "192.0.2.1") == 401)
      #expect(try await status("secret", "192.0.2.1") == 429)
      #expect(try await status("secret", "192.0.2.2") == 200)
      let login = try await server.send(
        "POST", "/_session", ["name": "ada", "password": "secret"])
      #expect(login.headers["set-cookie"]?.contains("; Secure") == true)
      #expect(!server.log.all.contains { $0.contains("without encryption") })
    }
  }
}
