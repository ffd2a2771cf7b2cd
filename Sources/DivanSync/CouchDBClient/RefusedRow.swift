import Divan

/// A row of the answer to `_bulk_docs` that says that the server did not store a document.
///
/// CouchDB writes the word of the error as `error`. Older servers with PouchDB write it as `name`,
/// and later ones leave out the ID:
///
/// ```json
/// [{"id": "a", "rev": "1-…", "error": "forbidden", "reason": "…"},
///  {"id": "b", "status": 403, "name": "forbidden", "message": "…", "error": true},
///  {"error": "forbidden", "reason": "…"}]
/// ```
struct RefusedRow {
  /// The word of the error.
  let code: String
  let reason: String
  /// The bytes of the document's ID; nil if the row has none.
  var id: [UInt8]?
  let revision: RevisionID?

  /// Errors of one document that another attempt would meet again.
  private static let permanentCodes: Set = [
    "bad_request", "damaged", "doc_validation", "forbidden", "unauthorized",
  ]

  /// Reads a row; nil if it does not say so.
  init?(_ row: Value) {
    guard let error = row["error"], error != .null, error != .bool(false) else { return nil }
    code = error.stringValue ?? row["name"]?.stringValue ?? "unknown_error"
    reason = row["reason"]?.stringValue ?? row["message"]?.stringValue ?? ""
    id = row["id"]?.stringValue.map { Array($0.utf8) }
    revision = row["rev"]?.stringValue.flatMap { RevisionID($0) }
  }

  var isPermanent: Bool { Self.permanentCodes.contains(code) }
}
