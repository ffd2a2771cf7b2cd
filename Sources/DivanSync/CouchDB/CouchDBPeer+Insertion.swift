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
    for (index, revision) in revisions.enumerated() {
      guard revision.attachments.isEmpty else {
        results[index] = try await resultOfPutting(revision)
        continue
      }
      let members = CouchDBDocument.members(of: revision) { _, _ in }
      let json = Value.object(members).json
      if !batch.isEmpty, batchSize + json.utf8.count > Self.bulkSizeLimit {
        try await insert(batch[...], revisions, &results)
        (batch, batchSize) = ([], 0)
      }
      batch.append((index, json))
      batchSize += json.utf8.count
    }
    if !batch.isEmpty { try await insert(batch[...], revisions, &results) }
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
    _ results: inout [Result<Bool, any Error>]
  ) async throws {
    let target = CouchDBConnection.Target("POST", "_bulk_docs")
    let body = "{\"new_edits\":false,\"docs\":[\(batch.map(\.json).joined(separator: ","))]}"
    let response = try await connection.send(target, .data(Data(body.utf8)))
    if response.status == 413 {
      // One document is too large, and all are refused.
      guard batch.count > 1 else {
        let index = batch[batch.startIndex].index
        results[index] = .failure(
          ReplicationError(
            .refused,
            "\(name) refuses the document “\(revisions[index].document.id)”: it is too large"))
        return
      }
      let middle = batch.startIndex + batch.count / 2
      try await insert(batch[..<middle], revisions, &results)
      try await insert(batch[middle...], revisions, &results)
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

  private func refusal(_ answer: Value?, of id: String) -> ReplicationError {
    let error = answer?["error"]?.stringValue ?? "no reason"
    let reason = answer?["reason"]?.stringValue ?? ""
    return ReplicationError(.refused, "\(name) refuses the document “\(id)”: \(error), \(reason)")
  }

  private func resultOfPutting(
    _ revision: ReplicatedRevision
  ) async throws -> Result<Bool, any Error> {
    do {
      do {
        try await put(revision, knownGeneration: revision.knownGeneration)
      } catch let error as ReplicationError where error.status == 412 {
        // The server does not have the content after all.
        try await put(revision, knownGeneration: 0)
      }
      return .success(true)
    } catch let error as ReplicationError
      where [.refused, .forbidden, .unauthorized].contains(error.code)
    {
      // Also of a validation that wants another user. If the credentials are not valid at all, the
      // next request says so.
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
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let boundary = UUID().uuidString
    try await MultipartFile.write(json, sent, boundary: boundary, to: file)
    target.headers["Content-Type"] = "multipart/related; boundary=\"\(boundary)\""
    _ = try await CouchDBConnection.json(
      connection.send(target, .file(file)), of: target, sizeLimit: 1 << 20)
  }
}

extension ReplicatedRevision {
  /// The generation of the newest ancestor that the receiver has.
  ///
  /// It has the attachments that were added up to then, since they are still in this revision.
  fileprivate var knownGeneration: UInt64 {
    let known = Set(knownAncestors)
    return history.dropFirst().first { known.contains($0) }?.generation ?? 0
  }
}

/// A file with the body of a request that has a document and attachments.
private enum MultipartFile {
  /// Writes `multipart/related`: the JSON, and the attachments in the order of their names.
  static func write(
    _ json: String, _ attachments: [ReplicatedAttachment], boundary: String, to file: URL
  ) async throws {
    guard
      FileManager.default.createFile(
        atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw ReplicationError(.busy, "a temporary file cannot be made at \(file.path)")
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    func write(_ text: String) throws { try handle.write(contentsOf: Data(text.utf8)) }
    try write("--\(boundary)\r\nContent-Type: application/json\r\n\r\n\(json)")
    for attachment in attachments {
      let name = CouchDBConnection.encoded(attachment.name)
      try write(
        """
        \r\n--\(boundary)\r
        Content-Disposition: attachment; filename="\(name)"\r
        Content-Length: \(attachment.length)\r\n\r\n
        """)
      switch attachment.content {
      case .stored(let stored):
        for try await piece in stored.asyncPieces() { try handle.write(contentsOf: piece) }
      case .sent(let open):
        var pieces = try await open().makeAsyncIterator()
        while let piece = try await pieces.next(isolation: nil) {
          try handle.write(contentsOf: piece)
        }
      case .known:
        throw ReplicationError(.refused, "an attachment has no content to send")
      }
    }
    try write("\r\n--\(boundary)--")
  }
}
