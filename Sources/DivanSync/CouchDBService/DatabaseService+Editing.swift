import Divan
import Foundation

extension DatabaseService {
  /// Stores a new document whose ID is in its JSON, or is made here.
  func create(_ call: ServiceCall) async throws -> HTTPResponse {
    let document = try IncomingDocument(try await call.json(hasDocuments: true), id: nil, limits)
    return try await store(try document.edit(try document.revision(), limits))
  }

  /// Stores a document: a new revision of it, or one that was made elsewhere.
  func put(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    let isReplicated = call.query["new_edits"] == "false"
    let type = call.headers["content-type"] ?? "application/json"
    let document: IncomingDocument
    if type.lowercased().hasPrefix("multipart/related") {
      document = try await multipartDocument(id, type, call)
    } else {
      let value = try await call.json(hasDocuments: true)
      document = try IncomingDocument(value, id: id, limits)
    }
    if isReplicated { return try await insert(try document.replicated(limits), id) }
    let (named, given) = (try document.revision(), try call.givenRevision())
    if let named, let given, named != given {
      throw ServiceError.badRequest(
        "Document rev from request body and query string have different values")
    }
    return try await store(try document.edit(named ?? given, limits))
  }

  func delete(_ id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    let edit = DocumentEdit(
      id: id, parent: try call.givenRevision(), properties: [:], isDeleted: true)
    return try await store(edit, status: 200)
  }

  /// Makes a change, and answers with the new revision.
  func store(_ edit: DocumentEdit, status: Int = 201) async throws -> HTTPResponse {
    let stored = try await database.write { try edit.apply(to: $0) }
    return answer(stored.id, stored.revision, status: status)
  }

  private func insert(_ revision: ReplicatedRevision, _ id: String) async throws -> HTTPResponse {
    if case .failure(let error)? = try await peer.insert([revision], from: "HTTP").first {
      throw refusal(of: revision, error)
    }
    return answer(id, revision.revision, status: 201)
  }

  private func answer(_ id: String, _ revision: RevisionID?, status: Int) -> HTTPResponse {
    let text = revision?.description ?? ""
    var headers = ["etag": "\"\(text)\""]
    if status == 201 { headers["location"] = location(id) }
    return .json(
      status, ["ok": true, "id": .string(id), "rev": .string(text)], headers: headers)
  }

  func location(_ id: String, _ attachment: String? = nil) -> String {
    ([name, id] + [attachment].compactMap { $0 }).map { "/" + CouchDBConnection.encoded($0) }
      .joined()
  }

  private func refusal(of revision: ReplicatedRevision, _ error: any Error) -> ServiceError {
    if let error = error as? ReplicationError, error.code == .missingContent,
      let missing = revision.attachments.first(where: { $0.isKnown })
    {
      return .missingStub(missing.name, of: revision.document.id)
    }
    return ServiceError(error)
  }
}

extension ReplicatedAttachment {
  fileprivate var isKnown: Bool {
    if case .known = content { true } else { false }
  }
}

// MARK: Many documents at once

extension DatabaseService {
  /// Stores many documents, and answers with their new revisions, or with those that were refused.
  ///
  /// As with CouchDB, a document that is malformed or too large fails the request as a whole.
  func bulkInsert(_ call: ServiceCall) async throws -> HTTPResponse {
    let body = try await call.jsonObject(hasDocuments: true)
    guard let value = body["docs"] else {
      throw ServiceError.badRequest("POST body must include `docs` parameter.")
    }
    guard let docs = value.arrayValue else {
      throw ServiceError.badRequest("`docs` parameter must be an array.")
    }
    // Each has an edit and a result, whose memory is taken before anything is stored.
    try call.memory.add(Self.editSize * docs.count)
    let documents = try docs.map { try IncomingDocument($0, id: nil, limits) }
    guard body["new_edits"] == false else { return try await storeAll(documents) }
    return try await insertAll(try documents.map { try $0.replicated(limits) })
  }

  /// About how many bytes of memory the edit and the result of a document take, besides its values.
  private static var editSize: Int { 1024 }

  private func insertAll(_ revisions: [ReplicatedRevision]) async throws -> HTTPResponse {
    var refused: [Value] = []
    let results = try await peer.insert(revisions, from: "HTTP")
    for (revision, result) in zip(revisions, results) {
      guard case .failure(let error) = result else { continue }
      let refusal = refusal(of: revision, error)
      // CouchDB answers so, and the sender then sends the attachments with the document.
      guard refusal.status != 412 else { throw refusal }
      refused.append(entry(refusal, revision.document.id, revision.revision))
    }
    return .json(201, .array(refused))
  }

  private func entry(_ error: ServiceError, _ id: String?, _ revision: RevisionID?) -> Value {
    // Replicators know these words, and go on with other documents.
    let isRefused = error.status == 400 || error.status == 413
    var entry: Value.Object = [
      "error": .string(isRefused ? "bad_request" : error.code), "reason": .string(error.reason),
    ]
    if let id { entry["id"] = .string(id) }
    if let revision { entry["rev"] = .string(revision.description) }
    return .object(entry)
  }

  /// The documents of one transaction, so that it is not too large.
  private static var batchCount: Int { 500 }

  private func storeAll(_ documents: [IncomingDocument]) async throws -> HTTPResponse {
    let edits = try documents.map { try $0.edit(try $0.revision(), limits) }
    var results: [Value] = []
    for start in stride(from: 0, to: edits.count, by: Self.batchCount) {
      results += try await store(edits[start..<min(start + Self.batchCount, edits.count)])
    }
    return .json(201, .array(results))
  }

  /// Makes changes, each independently of the others.
  private func store(_ edits: ArraySlice<DocumentEdit>) async throws -> [Value] {
    do {
      return try await database.write { transaction -> [Value] in
        try edits.map { edit -> Value in
          do {
            let stored = try transaction.savepoint { try edit.apply(to: transaction) }
            let revision = stored.revision?.description ?? ""
            return ["ok": true, "id": .string(stored.id), "rev": .string(revision)]
          } catch let error where error.concernsOneDocument {
            return entry(ServiceError(error), edit.id, nil)
          }
        }
      }
    } catch let error as DatabaseError
      where [.transactionTooLarge, .notUnique].contains(error.code)
    {
      // A unique index is checked when the transaction ends, and says which document only then.
      guard edits.count > 1 else { return [entry(ServiceError(error), edits.first?.id, nil)] }
      let middle = edits.startIndex + edits.count / 2
      return try await store(edits[..<middle]) + store(edits[middle...])
    }
  }
}

extension Error {
  /// Whether an error concerns only one document, so that others can still be stored.
  fileprivate var concernsOneDocument: Bool {
    guard let error = self as? DatabaseError else { return self is ServiceError }
    return [
      .conflict, .damaged, .documentTooLarge, .invalidAttachment, .invalidDocumentID,
      .invalidRevisionID, .invalidValue, .notFound, .validationFailed,
    ].contains(error.code)
  }
}
