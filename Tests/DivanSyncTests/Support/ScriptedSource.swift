import Divan
import DivanSync
import Foundation
import Synchronization

/// A server that has given documents, as CouchDB's protocol returns them.
///
/// It answers what a pulling replication asks, and keeps the requests.
final class ScriptedSource: HTTPTransport {
  private struct State {
    var documents: [Value] = []
    var requests: [String] = []
  }

  private let state = Mutex(State())
  /// The content of attachments by the ID and the name.
  private let contents: [String: Data]
  private let hasBulkGet: Bool

  /// Creates a server.
  ///
  /// - Parameters:
  ///   - documents: The revisions as JSON, each of which is a leaf.
  ///   - contents: The content of attachments, by `id/name`.
  ///   - hasBulkGet: Whether it knows `_bulk_get`.
  init(_ documents: [Value], contents: [String: Data] = [:], hasBulkGet: Bool = true) {
    self.contents = contents
    self.hasBulkGet = hasBulkGet
    state.withLock { $0.documents = documents }
  }

  /// The method and the path of each request, below the database.
  var requests: [String] { state.withLock { $0.requests } }
  /// The requests for the content of attachments.
  var attachmentRequests: [String] {
    requests.filter { $0.hasPrefix("GET /") && $0.split(separator: "/").count == 3 }
      .filter { !$0.contains("_local") }
  }

  /// Adds a revision; one with the same ID is replaced.
  func update(_ document: Value) {
    state.withLock { state in
      state.documents.removeAll { $0["_id"] == document["_id"] }
      state.documents.append(document)
    }
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let path = request.url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
    let documents = state.withLock { state in
      state.requests.append("\(request.method) /\(path.joined(separator: "/"))")
      return state.documents
    }
    let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
    switch (request.method, path.first, path.count) {
    case ("GET", nil, _): return ScriptedTransport.json(200, "{}")
    case ("GET", "_local", _): return ScriptedTransport.json(404, #"{"error":"not_found"}"#)
    case ("PUT", "_local", _): return ScriptedTransport.json(201, #"{"ok":true,"rev":"0-1"}"#)
    case ("GET", "_changes", _): return Self.changes(of: documents, since: parameter("since"))
    case ("POST", "_bulk_get", _):
      guard hasBulkGet else { return ScriptedTransport.json(404, #"{"error":"not_found"}"#) }
      return try Self.bulk(of: documents, request)
    case ("GET", let id?, 1):
      let revisions = try Value(json: parameter("open_revs") ?? "[]").arrayValue ?? []
      return Self.openRevisions(
        of: documents.filter { $0["_id"] == .string(String(id)) }, revisions)
    default:
      guard let content = contents[path.joined(separator: "/")] else {
        return ScriptedTransport.json(404, #"{"error":"not_found"}"#)
      }
      return HTTPResponse(status: 200, body: HTTPBody(pieces: content.pieces(of: 1000)))
    }
  }

  private static func changes(of documents: [Value], since: String?) -> HTTPResponse {
    var rows: [Value] = []
    for document in documents {
      let change: Value = ["rev": document["_rev"] ?? .null]
      if let index = rows.firstIndex(where: { $0["id"] == document["_id"] }) {
        let changes = (rows[index]["changes"]?.arrayValue ?? []) + [change]
        rows[index] = ["id": document["_id"] ?? .null, "seq": .null, "changes": .array(changes)]
      } else {
        rows.append(["id": document["_id"] ?? .null, "seq": .null, "changes": [change]])
      }
    }
    // Every replication begins with the first change, since there is no log.
    let isRead = since != nil
    let answer: Value = [
      "results": .array(isRead ? [] : rows), "last_seq": .string("\(rows.count)-x"), "pending": 0,
    ]
    return ScriptedTransport.json(200, answer.json)
  }

  private static func bulk(of documents: [Value], _ request: HTTPRequest) throws -> HTTPResponse {
    let body = if case .data(let data) = request.body { data } else { Data() }
    let results = (try Value(json: body)["docs"]?.arrayValue ?? []).map { entry -> Value in
      let document = documents.first {
        $0["_id"] == entry["id"] && $0["_rev"] == entry["rev"]
      }
      let result: Value =
        if let document {
          ["ok": document]
        } else {
          [
            "error": [
              "id": entry["id"] ?? .null, "rev": entry["rev"] ?? .null, "error": "not_found",
              "reason": "missing",
            ]
          ]
        }
      return ["id": entry["id"] ?? .null, "docs": [result]]
    }
    return ScriptedTransport.json(200, Value.object(["results": .array(results)]).json)
  }

  private static func openRevisions(of leaves: [Value], _ revisions: [Value]) -> HTTPResponse {
    guard !leaves.isEmpty else {
      return ScriptedTransport.json(404, #"{"error":"not_found","reason":"missing"}"#)
    }
    // In an order of its own.
    let entries = revisions.reversed().map { revision -> Value in
      let leaf = leaves.first { $0["_rev"] == revision }
      return if let leaf { ["ok": leaf] } else { ["missing": revision] }
    }
    return ScriptedTransport.json(200, Value.array(entries).json)
  }
}
