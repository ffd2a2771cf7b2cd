import Divan
import Foundation

extension CouchDBConnection {
  /// Sends a request, and returns the JSON of a successful response.
  func json(
    _ target: Target, _ body: Value? = nil, sizeLimit: Int = 64 << 20
  ) async throws -> Value {
    let response = try await send(target, body.map { .data(Data($0.json.utf8)) } ?? .none)
    return try await Self.json(response, of: target, sizeLimit: sizeLimit)
  }

  static func json(
    _ response: HTTPResponse, of target: Target, sizeLimit: Int
  ) async throws -> Value {
    try await check(response, of: target)
    guard !response.isPage else { throw page(response, target) }
    do {
      let data = try await response.body.collect(sizeLimit: sizeLimit)
      guard !BodyJSON.hasTooManyValues(data, sizeLimit: sizeLimit) else {
        throw ReplicationError(
          .invalidAnswer, "the answer to \(target.name) has too many values for its size")
      }
      return try BodyJSON.value(of: data)
    } catch is HTTPBodyTooLarge {
      throw ReplicationError(
        .invalidAnswer, "the answer to \(target.name) is larger than \(sizeLimit) bytes")
    } catch let error as DatabaseError {
      throw ReplicationError(
        .invalidAnswer, "the answer to \(target.name) is not JSON that can be read",
        underlying: error)
    }
  }

  /// Throws the error of a response that is not successful.
  static func check(_ response: HTTPResponse, of target: Target) async throws {
    guard !(200..<300).contains(response.status) else { return }
    // These two mean the same from a proxy as from the server.
    guard !response.isPage || [401, 413].contains(response.status) else {
      throw page(response, target)
    }
    let body = try? await response.body.collect(sizeLimit: 1 << 16)
    let answer = body.flatMap { try? Value(json: $0) }
    var message = "\(target.name) was answered with the status \(response.status)"
    if let error = answer?["error"]?.stringValue {
      message += ", \(error): \(answer?["reason"]?.stringValue ?? "")"
    }
    let code: ReplicationError.Code =
      switch response.status {
      case 401: .unauthorized
      case 403: .forbidden
      case 404: .notFound
      case 400, 409, 412, 413, 415: .refused
      case 408, 425, 429, 500...599: .busy
      default: .invalidAnswer
      }
    var error = ReplicationError(code, message, retryDelay: response.retryDelay)
    error.status = response.status
    throw error
  }
}

extension CouchDBConnection {
  /// The error of a page for people in the place of an answer.
  ///
  /// A proxy or a network that wants a login sends it, with any status. So it says nothing of the
  /// server: not that a document is gone, and not that a request was done.
  static func page(_ response: HTTPResponse, _ target: Target) -> ReplicationError {
    ReplicationError(
      .busy,
      "\(target.name) was answered with the status \(response.status) and a page in HTML, "
        + "which is not the server's answer")
  }
}

extension ReplicationError {
  /// Whether a server failed, other than by being asked too often or too early.
  ///
  /// A page in the place of an answer has no status.
  var isFailureOfServer: Bool { code == .busy && ![nil, 408, 425, 429].contains(status) }
}

extension HTTPResponse {
  /// Whether the body is a page in HTML.
  var isPage: Bool { headers["content-type"]?.lowercased().contains("html") == true }
}

extension CouchDBConnection.Target {
  /// The method and the path, for messages.
  var name: String { method + " /" + path.joined(separator: "/") }
}
