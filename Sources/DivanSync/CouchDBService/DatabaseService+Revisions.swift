import Divan
import Foundation

extension DatabaseService {
  /// Answers with revisions of many documents, which are read while they are sent.
  func bulkGet(_ call: ServiceCall) async throws -> HTTPResponse {
    guard let docs = try await call.json()["docs"]?.arrayValue else {
      throw ServiceError.badRequest("Missing JSON list of 'docs'.")
    }
    let results = BulkResults(
      service: self, options: try DocumentOptions(call), isLatest: try call.isOn("latest"), docs)
    return HTTPResponse(
      status: 200, headers: ["content-type": "application/json"],
      body: HTTPBody(call.answerMemory) {
        var results = results
        return {
          guard !results.isEnded else { return nil }
          let current = results
          let (answer, next) = try await current.service.database.read { snapshot in
            var results = current
            return (try results.next(in: snapshot), results)
          }
          results = next
          return answer.parts
        }
      })
  }
}

/// The results of `_bulk_get`, some revisions at a time.
private struct BulkResults: Sendable {
  /// What was asked about one document, and the revisions that were not read yet.
  private struct Entry: Sendable {
    let id: String
    var options: DocumentOptions
    var revisions: ArraySlice<RevisionID>
    var hasDocuments = false
  }

  let service: DatabaseService
  private let options: DocumentOptions
  private let isLatest: Bool
  private var rest: ArraySlice<Value>
  private var entry: Entry?
  private var isStarted = false
  private(set) var isEnded = false

  init(
    service: DatabaseService, options: DocumentOptions, isLatest: Bool, _ entries: [Value]
  ) {
    self.service = service
    self.options = options
    self.isLatest = isLatest
    rest = entries[...]
  }

  /// Returns the next revisions.
  mutating func next(in snapshot: Snapshot) throws -> AnswerParts {
    var answer = AnswerParts(isStarted ? "" : "{\"results\":[")
    var batch = AnswerBatch()
    while !isEnded, batch.begin() {
      let part = try nextPart(in: snapshot)
      batch.add(part)
      answer.append(part)
    }
    return answer
  }

  /// Returns the beginning or the end of an entry, or one of its revisions.
  private mutating func nextPart(in snapshot: Snapshot) throws -> AnswerParts {
    if var entry {
      guard let revision = entry.revisions.popFirst() else {
        self.entry = nil
        return AnswerParts("]}")
      }
      var part = AnswerParts(entry.hasDocuments ? "," : "")
      part.append(try result(revision, entry, snapshot))
      entry.hasDocuments = true
      self.entry = entry
      return part
    }
    guard let asked = rest.popFirst() else {
      isEnded = true
      return AnswerParts("]}\n")
    }
    let id = asked["id"]?.stringValue ?? ""
    var part = AnswerParts((isStarted ? "," : "") + "{\"id\":\(Value.string(id).json),\"docs\":[")
    isStarted = true
    var entry = Entry(id: id, options: options, revisions: [])
    do {
      entry.revisions = try revisions(for: asked, id, snapshot)[...]
      if let known = asked["atts_since"]?.arrayValue {
        entry.options.knownRevisions = known.compactMap {
          $0.stringValue.flatMap { RevisionID($0) }
        }
      }
    } catch let error where !error.concernsAllRevisions {
      part.append(Self.failure(ServiceError(error), id, asked["rev"] ?? "undefined"))
    }
    self.entry = entry
    return part
  }

  private func result(
    _ revision: RevisionID, _ entry: Entry, _ snapshot: Snapshot
  ) throws -> AnswerParts {
    do {
      let served = try snapshot.served(revision, of: entry.id, entry.options, service.limits)
      guard let served else { throw ServiceError.missing }
      var result = AnswerParts("{\"ok\":")
      result.append(served)
      result.append("}")
      return result
    } catch let error where !error.concernsAllRevisions {
      let text = Self.failure(ServiceError(error), entry.id, .string(revision.description))
      return AnswerParts(text)
    }
  }

  private static func failure(_ error: ServiceError, _ id: String, _ revision: Value) -> String {
    var body = error.body.objectValue ?? [:]
    body["id"] = .string(id)
    body["rev"] = revision
    return Value.object(["error": .object(body)]).json
  }

  /// Returns the revisions that an entry asks for: all leaves if it names none.
  private func revisions(
    for entry: Value, _ id: String, _ snapshot: Snapshot
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
