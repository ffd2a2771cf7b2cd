import Divan
import DivanSync
import DivanTesting
import Foundation

/// Sends requests to a service for a small store.
///
/// An input is a line with the method and the path, lines with headers, an empty line and the body.
enum FuzzRequests {
  /// Checks that each request is answered, and that the answer does not depend on the pieces of its
  /// body; a request that is refused changes nothing.
  static func read(_ input: [UInt8], isThorough: Bool) throws {
    guard let (request, body) = Self.request(input), !mayWait(request) else { return }
    var first: Answer?
    for seed: UInt64 in [0, 1 + UInt64(input.count)] {
      let database = try makeStore()
      let sequence = try database.snapshot().sequence
      let answer = try OneThread.run {
        try await Self.answer(request, FuzzedBody(bytes: body, seed: seed).body, database)
      }
      try check(answer, request)
      if answer.status >= 400 {
        try expect(
          try database.snapshot().sequence == sequence,
          "\(answer.status) for \(request.method) \(request.url), and something was stored")
      }
      // A body with several parts has another boundary each time.
      if let first, first.headers["content-type"]?.hasPrefix("multipart") != true {
        try expect(answer == first, "\(first) and, in pieces, \(answer)")
      }
      first = answer
      if isThorough {
        let report = try database.check()
        try expect(report.isSound, "\(report.problems)")
      }
    }
  }

  struct Answer: Equatable, Sendable {
    var status: Int
    var headers: [String: String]
    var body: Data
  }

  private static func answer(
    _ request: HTTPRequest, _ body: HTTPBody, _ database: Database
  ) async throws -> Answer {
    let response = await CouchDBService(["db": database]).respond(to: request, body: body)
    var content = Data()
    for try await piece in response.body {
      content += piece
      try expect(content.count < 1 << 20, "an answer is large")
    }
    return Answer(status: response.status, headers: response.headers, body: content)
  }

  private static func check(_ answer: Answer, _ request: HTTPRequest) throws {
    let place = "\(answer.status) for \(request.method) \(request.url)"
    try expect((200..<600).contains(answer.status), place)
    // Nothing is wrong with the store.
    try expect(answer.status != 500, "\(place): \(String(decoding: answer.body, as: UTF8.self))")
    guard answer.headers["content-type"]?.hasPrefix("application/json") == true,
      request.method != "HEAD"
    else { return }
    // A document's attachment can be of this type, too.
    let value = try? Value(json: answer.body)
    guard answer.status >= 400 else { return }
    try expect(
      value?["error"]?.stringValue != nil && value?["reason"]?.stringValue != nil,
      "\(place): \(String(decoding: answer.body, as: UTF8.self))")
  }

  /// Whether the request waits for changes that do not come.
  private static func mayWait(_ request: HTTPRequest) -> Bool {
    var text = request.url.absoluteString
    while let decoded = text.removingPercentEncoding, decoded != text { text = decoded }
    let accept = request.headers.contains { $0.value.contains("event-stream") }
    return accept || text.lowercased().contains("feed")
  }

  private static func request(_ input: [UInt8]) -> (HTTPRequest, body: [UInt8])? {
    let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    let headCount = lines.firstIndex(of: []) ?? lines.count
    let text = lines[..<headCount].map { String(decoding: $0, as: UTF8.self) }
    let words = (text.first ?? "").split(separator: " ", maxSplits: 1)
    guard words.count == 2, let url = URL(string: "http://localhost\(words[1])"),
      url.host != nil
    else { return nil }
    var request = HTTPRequest(String(words[0]), url)
    for line in text.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      request.headers[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return (request, Array(lines.dropFirst(headCount + 1).joined(separator: [0x0A])))
  }

  /// Returns a store with a few documents, which is the same each time.
  private static func makeStore() throws -> Database {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database(
      at: "/db.divan", configuration: disk.configuration(hasSmallFiles: false))
    try database.write { transaction in
      var document = Document(id: "a", ["n": 1])
      document.attachments["x"] = Document.Attachment(contentType: "text/plain", Array("tea".utf8))
      try transaction.put(document)
      try transaction.put(Document(id: "b/c", ["text": "é"]))
      try transaction.put(Document(id: "gone", [:]))
      try transaction.delete("gone")
      try transaction.putLocal("couchdb/log", ["n": 1])
    }
    return database
  }

  static let seeds: [(name: String, bytes: [UInt8])] = {
    let rev = "1-00000000000000000000000000000001"
    let doc =
      #"{"_id":"new","_rev":"\#(rev)","_revisions":{"start":1,"ids":["#
      + #""00000000000000000000000000000001"]},"n":1,"_attachments":{"x":{"content_type":"#
    let texts: [(String, String)] = [
      ("information", "GET /db\n\n"), ("all", "GET /db/_all_docs?include_docs=true&limit=2\n\n"),
      ("changes", "GET /db/_changes?style=all_docs&since=0&limit=2&include_docs=true\n\n"),
      ("filter", "POST /db/_changes?filter=_doc_ids\n\n{\"doc_ids\":[\"a\",\"x\"]}"),
      ("diff", "POST /db/_revs_diff\n\n{\"a\":[\"\(rev)\"],\"z\":[\"2-1\"]}"),
      ("get", "POST /db/_bulk_get?revs=true\n\n{\"docs\":[{\"id\":\"a\",\"rev\":\"\(rev)\"}]}"),
      (
        "docs",
        "POST /db/_bulk_docs\n\n{\"new_edits\":false,\"docs\":["
          + "{\"_id\":\"new\",\"_rev\":\"\(rev)\",\"n\":2}]}"
      ),
      ("commit", "POST /db/_ensure_full_commit\n\n{}"), ("local", "GET /db/_local/log\n\n"),
      ("put local", "PUT /db/_local/other\n\n{\"n\":1}"),
      ("remove local", "DELETE /db/_local/log?rev=0-1\n\n"),
      ("document", "GET /db/a?revs=true&conflicts=true\n\n"), ("slash", "GET /db/b%2Fc\n\n"),
      ("open", "GET /db/a?open_revs=all&revs=true\nAccept: multipart/mixed\n\n"),
      ("attachment", "GET /db/a/x\nRange: bytes=1-2\n\n"), ("session", "GET /_session\n\n"),
      (
        "base64",
        "PUT /db/new?new_edits=false\n\n" + doc + #""text/plain","data":"dGVh"}}}"#
      ),
      (
        "related",
        "PUT /db/new?new_edits=false\nContent-Type: multipart/related; boundary=\"b\"\n\n"
          + "--b\r\nContent-Type: application/json\r\n\r\n" + doc
          + "\"text/plain\",\"length\":3,\"follows\":true}}}\r\n--b\r\n\r\ntea\r\n--b--"
      ),
    ]
    return texts.map { ($0.0, Array($0.1.utf8)) }
  }()
}
