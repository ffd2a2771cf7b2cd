import Divan
import DivanTesting
import Foundation
import Testing

@testable import DivanSync

/// Tests of requests that are made to take much time or memory.
struct ServiceLoadTests {
  private static let revision: Value = .string("1-" + ServiceFixture.digest("a"))

  /// IDs that are one string for Swift, and that all differ in their bytes.
  private static func equalIDs(_ count: Int) -> [String] {
    (0..<count).map { number in
      (0..<16).map { number >> $0 & 1 == 0 ? "\u{E9}" : "e\u{301}" }.joined()
    }
  }

  @Test func `asking about IDs that Swift holds for one string takes no longer than about others`()
    async throws
  {
    let ids = Self.equalIDs(10_000)
    #expect(Set(ids).count == 1)
    let peer = try ServiceFixture()
    func ask(_ ids: [String]) async throws -> (ServiceFixture.Answer, Duration) {
      let body = Value.object(Value.Object(ids.map { ($0, [Self.revision]) }))
      let start = ContinuousClock.now
      let answer = try await peer.send("POST", "/_revs_diff", body)
      return (answer, ContinuousClock.now - start)
    }
    // IDs as long as these. Comparing each with each takes thousands of times as long.
    let (_, usual) = try await ask(ids.indices.map { String(repeating: "x", count: 36) + "\($0)" })
    let (answer, time) = try await ask(ids)
    #expect(time < usual * 20 + .seconds(1), "\(time), \(usual)")
    let members = try #require(answer.json.objectValue)
    #expect(Set(members.keys.map { Array($0.utf8) }) == Set(ids.map { Array($0.utf8) }))
    #expect(members.values.allSatisfy { $0 == ["missing": [Self.revision]] })
  }

  private static func content(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
  }

  @Test(
    arguments: [
      ("GET", "/d?attachments=true", nil), ("GET", "/d?open_revs=all&attachments=true", nil),
      ("POST", "/_bulk_get?attachments=true", ["docs": [["id": "d"]]]),
      ("GET", "/_changes?include_docs=true&attachments=true", nil),
      ("GET", "/_changes?include_docs=true&attachments=true&feed=continuous&timeout=1", nil),
      ("GET", "/_all_docs?include_docs=true&attachments=true", nil),
    ] as [(String, String, Value?)])
  func `attachments in JSON are encoded while they are sent`(
    _ method: String, _ path: String, _ body: Value?
  ) async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.answerMemory = 10_000
    let peer = try ServiceFixture("peer", configuration)
    let contents = [0, 1, 2, 3, 1000, 3_000_001].map { Self.content($0) }
    try await peer.database.write { transaction in
      var document = Document(id: "d", ["text": "b"])
      for (index, content) in contents.enumerated() {
        document.attachments["a\(index)"] = Document.Attachment(contentType: "a/b", content)
      }
      try transaction.put(document)
    }
    let response = try await peer.open(
      method, path, data: Data((body?.json ?? "").utf8), ["Content-Type": "application/json"])
    #expect(response.status == 200)
    var data = Data()
    for try await piece in response.body {
      #expect(piece.count <= 1 << 20)
      data.append(piece)
    }
    if let length = response.headers["content-length"] { #expect(length == "\(data.count)") }
    let text = String(decoding: data, as: UTF8.self)
    let lines = [text] + text.split(separator: "\n").map(String.init)
    let answer = try #require(lines.lazy.compactMap { try? Value(json: $0) }.first)
    let document =
      answer["text"] != nil
      ? answer
      : answer[0]?["ok"] ?? answer["results"]?[0]?["docs"]?[0]?["ok"]
        ?? answer["results"]?[0]?["doc"] ?? answer["rows"]?[0]?["doc"] ?? answer["doc"]
    for (index, content) in contents.enumerated() {
      let encoded = document?["_attachments"]?["a\(index)"]?["data"]?.stringValue
      #expect(encoded == Data(content).base64EncodedString(), "\(index)")
    }
    #expect(document?["text"] == "b")
  }

  @Test func `an attachment that is too large for JSON does not end a list`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.inlineAttachmentSize = 10
    let peer = try ServiceFixture("peer", configuration)
    for (id, count) in [("a", 11), ("b", 10)] {
      try await peer.database.write { transaction in
        var document = Document(id: id)
        document.attachments["x"] = Document.Attachment(contentType: "a/b", Self.content(count))
        try transaction.put(document)
      }
    }
    for path in ["/_changes", "/_all_docs"] {
      let answer = try await peer.send("GET", path + "?include_docs=true&attachments=true").json
      let rows = try #require(answer["results"]?.arrayValue ?? answer["rows"]?.arrayValue)
      let entries = rows.map { $0["doc"]?["_attachments"]?["x"] }
      #expect(entries.map { $0?["stub"] } == [true, nil])
      #expect(entries.map { $0?["length"] } == [11, nil])
    }
  }

  @Test func `answers share their memory until they are read`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.answerMemory = 100_000
    let peer = try ServiceFixture("peer", configuration)
    let long = Value.string(String(repeating: "y", count: 20_000))
    #expect(try await peer.send("PUT", "/a", ["x": long]).status == 201)
    var open: [HTTPResponse] = []
    for _ in 0..<2 { open.append(try await peer.open("GET", "/a")) }
    #expect(open.map(\.status) == [200, 200])
    let refused = try await peer.send("GET", "/a")
    #expect(refused.status == 503 && refused.reason == "Too many large answers at once.")
    await #expect(throws: (any Error).self) {
      try await peer.send("GET", "/_changes?include_docs=true")
    }
    for response in open { for try await _ in response.body {} }
    open = []
    #expect(try await peer.send("GET", "/a").status == 200)
    #expect(try await peer.send("GET", "/_changes?include_docs=true").status == 200)
  }

  @Test(
    arguments: [
      ["text": ["$regex": "(x|xx|xxx|xxxx|xxxxx|xxxxxx)*y"]],
      ["list": ["$elemMatch": ["$or": [["$regex": "(a|aa)*b"], ["$gt": 5], ["$lt": -5]]]]],
      ["$nor": [["list": ["$allMatch": ["$ne": 7, "$gte": 0, "$lte": 1, "$type": "number"]]]]],
      ["lists": ["$in": .array([Value](repeating: [1], count: 1000))]],
      ["texts": ["$in": .array([Value](repeating: ["y"], count: 10))]],
    ] as [Value])
  func `the time of a filter ends within one document`(_ selector: Value) async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.filterTime = .milliseconds(2)
    let peer = try ServiceFixture("peer", configuration)
    let numbers = [Value](repeating: 1, count: 100_000)
    let text = Value.string(String(repeating: "x", count: 300_000))
    try await peer.database.write { transaction in
      try transaction.put(
        Document(
          id: "large",
          [
            "text": text, "list": .array(numbers), "texts": [[text]],
            "lists": .array([Value](repeating: [], count: 300)),
          ]))
    }
    await #expect(throws: ServiceError.self) {
      try await peer.send("POST", "/_changes?filter=_selector", ["selector": selector])
    }
    // The same takes its time if it is allowed to.
    let patient = CouchDBService(["peer": peer.database])
    let url = try #require(URL(string: "http://server.invalid/peer/_changes?filter=_selector"))
    let body = HTTPBody(Data(Value.object(["selector": selector]).json.utf8))
    let response = await patient.respond(to: HTTPRequest("POST", url), body: body)
    var data = Data()
    for try await piece in response.body { data.append(piece) }
    #expect(try Value(json: data)["results"] == [])
  }

  @Test func `a new local document takes the place of the one written least recently`()
    async throws
  {
    var configuration = CouchDBService.Configuration()
    configuration.limits.localDocumentCount = 3
    configuration.users = ["ada", "byron"].map { name in
      CouchDBService.User(
        name: name, password: PasswordHash(of: "p", iterationCount: 1), permissions: ["*": .read])
    }
    let peer = try ServiceFixture("peer", configuration)
    func status(_ method: String, _ id: String, _ name: String = "ada") async throws -> Int {
      // Times are in milliseconds.
      if method == "PUT" { try await Task.sleep(for: .milliseconds(3)) }
      let credentials = "Basic " + Data("\(name):p".utf8).base64EncodedString()
      return try await peer.send(
        method, "/_local/" + id, method == "PUT" ? [:] : nil,
        headers: ["Authorization": credentials]
      ).status
    }
    let long = String(repeating: "b", count: 1000)
    for id in ["a", long, "c"] { #expect(try await status("PUT", id) == 201) }
    // Written again, so another one is older.
    #expect(try await status("PUT", "a") == 201)
    #expect(try await status("PUT", "x", "byron") == 201)
    #expect(try await status("PUT", "d") == 201)
    #expect(try await status("GET", long) == 404)
    for id in ["a", "c", "d"] { #expect(try await status("GET", id) == 200) }
    #expect(try await status("GET", "x", "byron") == 200)
    #expect(try await status("DELETE", "a") == 200)
    #expect(try await status("PUT", "e") == 201)
    for id in ["c", "d", "e"] { #expect(try await status("GET", id) == 200) }
    #expect(try await status("PUT", "f") == 201)
    #expect(try await status("GET", "c") == 404)
    let keys = try peer.database.snapshot().localDocumentIDs().filter { $0.hasPrefix("couchdb/") }
    #expect(keys.count == 4)
  }

  @Test func `a document may have so many attachments`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.attachmentCount = 2
    let peer = try ServiceFixture("peer", configuration)
    func document(_ count: Int) -> Value {
      let entries = (0..<count).map { ("a\($0)", ["data": "AAAA"] as Value) }
      return ["_attachments": .object(Value.Object(entries))]
    }
    #expect(try await peer.send("PUT", "/a", document(2)).status == 201)
    let refused = try await peer.send("PUT", "/b", document(3))
    #expect(refused.status == 413 && refused.reason == "A document may have 2 attachments.")
  }

  @Test func `the names of attachments are found in the order of the text`() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    let odd = ["\"", "\\", "{", "}", "[", "]", ":", ",", "\u{E9}", "\n", "_attachments", ""]
    func text() -> String {
      let count = Int.random(in: 1...4, using: &random)
      let parts = (0..<count).compactMap { _ in odd.randomElement(using: &random) }
      return parts.joined() + "\(UInt16.random(in: .min ... .max, using: &random))"
    }
    func value(_ depth: Int) -> String {
      switch Int.random(in: 0...(depth > 3 ? 1 : 3), using: &random) {
      case 0: return Value.string(text()).json
      case 1: return "17"
      case 2:
        let count = Int.random(in: 0...3, using: &random)
        let elements = (0..<count).map { _ in value(depth + 1) }
        return "[" + elements.joined(separator: ", ") + "]"
      default: return object(depth + 1, (0..<3).map { _ in text() })
      }
    }
    func object(_ depth: Int, _ names: [String]) -> String {
      let members = names.map { name -> String in
        let colon = Bool.random(using: &random) ? ": " : ":"
        return Value.string(name).json + colon + value(depth)
      }
      return "{ " + members.joined(separator: " , ") + "}"
    }
    for _ in 0..<500 {
      let names = (0..<Int.random(in: 0...5, using: &random)).map { _ in text() }
      var members = (0..<3).map { _ in Value.string(text()).json + ":" + value(1) }
      members.insert(
        "\"_attachments\" : " + object(2, names), at: Int.random(in: 0...3, using: &random))
      let json = "{" + members.joined(separator: ",") + "}"
      #expect(
        MemberNames.list(of: "_attachments", in: Data(json.utf8)) == names, "\(json), seed \(seed)")
    }
    for none in ["{}", "[]", "5", "", "{\"_attachments\":[\"a\",\"b\"]}", "{\"_attachments\":{"] {
      #expect(MemberNames.list(of: "_attachments", in: Data(none.utf8)).isEmpty)
    }
  }

  @Test func `a request may ask about so many revisions`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.offeredRevisions = 3
    let peer = try ServiceFixture("peer", configuration)
    for allowed: Value in [["a": [Self.revision, Self.revision], "b": []], ["a": [], "b": []]] {
      #expect(try await peer.send("POST", "/_revs_diff", allowed).status == 200)
    }
    let many = Value.array([Value](repeating: Self.revision, count: 4))
    for refused: Value in [["a": many], ["a": [], "b": [], "c": [], "d": []]] {
      let answer = try await peer.send("POST", "/_revs_diff", refused)
      #expect(answer.status == 413 && answer.error == "too_large")
      #expect(answer.reason == "A request may ask about 3 revisions. Ask about fewer at once.")
      #expect(try await peer.send("POST", "/_missing_revs", refused).status == 413)
    }
  }
}
