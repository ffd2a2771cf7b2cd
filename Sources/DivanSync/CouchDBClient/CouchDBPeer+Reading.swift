import Divan
import Foundation
import Synchronization

extension CouchDBPeer {
  /// Reads revisions with their histories; the content of attachments is sent when it is read.
  public func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    guard !lacksBulkGet.load(ordering: .relaxed) else {
      return try await openRevisions(requests, sizeLimit: sizeLimit)
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
        return try await openRevisions(requests, sizeLimit: sizeLimit)
      } catch let error as ReplicationError where error.code == .invalidAnswer && count > 1 {
        count = max(1, count / 4)
      } catch let error as ReplicationError where error.code == .invalidAnswer {
        return [.failed(error)]
      }
    }
  }

  /// The size of a document as JSON: that of a stored one, with room for escapes.
  static var documentSizeLimit: Int { 64 << 20 }

  /// The parameters of a request for documents.
  ///
  /// Attachments that the server keeps compressed say so: their digest is that of compressed bytes.
  static var documentQuery: [(String, String)] {
    [("revs", "true"), ("attachments", "false"), ("att_encoding_info", "true")]
  }

  private func bulkRevisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    let target = CouchDBConnection.Target(
      "POST", "_bulk_get", query: Self.documentQuery)
    let body: Value = [
      "docs": .array(
        requests.map { ["id": .string($0.id), "rev": .string($0.revision.description)] })
    ]
    let answer = try await connection.json(target, body, sizeLimit: sizeLimit)
    guard let results = answer["results"]?.arrayValue else {
      throw ReplicationError(.invalidAnswer, "the answer to \(target.name) has no results")
    }
    // Each request has a result of its own, in any order.
    return try answers(to: requests, in: results.flatMap { $0["docs"]?.arrayValue ?? [] })
  }

  /// Finds the answer to each request among entries in any order.
  func answers(
    to requests: ArraySlice<RevisionRequest>, in entries: [Value]
  ) throws -> [RevisionAnswer] {
    var answers: [[UInt8]: RevisionAnswer] = [:]
    for entry in entries {
      let members = entry["ok"] ?? entry["error"]
      guard let id = (members?["_id"] ?? members?["id"])?.stringValue,
        let revision = (members?["_rev"] ?? members?["rev"])?.stringValue
      else { continue }
      answers[Self.key(id, revision)] = try answer(entry)
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
    case "damaged": return .failed(ReplicationError(.refused, message))
    default: throw ReplicationError(.busy, message)
    }
  }

  private func revision(from members: Value.Object) throws -> ReplicatedRevision {
    let id = members["_id"]?.stringValue ?? ""
    let revision = members["_rev"]?.stringValue ?? ""
    return try CouchDBDocument.revision(from: members) { name, entry in
      let isPage = entry["content_type"]?.stringValue?.lowercased().contains("html") == true
      return .sent { [connection] in
        let target = CouchDBConnection.Target(
          "GET", CouchDBConnection.encoded(id), CouchDBConnection.encoded(name),
          query: [("rev", revision)])
        return AttachmentBody(
          body: try await connection.attachment(target, isPage: isPage))
      }
    }
  }
}
