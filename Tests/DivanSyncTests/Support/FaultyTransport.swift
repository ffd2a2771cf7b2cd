import DivanSync
import Foundation
import Synchronization

/// A transport that answers some requests itself, in the place of another one.
final class FaultyTransport: HTTPTransport {
  typealias Fault = @Sendable (HTTPRequest) throws -> HTTPResponse?

  private let base: any HTTPTransport
  private let fault: Fault
  private let kept = Mutex<[HTTPRequest]>([])

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - base: What answers the other requests.
  ///   - fault: Returns an answer, or nil for one of `base`.
  init(_ base: any HTTPTransport, _ fault: @escaping Fault) {
    self.base = base
    self.fault = fault
  }

  var requests: [HTTPRequest] { kept.withLock { $0 } }

  /// The paths of the requests for the content of attachments, below the database.
  var attachmentPaths: [String] {
    requests.filter { $0.method == "GET" && $0.url.path.split(separator: "/").count == 3 }
      .map(\.url.path).filter { !$0.contains("/_local/") }
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    kept.withLock { $0.append(request) }
    if let answer = try fault(request) { return answer }
    return try await base.send(request)
  }
}

extension HTTPRequest {
  /// The bytes of a body in memory or in a file.
  var bodyText: String {
    switch body {
    case .none: ""
    case .data(let data): String(decoding: data, as: UTF8.self)
    case .file(let file): String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
    }
  }
}
