import Divan
import Foundation

extension DatabaseService {
  /// Answers a request for a document or, if there are more parts of the path, for an attachment.
  func document(
    _ id: String, attachment: ArraySlice<String>, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    guard attachment.isEmpty else {
      return try await self.attachment(attachment.joined(separator: "/"), of: id, call)
    }
    switch call.method {
    case "GET", "HEAD":
      if let wanted = call.query["open_revs"] {
        return try await openRevisions(wanted, of: id, call)
      }
      return try await revision(of: id, call)
    case "PUT":
      try requireWriting()
      return try await put(id, call)
    case "DELETE":
      try requireWriting()
      return try await delete(id, call)
    default:
      try call.allow("DELETE", "GET", "HEAD", "PUT")
      throw Self.notAnswered
    }
  }

  /// Answers with one revision: the winner, or the one that was asked for.
  private func revision(of id: String, _ call: ServiceCall) async throws -> HTTPResponse {
    var options = try DocumentOptions(call)
    if options.isInline, call.accepts("multipart/related") {
      (options.isInline, options.isFollowed) = (false, true)
    }
    let wanted = try call.query["rev"].map { try ServiceCall.revision($0) }
    let isLatest = try call.isOn("latest")
    let (chosen, limits) = (options, limits)
    let found = try await database.read { snapshot -> ServedDocument? in
      var revision = wanted
      if let wanted, isLatest {
        revision = try snapshot.leaves(above: wanted, of: id).first
      } else if wanted == nil {
        guard try snapshot.exists(id) else {
          let isDeleted = try snapshot.revision(of: id) != nil
          throw ServiceError(404, "not_found", isDeleted ? "deleted" : "missing")
        }
        revision = try snapshot.revision(of: id)
      }
      return try revision.flatMap { try snapshot.served($0, of: id, chosen, limits) }
    }
    guard let served = found else { throw ServiceError.missing }
    let tag = "\"\(served.revision)\""
    var headers = options.dependsOnTree ? [:] : ["etag": tag]
    if !options.dependsOnTree, call.hasCurrent(tag) {
      return HTTPResponse(status: 304, headers: headers)
    }
    let parts: [BodyPart]
    if served.following.isEmpty {
      var answer = AnswerParts()
      answer.append(served)
      answer.append("\n")
      parts = answer.parts
      headers["content-type"] = "application/json"
    } else {
      let boundary = MultipartBoundary()
      parts = boundary.related(served)
      headers["content-type"] = boundary.contentType("related")
    }
    headers["content-length"] = "\(parts.reduce(0) { $0 + $1.size })"
    return HTTPResponse(
      status: 200, headers: headers, body: try HTTPBody(parts, call.answerMemory))
  }

  // MARK: Several revisions

  /// Answers with some or all leaves, each read when it is sent.
  private func openRevisions(
    _ wanted: String, of id: String, _ call: ServiceCall
  ) async throws -> HTTPResponse {
    var options = try DocumentOptions(call)
    let isMultipart = call.accepts("multipart/mixed")
    if isMultipart { (options.isInline, options.isFollowed) = (false, true) }
    let listed = wanted == "all" ? nil : try call.revisions("open_revs")
    let isLatest = try call.isOn("latest")
    let revisions = try await database.read { snapshot -> [RevisionID] in
      guard let listed else { return try snapshot.leafRevisions(of: id).map(\.id) }
      guard isLatest else { return listed }
      var seen: Set<RevisionID> = []
      return try listed.flatMap { revision in
        let leaves = try snapshot.leaves(above: revision, of: id)
        return leaves.isEmpty ? [revision] : leaves
      }.filter { seen.insert($0).inserted }
    }
    guard listed != nil || !revisions.isEmpty else { throw ServiceError.missing }
    let stream = OpenRevisions(
      service: self, id: id, options: options, rest: revisions[...],
      boundary: isMultipart ? MultipartBoundary() : nil)
    let type = stream.boundary?.contentType("mixed") ?? "application/json"
    return HTTPResponse(
      status: 200, headers: ["content-type": type],
      body: HTTPBody(call.answerMemory) {
        var stream = stream
        return { try await stream.next() }
      })
  }
}

/// The revisions of a document, as an array of JSON or as multipart.
private struct OpenRevisions: Sendable {
  let service: DatabaseService
  let id: String
  let options: DocumentOptions
  var rest: ArraySlice<RevisionID>
  /// The boundary of multipart.
  let boundary: MultipartBoundary?
  private var isStarted = false
  private var isEnded = false

  init(
    service: DatabaseService, id: String, options: DocumentOptions, rest: ArraySlice<RevisionID>,
    boundary: MultipartBoundary?
  ) {
    self.service = service
    self.id = id
    self.options = options
    self.rest = rest
    self.boundary = boundary
  }

  /// Returns the parts of the next revision; nil at the end.
  mutating func next() async throws -> [BodyPart]? {
    guard !isEnded else { return nil }
    let isFirst = !isStarted
    isStarted = true
    guard let revision = rest.popFirst() else {
      isEnded = true
      if let boundary { return [.text((isFirst ? "" : "\r\n") + "--\(boundary.text)--")] }
      return [.text(isFirst ? "[]\n" : "]\n")]
    }
    let (id, options, limits) = (id, options, service.limits)
    let served = try await service.database.read {
      try $0.served(revision, of: id, options, limits)
    }
    guard let boundary else {
      var answer = AnswerParts(isFirst ? "[" : ",")
      if let served {
        answer.append("{\"ok\":")
        answer.append(served)
        answer.append("}")
      } else {
        answer.append("{\"missing\":\"\(revision)\"}")
      }
      return answer.parts
    }
    let start = (isFirst ? "" : "\r\n") + "--\(boundary.text)\r\nContent-Type: "
    guard let served else {
      return [
        .text(
          start + "application/json; error=\"true\"\r\n\r\n{\"missing\":\"\(revision)\"}")
      ]
    }
    guard !served.following.isEmpty else {
      return [.text(start + "application/json\r\n\r\n" + Value.object(served.members).json)]
    }
    let inner = MultipartBoundary()
    return [.text(start + inner.contentType("related") + "\r\n\r\n")] + inner.related(served)
  }
}
