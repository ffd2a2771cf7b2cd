import Divan
import Foundation

extension DatabaseService {
  /// Answers which of the offered revisions are missing here.
  func missingRevisions(_ call: ServiceCall, isOldForm: Bool) async throws -> HTTPResponse {
    // IDs of one string in Swift may differ in their bytes, so they go into several dictionaries.
    var offered: [[String: [RevisionID]]] = [[:]]
    for (id, revisions) in try await call.jsonObject() {
      guard let list = revisions.arrayValue else {
        throw ServiceError.badRequest("The revisions of a document must be a list.")
      }
      let index = offered.firstIndex { $0[id] == nil } ?? offered.count
      if index == offered.count { offered.append([:]) }
      offered[index][id] = try list.map { try ServiceCall.revision($0.stringValue) }
    }
    var answer: Value.Object = [:]
    for part in offered where !part.isEmpty {
      for (id, missing) in try await peer.missingRevisions(among: part) {
        guard !isOldForm else {
          answer[id] = Self.list(missing.missing)
          continue
        }
        var entry: Value.Object = ["missing": Self.list(missing.missing)]
        if !missing.possibleAncestors.isEmpty {
          entry["possible_ancestors"] = Self.list(missing.possibleAncestors)
        }
        answer[id] = .object(entry)
      }
    }
    return .json(200, .object(isOldForm ? ["missing_revs": .object(answer)] : answer))
  }

  private static func list(_ revisions: [RevisionID]) -> Value {
    .array(revisions.map { .string($0.description) })
  }

  // MARK: Many revisions at once

  /// Answers with revisions of many documents, which are read while they are sent.
  func bulkGet(_ call: ServiceCall) async throws -> HTTPResponse {
    guard let docs = try await call.json()["docs"]?.arrayValue else {
      throw ServiceError.badRequest("Missing JSON list of 'docs'.")
    }
    let options = try DocumentOptions(call)
    let isLatest = try call.isOn("latest")
    let service = self
    return HTTPResponse(
      status: 200, headers: ["content-type": "application/json"],
      body: HTTPBody(parts: {
        var rest = docs[...]
        var start = "{\"results\":["
        var isEnded = false
        return {
          guard !isEnded else { return nil }
          let asked = rest
          let (text, count) = try await service.database.read { snapshot in
            try service.results(asked, options, isLatest: isLatest, snapshot)
          }
          rest = rest.dropFirst(count)
          isEnded = rest.isEmpty
          defer { start = "," }
          return [.text((count > 0 ? start + text : start) + (isEnded ? "]}\n" : ""))]
        }
      }))
  }

  /// How many bytes of results are made at once, about.
  private static var resultSize: Int { 256 << 10 }

  /// Returns the JSON of the first results, and their number.
  private func results(
    _ entries: ArraySlice<Value>, _ options: DocumentOptions, isLatest: Bool, _ snapshot: Snapshot
  ) throws -> (String, Int) {
    var text = ""
    var count = 0
    for entry in entries where text.utf8.count < Self.resultSize {
      let id = entry["id"]?.stringValue ?? ""
      var docs: [String] = []
      func fail(_ error: ServiceError, _ revision: Value) {
        var body = error.body.objectValue ?? [:]
        body["id"] = .string(id)
        body["rev"] = revision
        docs.append(Value.object(["error": .object(body)]).json)
      }
      do {
        for revision in try revisions(for: entry, id, isLatest: isLatest, snapshot) {
          do {
            var options = options
            if let known = entry["atts_since"]?.arrayValue {
              options.knownRevisions = known.compactMap {
                $0.stringValue.flatMap { RevisionID($0) }
              }
            }
            guard let served = try snapshot.served(revision, of: id, options, limits) else {
              throw ServiceError.missing
            }
            docs.append("{\"ok\":\(Value.object(served.members).json)}")
          } catch let error where !error.concernsAllRevisions {
            fail(ServiceError(error), .string(revision.description))
          }
        }
      } catch let error where !error.concernsAllRevisions {
        fail(ServiceError(error), entry["rev"] ?? "undefined")
      }
      if count > 0 { text += "," }
      text += "{\"id\":\(Value.string(id).json),\"docs\":[\(docs.joined(separator: ","))]}"
      count += 1
    }
    return (text, count)
  }

  /// Returns the revisions that an entry asks for: all leaves if it names none.
  private func revisions(
    for entry: Value, _ id: String, isLatest: Bool, _ snapshot: Snapshot
  ) throws -> [RevisionID] {
    guard let text = entry["rev"] else {
      let leaves = try snapshot.leafRevisions(of: id).map(\.id)
      guard !leaves.isEmpty else { throw ServiceError.missing }
      return leaves
    }
    let revision = try ServiceCall.revision(text.stringValue)
    guard isLatest else { return [revision] }
    let leaves = try snapshot.leaves(above: revision, of: id)
    return leaves.isEmpty ? [revision] : leaves
  }
}

extension Error {
  /// Whether the database as a whole cannot be read.
  fileprivate var concernsAllRevisions: Bool {
    guard let error = self as? DatabaseError else { return !(self is ServiceError) }
    return [.closed, .suspended, .cancelled].contains(error.code)
  }
}
