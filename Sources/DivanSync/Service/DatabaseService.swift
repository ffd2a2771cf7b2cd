import Divan
import Foundation

/// Answers the requests for one database.
struct DatabaseService {
  let name: String
  let database: Database
  let peer: DatabasePeer

  init(name: String, _ database: Database) {
    self.name = name
    self.database = database
    peer = DatabasePeer(database)
  }

  func respond(to call: ServiceCall) async throws -> HTTPResponse {
    let path = call.path.dropFirst()
    switch (call.method, path.first, path.count) {
    case ("GET", nil, _), ("HEAD", nil, _): return try await information()
    case ("GET", "_changes", 1), ("POST", "_changes", 1): return try await changes(call)
    case ("POST", "_revs_diff", 1): return try await missingRevisions(call)
    case ("POST", "_bulk_get", 1): return try await bulkGet(call)
    case ("POST", "_bulk_docs", 1): return try await bulkInsert(call)
    case ("POST", "_ensure_full_commit", 1):
      try await peer.flush()
      return .json(201, ["ok": true, "instance_start_time": "0"])
    case (_, "_local", 2...):
      return try await localDocument(path.dropFirst().joined(separator: "/"), call)
    case (_, let id?, 1) where !id.hasPrefix("_"): return try await document(id, call)
    case ("GET", let id?, 2...) where !id.hasPrefix("_"):
      return try await attachment(path.dropFirst().joined(separator: "/"), of: id, call)
    default:
      throw ServiceError(405, "method_not_allowed", "This request is not answered here.")
    }
  }

  private func information() async throws -> HTTPResponse {
    let (sequence, count) = try await database.read { ($0.sequence, try $0.count) }
    return .json(
      200,
      [
        "db_name": .string(name), "doc_count": .int(Int64(count)),
        "update_seq": .string("\(sequence)-\(database.storeID)"), "instance_start_time": "0",
      ])
  }
}

// MARK: What a replicator asks

extension DatabaseService {
  private func changes(_ call: ServiceCall) async throws -> HTTPResponse {
    let request = try await ChangesRequest(call)
    let since = request.since.map { ReplicationPosition(.string($0)) }
    do {
      var changes = try await peer.changes(
        since: since, limit: request.limit, filter: request.filter)
      if changes.changes.isEmpty, request.isLongPoll {
        try await peer.waitForChanges(since: changes.position)
        changes = try await peer.changes(
          since: changes.position, limit: request.limit, filter: request.filter)
      }
      return .json(200, Self.answer(changes))
    } catch let error as ReplicationError where error.code == .unknownPosition {
      throw ServiceError(400, "bad_request", "Malformed sequence supplied in 'since' parameter.")
    }
  }

  private static func answer(_ changes: ReplicationChanges) -> Value {
    let last = changes.position?.value ?? "0"
    return [
      // Only the last row needs a position: what is between is not asked for.
      "results": .array(
        changes.changes.map { id, leaves in
          [
            "seq": last, "id": .string(id),
            "changes": .array(leaves.map { ["rev": .string($0.description)] }),
          ]
        }), "last_seq": last, "pending": .int(Int64(changes.followingCount ?? 0)),
    ]
  }

  private func missingRevisions(_ call: ServiceCall) async throws -> HTTPResponse {
    guard let body = try await call.json().objectValue else {
      throw ServiceError(400, "bad_request", "Request body must be a JSON object")
    }
    var offered: [String: [RevisionID]] = [:]
    for (id, revisions) in body {
      offered[id] = try (revisions.arrayValue ?? []).map { try Self.revision($0.stringValue) }
    }
    var answer: Value.Object = [:]
    for (id, missing) in try await peer.missingRevisions(among: offered) {
      var entry: Value.Object = ["missing": Self.list(missing.missing)]
      if !missing.possibleAncestors.isEmpty {
        entry["possible_ancestors"] = Self.list(missing.possibleAncestors)
      }
      answer[id] = .object(entry)
    }
    return .json(200, .object(answer))
  }

  private static func list(_ revisions: [RevisionID]) -> Value {
    .array(revisions.map { .string($0.description) })
  }

  static func revision(_ text: String?) throws -> RevisionID {
    guard let revision = text.flatMap({ RevisionID($0) }) else {
      throw ServiceError(400, "bad_request", "Invalid rev format")
    }
    return revision
  }

  private func bulkGet(_ call: ServiceCall) async throws -> HTTPResponse {
    guard let docs = try await call.json()["docs"]?.arrayValue else {
      throw ServiceError(400, "bad_request", "Missing JSON list of 'docs'.")
    }
    var results: [Value] = []
    var size = 0
    for entry in docs {
      let id = entry["id"]?.stringValue ?? ""
      let result: Value
      do {
        let revision = try Self.revision(entry["rev"]?.stringValue)
        result = ["ok": .object(try await members(revision, of: id, call))]
      } catch let error as DatabaseError {
        result = Self.failure(ServiceError(error), id, entry)
      } catch let error as ServiceError {
        result = Self.failure(error, id, entry)
      }
      // The answer is in memory.
      size += result.json.utf8.count
      guard size <= CouchDBService.bodySizeLimit else { throw HTTPBodyTooLarge() }
      results.append(["id": .string(id), "docs": [result]])
    }
    return .json(200, ["results": .array(results)])
  }

  private static func failure(_ error: ServiceError, _ id: String, _ entry: Value) -> Value {
    [
      "error": [
        "id": .string(id), "rev": entry["rev"] ?? .null, "error": .string(error.code),
        "reason": .string(error.reason),
      ]
    ]
  }

  /// Returns the members of a revision, with the content of attachments left out.
  private func members(
    _ revision: RevisionID, of id: String, _ call: ServiceCall
  ) async throws -> Value.Object {
    let request = RevisionRequest(id: id, revision: revision)
    switch try await peer.revisions([request], sizeLimit: 1).first {
    case .found(let found)?:
      var members = CouchDBDocument.members(of: found) { _, entry in entry["stub"] = true }
      if !call.isOn("revs") { members["_revisions"] = nil }
      return members
    case .failed(let error)?: throw error
    case .gone?, nil: throw ServiceError(404, "not_found", "missing")
    }
  }

  private func bulkInsert(_ call: ServiceCall) async throws -> HTTPResponse {
    let body = try await call.json()
    guard let docs = body["docs"]?.arrayValue else {
      throw ServiceError(400, "bad_request", "POST body must include `docs` parameter.")
    }
    guard body["new_edits"] == false else {
      throw ServiceError(400, "bad_request", "Only `new_edits: false` is answered here.")
    }
    var refused: [Value] = []
    func refuse(_ doc: Value, _ error: ServiceError) {
      refused.append([
        "id": doc["_id"] ?? .null, "rev": doc["_rev"] ?? .null, "error": .string(error.code),
        "reason": .string(error.reason),
      ])
    }
    var revisions: [(doc: Value, revision: ReplicatedRevision)] = []
    for doc in docs {
      do {
        revisions.append((doc, try Self.revision(from: doc, await: [:])))
      } catch {
        refuse(doc, ServiceError(400, "bad_request", "\(error)"))
      }
    }
    let results = try await peer.insert(revisions.map(\.revision), from: "HTTP")
    for (each, result) in zip(revisions, results) {
      guard case .failure(let error) = result else { continue }
      let refusal = (error as? DatabaseError).map { ServiceError($0) }
      refuse(each.doc, refusal ?? ServiceError(412, "missing_stub", "\(error)"))
    }
    return .json(201, .array(refused))
  }

  /// Reads a revision whose attachments are stubs, have their content in base64, or were sent.
  private static func revision(
    from doc: Value, await sent: [String: Document.Attachment]
  ) throws -> ReplicatedRevision {
    guard let members = doc.objectValue else {
      throw ServiceError(400, "bad_request", "Document must be a JSON object")
    }
    return try CouchDBDocument.revision(from: members) { name, entry in
      if let stored = sent[name] { return .stored(stored) }
      guard let text = entry["data"]?.stringValue else { return .known }
      guard let data = Data(base64Encoded: text) else {
        throw ServiceError(400, "bad_request", "Attachment data is not base64")
      }
      let type = entry["content_type"]?.stringValue ?? "application/octet-stream"
      return .stored(Document.Attachment(contentType: type, data))
    }
  }
}

/// The parameters of `_changes`.
private struct ChangesRequest {
  var since: String?
  var limit: Int
  var isLongPoll: Bool
  var filter = ReplicationFilter.all

  init(_ call: ServiceCall) async throws {
    since = call.query["since"].flatMap { $0 == "0" || $0.isEmpty ? nil : $0 }
    limit = max(1, call.query["limit"].flatMap { Int($0) } ?? .max)
    switch call.query["feed"] ?? "normal" {
    case "normal": isLongPoll = false
    case "longpoll": isLongPoll = true
    case let feed:
      throw ServiceError(400, "bad_request", "The feed `\(feed)` is not answered here.")
    }
    switch call.query["filter"] {
    case nil: break
    case "_doc_ids":
      let ids = try await call.json()["doc_ids"]?.arrayValue ?? []
      filter = .documentIDs(ids.compactMap(\.stringValue))
    case "_selector":
      let selector = try await call.json()["selector"] ?? .null
      do {
        filter = .selector(try MangoSelector(selector))
      } catch {
        throw ServiceError(400, "bad_request", error.message)
      }
    case let filter?:
      throw ServiceError(404, "not_found", "The filter `\(filter)` is not answered here.")
    }
  }
}

// MARK: Documents

extension DatabaseService {
  private func localDocument(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    let key = "_local/" + id
    // Local documents of the program are its own.
    let id = "couchdb/" + id
    switch call.method {
    case "GET":
      guard var members = try await database.read({ try $0.localDocument(id) }) else {
        throw ServiceError(404, "not_found", "missing")
      }
      members["_id"] = .string(key)
      members["_rev"] = "0-1"
      return .json(200, .object(members))
    case "PUT":
      guard var members = try await call.json().objectValue else {
        throw ServiceError(400, "bad_request", "Document must be a JSON object")
      }
      members["_id"] = nil
      members["_rev"] = nil
      let properties = members
      try await database.write { try $0.putLocal(id, properties) }
      return .json(201, ["ok": true, "id": .string(key), "rev": "0-1"])
    case "DELETE":
      guard try await database.write({ try $0.removeLocal(id) }) else {
        throw ServiceError(404, "not_found", "missing")
      }
      return .json(200, ["ok": true, "id": .string(key), "rev": "0-0"])
    default: throw ServiceError(405, "method_not_allowed", "Only GET, PUT and DELETE allowed")
    }
  }

  private func document(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    switch call.method {
    case "GET":
      guard call.query["open_revs"] == nil else {
        throw ServiceError(400, "bad_request", "`open_revs` is not answered here.")
      }
      var wanted = try call.query["rev"].map { try Self.revision($0) }
      if wanted == nil { wanted = try await winner(of: id) }
      guard let revision = wanted else { throw ServiceError(404, "not_found", "missing") }
      return .json(200, .object(try await members(revision, of: id, call)))
    case "PUT" where call.query["new_edits"] == "false": return try await insert(id, call)
    default:
      throw ServiceError(405, "method_not_allowed", "Only GET and replicated PUT allowed")
    }
  }

  private func winner(of id: String) async throws -> RevisionID? {
    try await database.read { try $0.document(id)?.revision }
  }

  private func attachment(
    _ attachmentName: String, of id: String, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    let wanted = try call.query["rev"].map { try Self.revision($0) }
    let attachment = try await database.read { snapshot in
      let document = try wanted.map { try snapshot.revision($0, of: id) } ?? snapshot.document(id)
      return document?.attachments[attachmentName]
    }
    guard let attachment else {
      throw ServiceError(404, "not_found", "Document is missing attachment")
    }
    return HTTPResponse(
      status: 200,
      headers: [
        "content-type": attachment.contentType, "content-length": "\(attachment.length)",
      ], body: HTTPBody(attachment.asyncPieces()))
  }

  /// Stores a revision whose attachments follow its JSON.
  private func insert(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    let type = call.headers["content-type"] ?? "application/json"
    var doc: Value
    var sent: [String: Document.Attachment] = [:]
    if type.hasPrefix("multipart/related") {
      guard let boundary = Self.boundary(of: type) else {
        throw ServiceError(400, "bad_request", "The boundary is missing")
      }
      let reader = MultipartReader(call.body, boundary: boundary)
      doc = try await Self.firstPart(of: reader)
      sent = try await storeAttachments(of: doc, from: reader)
    } else {
      doc = try await call.json()
    }
    let revision = try Self.revision(from: doc, await: sent)
    guard revision.document.id == id else {
      throw ServiceError(400, "bad_request", "Document ID must match the path")
    }
    switch try await peer.insert([revision], from: "HTTP").first {
    case .failure(let error as DatabaseError)?: throw error
    case .failure(let error)?: throw ServiceError(412, "missing_stub", "\(error)")
    case .success?, nil: break
    }
    let text = revision.revision?.description ?? ""
    return .json(201, ["ok": true, "id": .string(id), "rev": .string(text)])
  }

  private static func boundary(of type: String) -> String? {
    guard let start = type.range(of: "boundary=")?.upperBound else { return nil }
    let text = type[start...].prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    let boundary = text.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    return boundary.isEmpty || boundary.utf8.count > 200 ? nil : boundary
  }

  private static func firstPart(of reader: MultipartReader) async throws -> Value {
    guard try await reader.nextPart() != nil else {
      throw ServiceError(400, "bad_request", "There is no document")
    }
    var data = Data()
    while let piece = try await reader.nextPiece() {
      guard data.count + piece.count <= CouchDBService.bodySizeLimit else {
        throw HTTPBodyTooLarge()
      }
      data.append(piece)
    }
    do {
      return try Value(json: data)
    } catch {
      throw ServiceError(400, "bad_request", "invalid UTF-8 JSON")
    }
  }

  /// Stores the content of the attachments that follow, by their names.
  private func storeAttachments(
    of doc: Value, from reader: MultipartReader
  ) async throws -> [String: Document.Attachment] {
    let entries = doc["_attachments"]?.objectValue ?? [:]
    var expected = Set(entries.filter { $0.value["follows"] == true }.map(\.key))
    var sent: [String: Document.Attachment] = [:]
    while !expected.isEmpty, let headers = try await reader.nextPart() {
      guard headers["content-encoding"] == nil else {
        throw ServiceError(415, "bad_content_type", "Encoded attachments are not stored here.")
      }
      guard let attachmentName = Self.name(in: headers, among: expected) else {
        throw ServiceError(400, "bad_request", "A part is no attachment of the document")
      }
      expected.remove(attachmentName)
      let type = entries[attachmentName]?["content_type"]?.stringValue
      let stored = try await database.storeAttachment(
        contentType: type ?? "application/octet-stream",
        pieces: PartPieces(reader: reader, rest: entries[attachmentName]?["length"]?.intValue ?? 0))
      sent[attachmentName] = stored
    }
    guard expected.isEmpty else {
      throw ServiceError(400, "bad_request", "An attachment is missing")
    }
    return sent
  }

  /// Returns the name that a part has, or that is the only one left.
  private static func name(in headers: [String: String], among expected: Set<String>) -> String? {
    let disposition = headers["content-disposition"] ?? ""
    guard let start = disposition.range(of: "filename=\"")?.upperBound else {
      return expected.count == 1 ? expected.first : nil
    }
    let text = String(disposition[start...].prefix { $0 != "\"" })
    if expected.contains(text) { return text }
    return text.removingPercentEncoding.flatMap { expected.contains($0) ? $0 : nil }
  }
}

/// The content of a part of a multipart body, which must have the announced length.
private struct PartPieces: AsyncSequence {
  let reader: MultipartReader
  let rest: Int

  struct AsyncIterator: AsyncIteratorProtocol {
    let reader: MultipartReader
    var rest: Int

    mutating func next() async throws -> Data? {
      let piece = try await reader.nextPiece()
      rest -= piece?.count ?? 0
      guard rest >= 0, piece != nil || rest == 0 else {
        throw ServiceError(412, "missing_stub", "An attachment has another length")
      }
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader, rest: rest) }
}
