import Divan
import DivanSync
import Foundation
import Testing

/// Tests of the requests for attachments.
struct ServiceAttachmentTests {
  private func makePeer() async throws -> (ServiceFixture, String) {
    let peer = try ServiceFixture()
    let stored = try await peer.send(
      "PUT", "/at",
      [
        "_attachments": [
          "t.txt": ["content_type": "text/plain", "data": "aGVsbG8gd29ybGQ="],
          "a/b ü": ["content_type": "image/png", "data": "AAECAwQFBgc="],
        ]
      ])
    #expect(stored.status == 201)
    return (peer, stored.revision)
  }

  @Test func `attachments are stubs unless their content is asked for`() async throws {
    let (peer, revision) = try await makePeer()
    let stubs = try await peer.send("GET", "/at").json["_attachments"]
    #expect(stubs?["t.txt"]?["stub"] == true && stubs?["t.txt"]?["length"] == 11)
    #expect(stubs?["t.txt"]?["revpos"] == 1)
    let inline = try await peer.send("GET", "/at?attachments=true").json["_attachments"]
    #expect(inline?["t.txt"]?["data"] == "aGVsbG8gd29ybGQ=" && inline?["t.txt"]?["stub"] == nil)
    let known = "%5B%22\(revision)%22%5D"
    let since = try await peer.send("GET", "/at?attachments=true&atts_since=\(known)").json
    #expect(since["_attachments"]?["t.txt"]?["stub"] == true)
    let bulk = try await peer.send("POST", "/_bulk_get?attachments=true", ["docs": [["id": "at"]]])
    let doc = bulk.json["results"]?[0]?["docs"]?[0]?["ok"]
    #expect(doc?["_attachments"]?["t.txt"]?["data"] == "aGVsbG8gd29ybGQ=")
    let knowing = try await peer.send(
      "POST", "/_bulk_get?attachments=true",
      ["docs": [["id": "at", "atts_since": [.string(revision)]]]])
    let stub = knowing.json["results"]?[0]?["docs"]?[0]?["ok"]?["_attachments"]?["t.txt"]
    #expect(stub?["stub"] == true)
  }

  @Test func `a document is followed by its attachments in multipart`() async throws {
    let (peer, _) = try await makePeer()
    let answer = try await peer.send(
      "GET", "/at?attachments=true&revs=true", headers: ["Accept": "multipart/related"])
    #expect(answer.headers["content-length"] == "\(answer.data.count)")
    let parts = try await Self.parts(of: answer)
    #expect(parts.count == 3)
    let json = try Value(json: parts[0])
    #expect(json["_attachments"]?["t.txt"]?["follows"] == true)
    // In the order of the bytes of their names.
    #expect(parts[1] == Data(0..<8) && parts[2] == Data("hello world".utf8))
    let mixed = try await peer.send(
      "GET", "/at?open_revs=all", headers: ["Accept": "multipart/mixed"])
    let inner = try await Self.parts(of: mixed)
    #expect(inner.count == 1 && inner[0].range(of: Data("hello world".utf8)) != nil)
  }

  private static func parts(of answer: ServiceFixture.Answer) async throws -> [Data] {
    let boundary = try #require(answer.headers["content-type"]?.split(separator: "\"").last)
    let reader = MultipartReader(HTTPBody(answer.data), boundary: String(boundary))
    var parts: [Data] = []
    while try await reader.nextPart() != nil {
      var data = Data()
      while let piece = try await reader.nextPiece() { data.append(piece) }
      parts.append(data)
    }
    return parts
  }

  @Test func `an attachment is read as a whole, in part, or not if it is known`() async throws {
    let (peer, revision) = try await makePeer()
    let whole = try await peer.send("GET", "/at/a%2Fb%20%C3%BC?rev=\(revision)")
    #expect(whole.status == 200 && whole.data == Data(0..<8))
    #expect(whole.headers["content-type"] == "image/png")
    #expect(try await peer.send("GET", "/at/a/b%20%C3%BC").data == Data(0..<8))
    func part(_ range: String) async throws -> ServiceFixture.Answer {
      try await peer.send("GET", "/at/t.txt", headers: ["Range": range])
    }
    #expect(try await part("bytes=0-4").text == "hello")
    #expect(try await part("bytes=6-").text == "world")
    #expect(try await part("bytes=-3").text == "rld")
    #expect(try await part("bytes=3-100").headers["content-range"] == "bytes 3-10/11")
    #expect(try await part("bytes=0-9223372036854775807").text == "hello world")
    #expect(try await part("bytes=11-").status == 416)
    #expect(try await part("bytes=5-2").status == 416)
    #expect(try await part("bytes=0-1,3-4").status == 200)
    #expect(try await part("bytes=x-").status == 200)
    let head = try await peer.send("HEAD", "/at/t.txt")
    #expect(head.data.isEmpty && head.headers["content-length"] == "11")
    let tag = try #require(head.headers["etag"])
    #expect(
      try await peer.send("GET", "/at/t.txt", headers: ["If-None-Match": tag]).status == 304)
    #expect(try await peer.send("GET", "/at/none").reason == "Document is missing attachment")
    #expect(try await peer.send("GET", "/none/t.txt").status == 404)
  }

  @Test func `an attachment is stored and removed with a new revision`() async throws {
    let (peer, revision) = try await makePeer()
    let data = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    let type = ["Content-Type": "application/x-test"]
    let stored = try await peer.send("PUT", "/at/new.bin?rev=\(revision)", data: data, type)
    #expect(stored.status == 201 && stored.revision.hasPrefix("2-"))
    let read = try await peer.send("GET", "/at/new.bin")
    #expect(read.data == data && read.headers["content-type"] == "application/x-test")
    let late = try await peer.send("PUT", "/at/x?rev=\(revision)", data: data, type)
    #expect(late.status == 409)
    #expect(try await peer.send("PUT", "/at/x", data: data, type).status == 409)
    #expect(try await peer.send("PUT", "/fresh/x", data: data, type).status == 201)
    #expect(try await peer.send("DELETE", "/at/none?rev=\(stored.revision)").status == 404)
    let removed = try await peer.send("DELETE", "/at/new.bin?rev=\(stored.revision)")
    #expect(removed.status == 200)
    #expect(try await peer.send("GET", "/at/new.bin").status == 404)
    #expect(try await peer.send("GET", "/at/t.txt").status == 200)
  }

  @Test func `a stub keeps an attachment, and one for nothing is refused`() async throws {
    let (peer, revision) = try await makePeer()
    let kept = try await peer.send(
      "PUT", "/at",
      ["_rev": .string(revision), "k": 1, "_attachments": ["t.txt": ["stub": true]]])
    #expect(kept.status == 201)
    let names = try await peer.send("GET", "/at").json["_attachments"]?.objectValue?.keys
    #expect(names.map { Array($0) } == ["t.txt"])
    let refused = try await peer.send(
      "PUT", "/at3", ["_attachments": ["z": ["stub": true, "length": 3]]])
    #expect(refused.status == 412 && refused.error == "missing_stub")
    #expect(refused.reason == "Invalid attachment stub in at3 for z")
    let rev: Value = .string("2-" + ServiceFixture.digest("a"))
    let bulk = try await peer.send(
      "POST", "/_bulk_docs",
      [
        "new_edits": false,
        "docs": [
          [
            "_id": "at4", "_rev": rev,
            "_attachments": ["z": ["stub": true, "length": 3, "revpos": 1]],
          ]
        ],
      ])
    #expect(bulk.status == 412 && bulk.reason == "Invalid attachment stub in at4 for z")
  }

  /// Regression test: the whole history was looked through for each attachment, which took minutes.
  @Test(.timeLimit(.minutes(1)))
  func `a long history with many attachments is answered in time`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("PUT", "/d", [:]).status == 201)
    let count = 200_000
    let ids = Array(repeating: #""a""#, count: count).joined(separator: ",")
    let stubs = (0..<1000).map { #""\#($0)":{"stub":true,"length":1,"revpos":1,"digest":"md5-x"}"# }
    let json = """
      {"_rev":"\(count)-a","_revisions":{"start":\(count),"ids":[\(ids)]},
      "_attachments":{\(stubs.joined(separator: ","))}}
      """
    let answer = try await peer.send(
      "PUT", "/d?new_edits=false", data: Data(json.utf8), ["Content-Type": "application/json"])
    #expect(answer.status == 412 && answer.error == "missing_stub", "\(answer.text)")
  }

  private static func multipart(_ parts: [(headers: String, text: String)]) -> Data {
    let rev = "1-" + ServiceFixture.digest("a")
    let json = """
      {"_rev": "\(rev)", "_attachments": {"two": {"content_type": "text/plain", "length": 5, \
      "follows": true}, "one": {"length": 3, "follows": true}}}
      """
    var text = "--B\r\nContent-Type: application/json\r\n\r\n\(json)"
    for part in parts { text += "\r\n--B\r\n\(part.headers)\r\n\(part.text)" }
    return Data((text + "\r\n--B--").utf8)
  }

  @Test(arguments: [
    [("", "hello"), ("", "abc")],
    [
      ("Content-Disposition: attachment; filename=\"one\"\r\n", "abc"),
      ("Content-Disposition: attachment; filename=\"two\"\r\n", "hello"),
    ],
  ])
  func `parts are matched by their names, or by the order of the JSON`(
    _ parts: [(headers: String, text: String)]
  ) async throws {
    let peer = try ServiceFixture()
    let headers = ["Content-Type": "multipart/related; boundary=\"B\""]
    let stored = try await peer.send(
      "PUT", "/mp?new_edits=false", data: Self.multipart(parts), headers)
    #expect(stored.status == 201, "\(stored.text)")
    #expect(try await peer.send("GET", "/mp/one").text == "abc")
    #expect(try await peer.send("GET", "/mp/two").text == "hello")
  }

  @Test func `parts that are missing, too short or too long are refused`() async throws {
    let peer = try ServiceFixture()
    let headers = ["Content-Type": "multipart/related; boundary=\"B\""]
    for parts in [[("", "hello")], [("", "hell"), ("", "abc")], [("", "hello!"), ("", "abc")]] {
      let refused = try await peer.send(
        "PUT", "/mp?new_edits=false", data: Self.multipart(parts), headers)
      #expect(refused.status == 400 && refused.error == "bad_request", "\(refused.text)")
    }
    let whole = Self.multipart([("", "hello"), ("", "abc")])
    // The two hyphens at the end may be missing, since all attachments are whole then.
    for count in 0..<whole.count - 2 {
      let cut = try await peer.send(
        "PUT", "/mp?new_edits=false", data: whole.prefix(count), headers)
      #expect(cut.status == 400, "cut after \(count) bytes: \(cut.text)")
    }
    #expect(try peer.database.snapshot().count == 0)
  }

  @Test func `a content type cannot add headers`() async throws {
    let peer = try ServiceFixture()
    try await peer.send(
      "PUT", "/x",
      ["_attachments": ["a": ["content_type": "text/html\r\nSet-Cookie: a=b", "data": "YQ=="]]])
    let answer = try await peer.send("GET", "/x/a")
    #expect(answer.headers["content-type"] == "application/octet-stream")
    #expect(answer.headers["content-security-policy"] == "sandbox")
  }
}
