import DivanSync
import Foundation
import Synchronization
import Testing

@testable import ServerKit

/// Tests of arguments and of the file of users.
struct OptionsTests {
  @Test func `arguments say what to serve`() throws {
    let options = try ServerOptions([
      "--store", "/a/Films.divan", "--store", "notes=/b/x", "--port", "99", "--host", "::1",
      "--max-body-size", "1000", "--requests-per-second", "5", "--quiet",
    ])
    #expect(options.stores.map(\.name) == ["films", "notes"])
    #expect(options.stores.map(\.path) == ["/a/Films.divan", "/b/x"])
    #expect(options.port == 99 && options.isLoopback && options.isQuiet)
    #expect(options.limits.bodySize == 1000 && options.limits.requestsPerSecond == 5)
  }

  @Test func `limits that belong together are set together`() throws {
    let options = try ServerOptions([
      "--store", "/a/Films.divan", "--max-requests", "40", "--max-body-size", "500000000",
      "--proxy-header", "Forwarded",
    ])
    #expect(options.limits.concurrentRequests == 40)
    #expect(options.limits.concurrentRequestsPerClient == 20)
    #expect(options.limits.requestsWithoutUser == 10)
    // One client may have half of the memory.
    #expect(options.limits.bodyMemory == 2_000_000_000)
    #expect(options.proxyHeader == .forwarded)
  }

  @Test(arguments: [
    [], ["--port", "5"], ["--store"], ["--store", "/a/9.divan"], ["--store", "A=/b"],
    ["--store", "a=/b", "--store", "a=/c"], ["--store", "a=/b", "--port", "70000"],
    ["--store", "a=/b", "--tls-key", "x"], ["--store", "a=/b", "--what", "x"],
    ["--store", "a=/b", "--max-body-size", "-1"], ["--store", "a=/b", "--proxy-header", "Via"],
    ["--password", "x", "--store", "a=/b"],
  ])
  func `arguments that cannot be used are errors`(_ arguments: [String]) {
    #expect(throws: ServerOptions.Invalid.self) { try ServerOptions(arguments) }
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.9.9.9", true), ("localhost", true), ("::1", true),
    ("0.0.0.0", false), ("127.0.0.1.example.com", false), ("127.evil", false), ("::", false),
    ("192.168.0.1", false),
  ])
  func `without users the server starts only where this machine alone connects`(
    _ host: String, _ isLoopback: Bool
  ) throws {
    var options = ServerOptions()
    options.stores = [("films", "/nonexistent/Films.divan")]
    options.host = host
    #expect(options.isLoopback == isLoopback)
    guard !isLoopback else { return }
    let error = #expect(throws: ServerOptions.Invalid.self) { try Server(options, log: { _ in }) }
    #expect(error?.description.contains("Without users") == true)
  }

  @Test func `a log that cannot be written loses lines, and says how many`() throws {
    let full = FileHandle(forWritingAtPath: "/dev/full")
    if let full {
      let output = LineOutput(full)
      for _ in 0..<3 { output.write("a line") }
      #expect(output.lostCount == 3)
    }
    struct DiskFull: Error {}
    let isFull = Mutex(true)
    let text = Mutex("")
    let output = LineOutput { data in
      guard !isFull.withLock({ $0 }) else { throw DiskFull() }
      text.withLock { $0 += String(decoding: data, as: UTF8.self) }
    }
    for line in ["a", "b"] { output.write(line) }
    isFull.withLock { $0 = false }
    for line in ["c", "d"] { output.write(line) }
    #expect(text.withLock { $0 } == "2 lines were lost.\nc\nd\n")
    #expect(output.lostCount == 0)
  }

  @Test(arguments: [
    (2000, 20_000, 2000), (2000, 1024, 824), (100, 1024, 100), (2000, 200, 100), (5, 1, 1),
  ])
  func `connections leave files for the stores`(
    _ wanted: Int, _ openFiles: Int, _ expected: Int
  ) {
    #expect(OpenFileLimit.count(wanted: wanted, openFiles: openFiles) == expected)
    #expect(OpenFileLimit.connectionCount(wanted: 10) == 10)
  }

  @Test func `users are added, replaced and removed, and their passwords are hashed`() throws {
    let folder = try RunningServer.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "users.json").path
    func run(_ arguments: String..., password: String? = "secret") throws -> String {
      try UserCommand.run(arguments + ["--users", path], iterationCount: 10) { password }
    }
    _ = try run("add-user", "ada", "--permission", "films:write", "--permission", "*:read")
    _ = try run("add-user", "byron", "--permission", "films:read", password: "other")
    let users = try UsersFile(contentsOf: path).users
    #expect(users.map(\.name) == ["ada", "byron"])
    #expect(users[0].permission(for: "films") == .write && users[0].permission(for: "x") == .read)
    #expect(users[1].permission(for: "x") == nil)
    #expect(users[0].password.matches("secret") && !users[0].password.matches("other"))
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.contains("secret"))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try run("add-user", "ada", "--permission", "films:read").contains("replaced"))
    #expect(try UsersFile(contentsOf: path).users.count == 2)
    _ = try run("remove-user", "byron")
    #expect(try UsersFile(contentsOf: path).users.map(\.name) == ["ada"])
    #expect(throws: ServerOptions.Invalid.self) { try run("remove-user", "byron") }
    #expect(throws: ServerOptions.Invalid.self) { try run("add-user", "a:b") }
    #expect(throws: ServerOptions.Invalid.self) { try run("add-user", "ada") }
    #expect(throws: ServerOptions.Invalid.self) {
      try run("add-user", "ada", "--permission", "films:own")
    }
    #expect(throws: ServerOptions.Invalid.self) {
      try run("add-user", "ada", "--permission", "a:read", password: nil)
    }
    try Data("{\"users\":[{}]}".utf8).write(to: URL(filePath: path))
    #expect(throws: ServerOptions.Invalid.self) { try UsersFile(contentsOf: path) }
  }
}
