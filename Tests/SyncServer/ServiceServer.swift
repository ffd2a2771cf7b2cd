package import Divan
import DivanSync
import Dispatch
import Foundation
import Synchronization
import TestSupport

/// A server of this machine with databases in memory, for tests with other programs.
///
/// `PUT` and `DELETE` of a database create and remove it, which a service does not do.
package final class ServiceServer: Sendable {
  private struct State {
    var databases: [String: Database] = [:]
    var service = CouchDBService([:])

    mutating func set(_ database: Database?, named name: String) -> Database? {
      let before = databases[name]
      databases[name] = database
      service = CouchDBService(databases)
      return before
    }
  }

  private let state = Mutex(State())
  private let server = Mutex<LocalServer?>(nil)
  /// The number of bytes after which connections are cut; nil if they are not.
  private let byteLimit = Mutex<Int?>(nil)

  /// Starts a server, which runs until the process ends.
  ///
  /// - Parameter port: The port; 0 lets the system choose one.
  /// - Throws: An error if the port cannot be used.
  package init(port: UInt16 = 0) throws {
    let local = try LocalServer(port: port, keepsRequests: false) { [self] request, send in
      respond(to: request, send)
    }
    server.withLock { $0 = local }
  }

  /// The port.
  package var port: UInt16 { server.withLock { $0?.port ?? 0 } }

  /// Adds a database, or replaces it.
  package func add(_ database: Database, named name: String) {
    _ = state.withLock { $0.set(database, named: name) }
  }

  /// Cuts connections after a number of bytes in both directions, from now on; nil for never.
  ///
  /// The head of an answer is sent as a whole or not at all: Foundation on Linux traps if a
  /// connection ends within it.
  package func cut(after byteCount: Int?) { byteLimit.withLock { $0 = byteCount } }

  /// Counts bytes, and returns how many of them pass.
  private func passing(_ count: Int) -> Int {
    byteLimit.withLock { limit in
      guard let left = limit else { return count }
      limit = max(0, left - count)
      return min(left, count)
    }
  }

  /// Answers a request on the thread of its connection, which waits for each piece.
  private func respond(to received: LocalServer.Request, _ send: (Data) -> Bool) {
    // A server does not answer the beginning of a request.
    let requestSize = received.head.utf8.count + received.body.count
    guard passing(requestSize) == requestSize else { return }
    guard let request = Self.request(received.head) else {
      _ = send(Data("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
      return
    }
    let handoff = PieceHandoff()
    Task {
      let response = await respond(to: request, received.body)
      guard await handoff.give(Self.head(of: response)) else { return }
      if request.method != "HEAD" {
        do {
          for try await piece in response.body {
            guard await handoff.give(piece) else { return }
          }
        } catch {
          // The connection is closed before the announced length, which the client notices.
        }
      }
      _ = await handoff.give(nil)
    }
    var isHead = true
    while let piece = handoff.wait() {
      var count = passing(piece.count)
      if isHead, count < piece.count { count = 0 }
      isHead = false
      let isSent = send(piece.prefix(count)) && count == piece.count
      handoff.answer(isSent)
      guard isSent else { return }
    }
    handoff.answer(true)
  }

  private func respond(to request: HTTPRequest, _ body: Data) async -> HTTPResponse {
    let parts = request.url.path.split(separator: "/")
    if parts.count == 1, let name = parts.first.map(String.init), !name.hasPrefix("_") {
      switch request.method {
      case "PUT": return create(name)
      case "DELETE":
        let removed = state.withLock { $0.set(nil, named: name) }
        return removed == nil
          ? Self.json(404, #"{"error":"not_found","reason":"Database does not exist."}"#)
          : Self.json(200, #"{"ok":true}"#)
      default: break
      }
    }
    return await state.withLock { $0.service }.respond(to: request, body: HTTPBody(body))
  }

  private func create(_ name: String) -> HTTPResponse {
    do {
      let database = try Database.inMemory()
      let isNew = state.withLock { state in
        state.databases[name] == nil && state.set(database, named: name) == nil
      }
      return isNew
        ? Self.json(201, #"{"ok":true}"#)
        : Self.json(412, #"{"error":"file_exists","reason":"The database exists."}"#)
    } catch {
      return Self.json(500, #"{"error":"unknown_error","reason":"The database is not created."}"#)
    }
  }

  private static func json(_ status: Int, _ text: String) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: ["content-type": "application/json", "content-length": "\(text.utf8.count)"],
      body: HTTPBody(Data(text.utf8)))
  }

  private static func request(_ head: String) -> HTTPRequest? {
    let lines = head.split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      headers[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return HTTPRequest(String(words[0]), target: String(words[1]), headers: headers)
  }

  private static func head(of response: HTTPResponse) -> Data {
    var head = "HTTP/1.1 \(response.status) \(response.status < 400 ? "OK" : "Error")\r\n"
    for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
    return Data((head + "Connection: close\r\n\r\n").utf8)
  }
}

/// Hands pieces from a task to a thread, one at a time, so that neither runs ahead.
private final class PieceHandoff: Sendable {
  private struct State {
    var piece: Data?
    var giver: CheckedContinuation<Bool, Never>?
  }

  private let state = Mutex(State())
  private let isOffered = DispatchSemaphore(value: 0)

  /// Offers a piece, nil at the end; returns whether the thread wants more.
  func give(_ piece: Data?) async -> Bool {
    await withCheckedContinuation { giver in
      state.withLock { $0 = State(piece: piece, giver: giver) }
      isOffered.signal()
    }
  }

  /// Waits for a piece; nil at the end.
  func wait() -> Data? {
    isOffered.wait()
    return state.withLock { $0.piece }
  }

  /// Says whether the thread wants another piece.
  func answer(_ wantsMore: Bool) {
    let giver = state.withLock { state in
      defer { state.giver = nil }
      return state.giver
    }
    giver?.resume(returning: wantsMore)
  }
}
