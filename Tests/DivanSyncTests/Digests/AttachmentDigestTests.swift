import Divan
import DivanSync
import Foundation
import Synchronization
import Testing

/// Tests of attachments that come from another engine, with its digests.
struct AttachmentDigestTests {
  private static let url = URL(string: "http://server.invalid/notes")

  private func pull(
    _ source: ScriptedSource, into database: Database
  ) async throws -> ReplicationStatus {
    let peer = CouchDBPeer(url: try #require(Self.url), transport: source)
    var options = Replicator.Options()
    options.retryLimit = 0
    return try await Replicator(database, peer, direction: .pull, options: options).replicate()
  }

  /// A revision as CouchDB returns it, with an attachment `x` of five bytes.
  private static func document(
    _ id: String, rev: String = "1-00000000000000000000000000000001", history: String = "",
    digest: String, _ members: String = "", type: String = "a/b"
  ) throws -> Value {
    try Value(
      json: """
        {"_id":"\(id)","_rev":"\(rev)",\(history)"_attachments":{"x":{"content_type":"\(type)",
        "length":5,"revpos":1,"digest":"\(digest)",\(members)"stub":true}}}
        """)
  }

  // Of “fives”, as Python's `hashlib` computes them.
  private static let checksum = "md5-Fuszx81QA0Pvx6YsJvh+gw=="
  private static let sha1 = "sha1-mBXiD5QtRw09KxFfgNo/mg2Djr8="

  @Test(arguments: [checksum, sha1, "md5-00000000000000000000000000000000", "xyz-1"])
  func `a digest is kept as it came`(_ digest: String) async throws {
    let source = ScriptedSource(
      [try Self.document("a", digest: digest)], contents: ["a/x": Data("fives".utf8)])
    let database = try Database.inMemory()
    #expect(try await pull(source, into: database).failures.isEmpty)
    let attachment = try database.snapshot().document("a")?.attachments["x"]
    #expect(attachment?.foreignDigest == .init(digest))
    #expect(try await attachment?.data() == Data("fives".utf8))
  }

  @Test(arguments: [checksum, sha1])
  func `content that does not have its digest is not stored`(_ digest: String) async throws {
    let source = ScriptedSource(
      [
        try Self.document("a", digest: digest), try Self.document("b", digest: digest),
        try Value(json: #"{"_id":"c","_rev":"1-00000000000000000000000000000001"}"#),
      ], contents: ["a/x": Data("fivez".utf8), "b/x": Data("fives".utf8)])
    let database = try Database.inMemory()
    let status = try await pull(source, into: database)
    #expect(status.failures.map(\.id) == ["a"])
    #expect(
      status.failures.allSatisfy {
        "\($0.error)".contains("the attachment “x” of “a” has another digest")
      })
    #expect(try database.snapshot().ids().collect() == ["b", "c"])
    #expect(try await database.check().isSound)
  }

  @Test func `the digest of compressed content is kept and not checked`() async throws {
    let source = ScriptedSource(
      [
        try Self.document(
          "a", digest: "md5-7mkg+nM0HN26sZkLN8KVSA==",
          #""encoding":"gzip","encoded_length":31,"#, type: "text/plain")
      ], contents: ["a/x": Data("fives".utf8)])
    let (database, other) = (try Database.inMemory(), try Database.inMemory())
    #expect(try await pull(source, into: database).failures.isEmpty)
    let attachment = try database.snapshot().document("a")?.attachments["x"]
    #expect(
      attachment?.foreignDigest
        == .init("md5-7mkg+nM0HN26sZkLN8KVSA==", encoding: "gzip", encodedLength: 31))
    // What is sent from here is not compressed, and does not say so.
    let transport = SentFiles(base: ServiceTransport(CouchDBService(["notes": other])))
    let peer = CouchDBPeer(url: try #require(Self.url), transport: transport)
    let status = try await Replicator(database, peer, direction: .push).replicate()
    #expect(status.failures.isEmpty)
    let body = try #require(transport.bodies.withLock { $0.first })
    #expect(body.range(of: Data("\r\n\r\nfives\r\n".utf8)) != nil)
    for member in ["encoding", "encoded_length", "digest"] {
      #expect(body.range(of: Data("\"\(member)\"".utf8)) == nil)
    }
    let sent = try other.snapshot().document("a")?.attachments["x"]
    #expect(try await sent?.data() == Data("fives".utf8))
    #expect(sent?.foreignDigest == nil)
  }

  /// A transport that keeps the requests whose bodies are files.
  private final class SentFiles: HTTPTransport {
    let base: ServiceTransport
    let bodies = Mutex<[Data]>([])

    init(base: ServiceTransport) { self.base = base }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      if case .file(let file) = request.body {
        let data = try Data(contentsOf: file)
        bodies.withLock { $0.append(data) }
      }
      return try await base.send(request)
    }
  }

  @Test func `branches with the same attachment receive it once`() async throws {
    let revisions = ["2-0000000000000000000000000000000a", "2-0000000000000000000000000000000b"]
    let source = ScriptedSource(
      try revisions.map { revision in
        try Self.document(
          "a", rev: revision,
          history: """
            "_revisions":{"start":2,"ids":["\(revision.dropFirst(2))",
            "00000000000000000000000000000001"]},
            """, digest: Self.checksum)
      }, contents: ["a/x": Data("fives".utf8)])
    let database = try Database.inMemory()
    #expect(try await pull(source, into: database).failures.isEmpty)
    #expect(source.attachmentRequests == ["GET /a/x"])
    let leaves = try database.snapshot().leaves(of: "a")
    #expect(leaves.count == 2)
    for leaf in leaves { #expect(try await leaf.attachments["x"]?.data() == Data("fives".utf8)) }
    // Another branch comes later.
    source.update(
      try Self.document("a", rev: "1-000000000000000000000000000000cc", digest: Self.checksum))
    #expect(try await pull(source, into: database).failures.isEmpty)
    #expect(try database.snapshot().leaves(of: "a").count == 3)
    #expect(source.attachmentRequests == ["GET /a/x"])
  }

  @Test(arguments: [
    // Computed by the other side, of the content and of the compressed content.
    (checksum, "", 0),
    ("md5-7mkg+nM0HN26sZkLN8KVSA==", #""encoding":"gzip","encoded_length":31,"#, 0),
    // Of other content with the same length.
    ("md5-kAFQmDzST7DWlj99KOF/cg==", "", 1),
  ])
  func `an attachment that was sent from here does not come back`(
    _ digest: String, _ encoding: String, _ requestCount: Int
  ) async throws {
    let database = try Database.inMemory()
    let stored = try await database.write { transaction in
      var document = Document(id: "a", [:])
      document.attachments["x"] = Document.Attachment(contentType: "a/b", Data("fives".utf8))
      return try transaction.put(document)
    }
    let parent = try #require(stored.revision?.description.dropFirst(2))
    // The other side has changed the document.
    let source = ScriptedSource(
      [
        try Self.document(
          "a", rev: "2-000000000000000000000000000000aa",
          history: """
            "_revisions":{"start":2,"ids":["000000000000000000000000000000aa","\(parent)"]},
            """, digest: digest, encoding)
      ], contents: ["a/x": Data("abcde".utf8)])
    let status = try await pull(source, into: database)
    #expect(source.attachmentRequests.count == requestCount)
    guard requestCount == 0 else {
      // It does not have that digest either.
      #expect(status.failures.map(\.id) == ["a"])
      return
    }
    let document = try database.snapshot().document("a")
    #expect(document?.revision?.generation == 2)
    #expect(document?.attachments["x"]?.foreignDigest?.text == digest)
    #expect(try await document?.attachments["x"]?.data() == Data("fives".utf8))
  }

  @Test func `a document that is sent with its content has a digest of the content`() async throws {
    let database = try Database.inMemory()
    let service = CouchDBService(["notes": database])
    func put(_ id: String, digest: String) async throws -> Document.Attachment? {
      let json = """
        {"new_edits":false,"docs":[{"_id":"\(id)","_rev":"1-00000000000000000000000000000001",
        "_attachments":{"x":{"content_type":"a/b","digest":"\(digest)","data":"Zml2ZXM="}}}]}
        """
      let url = try #require(URL(string: "http://server.invalid/notes/_bulk_docs"))
      let response = await service.respond(
        to: HTTPRequest("POST", url, headers: ["Content-Type": "application/json"]),
        body: HTTPBody(Data(json.utf8)))
      #expect(response.status == 201)
      return try database.snapshot().document(id)?.attachments["x"]
    }
    let right = try await put("right", digest: Self.checksum)
    #expect(right?.foreignDigest?.text == Self.checksum)
    // CouchDB returns a text with the digest of its compressed bytes, and PouchDB has another
    // spelling.
    let compressed = try await put("compressed", digest: "md5-7mkg+nM0HN26sZkLN8KVSA==")
    #expect(compressed?.foreignDigest == nil)
    let old = try await put("old", digest: "md5-2a1560147630182f7193906076399816")
    #expect(old?.foreignDigest?.text == "md5-2a1560147630182f7193906076399816")
  }
}
