import Dispatch
import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

@testable import ServerKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server in this process at a free port, with one store in a folder of its own.
struct RunningServer {
  let port: Int
  let server: Server
  let log: Lines
  let scheme: String
  private let folder: URL
  private let task: Task<Void, any Error>

  /// The lines that a server has logged.
  final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  /// Makes a folder for a test.
  static func makeFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Starts a server, runs a body with it, and stops the server.
  static func run(_ body: (RunningServer) async throws -> Void) async throws {
    try await run({ _, _ in }, body)
  }

  /// Starts a server with other options, runs a body with it, and stops the server.
  static func run(
    _ change: (inout ServerOptions, URL) throws -> Void,
    _ body: (RunningServer) async throws -> Void
  ) async throws {
    let running = try await RunningServer(change)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(running))
    } catch {
      result = .failure(error)
    }
    try await running.stop()
    try FileManager.default.removeItem(at: running.folder)
    try result.get()
  }

  private init(_ change: (inout ServerOptions, URL) throws -> Void) async throws {
    folder = try Self.makeFolder()
    var options = ServerOptions()
    options.port = 0
    options.stores = [("films", folder.appending(path: "Films.divan").path)]
    try change(&options, folder)
    let log = Lines()
    let server = try Server(options, log: { log.add($0) })
    (self.server, self.log) = (server, log)
    scheme = options.certificateFile == nil ? "http" : "https"
    let (ports, continuation) = AsyncStream<Int>.makeStream()
    task = Task {
      defer { continuation.finish() }
      try await server.run(signals: []) { continuation.yield($0) }
    }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else {
      try await task.value
      throw ServerOptions.Invalid("The server ended before it listened.")
    }
    self.port = port
  }

  func stop() async throws {
    await server.stop()
    try await task.value
  }

  func url(_ path: String) throws -> URL {
    try #require(URL(string: "\(scheme)://127.0.0.1:\(port)\(path)"))
  }

  /// Sends a request with `URLSession`.
  func send(
    _ method: String, _ path: String, _ body: Value? = nil, headers: [String: String] = [:]
  ) async throws -> (status: Int, json: Value, headers: [String: String]) {
    var headers = headers
    if body != nil { headers["Content-Type"] = "application/json" }
    let request = DivanSync.HTTPRequest(
      method, try url(path), headers: headers,
      body: body.map { .data(Data($0.json.utf8)) } ?? .none)
    let response = try await URLSessionTransport().send(request)
    var data = Data()
    for try await piece in response.body { data.append(piece) }
    return (response.status, (try? Value(json: data)) ?? .null, response.headers)
  }
}

/// A connection that sends bytes as they are.
///
/// It blocks threads of its own. Those of tasks are few, and the server in this process needs them.
final class RawConnection: Sendable {
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "divan.server.tests.connection")

  struct Failure: Error {}

  init(port: Int) throws {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    descriptor = socket(AF_INET, type, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let descriptor = descriptor
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure() }
  }

  deinit { close(descriptor) }

  /// Sends bytes; returns false if the connection was closed.
  @discardableResult
  func send(_ text: String) async -> Bool {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.sendNow(text)) }
    }
  }

  private func sendNow(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return unsafe bytes.withUnsafeBytes { buffer in
      #if canImport(Darwin)
        unsafe Darwin.send(descriptor, buffer.baseAddress, buffer.count, 0) == buffer.count
      #elseif canImport(Musl)
        unsafe Musl.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
          == buffer.count
      #else
        unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
          == buffer.count
      #endif
    }
  }

  /// Waits for bytes; empty if the connection was closed.
  func receive() async -> String {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.receiveNow()) }
    }
  }

  private func receiveNow() -> String {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
  }
}
