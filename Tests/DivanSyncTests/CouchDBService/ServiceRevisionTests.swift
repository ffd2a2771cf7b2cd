import Divan
import DivanSync
import Foundation
import Testing

/// Tests of the requests for revisions and conflicts, with the answers of CouchDB 3.4.
struct ServiceRevisionTests {
  private static func rev(_ generation: Int, _ digit: Character) -> String {
    "\(generation)-" + ServiceFixture.digest(digit)
  }

  private static func list(_ revisions: String...) -> String {
    let json = "[" + revisions.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    return json.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  private static func ids(_ digits: Character...) -> Value {
    .array(digits.map { .string(ServiceFixture.digest($0)) })
  }

  @Test func `a document shows its history and its conflicts`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let (b, c, d) = (Self.rev(2, "b"), Self.rev(2, "c"), Self.rev(3, "d"))
    let both = try await peer.send("GET", "/c1?conflicts=true&deleted_conflicts=true")
    #expect(
      both.json == [
        "_id": "c1", "_rev": .string(c), "side": "c", "_conflicts": [.string(b)],
        "_deleted_conflicts": [.string(d)],
      ])
    let meta = try await peer.send("GET", "/c1?meta=true").json
    #expect(
      meta["_revs_info"] == [
        ["rev": .string(c), "status": "available"],
        ["rev": .string(Self.rev(1, "a")), "status": "missing"],
      ])
    #expect(meta["_conflicts"] == [.string(b)])
    let history = try await peer.send("GET", "/c1?revs=true").json["_revisions"]
    #expect(history == ["start": 2, "ids": Self.ids("c", "a")])
    let above = try await peer.send("GET", "/c1?latest=true&rev=\(Self.rev(1, "a"))")
    #expect(above.json["_rev"] == .string(c))
  }

  @Test func `what a client does not encode in a target is encoded once`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    // PouchDB encodes the quotation marks, and not the brackets.
    let target = "/peer/c1?open_revs=[%22\(Self.rev(2, "b"))%22]&note=é \"{\u{7F}}"
    let request = try #require(HTTPRequest("GET", target: target))
    #expect(
      request.url.absoluteString.hasSuffix(
        "?open_revs=%5B%22\(Self.rev(2, "b"))%22%5D&note=%C3%A9%20%22%7B%7F%7D"))
    let response = await peer.service.respond(to: request, body: HTTPBody())
    #expect(response.status == 200)
    #expect(HTTPRequest("GET", target: "peer") == nil && HTTPRequest("GET", target: "/%") == nil)
  }

  @Test func `all leaves are returned, as JSON and as multipart`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let all = try await peer.send("GET", "/c1?open_revs=all&revs=true").json.arrayValue ?? []
    let revisions = Set(all.compactMap { $0["ok"]?["_rev"]?.stringValue })
    #expect(revisions == [Self.rev(2, "b"), Self.rev(2, "c"), Self.rev(3, "d")])
    let deleted = all.first { $0["ok"]?["_deleted"] == true }
    #expect(
      deleted?["ok"]?["_revisions"] == ["start": 3, "ids": Self.ids("d", "e", "a")])

    let some = Self.list(Self.rev(2, "b"), Self.rev(9, "a"))
    let listed = try await peer.send("GET", "/c1?open_revs=\(some)").json
    #expect(listed[0]?["ok"]?["side"] == "b")
    #expect(listed[1] == ["missing": .string(Self.rev(9, "a"))])
    let interior = Self.list(Self.rev(1, "a"))
    #expect(
      try await peer.send("GET", "/c1?open_revs=\(interior)").json
        == [["missing": .string(Self.rev(1, "a"))]])
    let latest = try await peer.send("GET", "/c1?latest=true&open_revs=\(interior)").json
    #expect(latest.arrayValue?.count == 3)

    let mixed = try await peer.send(
      "GET", "/c1?open_revs=\(some)", headers: ["Accept": "multipart/mixed"])
    let type = try #require(mixed.headers["content-type"])
    let boundary = try #require(type.split(separator: "\"").last)
    let reader = MultipartReader(HTTPBody(mixed.data), boundary: String(boundary))
    var parts: [(type: String?, json: Value)] = []
    while let headers = try await reader.nextPart() {
      var data = Data()
      while let piece = try await reader.nextPiece() { data.append(piece) }
      parts.append((headers["content-type"], try Value(json: data)))
    }
    #expect(parts.map(\.type) == ["application/json", "application/json; error=\"true\""])
    #expect(parts.first?.json["side"] == "b")
    #expect(parts.last?.json == ["missing": .string(Self.rev(9, "a"))])
  }

  @Test func `missing revisions are those that are not known`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let (a4, b, c, d) = (Self.rev(4, "a"), Self.rev(2, "b"), Self.rev(2, "c"), Self.rev(3, "d"))
    let known: Value = [.string(b), .string(c), .string(d), .string(Self.rev(2, "e"))]
    #expect(try await peer.send("POST", "/_revs_diff", ["c1": known]).json == [:])
    let answer = try await peer.send(
      "POST", "/_revs_diff",
      ["c1": [.string(a4), .string(b)], "new": [.string(Self.rev(1, "a"))]]
    ).json
    #expect(answer["c1"]?["missing"] == [.string(a4)])
    let ancestors = answer["c1"]?["possible_ancestors"]?.arrayValue?.compactMap(\.stringValue)
    #expect(Set(ancestors ?? []) == [b, c, d])
    #expect(answer["new"] == ["missing": [.string(Self.rev(1, "a"))]])
    let old = try await peer.send("POST", "/_missing_revs", ["c1": [.string(a4), .string(b)]])
    #expect(old.json == ["missing_revs": ["c1": [.string(a4)]]])
  }

  @Test func `IDs that Swift holds for one string are asked about apart`() async throws {
    let peer = try ServiceFixture()
    let rev: Value = [.string(Self.rev(1, "a"))]
    let answer = try await peer.send("POST", "/_revs_diff", ["\u{E9}": rev, "e\u{301}": rev])
    #expect(answer.json.objectValue?.count == 2)
  }

  @Test func `many revisions are read at once, each with its own error`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let (b, unknown) = (Value.string(Self.rev(2, "b")), Value.string(Self.rev(9, "a")))
    let answer = try await peer.send(
      "POST", "/_bulk_get?revs=true",
      [
        "docs": [
          ["id": "c1", "rev": b], ["id": "c1", "rev": unknown], ["id": "nope"], ["id": "c1"],
          ["id": "c1", "rev": "x"],
        ]
      ])
    let results = try #require(answer.json["results"]?.arrayValue)
    #expect(results.compactMap { $0["id"]?.stringValue } == ["c1", "c1", "nope", "c1", "c1"])
    #expect(
      results[0]["docs"] == [
        [
          "ok": [
            "_id": "c1", "_rev": b, "side": "b",
            "_revisions": ["start": 2, "ids": Self.ids("b", "a")],
          ]
        ]
      ])
    #expect(
      results[1]["docs"] == [
        ["error": ["id": "c1", "rev": unknown, "error": "not_found", "reason": "missing"]]
      ])
    #expect(results[2]["docs"]?[0]?["error"]?["rev"] == "undefined")
    #expect(results[3]["docs"]?.arrayValue?.count == 3)
    #expect(results[4]["docs"]?[0]?["error"]?["reason"] == "Invalid rev format")
    let latest = try await peer.send(
      "POST", "/_bulk_get?latest=true",
      ["docs": [["id": "c1", "rev": .string(Self.rev(1, "a"))]]])
    #expect(latest.json["results"]?[0]?["docs"]?.arrayValue?.count == 3)
    #expect(try await peer.send("POST", "/_bulk_get", ["docs": []]).json == ["results": []])
  }

  @Test func `the logs of replicators are local documents`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("GET", "/_local/ck").reason == "missing")
    let created = try await peer.send("PUT", "/_local/ck", ["n": 1])
    #expect(created.status == 201)
    #expect(created.json == ["ok": true, "id": "_local/ck", "rev": "0-1"])
    #expect(
      try await peer.send("GET", "/_local/ck").json
        == ["_id": "_local/ck", "_rev": "0-1", "n": 1])
    #expect(try await peer.send("PUT", "/_local/ck", ["n": 2]).revision == "0-1")
    #expect(try await peer.send("PUT", "/_local/ck", ["_rev": "0-2", "n": 3]).revision == "0-3")
    #expect(try await peer.send("PUT", "/_local/ck", ["_rev": "0-1", "n": 4]).revision == "0-2")
    #expect(try await peer.send("GET", "/_local%2Fck").json["n"] == 4)
    // CouchDB's replicator sends this, and CouchDB does not store it.
    let again: Value = [
      "_rev": "0-2", "_revisions": ["start": 0, "ids": ["2"]], "n": 5,
    ]
    #expect(try await peer.send("PUT", "/_local/ck", again).revision == "0-3")
    #expect(
      try await peer.send("GET", "/_local/ck").json
        == ["_id": "_local/ck", "_rev": "0-3", "n": 5])
    let long = String(repeating: "x", count: 400)
    #expect(try await peer.send("PUT", "/_local/" + long, ["n": 5]).status == 201)
    #expect(try await peer.send("GET", "/_local/" + long).json["n"] == 5)
    #expect(try await peer.send("GET", "/_all_docs").json["rows"] == [])
    #expect(try await peer.send("DELETE", "/_local/ck").revision == "0-0")
    #expect(try await peer.send("DELETE", "/_local/ck").status == 404)
    #expect(try await peer.send("POST", "/_ensure_full_commit", [:]).status == 201)
  }

  @Test func `documents are listed by the bytes of their IDs`() async throws {
    let peer = try ServiceFixture()
    for id in ["b", "a", "B", "c", "é", "_design/x"] {
      let path = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      try await peer.send("PUT", "/" + path, ["v": .string(id)])
    }
    let revision = try await peer.send("PUT", "/gone", [:]).revision
    try await peer.send("DELETE", "/gone?rev=\(revision)")
    func ids(_ query: String) async throws -> [String] {
      let rows = try await peer.send("GET", "/_all_docs" + query).json["rows"]?.arrayValue ?? []
      return rows.compactMap { $0["id"]?.stringValue }
    }
    #expect(try await ids("") == ["B", "_design/x", "a", "b", "c", "é"])
    #expect(try await ids("?descending=true&limit=2") == ["é", "c"])
    #expect(try await ids("?startkey=%22a%22&endkey=%22c%22") == ["a", "b", "c"])
    let open = "?startkey=%22a%22&endkey=%22c%22&inclusive_end=false"
    #expect(try await ids(open) == ["a", "b"])
    #expect(try await ids("?startkey=%22c%22&endkey=%22a%22&descending=true") == ["c", "b", "a"])
    let backward = "?startkey=%22c%22&endkey=%22a%22&descending=true&inclusive_end=false"
    #expect(try await ids(backward) == ["c", "b"])
    #expect(try await ids("?key=%22b%22") == ["b"])
    #expect(try await ids("?skip=2&limit=1") == ["a"])
    #expect(try await ids("?limit=0") == [])
    let keys = try await peer.send(
      "POST", "/_all_docs?include_docs=true", ["keys": ["a", "nope", "gone", "b"]]
    ).json
    #expect(keys["total_rows"] == 6 && keys["offset"] == .null)
    #expect(keys["rows"]?[0]?["doc"]?["v"] == "a")
    #expect(keys["rows"]?[1] == ["key": "nope", "error": "not_found"])
    #expect(keys["rows"]?[2]?["value"]?["deleted"] == true && keys["rows"]?[2]?["doc"] == .null)
    #expect(keys["rows"]?[3]?["value"]?["rev"]?.stringValue?.hasPrefix("1-") == true)
  }
}
