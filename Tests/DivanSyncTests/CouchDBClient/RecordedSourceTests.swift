import Divan
import DivanSync
import Foundation
import Testing

/// Tests that the answers of a real server are understood.
@Suite(.enabled(if: Recordings.directory != nil, Recordings.absence))
struct RecordedSourceTests {
  private static let url = "http://ada:secret@server.invalid/peer"

  private func peer(
    _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) throws -> CouchDBPeer {
    CouchDBPeer(
      url: try #require(URL(string: Self.url)),
      transport: ScriptedTransport { request, _ in try answer(request) })
  }

  /// A peer that gives the recorded answer with a note to every request.
  private func peer(_ note: String) throws -> (CouchDBPeer, RecordedExchange) {
    let exchange = try #require(try Recordings.sitting().first { $0.note == note }, "\(note)")
    return (try peer { _ in exchange.response }, exchange)
  }

  // MARK: A replication

  /// The content of the attachments, which PouchDB received in base64.
  private func contents() throws -> [String: Data] {
    let exchanges = try Recordings.trace("trace-pouchdb-2.2.3.json", "pouch223")
    let answer = exchanges.first { $0.target.hasPrefix("/src/att?") }?.json
    var contents: [String: Data] = [:]
    for (name, entry) in answer?[0]?["ok"]?["_attachments"]?.objectValue ?? [:] {
      contents["/src/att/" + name] = Data(base64Encoded: entry["data"]?.stringValue ?? "")
    }
    return contents
  }

  /// The members that the server adds to compressed attachments if it is asked for them.
  ///
  /// CouchDB's replicator did not ask, and its requests for documents with attachments have them.
  private func encodings(_ exchanges: [RecordedExchange]) async throws -> Value? {
    let exchange = try #require(exchanges.first { $0.target.hasPrefix("/src/att?") })
    let outer = MultipartReader(
      exchange.response.body, boundary: try boundary(exchange.headers["content-type"]))
    let headers = try #require(try await outer.nextPart())
    var part: [Data] = []
    while let piece = try await outer.nextPiece() { part.append(piece) }
    let inner = MultipartReader(
      HTTPBody(pieces: part), boundary: try boundary(headers["content-type"]))
    _ = try await inner.nextPart()
    var json = Data()
    while let piece = try await inner.nextPiece() { json += piece }
    return try Value(json: json)["_attachments"]
  }

  private func boundary(_ type: String?) throws -> String {
    let text = try #require(type?.components(separatedBy: "boundary=").last)
    return text.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
  }

  /// The documents of all recorded answers to `_bulk_get`, by their IDs and revisions.
  private func documents(_ exchanges: [RecordedExchange]) async throws -> [String: Value] {
    let encodings = try await encodings(exchanges)
    var documents: [String: Value] = [:]
    for exchange in exchanges where exchange.target.contains("_bulk_get") {
      for result in exchange.json?["results"]?.arrayValue ?? [] {
        guard let document = result["docs"]?[0]?["ok"], var members = document.objectValue else {
          continue
        }
        if var attachments = members["_attachments"]?.objectValue {
          for (name, entry) in attachments {
            var entry = entry.objectValue ?? [:]
            for member in ["encoding", "encoded_length"] {
              entry[member] = encodings?[name]?[member]
            }
            attachments[name] = .object(entry)
          }
          members["_attachments"] = .object(attachments)
        }
        let key = "\(members["_id"]?.stringValue ?? "") \(members["_rev"]?.stringValue ?? "")"
        documents[key] = .object(members)
      }
    }
    return documents
  }

  @Test func `a database of CouchDB arrives as it is`() async throws {
    let exchanges = try Recordings.trace("trace-couchdb-oneshot.json", "a_source")
    let (documents, contents) = (try await documents(exchanges), try contents())
    let transport = ScriptedTransport { request, _ in
      let url = request.url
      if url.path.contains("_bulk_get") {
        let body = if case .data(let data) = request.body { data } else { Data() }
        let results = (try Value(json: body)["docs"]?.arrayValue ?? []).map { entry -> Value in
          let key = "\(entry["id"]?.stringValue ?? "") \(entry["rev"]?.stringValue ?? "")"
          return ["id": entry["id"] ?? .null, "docs": [["ok": documents[key] ?? .null]]]
        }
        return ScriptedTransport.json(200, Value.object(["results": .array(results)]).json)
      }
      if let content = contents[url.path] {
        return HTTPResponse(status: 200, body: HTTPBody(content))
      }
      let since = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?
        .first { $0.name == "since" }?.value
      let exchange = exchanges.first { exchange in
        if url.path.hasSuffix("_changes") {
          return exchange.target.contains("_changes")
            && exchange.parameter("since") == since ?? "0"
        }
        if url.path.contains("/_local/") {
          return exchange.method == request.method && exchange.target.contains("/_local/")
        }
        return exchange.method == request.method
          && exchange.target.prefix { $0 != "?" }.trimmingSuffix("/") == url.path
      }
      return try #require(exchange, "\(request.method) \(url)").response
    }
    let database = try Database.inMemory()
    let peer = CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/src")), transport: transport)
    let status = try await Replicator(database, peer, direction: .pull).replicate()
    #expect(status.failures.isEmpty)
    // The first run of the recording, without its design document.
    #expect(status.pull.counts.revisionsWritten == 9)
    let snapshot = try database.snapshot()
    #expect(
      try snapshot.ids().collect() == [
        "att", "conflict", "edited", "plain", "sel1", "sel2",
      ])
    #expect(try snapshot.document("plain")?.properties == ["n": 1, "s": "héllo"])
    #expect(try snapshot.document("edited")?.properties == ["v": 2])
    #expect(try snapshot.leaves(of: "gone").map(\.isDeleted) == [true])
    #expect(
      try snapshot.leaves(of: "conflict").map { "\($0.revision?.description ?? "")" } == [
        "2-" + String(repeating: "c", count: 32), "2-" + String(repeating: "b", count: 32),
        "3-" + String(repeating: "d", count: 32),
      ])
    let attachments = try #require(try snapshot.document("att")?.attachments)
    #expect(try await attachments["t.txt"]?.data() == Data("hello world".utf8))
    #expect(try await attachments["b.bin"]?.data() == Data(0..<64))
    #expect(
      attachments["t.txt"]?.foreignDigest
        == .init("md5-7mkg+nM0HN26sZkLN8KVSA==", encoding: "gzip", encodedLength: 31))
    #expect(attachments["b.bin"]?.foreignDigest == .init("md5-stP1a8GX/ZhdWWUHm15xSA=="))
  }

  // MARK: Single answers

  @Test(arguments: [
    ("changes: all leaves", 10, true), ("changes: since and limit", 2, false),
    ("changes: since the end", 0, true), ("changes: seq_interval", 10, true),
    ("changes: _doc_ids", 1, false), ("changes: longpoll that times out", 0, true),
  ])
  func `changes are read`(_ note: String, _ count: Int, _ isEnd: Bool) async throws {
    let (peer, exchange) = try peer(note)
    let changes = try await peer.changes(since: nil, limit: 100, filter: .all)
    #expect(changes.changes.count == count && changes.isEnd == isEnd)
    #expect(changes.position?.value == exchange.json?["last_seq"])
    #expect(changes.unreadable.isEmpty)
    guard note == "changes: all leaves" else { return }
    let leaves = changes.changes.first { $0.id == "c1" }?.leaves.map(\.description)
    #expect(leaves?.count == 3 && leaves?.first == "2-" + String(repeating: "c", count: 32))
  }

  @Test(arguments: [
    ("changes: bad since", ReplicationError.Code.unknownPosition),
    ("changes: unknown filter", .notFound), ("database that does not exist", .notFound),
    ("no credentials", .unauthorized), ("wrong password", .unauthorized),
  ])
  func `refused changes are an error`(
    _ note: String, _ code: ReplicationError.Code
  ) async throws {
    let (peer, exchange) = try peer(note)
    let error = await #expect(throws: ReplicationError.self) {
      try await peer.changes(since: .init("garbage"), limit: 1, filter: .all)
    }
    #expect(error?.code == code && error?.isTemporary == false)
    let reason = try #require(exchange.json?["reason"]?.stringValue)
    #expect(error.map { "\($0)".contains(reason) && !"\($0)".contains("secret") } == true)
  }

  @Test func `missing revisions are read`() async throws {
    let (known, _) = try peer("revs_diff: everything known")
    #expect(try await known.missingRevisions(among: [:]).isEmpty)
    let (partly, _) = try peer("revs_diff: missing with possible ancestors")
    let missing = try await partly.missingRevisions(among: [:])
    #expect(Set(missing.keys) == ["c1", "d1", "new"])
    #expect(missing["c1"]?.missing.map(\.generation) == [4])
    #expect(missing["c1"]?.possibleAncestors.map(\.generation) == [2, 2, 3])
    for note in ["revs_diff: bad rev", "revs_diff: not a list (this server answers 500)"] {
      let (peer, exchange) = try peer(note)
      let error = await #expect(throws: ReplicationError.self) {
        try await peer.missingRevisions(among: [:])
      }
      #expect(error?.status == exchange.status)
    }
  }

  private static func revision(_ generation: Int, _ digit: Character) throws -> RevisionID {
    try #require(RevisionID("\(generation)-" + String(repeating: digit, count: 32)))
  }

  /// Describes what was found: the digits of revisions, or why there is none.
  private func describe(_ answers: [RevisionAnswer]) -> [String] {
    answers.map { answer in
      switch answer {
      case .found(let revision):
        revision.history.map { "\($0.generation)\($0.description.last ?? "-")" }
          .joined(separator: " ")
      case .gone: "gone"
      case .failed: "failed"
      }
    }
  }

  @Test func `revisions are read together`() async throws {
    let (peer, _) = try peer("bulk_get: plain")
    let requests = try [("c1", 2, "b"), ("c1", 9, "a"), ("nope2", 1, "a"), ("other", 1, "a")].map {
      RevisionRequest(id: $0.0, revision: try Self.revision($0.1, Character($0.2)))
    }
    let answers = try await peer.revisions(requests[...], sizeLimit: 1 << 20)
    #expect(describe(answers) == ["2b 1a", "gone", "gone", "failed"])
  }

  @Test func `revisions are read one document at a time`() async throws {
    let exchanges = try Recordings.sitting()
    let bulk = try #require(exchanges.first { $0.note == "method not allowed" })
    func answers(_ note: String, _ requests: [RevisionRequest]) async throws -> [String] {
      let exchange = try #require(exchanges.first { $0.note == note })
      let peer = try peer { request in
        request.url.path.contains("_bulk_get") ? bulk.response : exchange.response
      }
      return describe(try await peer.revisions(requests[...], sizeLimit: 1 << 20))
    }
    let requests = try [(3, "d"), (2, "c"), (2, "b"), (9, "a")].map {
      RevisionRequest(id: "c1", revision: try Self.revision($0.0, Character($0.1)))
    }
    #expect(
      try await answers("open_revs=all", requests) == ["3d 2e 1a", "2c 1a", "2b 1a", "failed"])
    #expect(
      try await answers("open_revs with one unknown", Array(requests[2...])) == ["2b 1a", "gone"])
    let interior = RevisionRequest(id: "c1", revision: try Self.revision(1, "a"))
    #expect(
      try await answers("open_revs of an interior rev: missing body", [interior]) == ["gone"])
  }

  @Test func `the answers to what is stored are read`() async throws {
    let refused = "replicated writes, some refused: the others are stored"
    let revisions = try ["v3", "v4", "v5"].map { id in
      ReplicatedRevision(
        Document(id: id), history: [try Self.revision(1, "a")], isDeleted: false)
    }
    let (validated, _) = try peer(refused)
    let results = try await validated.insert(revisions, from: "here")
    #expect(
      results.map { (try? $0.get()) == true } == [false, true, false])
    if case .failure(let error) = results[0] { #expect("\(error)".contains("no bad docs")) }
    let (accepting, _) = try peer("replicated write: same again is accepted silently")
    let accepted = try await accepting.insert(revisions, from: "here")
    #expect(accepted.allSatisfy { (try? $0.get()) == true })
    // One that is too large is found by sending fewer.
    let exchanges = try Recordings.sitting()
    let tooLarge = try #require(exchanges.first { $0.note.hasPrefix("bulk, one too large") })
    let empty = try #require(exchanges.first { $0.note == "bulk: empty" })
    let peer = try peer { request in
      let body = if case .data(let data) = request.body { data } else { Data() }
      return (body.range(of: Data("v5".utf8)) != nil ? tooLarge : empty).response
    }
    let split = try await peer.insert(revisions, from: "here")
    #expect(split.map { (try? $0.get()) == true } == [true, true, false])
  }

  @Test func `a session is begun and refused`() async throws {
    let exchanges = try Recordings.sitting()
    let (login, wrong) = (
      try #require(exchanges.first { $0.note == "log in, JSON" }),
      try #require(exchanges.first { $0.note == "log in, wrong" })
    )
    let flush = try #require(exchanges.first { $0.note == "ensure_full_commit" })
    for (session, isAccepted) in [(login, true), (wrong, false)] {
      let transport = ScriptedTransport { request, _ in
        request.url.path == "/_session" ? session.response : flush.response
      }
      let peer = CouchDBPeer(
        url: try #require(URL(string: "http://server.invalid/peer")),
        authorization: .session(name: "admin", password: "nope"), transport: transport)
      do {
        try await peer.flush()
        #expect(isAccepted)
        #expect(transport.requests.last?.headers["Cookie"]?.hasPrefix("AuthSession=") == true)
      } catch let error as ReplicationError {
        #expect(!isAccepted && error.code == .unauthorized && !"\(error)".contains("nope"))
      }
    }
  }

  @Test func `logs are read and written`() async throws {
    let exchanges = try Recordings.trace("trace-couchdb-oneshot.json", "a_source")
    let found = try #require(exchanges.last { $0.method == "GET" && $0.target.contains("_local") })
    let peer = try peer { _ in found.response }
    let log = try #require(try await peer.replicationLog("any"))
    #expect(log.sessionID == found.json?["session_id"]?.stringValue)
    #expect(log.history.count == 2)
    #expect(log.history.map(\.counts.revisionsWritten) == [11, 10])
    #expect(log.position?.value.stringValue?.hasPrefix("11-") == true)
  }
}

extension Substring {
  fileprivate func trimmingSuffix(_ suffix: String) -> Substring {
    hasSuffix(suffix) ? dropLast(suffix.count) : self
  }
}
