import Divan
import DivanSync
import Foundation
import Testing

/// Tests of the requests for documents, with the answers of CouchDB 3.4.
struct ServiceDocumentTests {
  @Test func `the service and a database say what they are`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("GET", "//").json["couchdb"] == "Welcome")
    #expect(try await peer.send("GET", "//_up").json == ["status": "ok"])
    #expect(try await peer.send("GET", "//_all_dbs").json == ["peer"])
    try await peer.send("PUT", "/a", [:])
    let revision = try await peer.send("PUT", "/b", [:]).revision
    try await peer.send("DELETE", "/b?rev=\(revision)")
    let info = try await peer.send("GET")
    #expect(info.json["db_name"] == "peer" && info.json["doc_count"] == 1)
    #expect(info.json["doc_del_count"] == 1)
    #expect(info.json["update_seq"] == .string("3-\(peer.database.storeID)"))
    let head = try await peer.send("HEAD")
    #expect(head.status == 200 && head.data.isEmpty)
    #expect(head.headers["content-length"] == info.headers["content-length"])
  }

  @Test func `a database that is closed makes the service unhealthy`() async throws {
    let peer = try ServiceFixture()
    try await peer.database.close()
    #expect(try await peer.send("GET", "//_up").status == 503)
    #expect(try await peer.send("GET", "/a").status == 503)
  }

  @Test func `a document that is nested too deep is refused, and the others are stored`()
    async throws
  {
    let peer = try ServiceFixture()
    func document(_ id: String, _ depth: Int) -> Value {
      // The object of the properties is a level, too.
      let value = (1..<depth).reduce(Value.int(7)) { value, _ in .array([value]) }
      let revision = Value.string("1-" + ServiceFixture.digest("a"))
      return ["_id": .string(id), "_rev": revision, "value": value]
    }
    // The store keeps the properties of a local document in an object of its own.
    for (depth, status, localStatus) in [
      (99, 201, 201), (100, 201, 413), (101, 413, 413), (108, 413, 413), (109, 400, 400),
      (2000, 400, 400),
    ] {
      let id = "d\(depth)"
      let answer = try await peer.send("PUT", "/\(id)?new_edits=false", document(id, depth))
      #expect(answer.status == status, "\(depth): \(answer.text)")
      let local = try await peer.send("PUT", "/_local/\(id)", ["value": document(id, depth - 1)])
      #expect(local.status == localStatus, "\(depth): \(local.text)")
    }
    let documents = [document("a", 100), document("b", 101), document("c", 1)]
    let answer = try await peer.send(
      "POST", "/_bulk_docs", ["new_edits": false, "docs": .array(documents)])
    #expect(answer.status == 201)
    #expect((answer.json.arrayValue ?? []).map { $0["id"] } == ["b"])
    #expect(answer.json[0]?["error"] == "bad_request")
    #expect(try peer.database.snapshot().ids().collect() == ["a", "c", "d100", "d99"])
  }

  @Test func `databases are neither created nor deleted`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("PUT").error == "file_exists")
    #expect(try await peer.send("PUT", "//other").status == 403)
    #expect(try await peer.send("PUT", "//Peer").error == "illegal_database_name")
    #expect(try await peer.send("GET", "//other").reason == "Database does not exist.")
    #expect(try await peer.send("DELETE").status == 403)
    let refused = try await peer.send("PATCH")
    #expect(refused.status == 405 && refused.reason == "Only DELETE,GET,HEAD,POST allowed")
  }

  @Test func `a document is created, changed, deleted and created again`() async throws {
    let peer = try ServiceFixture()
    let first = try await peer.send("PUT", "/d1", ["v": 1])
    #expect(first.status == 201 && first.json["ok"] == true && first.json["id"] == "d1")
    #expect(first.headers["etag"] == "\"\(first.revision)\"")
    #expect(try await peer.send("PUT", "/d1", ["v": 9]).status == 409)
    let unknown = Value.string("1-" + ServiceFixture.digest("0"))
    let conflict = try await peer.send("PUT", "/d1", ["_rev": unknown, "v": 9])
    #expect(conflict.status == 409 && conflict.reason == "Document update conflict.")
    let second = try await peer.send("PUT", "/d1", ["_rev": .string(first.revision), "v": 2])
    #expect(second.status == 201 && second.revision.hasPrefix("2-"))
    #expect(
      try await peer.send("PUT", "/d1", ["_rev": .string(first.revision), "v": 3]).status == 409)
    #expect(try await peer.send("PUT", "/d1", ["_rev": "xyz"]).reason == "Invalid rev format")
    let third = try await peer.send(
      "PUT", "/d1", ["v": 3], headers: ["If-Match": second.revision])
    #expect(third.status == 201)
    let disagreeing = try await peer.send(
      "PUT", "/d1?rev=\(second.revision)", ["v": 4], headers: ["If-Match": third.revision])
    #expect(disagreeing.reason == "Document rev and etag have different values")
    let stored = try await peer.send("GET", "/d1")
    #expect(stored.json == ["_id": "d1", "_rev": .string(third.revision), "v": 3])

    #expect(try await peer.send("DELETE", "/d1").status == 409)
    let deleted = try await peer.send("DELETE", "/d1?rev=\(third.revision)")
    #expect(deleted.status == 200 && deleted.revision.hasPrefix("4-"))
    #expect(try await peer.send("GET", "/d1").reason == "deleted")
    let tombstone = try await peer.send("GET", "/d1?rev=\(deleted.revision)")
    #expect(
      tombstone.json == ["_id": "d1", "_rev": .string(deleted.revision), "_deleted": true])
    #expect(try await peer.send("DELETE", "/d1?rev=\(deleted.revision)").reason == "deleted")
    #expect(try await peer.send("DELETE", "/nope?rev=\(deleted.revision)").reason == "missing")
    let again = try await peer.send("PUT", "/d1", ["v": 5])
    #expect(again.status == 201 && again.revision.hasPrefix("5-"))
  }

  @Test func `an entity tag saves the answer, and HEAD has no body`() async throws {
    let peer = try ServiceFixture()
    let revision = try await peer.send("PUT", "/d", [:]).revision
    let tag = "\"\(revision)\""
    let same = try await peer.send("GET", "/d", headers: ["If-None-Match": tag])
    #expect(same.status == 304 && same.data.isEmpty && same.headers["etag"] == tag)
    let head = try await peer.send("HEAD", "/d")
    #expect(head.status == 200 && head.data.isEmpty && head.headers["etag"] == tag)
    #expect(try await peer.send("HEAD", "/nope").status == 404)
  }

  @Test(arguments: [
    ("PUT", "/_x", #"{"a": 1}"#, 400, "illegal_docid"),
    ("PUT", "/u1", #"{"_weird": 1}"#, 400, "doc_validation"),
    ("PUT", "/u2", "[1]", 400, "bad_request"), ("PUT", "/u3", "{", 400, "bad_request"),
    ("PUT", "/u4", #"{"_id": "other"}"#, 400, "bad_request"),
    ("PUT", "/u5", #"{"_id": 5}"#, 400, "illegal_docid"),
    ("PUT", "/u6", #"{"_attachments": []}"#, 400, "bad_request"),
    ("PUT", "/u7", #"{"_attachments": {"a": {"data": "%"}}}"#, 400, "bad_request"),
    ("POST", "/_bulk_docs", #"{"x": []}"#, 400, "bad_request"),
    ("POST", "/_bulk_docs", #"{"docs": {}}"#, 400, "bad_request"),
    ("POST", "/_bulk_docs", #"{"new_edits": false, "docs": [{"_id": "a"}]}"#, 400, "bad_request"),
    (
      "POST", "/_bulk_docs", #"{"new_edits": false, "docs": [{"_id": "a", "_rev": "x"}]}"#, 400,
      "bad_request"
    ),
    ("GET", "/_bulk_docs", "", 405, "method_not_allowed"),
    ("POST", "/_bulk_get", "{}", 400, "bad_request"),
    ("POST", "/_revs_diff", #"{"c1": ["x"]}"#, 400, "bad_request"),
    ("POST", "/_revs_diff", #"{"c1": "1-a"}"#, 400, "bad_request"),
    ("GET", "/_changes?since=5-other", "", 400, "bad_request"),
    ("GET", "/_changes?feed=x", "", 400, "bad_request"),
    ("GET", "/_changes?limit=-1", "", 400, "bad_request"),
    ("GET", "/_changes?filter=a/b", "", 404, "not_found"),
    ("GET", "/nope?rev=x", "", 400, "bad_request"), ("GET", "/nope", "", 404, "not_found"),
    ("GET", "/nope?open_revs=all", "", 404, "not_found"),
    ("GET", "/nope?open_revs=x", "", 400, "bad_request"),
    ("GET", "/_all_docs?startkey=5", "", 400, "query_parse_error"),
    ("POST", "/_find", "{}", 501, "not_implemented"),
    ("GET", "/_design/a/_view/b", "", 501, "not_implemented"),
    ("GET", "/%FF", "", 400, "bad_request"),
    ("GET", "/a?x=%C3", "", 400, "bad_request"), ("GET", "/../../etc/passwd", "", 404, "not_found"),
    ("GET", "//..%2F..%2Fetc%2Fpasswd", "", 404, "not_found"),
    ("GET", "//peer%00", "", 404, "not_found"),
    ("GET", "//_node/_local", "", 501, "not_implemented"),
  ])
  func `what cannot be answered has an error in CouchDB's words`(
    _ method: String, _ path: String, _ body: String, _ status: Int, _ error: String
  ) async throws {
    let peer = try ServiceFixture()
    let answer = try await peer.send(
      method, path, data: Data(body.utf8), ["Content-Type": "application/json"])
    #expect(answer.status == status && answer.error == error, "\(answer.text)")
    #expect(answer.reason != nil && answer.headers["content-type"] == "application/json")
    #expect(try peer.database.snapshot().count == 0)
  }

  @Test func `bodies that say that they are no JSON are refused`() async throws {
    let peer = try ServiceFixture()
    for path in ["", "/_bulk_docs", "/_revs_diff", "/_bulk_get"] {
      let answer = try await peer.send("POST", path, [:], headers: ["Content-Type": "text/plain"])
      #expect(answer.status == 415 && answer.error == "bad_content_type")
    }
  }

  @Test(arguments: [
    "a/b é", "a+b", "a:b", "a b", "a%2Fb", "?#&=", "..", "e\u{301}", "é", "\u{0}", "😀",
    "_design/a b", "\"\\",
  ])
  func `a document can have any ID`(_ id: String) async throws {
    let peer = try ServiceFixture()
    let path = "/" + id.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try await peer.send("PUT", path, ["x": 1]).status == 201)
    let stored = try await peer.send("GET", path).json
    #expect(stored["_id"]?.stringValue.map { Array($0.utf8) } == Array(id.utf8))
    let ids = try peer.database.snapshot().ids().collect()
    #expect(ids.map { Array($0.utf8) } == [Array(id.utf8)])
  }

  @Test func `a plus in a path is a space, as it is for CouchDB`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("PUT", "/p+q", [:]).json["id"] == "p q")
    #expect(try await peer.send("GET", "/p%20q").status == 200)
    #expect(try await peer.send("GET", "/p%2Bq").status == 404)
  }

  @Test func `POST stores a document, and makes an ID if there is none`() async throws {
    let peer = try ServiceFixture()
    #expect(try await peer.send("POST", "", ["_id": "posted", "a": 1]).json["id"] == "posted")
    let made = try await peer.send("POST", "", ["a": 1])
    let id = try #require(made.json["id"]?.stringValue)
    #expect(made.status == 201 && !id.isEmpty)
    #expect(try peer.database.snapshot().document(id)?["a"] == 1)
  }

  @Test func `a validation refuses a document with its reason`() async throws {
    let peer = try ServiceFixture()
    peer.database.setValidation(named: "no bad docs") { revision in
      if revision.document["bad"] == true { try revision.reject("no bad docs") }
    }
    let refused = try await peer.send("PUT", "/v1", ["bad": true])
    #expect(refused.status == 403 && refused.error == "forbidden")
    #expect(refused.reason == "no bad docs")
    let rev: Value = .string("1-" + ServiceFixture.digest("a"))
    let bulk = try await peer.send(
      "POST", "/_bulk_docs",
      [
        "new_edits": false,
        "docs": [["_id": "v3", "_rev": rev, "bad": true], ["_id": "v4", "_rev": rev]],
      ])
    #expect(bulk.status == 201)
    #expect(
      bulk.json == [["id": "v3", "rev": rev, "error": "forbidden", "reason": "no bad docs"]])
    #expect(try await peer.send("GET", "/v4").status == 200)
  }

  @Test func `a bulk of new edits has a result for each document`() async throws {
    let peer = try ServiceFixture()
    try await peer.send("PUT", "/d1", ["v": 1])
    let answer = try await peer.send(
      "POST", "/_bulk_docs", ["docs": [["_id": "b1"], ["_id": "d1", "v": 0], ["x": 1]]])
    #expect(answer.status == 201)
    #expect(answer.json[0]?["ok"] == true && answer.json[0]?["id"] == "b1")
    #expect(
      answer.json[1] == [
        "id": "d1", "error": "conflict", "reason": "Document update conflict.",
      ])
    #expect(answer.json[2]?["ok"] == true)
    #expect(try peer.database.snapshot().count == 3)
    #expect(try await peer.send("POST", "/_bulk_docs", ["docs": []]).json == [])
    let rev = answer.json[0]?["rev"] ?? .null
    let deletion = try await peer.send(
      "POST", "/_bulk_docs", ["docs": [["_id": "b1", "_rev": rev, "_deleted": true, "why": "x"]]])
    #expect(deletion.json[0]?["ok"] == true)
    #expect(try peer.database.snapshot().tombstone("b1")?["why"] == "x")
  }

  @Test func `revisions made elsewhere are stored as they are, and only once`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    let b = "2-" + ServiceFixture.digest("b")
    let again = try await peer.send(
      "POST", "/_bulk_docs",
      ["new_edits": false, "docs": [["_id": "c1", "_rev": .string(b), "side": "CHANGED"]]])
    #expect(again.json == [])
    #expect(try await peer.send("GET", "/c1?rev=\(b)").json["side"] == "b")
    let a = ServiceFixture.digest("a")
    let put = try await peer.send(
      "PUT", "/c5?new_edits=false", ["_revisions": ["start": 1, "ids": [.string(a)]], "x": 1])
    #expect(put.status == 201 && put.revision == "1-" + a)
  }
}
