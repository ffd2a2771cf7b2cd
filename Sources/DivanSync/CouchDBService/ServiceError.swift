import Divan
import Foundation

/// An error that is an answer, with CouchDB's status and words.
struct ServiceError: Error {
  let status: Int
  let code: String
  let reason: String
  var headers: [String: String] = [:]

  init(_ status: Int, _ code: String, _ reason: String, headers: [String: String] = [:]) {
    (self.status, self.code, self.reason) = (status, code, reason)
    self.headers = headers
  }

  static func badRequest(_ reason: String) -> ServiceError {
    ServiceError(400, "bad_request", reason)
  }

  static var missing: ServiceError { ServiceError(404, "not_found", "missing") }

  static var conflict: ServiceError { ServiceError(409, "conflict", "Document update conflict.") }

  static func missingStub(_ name: String, of id: String) -> ServiceError {
    ServiceError(412, "missing_stub", "Invalid attachment stub in \(id) for \(name)")
  }

  static let filterTimeout = ServiceError(
    503, "filter_timeout", "The filter took longer than is allowed here.")

  var isFilterTimeout: Bool { code == Self.filterTimeout.code }

  var response: HTTPResponse {
    var response = HTTPResponse.json(status, body)
    for (name, value) in headers { response.headers[name] = value }
    return response
  }

  var body: Value { ["error": .string(code), "reason": .string(reason)] }
}

extension ServiceError {
  init(_ error: any Error) {
    switch error {
    case let error as ServiceError: self = error
    case let error as DatabaseError: self.init(error)
    case let error as ReplicationError: self.init(error)
    case is HTTPBodyTooLarge:
      self.init(413, "too_large", "the request entity is too large")
    case is CancellationError:
      self.init(503, "service_unavailable", "The request was cancelled.")
    default: self.init(500, "unknown_error", "The request failed: \(type(of: error)).")
    }
  }

  private init(_ error: ReplicationError) {
    switch error.code {
    case .unknownPosition:
      self = .badRequest("Malformed sequence supplied in 'since' parameter.")
    case .missingContent: self.init(412, "missing_stub", error.message)
    case .unreachable, .busy: self.init(503, "service_unavailable", error.message)
    default: self = .badRequest(error.message)
    }
  }

  init(_ error: DatabaseError) {
    switch error.code {
    case .validationFailed:
      self.init(403, "forbidden", error.validationFailure?.reason ?? error.message)
    case .notUnique: self.init(403, "forbidden", error.message)
    case .documentTooLarge, .transactionTooLarge:
      self.init(413, "document_too_large", error.documentID ?? "")
    case .conflict: self = .conflict
    case .notFound: self = .missing
    // The message may have a path of this machine. Clients of this package tell it by its name from
    // errors that pass.
    case .damaged: self.init(500, "damaged", "A part of the database is damaged.")
    case .diskFull: self.init(507, "insufficient_storage", "The disk is full.")
    case .readOnly: self.init(403, "forbidden", "The database is open for reading only.")
    case .suspended, .closed, .timedOut, .cancelled, .resourceExhausted, .writerStopped:
      self.init(503, "service_unavailable", error.message, headers: ["retry-after": "5"])
    case .invalidDocumentID: self.init(400, "illegal_docid", error.message)
    case .invalidJSON, .invalidRevisionID, .invalidValue, .invalidAttachment:
      self = .badRequest(error.message)
    // The message may have a path of this machine.
    default: self.init(500, "unknown_error", "The database failed: \(error.code).")
    }
  }
}

extension HTTPResponse {
  static func json(
    _ status: Int, _ value: Value, headers: [String: String] = [:]
  ) -> HTTPResponse {
    let data = Data((value.json + "\n").utf8)
    var all = headers
    all["content-type"] = "application/json"
    all["content-length"] = "\(data.count)"
    return HTTPResponse(status: status, headers: all, body: HTTPBody(data))
  }
}
