import Divan
import DivanSync
import Foundation
import Testing

/// Tests of `_changes` in all its forms.
struct ServiceChangesTests {
  private func makePeer(_ count: Int) async throws -> ServiceFixture {
    var configuration = CouchDBService.Configuration()
    configuration.limits.shortestHeartbeat = .milliseconds(20)
    let peer = try ServiceFixture("peer", configuration)
    try await peer.database.write { transaction in
      for number in 0..<count {
        try transaction.put(Document(id: "d\(number)", ["n": .int(Int64(number))]))
      }
    }
    return peer
  }

  private func results(_ peer: ServiceFixture, _ query: String) async throws -> Value {
    let answer = try await peer.send("GET", "/_changes" + query)
    #expect(answer.status == 200)
    return answer.json
  }

  private func ids(_ value: Value) -> [String] {
    value["results"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
  }

  @Test func `each row has its own position, from which the rest follows`() async throws {
    let peer = try await makePeer(5)
    let all = try await results(peer, "")
    #expect(ids(all) == ["d0", "d1", "d2", "d3", "d4"] && all["pending"] == 0)
    for index in 0..<5 {
      let position = try #require(all["results"]?[index]?["seq"]?.stringValue)
      let rest = try await results(peer, "?since=\(position)")
      #expect(ids(rest) == Array(ids(all).dropFirst(index + 1)))
      #expect(rest["last_seq"] == all["last_seq"])
    }
    let some = try await results(peer, "?limit=2")
    #expect(ids(some) == ["d0", "d1"] && some["pending"] == 3)
    #expect(some["last_seq"] == all["results"]?[1]?["seq"])
    let none = try await results(peer, "?limit=0")
    #expect(ids(none) == [] && none["pending"] == 5)
    #expect(ids(try await results(peer, "?since=now")) == [])
    #expect(ids(try await results(peer, "?since=0")) == ids(all))
    let sparse = try await results(peer, "?seq_interval=3")
    #expect(
      sparse["results"]?.arrayValue?.map { $0["seq"] == .null } == [true, true, false, true, true])
  }

  @Test func `the opposite order begins with the last change`() async throws {
    let peer = try await makePeer(3000)
    // Gaps in the sequence numbers.
    for number in stride(from: 0, to: 3000, by: 7) {
      try await peer.database.update("d\(number)") { $0["n"] = 0 }
    }
    let forward = ids(try await results(peer, ""))
    #expect(ids(try await results(peer, "?descending=true")) == forward.reversed())
    let two = try await results(peer, "?descending=true&limit=2")
    #expect(ids(two) == Array(forward.reversed().prefix(2)))
    #expect(two["last_seq"] == two["results"]?[1]?["seq"])
  }

  @Test func `a row lists the winner or all leaves, and the document if asked`() async throws {
    let peer = try ServiceFixture()
    try await peer.storeConflict()
    func revisions(_ value: Value) -> [String] {
      value["results"]?[0]?["changes"]?.arrayValue?.compactMap { $0["rev"]?.stringValue } ?? []
    }
    let (b, c, d) = (
      "2-" + ServiceFixture.digest("b"), "2-" + ServiceFixture.digest("c"),
      "3-" + ServiceFixture.digest("d")
    )
    #expect(revisions(try await results(peer, "")) == [c])
    #expect(revisions(try await results(peer, "?style=main_only")) == [c])
    let all = try await results(peer, "?style=all_docs&include_docs=true&conflicts=true")
    #expect(revisions(all).first == c && Set(revisions(all)) == [b, c, d])
    #expect(all["results"]?[0]?["doc"]?["_conflicts"] == [.string(b)])
    #expect(all["results"]?[0]?["doc"]?["_revisions"] == nil)
    let gone = try await peer.send("PUT", "/gone", [:]).revision
    try await peer.send("DELETE", "/gone?rev=\(gone)")
    let last = try await results(peer, "?include_docs=true")["results"]?[1]
    #expect(last?["deleted"] == true && last?["doc"]?["_deleted"] == true)
  }

  @Test func `a filter by IDs comes in the query or in the body`() async throws {
    let peer = try await makePeer(5)
    let query = try await results(peer, "?filter=_doc_ids&doc_ids=%5B%22d3%22%5D")
    #expect(ids(query) == ["d3"])
    let body = try await peer.send(
      "POST", "/_changes?filter=_doc_ids", ["doc_ids": ["d1", "nope", "d4"]])
    #expect(ids(body.json) == ["d1", "d4"])
    #expect(body.json["last_seq"] == .string("5-\(peer.database.storeID)"))
    #expect(try await peer.send("POST", "/_changes?filter=_doc_ids", [:]).status == 400)
  }

  @Test func `a filter by IDs compares their bytes`() async throws {
    let peer = try await makePeer(0)
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    for id in [one, two] { try await peer.database.write { _ = try $0.put(Document(id: id)) } }
    for wanted in [[one], [two], [one, two]] {
      let list = Value.array(wanted.map { .string($0) })
      let answer = try await peer.send("POST", "/_changes?filter=_doc_ids", ["doc_ids": list])
      #expect(ids(answer.json).map { Array($0.utf8) } == wanted.map { Array($0.utf8) })
    }
  }

  @Test func `changes while the rows are sent are for the next request`() async throws {
    let peer = try await makePeer(20_000)
    let response = try await peer.open("GET", "/_changes")
    var data = Data()
    var pieceCount = 0
    for try await piece in response.body {
      data.append(piece)
      pieceCount += 1
      if pieceCount == 2 { try await peer.database.update("d19999") { $0["n"] = 0 } }
    }
    #expect(pieceCount > 4)
    let first = try Value(json: data)
    let last = try #require(first["last_seq"]?.stringValue)
    let rest = try await results(peer, "?since=\(last)")
    #expect(ids(first).count == 19_999 && ids(rest) == ["d19999"])
  }

  @Test func `a longpoll answers at once, or after the next change`() async throws {
    let peer = try await makePeer(1)
    let query = "?feed=longpoll&heartbeat=20&since="
    #expect(ids(try await results(peer, query + "0")) == ["d0"])
    let response = try await peer.open("GET", "/_changes\(query)now")
    var text = ""
    for try await piece in response.body {
      text += String(decoding: piece, as: UTF8.self)
      // Some heartbeats are there before there is a change.
      if text.hasSuffix("\n\n\n"), try !peer.database.snapshot().exists("new") {
        try await peer.database.write { _ = try $0.put(Document(id: "new")) }
      }
    }
    #expect(text.hasPrefix("{\"results\":[\n\n\n"))
    #expect(ids(try Value(json: text)) == ["new"])
  }

  @Test(arguments: ["longpoll", "continuous"])
  func `a feed ends after its timeout`(_ feed: String) async throws {
    let peer = try await makePeer(1)
    let answer = try await peer.send("GET", "/_changes?feed=\(feed)&since=now&timeout=50")
    let last = try #require(Value(json: answer.text.split(separator: "\n").joined())["last_seq"])
    #expect(last == .string("1-\(peer.database.storeID)"))
  }

  @Test func `a longpoll waits for a change that its filter includes`() async throws {
    let peer = try await makePeer(1)
    let query = "?feed=longpoll&since=now&filter=_doc_ids&doc_ids=%5B%22b%22%5D"
    let response = try await peer.open("GET", "/_changes" + query)
    try await peer.database.write { _ = try $0.put(Document(id: "a")) }
    try await peer.database.write { _ = try $0.put(Document(id: "b")) }
    var data = Data()
    for try await piece in response.body { data.append(piece) }
    #expect(ids(try Value(json: data)) == ["b"])
  }

  @Test func `a continuous feed sends each change as a line, and line breaks between`() async throws
  {
    let peer = try await makePeer(2)
    let response = try await peer.open(
      "GET", "/_changes?feed=continuous&heartbeat=20&limit=4&include_docs=true")
    var text = ""
    var isWritten = false
    for try await piece in response.body {
      text += String(decoding: piece, as: UTF8.self)
      guard text.hasSuffix("\n\n\n"), !isWritten else { continue }
      isWritten = true
      try await peer.database.write { transaction in
        try transaction.put(Document(id: "c"))
        try transaction.delete("d0")
      }
    }
    let rows = ServiceFixture.rows(text)
    #expect(rows.compactMap { $0["id"]?.stringValue } == ["d0", "d1", "c", "d0"])
    #expect(rows[3]["deleted"] == true && rows[0]["doc"]?["n"] == 0)
    #expect(rows.last?["last_seq"] == rows[3]["seq"])
  }

  @Test func `an event source sends events`() async throws {
    let peer = try await makePeer(1)
    let answer = try await peer.send("GET", "/_changes?feed=eventsource&timeout=10")
    #expect(answer.headers["content-type"] == "text/event-stream")
    #expect(answer.text.contains("data: {\"seq\":\"1-"))
    #expect(answer.text.contains("id: \"1-"))
  }

  @Test func `a feed ends when the service stops, and when its task is cancelled`() async throws {
    let peer = try await makePeer(1)
    let query = "/_changes?feed=longpoll&since=now&heartbeat=60000"
    let response = try await peer.open("GET", query)
    let reader = Task {
      var data = Data()
      for try await piece in response.body { data.append(piece) }
      return data
    }
    let cancelled = try await peer.open("GET", query)
    let other = Task { for try await _ in cancelled.body {} }
    try await Task.sleep(for: .milliseconds(50))
    other.cancel()
    await #expect(throws: CancellationError.self) { try await other.value }
    peer.service.endFeeds()
    #expect(ids(try Value(json: try await reader.value)) == [])
  }

  @Test func `feeds that wait are counted apart from requests`() async throws {
    var configuration = CouchDBService.Configuration()
    configuration.limits.concurrentRequests = 2
    configuration.limits.waitingFeeds = 3
    let peer = try ServiceFixture("peer", configuration)
    var waiting: [HTTPResponse] = []
    for _ in 0..<3 { waiting.append(try await peer.open("GET", "/_changes?feed=longpoll")) }
    #expect(try await peer.send("GET", "/_changes?feed=longpoll").status == 503)
    #expect(try await peer.send("GET").status == 200)
    waiting.removeLast()
    #expect(try await peer.open("GET", "/_changes?feed=longpoll").status == 200)
  }
}
