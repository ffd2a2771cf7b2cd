import Divan
import Foundation

extension CouchDBPeer {
  /// Stores revisions.
  ///
  /// Those with attachments are sent one by one.
  public func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    var results = [Result<Bool, any Error>](repeating: .success(true), count: revisions.count)
    var batch: [(index: Int, json: String)] = []
    var batchSize = 0
    // Whether the server is known to accept requests of this kind.
    var isAccepting = false
    for (index, revision) in revisions.enumerated() {
      guard revision.attachments.isEmpty else {
        results[index] = try await resultOfPutting(revision, &isAccepting)
        continue
      }
      let members = CouchDBDocument.members(of: revision) { _, _ in }
      let json = Value.object(members).json
      if !batch.isEmpty, batchSize + json.utf8.count > Self.bulkSizeLimit {
        try await insert(batch[...], revisions, &results, &isAccepting)
        (batch, batchSize) = ([], 0)
      }
      batch.append((index, json))
      batchSize += json.utf8.count
    }
    if !batch.isEmpty { try await insert(batch[...], revisions, &results, &isAccepting) }
    return results
  }

  /// The size of a bulk request in bytes; servers refuse larger ones than they are configured for.
  private static var bulkSizeLimit: Int { 4 << 20 }

  /// Errors of one document that another attempt would meet again.
  private static let permanentErrors: Set = [
    "bad_request", "damaged", "doc_validation", "forbidden", "unauthorized",
  ]

  private func insert(
    _ batch: ArraySlice<(index: Int, json: String)>, _ revisions: [ReplicatedRevision],
    _ results: inout [Result<Bool, any Error>], _ isAccepting: inout Bool
  ) async throws {
    let target = CouchDBConnection.Target("POST", "_bulk_docs")
    let body = "{\"new_edits\":false,\"docs\":[\(batch.map(\.json).joined(separator: ","))]}"
    let response = try await connection.send(target, .data(Data(body.utf8)))
    if let refusal = try await refusalOfOne(response, target, &isAccepting) {
      // One of the documents is too large or invalid, and all are refused.
      guard batch.count > 1 else {
        let index = batch[batch.startIndex].index
        results[index] = .failure(
          ReplicationError(
            .refused,
            "\(name) refuses the document “\(revisions[index].document.id)”"
              + (response.status == 413 ? ", which is too large" : ""), underlying: refusal))
        return
      }
      let middle = batch.startIndex + batch.count / 2
      try await insert(batch[..<middle], revisions, &results, &isAccepting)
      try await insert(batch[middle...], revisions, &results, &isAccepting)
      return
    }
    let answer = try await CouchDBConnection.json(response, of: target, sizeLimit: 64 << 20)
    guard let entries = answer.arrayValue else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) is not an array")
    }
    // Only what was refused is listed.
    for entry in entries {
      guard let code = entry["error"]?.stringValue else { continue }
      guard Self.permanentErrors.contains(code) else {
        throw ReplicationError(.busy, "\(name) cannot store documents: \(code)")
      }
      let id = entry["id"]?.stringValue.map { Array($0.utf8) }
      let revision = entry["rev"]?.stringValue.flatMap { RevisionID($0) }
      let refused = batch.filter { index, _ in
        id == Array(revisions[index].document.id.utf8)
          && (revision == nil || revision == revisions[index].revision)
      }
      guard !refused.isEmpty else {
        throw ReplicationError(.invalidAnswer, "\(name) refuses a document that was not sent")
      }
      for (index, _) in refused {
        results[index] = .failure(refusal(entry, of: revisions[index].document.id))
      }
    }
  }

  /// Returns the error of a response that refuses a request for one of its documents.
  ///
  /// - Returns: The error; nil if the response does not say that.
  /// - Throws: The error if the server refuses a request without documents as well.
  private func refusalOfOne(
    _ response: HTTPResponse, _ target: CouchDBConnection.Target, _ isAccepting: inout Bool
  ) async throws -> ReplicationError? {
    guard response.status == 413 || response.status == 400 && !response.isPage else { return nil }
    do {
      try await CouchDBConnection.check(response, of: target)
      return nil
    } catch let error as ReplicationError {
      if response.status == 400 { try await checkAcceptsDocuments(or: error, &isAccepting) }
      return error
    }
  }

  /// Throws an error if the server also refuses a request without documents.
  ///
  /// Something between here and the server can refuse every request with the status 400. No document
  /// must be left out for that.
  private func checkAcceptsDocuments(
    or error: ReplicationError, _ isAccepting: inout Bool
  ) async throws {
    guard !isAccepting else { return }
    let target = CouchDBConnection.Target("POST", "_bulk_docs")
    let response = try await connection.send(
      target, .data(Data(#"{"new_edits":false,"docs":[]}"#.utf8)))
    if response.status == 400, !response.isPage { throw error }
    try await CouchDBConnection.check(response, of: target)
    guard !response.isPage else { throw CouchDBConnection.page(response, target) }
    isAccepting = true
  }

  private func refusal(_ answer: Value?, of id: String) -> ReplicationError {
    let error = answer?["error"]?.stringValue ?? "no reason"
    let reason = answer?["reason"]?.stringValue ?? ""
    return ReplicationError(.refused, "\(name) refuses the document “\(id)”: \(error), \(reason)")
  }

  private func resultOfPutting(
    _ revision: ReplicatedRevision, _ isAccepting: inout Bool
  ) async throws -> Result<Bool, any Error> {
    do {
      do {
        try await put(revision, knownGeneration: revision.knownAncestorGeneration)
      } catch let error as ReplicationError where error.status == 412 {
        // The server does not have the content after all.
        try await put(revision, knownGeneration: 0)
      }
      return .success(true)
    } catch let error as ReplicationError
      where [.refused, .forbidden, .unauthorized].contains(error.code) && error.status != nil
    {
      // Without a status, it is of a login. Also of a validation that wants another user. If the credentials are not valid at all, the
      // next request says so.
      if error.status == 400 { try await checkAcceptsDocuments(or: error, &isAccepting) }
      return .failure(error)
    } catch let error as DatabaseError where [.damaged, .notFound].contains(error.code) {
      return .failure(error)
    }
  }

  /// Sends a revision with its attachments, except those up to a generation that the server has.
  private func put(_ revision: ReplicatedRevision, knownGeneration: UInt64) async throws {
    // In the order of the JSON, by bytes: a server matches the parts by their order.
    let sent = revision.attachments.filter { $0.generation > knownGeneration }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    let members = CouchDBDocument.members(of: revision) { attachment, entry in
      if attachment.generation <= knownGeneration {
        entry["stub"] = true
      } else {
        entry["follows"] = true
        // The server computes its own, and would refuse another engine's. The content is not
        // encoded here, also if it came from a server that keeps it so.
        for name in ["digest", "encoding", "encoded_length"] { entry[name] = nil }
      }
    }
    let json = Value.object(members).json
    var target = CouchDBConnection.Target(
      "PUT", CouchDBConnection.encoded(revision.document.id), query: [("new_edits", "false")])
    guard !sent.isEmpty else {
      _ = try await CouchDBConnection.json(
        connection.send(target, .data(Data(json.utf8))), of: target, sizeLimit: 1 << 20)
      return
    }
    let file = MultipartFile.newURL()
    defer { try? FileManager.default.removeItem(at: file) }
    let boundary = UUID().uuidString
    try await MultipartFile.write(json, sent, boundary: boundary, to: file)
    target.headers["Content-Type"] = "multipart/related; boundary=\"\(boundary)\""
    let (progress, size) = (
      TransferProgress(of: sent), sent.reduce(0) { $0.saturatingSum($1.length) }
    )
    target.progress = { progress.report(total: min($0, size)) }
    do {
      _ = try await CouchDBConnection.json(
        connection.send(target, .file(file)), of: target, sizeLimit: 1 << 20)
    } catch {
      progress.report(total: 0)
      throw error
    }
  }
}
