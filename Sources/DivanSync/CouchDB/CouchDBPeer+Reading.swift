import Divan
import Foundation
import Synchronization

extension CouchDBPeer {
  /// Reads revisions with their histories; the content of attachments is sent when it is read.
  public func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    guard !lacksBulkGet.load(ordering: .relaxed) else {
      return [try await singleRevision(requests[requests.startIndex])]
    }
    // The sizes of the documents are not known before they are there, and one that is not JSON
    // makes the whole answer unreadable. So fewer are requested then.
    var count = min(requests.count, 200)
    while true {
      do {
        return try await bulkRevisions(
          requests.prefix(count),
          sizeLimit: count == 1
            ? Self.documentSizeLimit : 4 * min(sizeLimit, Self.documentSizeLimit))
      } catch let error as ReplicationError where [400, 404, 405].contains(error.status) {
        lacksBulkGet.store(true, ordering: .relaxed)
        return [try await singleRevision(requests[requests.startIndex])]
      } catch let error as ReplicationError where error.code == .invalidAnswer && count > 1 {
        count = max(1, count / 4)
      } catch let error as ReplicationError where error.code == .invalidAnswer {
        return [.failed(error)]
      }
    }
  }

  /// The size of a document as JSON: that of a stored one, with room for escapes.
  private static var documentSizeLimit: Int { 64 << 20 }

  private func bulkRevisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    let target = CouchDBConnection.Target(
      "POST", "_bulk_get", query: [("revs", "true"), ("attachments", "false")])
    let body: Value = [
      "docs": .array(
        requests.map { ["id": .string($0.id), "rev": .string($0.revision.description)] })
    ]
    let answer = try await connection.json(target, body, sizeLimit: sizeLimit)
    guard let results = answer["results"]?.arrayValue else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) has no results")
    }
    // Each request has a result of its own, in any order.
    var answers: [[UInt8]: RevisionAnswer] = [:]
    for result in results {
      for entry in result["docs"]?.arrayValue ?? [] {
        let members = entry["ok"] ?? entry["error"]
        guard let id = (members?["_id"] ?? members?["id"])?.stringValue,
          let revision = (members?["_rev"] ?? members?["rev"])?.stringValue
        else { continue }
        answers[Self.key(id, revision)] = try self.answer(entry)
      }
    }
    return requests.map { request in
      switch answers[Self.key(request.id, request.revision.description)] {
      case .found(var revision)?:
        revision.knownAncestors = request.knownAncestors
        return .found(revision)
      case let answer?: return answer
      case nil:
        return .failed(
          CouchDBDocument.invalid("the server did not answer for a revision", request.id))
      }
    }
  }

  /// The bytes of a document's ID and of a revision.
  ///
  /// Strings are equal if their characters are.
  private static func key(_ id: String, _ revision: String) -> [UInt8] {
    Array("\(revision) \(id)".utf8)
  }

  private func answer(_ entry: Value) throws -> RevisionAnswer {
    if let members = entry["ok"]?.objectValue {
      do {
        return .found(try revision(from: members))
      } catch {
        return .failed(error)
      }
    }
    let (code, reason) = (entry["error"]?["error"]?.stringValue ?? "", entry["error"]?["reason"])
    let message = "\(name) cannot return a revision: \(code), \(reason?.stringValue ?? "")"
    switch code {
    case "not_found": return .gone
    case "forbidden", "bad_request": return .failed(ReplicationError(.forbidden, message))
    default: throw ReplicationError(.busy, message)
    }
  }

  /// Reads a revision from a server without `_bulk_get`, or one that cannot be read together with
  /// others.
  private func singleRevision(_ request: RevisionRequest) async throws -> RevisionAnswer {
    let target = CouchDBConnection.Target(
      "GET", CouchDBConnection.encoded(request.id),
      query: [("rev", request.revision.description), ("revs", "true")])
    do {
      let answer = try await connection.json(target, sizeLimit: Self.documentSizeLimit)
      guard let members = answer.objectValue else {
        throw CouchDBDocument.invalid("the answer is not an object", request.id)
      }
      var revision = try revision(from: members)
      guard
        Self.key(revision.document.id, members["_rev"]?.stringValue ?? "")
          == Self.key(request.id, request.revision.description)
      else { throw CouchDBDocument.invalid("another revision was returned", request.id) }
      revision.knownAncestors = request.knownAncestors
      return .found(revision)
    } catch let error as ReplicationError where error.code == .notFound {
      return .gone
    } catch let error as ReplicationError
      where [.invalidAnswer, .forbidden, .refused].contains(error.code)
    {
      return .failed(error)
    }
  }

  private func revision(from members: Value.Object) throws -> ReplicatedRevision {
    let id = members["_id"]?.stringValue ?? ""
    let revision = members["_rev"]?.stringValue ?? ""
    return try CouchDBDocument.revision(from: members) { name, _ in
      .sent { [connection] in
        let target = CouchDBConnection.Target(
          "GET", CouchDBConnection.encoded(id), CouchDBConnection.encoded(name),
          query: [("rev", revision)])
        let response = try await connection.send(target)
        try await CouchDBConnection.check(response, of: target)
        return AttachmentBody(body: response.body)
      }
    }
  }
}

/// The content of an attachment that a peer sends.
private struct AttachmentBody: AsyncSequence {
  let body: HTTPBody

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: HTTPBody.AsyncIterator

    mutating func next() async throws -> Data? { try await base.next() }

    mutating func next(isolation: isolated (any Actor)?) async throws -> Data? {
      try await base.next()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator()) }
}
