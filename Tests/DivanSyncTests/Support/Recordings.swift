import Divan
import DivanSync
import Foundation
import Testing

/// A request and its answer, recorded from a real server.
struct RecordedExchange: Sendable {
  var note: String
  var method: String
  /// The path with its query.
  var target: String
  var requestHeaders: [String: String]
  var requestBody: Data
  var status: Int
  var headers: [String: String]
  var body: Data

  /// The answer as JSON.
  var json: Value? { try? Value(json: body) }

  var response: HTTPResponse {
    HTTPResponse(status: status, headers: headers, body: HTTPBody(pieces: body.pieces(of: 1000)))
  }

  /// The value of a parameter in the query.
  func parameter(_ name: String) -> String? {
    URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
  }
}

/// Exchanges with Apache CouchDB 3.4.3 and with PouchDB, which are present on some machines only.
enum Recordings {
  static let directory = ProcessInfo.processInfo.environment["DIVAN_VECTORS"]
  static let absence: Comment = "DIVAN_VECTORS is not set: recorded exchanges are not replayed"

  private static func file(_ name: String) throws -> Value {
    let url = URL(filePath: directory ?? "").appending(path: name)
    return try Value(json: Data(contentsOf: url))
  }

  /// One sitting with a server: every request in order.
  static func sitting() throws -> [RecordedExchange] {
    let exchanges = try file("couchdb-http-exchanges.json")["exchanges"]?.arrayValue ?? []
    return exchanges.map { exchange in
      let (request, response) = (exchange["request"] ?? .null, exchange["response"] ?? .null)
      return RecordedExchange(
        note: exchange["note"]?.stringValue ?? "", method: request["method"]?.stringValue ?? "",
        target: request["path"]?.stringValue ?? "",
        requestHeaders: headers(request["headers"]), requestBody: body(request),
        status: response["status"]?.intValue ?? 0, headers: headers(response["headers"]),
        body: body(response))
    }
  }

  /// What a replicator asks of one side.
  static func trace(_ file: String, _ recording: String) throws -> [RecordedExchange] {
    let recordings = try self.file(file)["recordings"]?.arrayValue ?? []
    let found = recordings.first { $0["recording"]?.stringValue == recording }
    return (found?["exchanges"]?.arrayValue ?? []).map { exchange in
      let (request, response) = (exchange["request"] ?? .null, exchange["response"] ?? .null)
      let words = (request["line"]?.stringValue ?? "").split(separator: " ").map(String.init)
      let status = (response["line"]?.stringValue ?? "").split(separator: " ")
      return RecordedExchange(
        note: words.prefix(2).joined(separator: " "), method: words.first ?? "",
        target: words.count > 1 ? words[1] : "", requestHeaders: headers(request["headers"]),
        requestBody: body(request), status: status.count > 1 ? Int(status[1]) ?? 0 : 0,
        headers: headers(response["headers"]), body: body(response))
    }
  }

  private static func headers(_ value: Value?) -> [String: String] {
    var headers: [String: String] = [:]
    for (name, value) in value?.objectValue ?? [:] {
      headers[name.lowercased()] = value.stringValue
    }
    for pair in value?.arrayValue ?? [] {
      if let name = pair[0]?.stringValue { headers[name.lowercased()] = pair[1]?.stringValue }
    }
    // The recorded body is not in chunks, nor compressed by the connection.
    headers["transfer-encoding"] = nil
    return headers
  }

  private static func body(_ message: Value) -> Data {
    if let text = message["body_base64"]?.stringValue {
      return Data(base64Encoded: text) ?? Data()
    }
    guard let body = message["body"] else { return Data() }
    return Data((body.stringValue ?? body.json).utf8)
  }
}
