package import Divan
import Foundation

/// Answers the requests of CouchDB's protocol for databases of this process, without sockets.
///
/// It is a value from request to response: a server reads requests from its connections and writes
/// the responses. It has no users and no limits of rates yet, so it is not public.
package struct CouchDBService: Sendable {
  private let databases: [String: Database]

  /// Creates a service.
  ///
  /// - Parameter databases: The databases by their names in paths.
  package init(_ databases: [String: Database]) { self.databases = databases }

  /// The size of a body with JSON in bytes.
  static var bodySizeLimit: Int { 64 << 20 }

  /// Answers a request.
  package func respond(to request: HTTPRequest, body: HTTPBody) async -> HTTPResponse {
    do {
      let call = try ServiceCall(request, body)
      guard let name = call.path.first else {
        return .json(200, ["couchdb": "Welcome", "vendor": ["name": "Divan"]])
      }
      guard let database = databases[name] else {
        throw ServiceError(404, "not_found", "Database does not exist.")
      }
      return try await DatabaseService(name: name, database).respond(to: call)
    } catch let error as ServiceError {
      return .json(error.status, ["error": .string(error.code), "reason": .string(error.reason)])
    } catch is HTTPBodyTooLarge {
      return .json(413, ["error": "too_large", "reason": "the request entity is too large"])
    } catch let error as DatabaseError {
      let error = ServiceError(error)
      return .json(error.status, ["error": .string(error.code), "reason": .string(error.reason)])
    } catch {
      return .json(500, ["error": "unknown_error", "reason": .string("\(error)")])
    }
  }
}

/// A request with its path and query decoded.
struct ServiceCall {
  let method: String
  /// The parts of the path, decoded.
  let path: [String]
  let query: [String: String]
  let headers: [String: String]
  let body: HTTPBody

  init(_ request: HTTPRequest, _ body: HTTPBody) throws {
    method = request.method
    self.body = body
    var lowercase: [String: String] = [:]
    for (name, value) in request.headers { lowercase[name.lowercased()] = value }
    headers = lowercase
    guard let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true) else {
      throw ServiceError(400, "bad_request", "the URL is invalid")
    }
    // Parts are separated before they are decoded, since an ID may contain a slash.
    path = try parts.percentEncodedPath.split(separator: "/").map { part in
      guard let text = part.removingPercentEncoding else {
        throw ServiceError(400, "bad_request", "the path is invalid")
      }
      return text
    }
    query = Dictionary(
      (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
  }

  /// The JSON of the body; null if there is none.
  func json() async throws -> Value {
    let data = try await body.collect(sizeLimit: CouchDBService.bodySizeLimit)
    guard !data.isEmpty else { return .null }
    do {
      return try Value(json: data)
    } catch {
      throw ServiceError(400, "bad_request", "invalid UTF-8 JSON")
    }
  }

  /// Whether a parameter of the query is true.
  func isOn(_ name: String) -> Bool { query[name] == "true" }
}

/// An error that is an answer.
struct ServiceError: Error {
  let status: Int
  let code: String
  let reason: String

  init(_ status: Int, _ code: String, _ reason: String) {
    (self.status, self.code, self.reason) = (status, code, reason)
  }

  init(_ error: DatabaseError) {
    switch error.code {
    case .validationFailed:
      self.init(403, "forbidden", error.validationFailure?.reason ?? error.message)
    case .documentTooLarge, .transactionTooLarge:
      self.init(413, "document_too_large", error.message)
    case .conflict: self.init(409, "conflict", "Document update conflict.")
    case .diskFull: self.init(507, "insufficient_storage", error.message)
    case .suspended, .closed, .timedOut: self.init(503, "service_unavailable", error.message)
    case .invalidDocumentID, .invalidJSON, .invalidRevisionID, .invalidValue, .invalidAttachment:
      self.init(400, "bad_request", error.message)
    default: self.init(500, "unknown_error", error.message)
    }
  }
}

extension HTTPResponse {
  static func json(_ status: Int, _ value: Value) -> HTTPResponse {
    let data = Data((value.json + "\n").utf8)
    return HTTPResponse(
      status: status,
      headers: ["content-type": "application/json", "content-length": "\(data.count)"],
      body: HTTPBody(data))
  }
}
