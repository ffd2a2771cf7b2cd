import Divan
import Foundation

extension DatabaseService {
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
      body: HTTPBody(call.answerMemory) {
        var rest = docs[...]
        var start = AnswerParts("{\"results\":[")
        var isEnded = false
        return {
          guard !isEnded else { return nil }
          let asked = rest
          let (results, count) = try await service.database.read { snapshot in
            try service.results(asked, options, isLatest: isLatest, snapshot)
          }
          rest = rest.dropFirst(count)
          isEnded = rest.isEmpty
          var answer = start
          start = AnswerParts(",")
          answer.append(results)
          if isEnded { answer.append("]}\n") }
          return answer.parts
        }
      })
  }

  /// How many bytes of results are made at once, about.
  private static var resultSize: Int { 256 << 10 }

  /// Returns the first results, and their number.
  private func results(
    _ entries: ArraySlice<Value>, _ options: DocumentOptions, isLatest: Bool, _ snapshot: Snapshot
  ) throws -> (AnswerParts, Int) {
    var results = AnswerParts()
    var count = 0
    for entry in entries where results.size < Self.resultSize {
      let id = entry["id"]?.stringValue ?? ""
      var docs = AnswerParts()
      func fail(_ error: ServiceError, _ revision: Value) {
        var body = error.body.objectValue ?? [:]
        body["id"] = .string(id)
        body["rev"] = revision
        docs.append((docs.isEmpty ? "" : ",") + Value.object(["error": .object(body)]).json)
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
            docs.append((docs.isEmpty ? "" : ",") + "{\"ok\":")
            docs.append(served)
            docs.append("}")
          } catch let error where !error.concernsAllRevisions {
            fail(ServiceError(error), .string(revision.description))
          }
        }
      } catch let error where !error.concernsAllRevisions {
        fail(ServiceError(error), entry["rev"] ?? "undefined")
      }
      results.append((count > 0 ? "," : "") + "{\"id\":\(Value.string(id).json),\"docs\":[")
      results.append(docs)
      results.append("]}")
      count += 1
    }
    return (results, count)
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
