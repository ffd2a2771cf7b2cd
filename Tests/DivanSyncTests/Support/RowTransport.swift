import Divan
import DivanSync
import Foundation
import Synchronization

/// A transport whose server does not store some documents of `_bulk_docs`, and has a row for each.
final class RowTransport: HTTPTransport {
  private let base: any HTTPTransport
  private let row: @Sendable (_ id: String) -> Value?
  private let count = Mutex(0)

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - base: What stores the other documents, and answers the other requests.
  ///   - row: Returns the row of a document that is not stored.
  init(_ base: any HTTPTransport, _ row: @escaping @Sendable (_ id: String) -> Value?) {
    self.base = base
    self.row = row
  }

  /// The number of requests to store documents.
  var bulkCount: Int { count.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard request.url.path.hasSuffix("/_bulk_docs") else { return try await base.send(request) }
    count.withLock { $0 += 1 }
    var stored: [Value] = []
    var rows: [Value] = []
    for document in try Value(json: request.bodyText)["docs"]?.arrayValue ?? [] {
      if let row = row(document["_id"]?.stringValue ?? "") {
        rows.append(row)
      } else {
        stored.append(document)
      }
    }
    var rest = request
    let body: Value = ["new_edits": false, "docs": .array(stored)]
    rest.body = .data(Data(body.json.utf8))
    let response = try await base.send(rest)
    guard response.status == 201 else { return response }
    return ScriptedTransport.json(201, Value.array(rows).json)
  }
}
