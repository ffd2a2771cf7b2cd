import Divan
import Foundation

extension DatabaseService {
  /// Answers a request for one attachment of a document.
  func attachment(
    _ attachmentName: String, of id: String, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    switch call.method {
    case "GET", "HEAD": return try await content(of: attachmentName, id, call)
    case "PUT":
      try requireWriting()
      return try await storeAttachment(attachmentName, of: id, call)
    case "DELETE":
      try requireWriting()
      let revision = try call.givenRevision()
      let stored = try await database.write { transaction in
        try transaction.changed(id, revision) { document in
          guard document.attachments.removeValue(forKey: attachmentName) != nil else {
            throw ServiceError(404, "not_found", "Document is missing attachment")
          }
        }
      }
      return answer(stored, status: 200)
    default:
      try call.allow("DELETE", "GET", "HEAD", "PUT")
      throw Self.notAnswered
    }
  }

  private func answer(_ stored: Document, status: Int) -> HTTPResponse {
    .json(
      status,
      [
        "ok": true, "id": .string(stored.id),
        "rev": .string(stored.revision?.description ?? ""),
      ])
  }

  // MARK: Reading

  private func content(
    of attachmentName: String, _ id: String, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    let wanted = try call.query["rev"].map { try ServiceCall.revision($0) }
    let attachment = try await database.read { snapshot in
      let document =
        try wanted.map { try snapshot.revision($0, of: id) } ?? snapshot.document(id)
      guard let document else { throw ServiceError.missing }
      return document.attachments[attachmentName]
    }
    guard let attachment else {
      throw ServiceError(404, "not_found", "Document is missing attachment")
    }
    let tag = "\"\(attachment.digest ?? "")\""
    var headers = ["etag": tag, "accept-ranges": "bytes"]
    guard !call.hasCurrent(tag) else { return HTTPResponse(status: 304, headers: headers) }
    headers["content-type"] = attachment.headerContentType
    // What a user has attached is no page of this server, so it may not run with its cookies.
    headers["content-security-policy"] = "sandbox"
    headers["x-content-type-options"] = "nosniff"
    let range = try Self.range(of: call, attachment.length)
    headers["content-length"] = "\(range?.count ?? attachment.length)"
    if let range {
      headers["content-range"] =
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(attachment.length)"
    }
    return HTTPResponse(
      status: range == nil ? 200 : 206, headers: headers,
      body: try await body(of: attachment, range, call))
  }

  /// Returns the content of an attachment, which is read while it is sent.
  ///
  /// If it is damaged, the answer can only be cut, which clients take for a lost connection: a
  /// replication would never get past it. So content that was cut before is read once before it is
  /// sent, while an error can still take its place.
  private func body(
    of attachment: Document.Attachment, _ range: Range<Int>?, _ call: ServiceCall
  ) async throws -> HTTPBody {
    let (state, digest) = (state, attachment.digest ?? "")
    if state.hasFoundDamage(of: digest) {
      for try await _ in attachment.asyncPieces(range) {}
    }
    let content = try HTTPBody([.attachment(attachment, range)], call.answerMemory)
    return HTTPBody {
      let pieces = content.makeAsyncIterator()
      return {
        do {
          return try await pieces.next()
        } catch let error as DatabaseError where error.code == .damaged {
          state.noteDamage(of: digest)
          throw error
        }
      }
    }
  }

  /// Returns the range that a request asks for; nil for all, also if there are several ranges.
  private static func range(of call: ServiceCall, _ length: Int) throws -> Range<Int>? {
    guard let header = call.headers["range"], header.hasPrefix("bytes="), !header.contains(",")
    else { return nil }
    let bounds = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { digits.contains($0) } })
    else {
      return nil
    }
    let unsatisfiable = ServiceError(
      416, "requested_range_not_satisfiable", "Requested range not satisfiable",
      headers: ["content-range": "bytes */\(length)"])
    switch (Int(bounds[0]), Int(bounds[1])) {
    case (let first?, let last) where first < length && first <= last ?? .max:
      return first..<(min(length - 1, last ?? .max) + 1)
    case (nil, let count?) where bounds[0].isEmpty && count > 0 && length > 0:
      return max(0, length - count)..<length
    case (nil, nil): return nil
    default: throw unsatisfiable
    }
  }

  // MARK: Writing

  /// Stores the body as an attachment, as it arrives, and a new revision that has it.
  private func storeAttachment(
    _ attachmentName: String, of id: String, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    guard call.headers["content-encoding"].map({ $0 == "identity" }) ?? true else {
      throw ServiceError(
        415, "bad_content_type", "Attachments with a Content-Encoding are not stored here.")
    }
    let tooLarge = ServiceError(413, "attachment_too_large", attachmentName)
    if let length = call.headers["content-length"].flatMap({ Int($0) }),
      length > limits.attachmentSize
    {
      throw tooLarge
    }
    let revision = try call.givenRevision()
    // A request that comes too late need not be stored first.
    try await database.read { try $0.checkCurrent(id, revision) }
    let attachment = try await database.storeAttachment(
      contentType: call.headers["content-type"] ?? "application/octet-stream",
      pieces: LimitedPieces(base: call.body, rest: limits.attachmentSize, failure: tooLarge))
    let stored = try await database.write { transaction in
      try transaction.changed(id, revision) { $0.attachments[attachmentName] = attachment }
    }
    var response = answer(stored, status: 201)
    response.headers["location"] = location(id, attachmentName)
    return response
  }
}

extension Snapshot {
  /// Throws if a change of a revision would be a conflict.
  fileprivate func checkCurrent(_ id: String, _ revision: RevisionID?) throws {
    if let revision {
      guard try leafRevisions(of: id).contains(where: { $0.id == revision }) else {
        throw ServiceError.conflict
      }
    } else if try exists(id) {
      throw ServiceError.conflict
    }
  }
}

extension WriteTransaction {
  /// Changes a revision, or a new document if there is none.
  fileprivate func changed(
    _ id: String, _ revision: RevisionID?, _ change: (inout Document) throws -> Void
  ) throws -> Document {
    var document = Document(id: id)
    if let revision {
      guard let stored = try self.revision(revision, of: id) else {
        throw try self.revision(of: id) == nil ? ServiceError.missing : ServiceError.conflict
      }
      document = stored
    }
    try change(&document)
    return try put(document)
  }
}

/// A body that may have so many bytes.
private struct LimitedPieces: AsyncSequence {
  let base: HTTPBody
  let rest: Int
  let failure: ServiceError

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: HTTPBody.AsyncIterator
    var rest: Int
    let failure: ServiceError

    mutating func next() async throws -> Data? {
      guard let piece = try await base.next() else { return nil }
      rest -= piece.count
      guard rest >= 0 else { throw failure }
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), rest: rest, failure: failure)
  }
}
