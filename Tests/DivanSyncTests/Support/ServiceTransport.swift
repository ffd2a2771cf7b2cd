import DivanSync
import Foundation
import Synchronization

/// A transport whose server is a service in this process, with a connection that can be cut.
///
/// It keeps the requests, and cuts a request or its response after a number of bytes in all.
final class ServiceTransport: HTTPTransport {
  private struct State {
    var requests: [String] = []
    var byteCount = 0
  }

  private let service: CouchDBService
  /// The number of bytes after which the connection is cut.
  private let byteLimit: Int
  private let state = Mutex(State())

  init(_ service: CouchDBService, cutAfter byteLimit: Int = .max) {
    self.service = service
    self.byteLimit = byteLimit
  }

  /// The method and the path of each request.
  var requests: [String] { state.withLock { $0.requests } }
  /// The number of bytes that were sent in both directions.
  var byteCount: Int { state.withLock { $0.byteCount } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    state.withLock { $0.requests.append("\(request.method) \(request.url.path)") }
    let body: Data
    switch request.body {
    case .none: body = Data()
    case .data(let data): body = data
    case .file(let file): body = try Data(contentsOf: file)
    }
    // A cut request is one that the server sees the beginning of.
    let request = request
    let response = await service.respond(
      to: request, body: HTTPBody(CutPieces(HTTPBody(pieces: body.pieces(of: 701)), self)))
    try count(20)
    return HTTPResponse(
      status: response.status, headers: response.headers,
      body: HTTPBody(CutPieces(response.body, self)))
  }

  /// Counts bytes, and throws if the connection was cut before the last of them.
  fileprivate func count(_ count: Int) throws {
    try state.withLock { state in
      state.byteCount += count
      guard state.byteCount <= byteLimit else {
        throw ReplicationError(.unreachable, "the connection was cut")
      }
    }
  }

  private struct CutPieces: AsyncSequence, Sendable {
    let base: HTTPBody
    let transport: ServiceTransport

    init(_ base: HTTPBody, _ transport: ServiceTransport) {
      self.base = base
      self.transport = transport
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      var base: HTTPBody.AsyncIterator
      let transport: ServiceTransport

      mutating func next() async throws -> Data? {
        guard let piece = try await base.next() else { return nil }
        try transport.count(piece.count)
        return piece
      }
    }

    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(base: base.makeAsyncIterator(), transport: transport)
    }
  }
}

extension Data {
  /// Returns the bytes in pieces of a size.
  func pieces(of size: Int) -> [Data] {
    stride(from: 0, to: count, by: size).map { Data(self[$0..<Swift.min($0 + size, count)]) }
  }
}
