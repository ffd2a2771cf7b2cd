import Divan
import DivanSync
import Foundation

/// Reads the answers of a server in CouchDB's protocol.
///
/// The first byte of an input selects the question, the second one the status and the pieces, and
/// the rest is the body of each answer.
enum FuzzAnswers {
  private enum Question: Int, CaseIterable {
    case changes, revisions, difference, log, insertion
  }

  private static let statuses = [200, 200, 201, 400, 404, 412, 413, 500]

  /// Checks that an answer is read in one way, whatever its pieces are, or is an error of a
  /// replication; and that what was read is the same when it is written and read again.
  static func read(_ input: [UInt8]) throws {
    guard input.count >= 2 else { return }
    let question = Question.allCases[Int(input[0]) % Question.allCases.count]
    let status = statuses[Int(input[1]) % statuses.count]
    let body = Array(input.dropFirst(2))
    let whole = try OneThread.run { try await ask(question, status, body, seed: 0) }
    let inPieces = try OneThread.run {
      try await ask(question, status, body, seed: 1 + UInt64(input[1]))
    }
    try expect(whole.text == inPieces.text, "\(whole.text) and, in pieces, \(inPieces.text)")
    guard let written = whole.written else { return }
    let again = try OneThread.run { try await ask(question, 200, Array(written.utf8), seed: 0) }
    try expect(
      again.text == whole.text, "\(whole.text) and, when written again, \(again.text)")
  }

  /// What was read, and how it is written; nil if it is not to be written.
  private struct Reading: Sendable {
    var text: String
    var written: String?
  }

  private struct Transport: HTTPTransport {
    let status: Int
    let body: FuzzedBody

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      HTTPResponse(
        status: status, headers: ["content-type": "application/json"], body: body.body)
    }
  }

  private static let requests: [RevisionRequest] = [
    ("a", "1-00000000000000000000000000000001"), ("b", "2-00000000000000000000000000000002"),
    ("é", "1-1"),
  ].compactMap { id, text in RevisionID(text).map { RevisionRequest(id: id, revision: $0) } }

  private static func ask(
    _ question: Question, _ status: Int, _ body: [UInt8], seed: UInt64
  ) async throws -> Reading {
    guard let url = URL(string: "http://localhost/db") else { return Reading(text: "") }
    let peer = CouchDBPeer(
      url: url, transport: Transport(status: status, body: FuzzedBody(bytes: body, seed: seed)))
    do {
      switch question {
      case .changes:
        return reading(try await peer.changes(since: nil, limit: 10, filter: .all))
      case .revisions:
        return try reading(try await peer.revisions(requests[...], sizeLimit: 1 << 20))
      case .difference:
        let offered = Dictionary(
          requests.map { ($0.id, [$0.revision]) }, uniquingKeysWith: { $0 + $1 })
        return reading(try await peer.missingRevisions(among: offered))
      case .log:
        guard let log = try await peer.replicationLog("log") else { return Reading(text: "none") }
        return Reading(text: "\(log)", written: Value.object(log.properties).json)
      case .insertion:
        let revisions = requests.map {
          ReplicatedRevision(Document(id: $0.id), history: [$0.revision], isDeleted: false)
        }
        let results = try await peer.insert(revisions, from: "here")
        try expect(results.count == revisions.count, "\(results.count) results")
        return Reading(text: "\(results.map { (try? $0.get()) })")
      }
    } catch let error as ReplicationError {
      return Reading(text: "\(error.code)")
    }
  }
}

// MARK: What was read

extension FuzzAnswers {
  private static func reading(_ changes: ReplicationChanges) -> Reading {
    let rows: [Value] = changes.changes.map { change in
      [
        "id": .string(change.id), "seq": 1,
        "changes": .array(change.leaves.map { ["rev": .string($0.description)] }),
      ]
    }
    var answer: Value.Object = ["results": .array(rows)]
    answer["last_seq"] = changes.position?.value
    if let count = changes.followingCount { answer["pending"] = .int(Int64(count)) }
    let json = Value.object(answer).json
    let text = "\(json) \(changes.isEnd) \(changes.unreadable.count)"
    return Reading(text: text, written: changes.unreadable.isEmpty ? json : nil)
  }

  private static func reading(_ missing: [String: MissingRevisions]) -> Reading {
    var answer: Value.Object = [:]
    for (id, entry) in missing {
      func list(_ revisions: [RevisionID]) -> Value {
        .array(revisions.map { .string($0.description) })
      }
      answer[id] = [
        "missing": list(entry.missing), "possible_ancestors": list(entry.possibleAncestors),
      ]
    }
    let json = Value.object(answer).json
    return Reading(text: json, written: json)
  }

  private static func reading(_ answers: [RevisionAnswer]) throws -> Reading {
    try expect(
      !answers.isEmpty && answers.count <= requests.count, "\(answers.count) answers")
    var texts: [String] = []
    var results: [Value] = []
    for (request, answer) in zip(requests, answers) {
      let result: Value
      switch answer {
      case .found(let revision):
        try expect(
          Array(revision.document.id.utf8) == Array(request.id.utf8),
          "\(revision.document.id) for \(request.id)")
        try expect(!revision.history.isEmpty, "a revision without a history")
        result = ["ok": .object(members(of: revision, request))]
        texts.append(result.json)
      case .gone:
        texts.append("gone")
        result = error("not_found", request)
      case .failed:
        texts.append("failed")
        result = error("forbidden", request)
      }
      results.append(["id": .string(request.id), "docs": [result]])
    }
    // Fewer answers than requests are those of single documents, which are written otherwise.
    let written: Value? =
      answers.count == requests.count ? ["results": .array(results)] : nil
    return Reading(text: texts.joined(separator: " "), written: written?.json)
  }

  private static func error(_ code: String, _ request: RevisionRequest) -> Value {
    [
      "error": [
        "id": .string(request.id), "rev": .string(request.revision.description),
        "error": .string(code), "reason": "",
      ]
    ]
  }

  private static func members(
    of revision: ReplicatedRevision, _ request: RevisionRequest
  ) -> Value.Object {
    var members = revision.document.properties
    members["_id"] = .string(request.id)
    members["_rev"] = .string(request.revision.description)
    if let newest = revision.history.first {
      members["_revisions"] = [
        "start": .int(Int64(clamping: newest.generation)),
        "ids": .array(revision.history.map { .string($0.digestText) }),
      ]
    }
    if revision.isDeleted { members["_deleted"] = true }
    var attachments: Value.Object = [:]
    for attachment in revision.attachments {
      var entry: Value.Object = [
        "content_type": .string(attachment.contentType), "stub": true,
        "length": .int(Int64(attachment.length)),
        "revpos": .int(Int64(clamping: attachment.generation)),
      ]
      let foreign = attachment.foreignDigest
      if let digest = foreign?.text ?? attachment.digest { entry["digest"] = .string(digest) }
      if let encoding = foreign?.encoding { entry["encoding"] = .string(encoding) }
      if let length = foreign?.encodedLength { entry["encoded_length"] = .int(Int64(length)) }
      attachments[attachment.name] = .object(entry)
    }
    if !attachments.isEmpty { members["_attachments"] = .object(attachments) }
    return members
  }

  static let seeds: [(name: String, bytes: [UInt8])] = {
    let rev = "1-00000000000000000000000000000001"
    let texts: [(String, UInt8, String)] = [
      (
        "changes", 0,
        #"{"results":[{"seq":"2-x","id":"a","changes":[{"rev":"\#(rev)"},{"rev":"2-1"}],"#
          + #""deleted":true}],"last_seq":"2-x","pending":0}"#
      ),
      (
        "revisions", 1,
        #"{"results":[{"id":"a","docs":[{"ok":{"_id":"a","_rev":"\#(rev)","_revisions":"#
          + #"{"start":1,"ids":["00000000000000000000000000000001"]},"_attachments":{"x":"#
          + #"{"content_type":"text/plain","revpos":1,"digest":"md5-JpLv+hMRdnwGwGIVUlB1Dw==","#
          + #""length":3,"stub":true,"encoding":"gzip","encoded_length":30}},"n":1.5}}]},"#
          + #"{"id":"é","docs":[{"error":{"id":"é","rev":"1-1","error":"not_found","#
          + #""reason":"missing"}}]}]}"#
      ),
      (
        "document", 1,
        #"{"_id":"a","_rev":"\#(rev)","_deleted":true,"_revisions":{"start":1,"ids":["#
          + #""00000000000000000000000000000001"]}}"#
      ),
      ("difference", 2, #"{"a":{"missing":["\#(rev)"],"possible_ancestors":["1-1"]}}"#),
      (
        "log", 3,
        #"{"_id":"_local/x","_rev":"0-1","session_id":"s","source_last_seq":"2-x","#
          + #""replication_id_version":1,"history":[{"session_id":"s","recorded_seq":"2-x","#
          + #""docs_written":3,"start_time":1,"end_time":2}]}"#
      ),
      ("insertion", 4, #"[{"id":"a","rev":"\#(rev)","error":"forbidden","reason":"no"}]"#),
    ]
    return texts.flatMap { name, question, text in
      [
        (name, [question, 0] + Array(text.utf8)),
        (name + "-404", [question, 4] + Array(text.utf8)),
      ]
    }
  }()
}
