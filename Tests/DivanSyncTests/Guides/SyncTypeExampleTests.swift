import Divan
import DivanSync
import Foundation
import TestSupport
import Testing

/// Tests that run the examples of the public types of DivanSync.
@Suite(.timeLimit(.minutes(5)))
struct SyncTypeExampleTests {
  private let url: URL
  private let database: Database
  private let archive: Database
  private let transport: ServiceTransport
  private let first: RevisionID
  private let second: RevisionID

  init() throws {
    url = try #require(URL(string: "https://sync.example.com/films/metropolis"))
    database = try Database.inMemory()
    archive = try Database.inMemory()
    transport = ServiceTransport(CouchDBService(["films": archive]))
    first = try #require(RevisionID("1-a1"))
    second = try #require(RevisionID("2-b2"))
  }

  /// Puts a film into a database, and returns its revision.
  private func put(_ title: String, into database: Database) async throws -> RevisionID {
    let document = Document(id: "film", ["title": .string(title)])
    try await database.write { try _ = $0.put(document, onConflict: .overwrite) }
    return try #require(try database.snapshot().branches(of: "film").first?.revision)
  }

  /// The types whose examples no test of the guides runs as they are: other tests use these types.
  private static let untested: Set<String> = [
    "Configuration", "CouchDBService", "DatabasePeer", "Event", "Limits", "MangoSelector",
    "Options", "PasswordHash", "Permission", "ReplicationError", "ReplicationFilter",
    "ReplicationPeer", "ReplicationRun", "ReplicationState", "Replicator", "URLSessionTransport",
    "User",
  ]

  @Test func `every public type has an example, and most examples are code of tests`() throws {
    let tests = try ExampleSources(in: URL(filePath: #filePath).deletingLastPathComponent())
    var missing: Set<String> = []
    let types = try ExampleSources.typeComments(in: "Sources/DivanSync")
    for (type, comment) in types {
      #expect(comment.contains("```"), "\(type) has no example")
      for example in ExampleSources.examples(in: comment) where !tests.contains(example) {
        missing.insert(type)
      }
    }
    #expect(missing == SyncTypeExampleTests.untested)
    #expect(types.count > 35)
  }

  // MARK: Checkpoints

  @Test func `a revision in a log is asked for again`() async throws {
    let revision = try await put("Metropolis", into: archive)
    let source = DatabasePeer(archive)
    var log = ReplicationLog(ReplicationLog.Entry(sessionID: "s1", position: nil))
    log.retries = [ReplicationLog.Retry(id: "film", revision: revision)]
    let requests = log.retries.map { RevisionRequest(id: $0.id, revision: $0.revision) }
    let answers = try await source.revisions(requests[...], sizeLimit: 4 << 20)
    guard case .found(let film)? = answers.first else {
      Issue.record("The source has the revision")
      return
    }
    #expect(film.revision == revision && film.document["title"] == "Metropolis")
  }

  @Test func `a log remembers why a revision could not be copied`() async throws {
    let revision = first
    let target = DatabasePeer(archive)
    var log = ReplicationLog(ReplicationLog.Entry(sessionID: "s1", position: nil))
    log.failures.append(
      ReplicationLog.Failure(id: "film", revision: revision, reason: "a film has a title"))
    for failure in log.failures { print(failure.id, "was not copied:", failure.reason) }
    try await target.setReplicationLog(log, "films")
    #expect(try await target.replicationLog("films") == log)
  }

  @Test func `a source that does not have the last change is an older copy`() async throws {
    let revision = try await put("Metropolis", into: database)
    var lines: [String] = []
    func print(_ line: String) { lines.append(line) }
    for source in [DatabasePeer(database), DatabasePeer(archive)] {
      let change = ReplicationLog.Change(id: "film", leaves: [revision])
      let missing = try await source.missingRevisions(among: [change.id: change.leaves])
      if !missing.isEmpty { print("The source is an older copy of itself") }
    }
    #expect(lines == ["The source is an older copy of itself"])
  }

  @Test func `a log says how far a session came`() async throws {
    _ = try await put("Metropolis", into: database)
    let target = DatabasePeer(archive)
    let changes = try await DatabasePeer(database).changes(since: nil, limit: 10, filter: .all)
    var entry = ReplicationLog.Entry(sessionID: "s1", position: changes.position)
    entry.counts.revisionsWritten = changes.changes.count
    try await target.setReplicationLog(ReplicationLog(entry), "films")
    let log = try #require(try await target.replicationLog("films"))
    #expect(log.position == changes.position && log.history == [entry])
  }

  @Test func `a replication counts what it copies`() async throws {
    _ = try await put("Metropolis", into: database)
    let replicator = Replicator(database, DatabasePeer(archive), direction: .push)
    let counts = try await replicator.replicate().push.counts
    print(counts.revisionsWritten, "of", counts.revisionsMissing, "revisions were sent")
    print(counts.attachmentBytes, "bytes of attachments")
    #expect(counts.revisionsWritten == 1 && counts.revisionsMissing == 1)
    #expect(counts.attachmentBytes == 0)
  }

  @Test func `a position is stored as the value that the peer sent`() async throws {
    _ = try await put("Metropolis", into: archive)
    let peer = DatabasePeer(archive)
    for count in [1, 0] {
      let stored = try database.snapshot().localDocument("archive")?["position"]
      let position = stored.map { ReplicationPosition($0) }
      let changes = try await peer.changes(since: position, limit: 100, filter: .all)
      if let next = changes.position {
        try await database.write { try $0.putLocal("archive", ["position": next.value]) }
      }
      #expect(changes.changes.count == count)
    }
  }

  // MARK: Errors and credentials

  /// A transport that accepts only the second token.
  private struct TokenCheck: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      guard request.headers["Authorization"] == "Bearer new" else {
        return HTTPResponse(status: 401)
      }
      return HTTPResponse(
        status: 200, body: HTTPBody(Data(#"{"results": [], "last_seq": "0", "pending": 0}"#.utf8)))
    }
  }

  /// Where an app has its tokens.
  private struct Account {
    func token(isNew: Bool) async throws -> String { isNew ? "new" : "old" }
  }

  @Test func `a token that the server refuses is renewed`() async throws {
    func CouchDBPeer(url: URL, authorization: CouchDBAuthorization) -> CouchDBPeer {
      DivanSync.CouchDBPeer(url: url, authorization: authorization, transport: TokenCheck())
    }
    let url = url.deletingLastPathComponent()
    let account = Account()
    let authorization = CouchDBAuthorization.bearer { isRenewal in
      try await account.token(isNew: isRenewal)
    }
    let server = CouchDBPeer(url: url, authorization: authorization)
    let changes = try await server.changes(since: nil, limit: 1, filter: .all)
    #expect(changes.isEnd && changes.changes.isEmpty)
  }

  @Test func `a wrong password is an error with a code of its own`() async throws {
    let password = PasswordHash(of: "metropolis", iterationCount: 10)
    var configuration = CouchDBService.Configuration()
    configuration.users = [
      CouchDBService.User(name: "ada", password: password, permissions: ["films": .write])
    ]
    let service = CouchDBService(["films": archive], configuration: configuration)
    let server = CouchDBPeer(
      url: url.deletingLastPathComponent(), authorization: .basic(name: "ada", password: "wrong"),
      transport: ServiceTransport(service))
    let replicator = Replicator(database, server)
    var lines: [String] = []
    func print(_ line: String, _ error: any Error) { lines.append(line) }
    do {
      try await replicator.replicate()
    } catch let error as ReplicationError where error.code == .unauthorized {
      print("Check the name and the password:", error)
    }
    #expect(lines.count == 1)
  }

  // MARK: HTTP

  struct LoggedTransport: HTTPTransport {
    let base: any HTTPTransport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      print(request.method, request.url.path)
      return try await base.send(request)
    }
  }

  @Test func `a transport of your own passes requests on`() async throws {
    _ = try await put("Metropolis", into: archive)
    let server = CouchDBPeer(
      url: url.deletingLastPathComponent(), transport: LoggedTransport(base: transport))
    try await Replicator(database, server).replicate()
    #expect(try database.snapshot().document("film")?["title"] == "Metropolis")
    #expect(transport.requests.contains { $0.hasSuffix("/films/_changes") })
  }

  @Test func `a request has headers and a body`() async throws {
    var request = HTTPRequest("PUT", url, headers: ["Content-Type": "application/json"])
    request.body = .data(Data(#"{"title": "Metropolis"}"#.utf8))
    request.progress = { print($0, "bytes were sent") }
    let response = try await transport.send(request)
    #expect(response.status == 201)
    #expect(try archive.snapshot().document("metropolis")?["title"] == "Metropolis")
  }

  @Test func `a transport reads the body of a request from memory or from a file`() throws {
    var request = HTTPRequest("PUT", url)
    for (body, expected) in [
      (HTTPRequest.Body.none, nil), (.data(Data("{}".utf8)), Data("{}".utf8)),
    ] {
      request.body = body
      let data: Data? =
        switch request.body {
        case .none: nil
        case .data(let data): data
        case .file(let file): try Data(contentsOf: file)
        }
      #expect(data == expected)
    }
  }

  struct BusyTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      HTTPResponse(status: 503, headers: ["retry-after": "30"])
    }
  }

  @Test func `a response says when the server is busy, and for how long`() async throws {
    let server = CouchDBPeer(
      url: url.deletingLastPathComponent(), transport: BusyTransport())
    let error = try await #require(throws: ReplicationError.self) {
      _ = try await server.changes(since: nil, limit: 1, filter: .all)
    }
    #expect(error.isTemporary && error.retryDelay == .seconds(30))
  }

  @Test func `a body has pieces of any size`() async throws {
    let body = HTTPBody(pieces: [Data(#"{"title": "#.utf8), Data(#""Metropolis"}"#.utf8)])
    var data = Data()
    for try await piece in body { data += piece }
    #expect(try Value(json: data)["title"] == "Metropolis")
  }

  /// What a server writes to.
  private actor Connection {
    var pieces: [Data] = []

    func write(_ piece: Data) async throws { pieces.append(piece) }
  }

  @Test func `the pieces of a body are read one after the other`() async throws {
    let connection = Connection()
    let response = HTTPResponse(status: 200, body: HTTPBody(pieces: [Data([1, 2]), Data([3])]))
    var pieces = response.body.makeAsyncIterator()
    while let piece = try await pieces.next() {
      try await connection.write(piece)
    }
    #expect(await connection.pieces == [Data([1, 2]), Data([3])])
  }

  // MARK: Peers

  @Test func `the changes of a peer are read to their end`() async throws {
    for number in 0..<250 {
      try await archive.write { try _ = $0.put(Document(id: "\(number)", [:])) }
    }
    let peer = DatabasePeer(archive)
    var ids: Set<String> = []
    func print(_ id: String, _ leaves: [RevisionID]) { ids.insert(id) }
    var changes = ReplicationChanges([], position: nil, isEnd: false)
    while !changes.isEnd {
      changes = try await peer.changes(since: changes.position, limit: 100, filter: .all)
      for (id, leaves) in changes.changes { print(id, leaves) }
    }
    #expect(ids.count == 250)
  }

  @Test func `a revision is asked for without the attachments that the reader has`() async throws {
    let known = try await put("Metropolis", into: archive)
    let revision = try await put("Metropolis (1927)", into: archive)
    let peer = DatabasePeer(archive)
    var titles: [Value] = []
    func print(_ title: Value) { titles.append(title) }
    let request = RevisionRequest(id: "film", revision: revision, knownAncestors: [known])
    let answers = try await peer.revisions([request], sizeLimit: 4 << 20)
    if case .found(let film)? = answers.first { print(film.document["title"] ?? .null) }
    #expect(titles == ["Metropolis (1927)"])
  }

  @Test func `a peer answers with a revision, or that it is gone`() async throws {
    let revision = try await put("Metropolis", into: archive)
    let requests = [revision, second].map { RevisionRequest(id: "film", revision: $0) }
    let answers = try await DatabasePeer(archive).revisions(requests[...], sizeLimit: 4 << 20)
    var lines: [String] = []
    func print(_ line: String, _ value: Any? = nil) { lines.append(line) }
    for answer in answers {
      switch answer {
      case .found(let revision): print(revision.document.id, revision.document["title"] ?? .null)
      case .gone: print("It was purged, or has successors")
      case .failed(let error): print("It cannot be read:", error)
      }
    }
    #expect(lines == ["film", "It was purged, or has successors"])
  }

  // MARK: Status

  @Test func `the status says what was copied, and what was not`() async throws {
    _ = try await put("Metropolis", into: database)
    let replicator = Replicator(database, DatabasePeer(archive))
    let status = try await replicator.replicate()
    print(status.push.counts.revisionsWritten, "sent")
    print(status.pull.counts.revisionsWritten, "received")
    for failure in status.failures { print(failure.id, failure.error) }
    #expect(status.push.counts.revisionsWritten == 1 && status.failures.isEmpty)
  }

  @Test func `each direction says how much is left`() async throws {
    _ = try await put("Metropolis", into: database)
    let run = Replicator(database, DatabasePeer(archive), direction: .push).start()
    for try await status in run.statuses where status.isUpToDate { break }
    let push = run.status.push
    print(push.pendingCount ?? 0, "changes to look at")
    print(push.batchAttachmentBytesDone, "of", push.batchAttachmentBytes, "bytes in this batch")
    #expect(push.pendingCount == 0 && push.counts.revisionsWritten == 1)
    await run.cancel()
  }

  @Test func `the phase of a replication is a text for people`() async throws {
    let run = Replicator(database, DatabasePeer(archive), direction: .push).start()
    for try await status in run.statuses where status.isUpToDate { break }
    let text =
      switch run.status.push.phase {
      case .inactive: "Not running"
      case .active: "Sending"
      case .upToDate: "Up to date"
      case .offline(let next): "Offline, next attempt at \(next.formatted())"
      }
    #expect(text == "Up to date")
    await run.cancel()
  }

  @Test func `a revision that the database refuses is a failure`() async throws {
    database.setValidation(named: "films have a year") { revision in
      if revision.document["year"] == nil {
        try revision.reject("a film has a year", keys: ["year"])
      }
    }
    _ = try await put("Metropolis", into: archive)
    let status = try await Replicator(database, DatabasePeer(archive)).replicate()
    var ids: [String] = []
    func print(_ id: String, _ text: String, _ error: any Error) { ids.append(id) }
    for failure in status.failures where failure.isPulled {
      print(failure.id, "was not received:", failure.error)
    }
    #expect(ids == ["film"])
  }

  @Test(arguments: [true, false])
  func `an archive is written to only`(isArchive: Bool) async throws {
    let peer = DatabasePeer(archive)
    _ = try await put("Metropolis", into: archive)
    let direction: Replicator.Direction = isArchive ? .push : .both
    let replicator = Replicator(database, peer, direction: direction)
    try await replicator.replicate()
    #expect(try database.snapshot().exists("film") != isArchive)
  }

  // MARK: Revisions

  @Test func `a revision is stored with its history`() async throws {
    let peer = DatabasePeer(archive)
    let history = [second, first]
    let document = Document(id: "film", ["title": "Metropolis"])
    let revision = ReplicatedRevision(document, history: history, isDeleted: false)
    let results = try await peer.insert([revision], from: "https://example.com/films")
    #expect(try results.map { try $0.get() } == [true])
    #expect(try archive.snapshot().branches(of: "film").map(\.revision) == [second])
  }

  @Test func `an attachment is sent in pieces`() async throws {
    let peer = DatabasePeer(archive)
    let (document, history) = (Document(id: "film", ["title": "Metropolis"]), [first])
    let data = Data(repeating: 7, count: 100_000)
    let poster = ReplicatedAttachment(
      name: "poster.png", contentType: "image/png", length: data.count, generation: 1,
      .sent { HTTPBody(data) })
    let revision = ReplicatedRevision(
      document, history: history, isDeleted: false, attachments: [poster])
    let results = try await peer.insert([revision], from: "https://example.com/films")
    #expect(try results.map { try $0.get() } == [true])
    let stored = try archive.snapshot().document("film")?.attachments["poster.png"]
    #expect(try await stored?.data() == data)
  }

  @Test func `the content of an attachment is read from where it is`() async throws {
    let poster = Document.Attachment(contentType: "image/png", [1, 2, 3])
    for content in [
      ReplicatedAttachment.Content.stored(poster), .sent { HTTPBody(Data([1, 2, 3])) }, .known,
    ] {
      let attachment = ReplicatedAttachment(
        name: "poster.png", contentType: "image/png", length: 3, generation: 1, content)
      var data = Data()
      switch attachment.content {
      case .stored(let stored): data = try await stored.data()
      case .sent(let open): for try await piece in try await open() { data += piece }
      case .known: print("An ancestor of the revision has it")
      }
      if case .known = content {
        #expect(data.isEmpty)
      } else {
        #expect(data == Data([1, 2, 3]))
      }
    }
  }
}
