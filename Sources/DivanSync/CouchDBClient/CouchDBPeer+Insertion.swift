import Divan
import Foundation

extension CouchDBPeer {
  /// Revisions that are sent in several requests.
  private struct Insertion {
    let revisions: [ReplicatedRevision]
    /// The results of those that were answered; nil for the others.
    var results: [Result<Bool, any Error>?]
    /// Whether the server is known to accept requests of this kind.
    var isAccepting = false

    init(_ revisions: [ReplicatedRevision]) {
      self.revisions = revisions
      results = Array(repeating: nil, count: revisions.count)
    }

    func id(_ index: Int) -> String { revisions[index].document.id }
  }

  private typealias Batch = ArraySlice<(index: Int, json: String)>

  /// Stores revisions.
  ///
  /// Those with attachments are sent one by one. If a request fails with an error that may pass, it
  /// is the result of the revisions that the server did not answer for, and the results of the
  /// others count. What the server stored of a request whose answer was lost is not known here: the
  /// next session asks for it before it sends anything.
  public func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    var insertion = Insertion(revisions)
    var interruption: any Error = ReplicationError(
      .invalidAnswer, "a revision was not answered for")
    do {
      try await send(&insertion)
    } catch let error where error.mayPass {
      interruption = error
    }
    return insertion.results.map { $0 ?? .failure(interruption) }
  }

  private func send(_ insertion: inout Insertion) async throws {
    var batch: [(index: Int, json: String)] = []
    var batchSize = 0
    for (index, revision) in insertion.revisions.enumerated() {
      guard revision.attachments.isEmpty else {
        let result = try await resultOfPutting(revision, &insertion)
        insertion.results[index] = result
        continue
      }
      let members = CouchDBDocument.members(of: revision) { _, _ in }
      let json = Value.object(members).json
      if !batch.isEmpty, batchSize + json.utf8.count > Self.bulkSizeLimit {
        try await send(batch[...], &insertion)
        (batch, batchSize) = ([], 0)
      }
      batch.append((index, json))
      batchSize += json.utf8.count
    }
    if !batch.isEmpty { try await send(batch[...], &insertion) }
  }

  /// The size of a bulk request in bytes; servers refuse larger ones than they are configured for.
  private static var bulkSizeLimit: Int { 4 << 20 }

  /// Sends documents without attachments; `isPart` if they were sent before with others, which the
  /// server stored.
  private func send(
    _ batch: Batch, _ insertion: inout Insertion, isPart: Bool = false
  ) async throws {
    let target = CouchDBConnection.Target("POST", "_bulk_docs")
    let body = "{\"new_edits\":false,\"docs\":[\(batch.map(\.json).joined(separator: ","))]}"
    let response = try await connection.send(target, .data(Data(body.utf8)))
    if let error = try await refusalOfOne(response, target, &insertion) {
      // One of the documents is too large or invalid, or lets the server fail, and none is stored.
      guard batch.count > 1 else {
        let index = batch[batch.startIndex].index
        insertion.results[index] = .failure(refusal(error, of: insertion.id(index)))
        return
      }
      return try await sendHalves(of: batch, &insertion, isPart: isPart)
    }
    let answer = try await CouchDBConnection.json(response, of: target, sizeLimit: 64 << 20)
    guard let entries = answer.arrayValue else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) is not an array")
    }
    var rows = entries.compactMap { RefusedRow($0) }
    // Sending a document again changes nothing.
    guard nameDocuments(of: &rows, batch, insertion) else {
      let isPart = isPart || rows.count < batch.count
      return try await sendHalves(of: batch, &insertion, isPart: isPart)
    }
    let failures = try failures(of: batch, in: rows, insertion, isPart: isPart)
    for (index, _) in batch { insertion.results[index] = .success(true) }
    for (index, error) in failures { insertion.results[index] = .failure(error) }
    if let interruption = failures.first(where: { $0.error.isTemporary }) {
      throw interruption.error
    }
  }

  private func sendHalves(
    of batch: Batch, _ insertion: inout Insertion, isPart: Bool
  ) async throws {
    let middle = batch.startIndex + batch.count / 2
    try await send(batch[..<middle], &insertion, isPart: isPart)
    try await send(batch[middle...], &insertion, isPart: isPart)
  }

  /// Gives the rows without an ID those of their documents, which are in the order of the batch.
  ///
  /// - Returns: Whether all have one. If there are fewer rows than documents, it is not known which
  ///   documents they are about.
  private func nameDocuments(
    of rows: inout [RefusedRow], _ batch: Batch, _ insertion: Insertion
  ) -> Bool {
    guard rows.contains(where: { $0.id == nil }) else { return true }
    let areAll = rows.count == batch.count && rows.allSatisfy { $0.id == nil }
    guard areAll || batch.count == 1 else { return false }
    for row in rows.indices where rows[row].id == nil {
      let document = batch[batch.startIndex + min(row, batch.count - 1)]
      rows[row].id = Array(insertion.id(document.index).utf8)
    }
    return true
  }

  /// Returns the errors of the revisions that a server did not store; it lists only these.
  ///
  /// An error that is not known is the server's and may pass if no document has another one.
  /// Otherwise it is an error of the document, which the next session sends again.
  private func failures(
    of batch: Batch, in rows: [RefusedRow], _ insertion: Insertion, isPart: Bool
  ) throws -> [(index: Int, error: ReplicationError)] {
    var refused: [Int: RefusedRow] = [:]
    for row in rows {
      let documents = batch.filter { index, _ in
        row.id == Array(insertion.id(index).utf8)
          && (row.revision == nil || row.revision == insertion.revisions[index].revision)
      }
      guard !documents.isEmpty else {
        guard row.isPermanent else { throw busy(row) }
        throw ReplicationError(.invalidAnswer, "\(name) refuses a document that was not sent")
      }
      for (index, _) in documents { refused[index] = row }
    }
    let isOfServer =
      !isPart && refused.count == batch.count && refused.values.allSatisfy { !$0.isPermanent }
    var failures: [(index: Int, error: ReplicationError)] = []
    for (index, _) in batch {
      guard let row = refused[index] else { continue }
      // A revision that is sent again was refused while the server stored others.
      let mayPass = isOfServer && !insertion.revisions[index].isRetry
      failures.append((index, mayPass ? busy(row) : refusal(row, of: insertion.id(index))))
    }
    return failures
  }

  private func busy(_ row: RefusedRow) -> ReplicationError {
    ReplicationError(.busy, "\(name) cannot store documents: \(row.code)")
  }

  /// Returns the error of a response that can be due to one of the documents of a request.
  ///
  /// - Returns: The error; nil if the response does not say that.
  /// - Throws: The error if a request without documents fails as well.
  private func refusalOfOne(
    _ response: HTTPResponse, _ target: CouchDBConnection.Target, _ insertion: inout Insertion
  ) async throws -> ReplicationError? {
    // Gateways answer with 502 to 504 for a server that is away.
    let isOfOne = [400, 500].contains(response.status) && !response.isPage
    guard response.status == 413 || isOfOne else { return nil }
    do {
      try await CouchDBConnection.check(response, of: target)
      return nil
    } catch let error as ReplicationError {
      if isOfOne { try await checkAcceptsDocuments(or: error, &insertion) }
      return error
    }
  }

  /// Returns the error of a document that was sent alone, for the error of its request.
  private func refusal(_ error: ReplicationError, of id: String) -> ReplicationError {
    guard error.isFailureOfServer else {
      let size = error.status == 413 ? ", which is too large" : ""
      return ReplicationError(
        .refused, "\(name) refuses the document “\(id)”\(size)", underlying: error)
    }
    var refusal = ReplicationError(
      .notStored, "\(name) fails to store the document “\(id)”", underlying: error)
    refusal.status = error.status
    return refusal
  }

  /// Throws an error if the server also refuses a request without documents, or fails.
  ///
  /// Something between here and the server can refuse every request with the status 400. No
  /// document must be left out for that, or because the server is away for a time.
  private func checkAcceptsDocuments(
    or error: ReplicationError, _ insertion: inout Insertion
  ) async throws {
    // A server that accepted documents may fail now.
    guard !insertion.isAccepting || error.isFailureOfServer else { return }
    let target = CouchDBConnection.Target("POST", "_bulk_docs")
    let response = try await connection.send(
      target, .data(Data(#"{"new_edits":false,"docs":[]}"#.utf8)))
    if response.status == 400, !response.isPage { throw error }
    try await CouchDBConnection.check(response, of: target)
    guard !response.isPage else { throw CouchDBConnection.page(response, target) }
    insertion.isAccepting = true
  }

  private func refusal(_ row: RefusedRow, of id: String) -> ReplicationError {
    let what = row.isPermanent ? "refuses" : "fails to store"
    return ReplicationError(
      row.isPermanent ? .refused : .notStored,
      "\(name) \(what) the document “\(id)”: \(row.code), \(row.reason)")
  }

  private func resultOfPutting(
    _ revision: ReplicatedRevision, _ insertion: inout Insertion
  ) async throws -> Result<Bool, any Error> {
    var delays = CouchDBConnection.retryDelays[...]
    while true {
      do {
        return try await resultOfOnePut(revision, &insertion)
      } catch let error as ReplicationError where error.isFailureOfServer {
        try await checkAcceptsDocuments(or: error, &insertion)
        guard let delay = delays.popFirst() else {
          return .failure(refusal(error, of: revision.document.id))
        }
        try await CouchDBConnection.wait(delay, after: error)
      }
    }
  }

  private func resultOfOnePut(
    _ revision: ReplicatedRevision, _ insertion: inout Insertion
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
      // Without a status, it is of a login. With one, it can be of a validation that wants another
      // user. If the credentials are not valid at all, the next request says so.
      if error.status == 400 { try await checkAcceptsDocuments(or: error, &insertion) }
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
