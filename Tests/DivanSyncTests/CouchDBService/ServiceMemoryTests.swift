import Divan
import DivanTesting
import Foundation
import Testing

@testable import DivanSync

/// Tests of what requests and answers take of the memory of a service.
struct ServiceMemoryTests {
  /// The digest of a number.
  private static func digest(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 32 - digits.utf8.count) + digits
  }

  /// Stores a leaf whose history is given, newest first.
  private static func store(
    _ history: [(generation: Int, number: Int)], _ more: Value.Object, in peer: ServiceFixture
  ) async throws {
    let leaf = try #require(history.first)
    var members = more
    members["_rev"] = .string("\(leaf.generation)-\(digest(leaf.number))")
    let ids = history.map { Value.string(digest($0.number)) }
    members["_revisions"] = ["start": .int(Int64(leaf.generation)), "ids": .array(ids)]
    let answer = try await peer.send("PUT", "/d?new_edits=false", .object(members))
    #expect(answer.status == 201, "\(answer.text)")
  }

  // MARK: Answers

  @Test func `a document with many revisions is answered a few of them at a time`() async throws {
    var configuration = CouchDBService.Configuration()
    // All revisions take 4 MB.
    configuration.limits.answerMemory = 1_200_000
    let peer = try ServiceFixture("peer", configuration)
    let text = Value.string(String(repeating: "y", count: 40_000))
    for number in 0..<50 { try await Self.store([(1, number)], ["text": text], in: peer) }
    let one = "1-" + Self.digest(7)
    let asked: Value = [
      ["id": "d"], ["id": "none"], ["id": "d", "rev": .string(one)], ["id": "d"],
    ]
    let answer = try await peer.send("POST", "/_bulk_get", ["docs": asked])
    let results = try #require(answer.json["results"]?.arrayValue)
    #expect(results.map { $0["id"] } == ["d", "none", "d", "d"])
    let all = (0..<50).map { Value.string("1-" + Self.digest($0)) }
    for (result, expected) in zip(results, [all, [], [.string(one)], all]) {
      let documents = try #require(result["docs"]?.arrayValue).compactMap { $0["ok"] }
      #expect(Set(documents.compactMap { $0["_rev"] }) == Set(expected))
      #expect(documents.count == expected.count)
      #expect(documents.allSatisfy { $0["text"] == text })
    }
    #expect(results[1]["docs"]?[0]?["error"]?["error"] == "not_found")
    #expect(try await peer.send("POST", "/_bulk_get", ["docs": []]).json == ["results": []])
  }

  @Test(arguments: ["/_all_docs", "/_all_docs keys", "/_bulk_get", "/_changes"])
  func `few attachments are read before some are sent`(_ request: String) async throws {
    var configuration = CouchDBService.Configuration()
    // About seven rows without their attachments. Four have 256 KiB with them.
    configuration.limits.answerMemory = 4500
    let peer = try ServiceFixture("peer", configuration)
    let content = [UInt8](repeating: 7, count: 64 << 10)
    let names = (0..<60).map { "d\($0)" }
    try await peer.database.write { transaction in
      for name in names {
        var document = Document(id: name)
        document.attachments["a"] = Document.Attachment(contentType: "a/b", content)
        try transaction.put(document)
      }
    }
    let query = "?include_docs=true&attachments=true"
    let answer =
      switch request {
      case "/_all_docs keys":
        try await peer.send(
          "POST", "/_all_docs" + query, ["keys": .array(names.map { .string($0) })])
      case "/_bulk_get":
        try await peer.send(
          "POST", request + query, ["docs": .array(names.map { ["id": .string($0)] })])
      default: try await peer.send("GET", request + query)
      }
    let encoded = "\"data\":\"" + Data(content).base64EncodedString() + "\""
    #expect(answer.text.components(separatedBy: encoded).count == 61)
    #expect(answer.json.objectValue != nil)
  }

  @Test func `the leaves above a revision are those whose histories have it`() async throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5 {
      let peer = try ServiceFixture()
      var histories: [[(generation: Int, number: Int)]] = [[(1, 0)]]
      for number in 1...25 {
        let base = histories.randomElement(using: &random) ?? []
        // Some begin a tree of their own, and some are cut from the others.
        let start = Int.random(in: 0...base.count, using: &random)
        let length = Int.random(in: 0...base.count - start, using: &random)
        let rest = Array(base[start..<start + length])
        histories.append([((rest.first?.generation ?? 0) + 1, number)] + rest)
      }
      for history in histories { try await Self.store(history, [:], in: peer) }
      let snapshot = try peer.database.snapshot()
      let leaves = try snapshot.leafRevisions(of: "d").map(\.id)
      for (generation, number) in histories.compactMap(\.first) {
        let revision = try #require(RevisionID("\(generation)-\(Self.digest(number))"))
        let expected = try leaves.filter {
          try snapshot.revisions(leadingTo: $0, of: "d").contains(revision)
        }
        #expect(try snapshot.leaves(above: revision, of: "d") == expected, "seed \(seed)")
      }
      let unknown = try #require(RevisionID("1-" + Self.digest(99)))
      #expect(try snapshot.leaves(above: unknown, of: "d").isEmpty)
    }
  }

  // MARK: Requests

  /// A document of 90 kB whose values take 2 MB.
  private static func dense(_ number: Int) -> Value {
    let list = [Value](repeating: 1, count: 45_000)
    return ["_id": .string("d\(number)"), "list": .array(list)]
  }

  private static func makeSmallPeer() throws -> ServiceFixture {
    var configuration = CouchDBService.Configuration()
    configuration.limits.bodyMemory = 1 << 20
    configuration.limits.documentSize = 100_000
    configuration.limits.attachmentCount = 10
    return try ServiceFixture("peer", configuration)
  }

  @Test func `a document of an allowed size is stored however many values it has`() async throws {
    let peer = try Self.makeSmallPeer()
    #expect(try await peer.send("PUT", "/d0", Self.dense(0)).status == 201)
    #expect(try await peer.send("POST", "", Self.dense(1)).status == 201)
    #expect(try await peer.send("POST", "/_bulk_docs", ["docs": [Self.dense(2)]]).status == 201)
    let form = "--B\r\n\r\n\(Self.dense(3).json)\r\n--B--"
    let related = ["Content-Type": "multipart/related; boundary=B"]
    #expect(try await peer.send("PUT", "/d3", data: Data(form.utf8), related).status == 201)
    // One at a time: another one comes again.
    #expect(peer.service.state.largeDocuments.increment(nil))
    let busy = try await peer.send("PUT", "/d4", Self.dense(4))
    #expect(busy.status == 503 && busy.headers["retry-after"] == "1")
    #expect(try await peer.send("PUT", "/small", [:]).status == 201)
    peer.service.state.largeDocuments.decrement(nil)
    #expect(try await peer.send("PUT", "/d4", Self.dense(4)).status == 201)
  }

  @Test func `what never fits has the status 413, and a replicator sends less at once`()
    async throws
  {
    let peer = try Self.makeSmallPeer()
    let documents = (0..<3).map { Self.dense($0) }
    let refused = try await peer.send("POST", "/_bulk_docs", ["docs": .array(documents)])
    #expect(refused.status == 413 && refused.error == "too_large")
    #expect(try peer.database.snapshot().count == 0)
    let source = try Database.inMemory()
    let list = Self.dense(0)["list"] ?? .null
    try await source.write { transaction in
      for number in 0..<3 { try transaction.put(Document(id: "d\(number)", ["list": list])) }
    }
    let url = try #require(URL(string: "http://server.invalid/peer"))
    let target = CouchDBPeer(url: url, transport: ServiceTransport(peer.service))
    let status = try await Replicator(source, target, direction: .push).replicate()
    #expect(status.failures.isEmpty)
    #expect(try peer.database.snapshot().count == 3)
  }

  @Test func `the values of a body count, and not only its bytes`() async throws {
    let peer = try Self.makeSmallPeer()
    let many = "{\"x\":[" + [String](repeating: "1", count: 50_000).joined(separator: ",") + "]}"
    #expect(try await peer.send("POST", "/_all_docs", data: Data(many.utf8), [:]).status == 413)
    let text = "{\"x\":\"" + String(repeating: ",", count: 100_000) + "\"}"
    #expect(try await peer.send("POST", "/_all_docs", data: Data(text.utf8), [:]).status == 200)
  }

  @Test func `empty documents take memory, too`() async throws {
    let peer = try Self.makeSmallPeer()
    func documents(_ count: Int) -> Value {
      ["docs": .array([Value](repeating: [:], count: count))]
    }
    let refused = try await peer.send("POST", "/_bulk_docs", documents(2000))
    #expect(refused.status == 413)
    #expect(try peer.database.snapshot().count == 0)
    #expect(try await peer.send("POST", "/_bulk_docs", documents(500)).status == 201)
    #expect(try peer.database.snapshot().count == 500)
  }

  @Test func `the values of JSON are counted without reading them`() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(seed: seed)
    let texts = ["", ",", "[", "{\"", "\\", "\\\"", "]", "a"]
    func value(_ depth: Int) -> Value {
      switch Int.random(in: 0...(depth > 4 ? 2 : 4), using: &random) {
      case 0: .string(texts.randomElement(using: &random) ?? "")
      case 1: .int(5)
      case 2: .null
      case 3: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth + 1) })
      default:
        .object(
          Value.Object(
            (0..<Int.random(in: 0...3, using: &random)).map { number in
              ("\(texts.randomElement(using: &random) ?? "")\(number)", value(depth + 1))
            }))
      }
    }
    func count(_ value: Value) -> Int {
      let parts = value.arrayValue ?? value.objectValue.map { $0.map(\.value) } ?? []
      return parts.reduce(1) { $0 + count($1) }
    }
    for _ in 0..<500 {
      let value = value(0)
      let size = BodyJSON.valueSize(Data(value.json.utf8))
      #expect(size == 48 * count(value), "\(value.json), seed \(seed)")
    }
    #expect(BodyJSON.valueSize(Data(" [ ] ".utf8)) == 48)
    #expect(BodyJSON.valueSize(Data(" [ [\n1 , { } ] ] ".utf8)) == 4 * 48)
  }
}
