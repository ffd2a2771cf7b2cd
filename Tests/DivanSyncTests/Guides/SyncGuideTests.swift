import Divan
import DivanSync
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the code examples of the pages of DivanSync.
@Suite(.timeLimit(.minutes(5)))
struct SyncGuideTests {
  private let url: URL
  private let transport: ServiceTransport
  private let remote: Database
  private let password = "correct horse"

  init() throws {
    url = try #require(URL(string: "https://sync.example.com/notes"))
    remote = try Database.inMemory()
    transport = ServiceTransport(CouchDBService(["notes": remote, "team": remote]))
  }

  /// A peer whose requests are answered in this process.
  private func CouchDBPeer(url: URL, authorization: CouchDBAuthorization) -> CouchDBPeer {
    DivanSync.CouchDBPeer(url: url, authorization: .none, transport: transport)
  }

  /// A hash that takes no time without optimization.
  private func PasswordHash(of password: String) -> PasswordHash {
    DivanSync.PasswordHash(of: password, iterationCount: 10)
  }

  private func notes(of name: String) -> DatabasePeer { DatabasePeer(remote) }

  private func both(_ a: Value?, _ b: Value?) -> Value {
    .string([a, b].compactMap { $0?.stringValue }.sorted().joined(separator: ", "))
  }

  @Test func `a database is replicated with a server, once and continuously`() async throws {
    let database = try Database.inMemory()
    try await database.write { try _ = $0.put(Document(id: "note", ["text": "Milk"])) }
    let server = CouchDBPeer(url: url, authorization: .session(name: "ada", password: password))
    let replicator = Replicator(database, server)
    let status = try await replicator.replicate()
    print(status.push.counts.revisionsWritten, "sent")
    #expect(try remote.snapshot().document("note")?["text"] == "Milk")

    let run = replicator.start()
    for try await status in run.statuses where status.isUpToDate { break }
    await run.cancel()
    #expect(status.push.counts.revisionsWritten == 1)
  }

  @Test func `a database is replicated with an archive, and with a server of its own`()
    async throws
  {
    let database = try Database.inMemory()
    let archive = try Database.inMemory()
    do {
      let replicator = Replicator(database, DatabasePeer(archive))
      let status = try await replicator.replicate()
      print(
        status.push.counts.revisionsWritten, "sent,", status.pull.counts.revisionsWritten,
        "received")

      let run = replicator.start()
      for try await status in run.statuses where status.isUpToDate {
        print("up to date")
        break
      }
      #expect(run.status.isUpToDate && status.failures.isEmpty)
    }
    let server = CouchDBPeer(
      url: URL(string: "https://sync.example.com/notes")!,
      authorization: .session(name: "ada", password: password))
    let run = Replicator(database, server).start()
    for try await status in run.statuses where status.isUpToDate { break }
    #expect(run.status.isUpToDate)
  }

  @MainActor @Test func `the state of a replication is a text`() async throws {
    let database = try Database.inMemory()
    let replicator = Replicator(database, DatabasePeer(remote))
    let sync = ReplicationState(replicator.start())
    let text =
      switch (sync.status.isUpToDate, sync.status.pull.phase) {
      case (true, _): "Up to date"
      case (_, .offline(let next)): "Offline, next attempt at \(next.formatted())"
      default: "\(sync.status.push.pendingCount ?? 0) changes to send"
      }
    #expect(["Up to date", "0 changes to send"].contains(text))
    sync.run.retryNow()
    await sync.run.cancel()
  }

  @Test func `a store is replicated with several databases, and a closure chooses`() async throws {
    let database = try Database.inMemory()
    let server = DatabasePeer(remote)
    try await database.write { transaction in
      try transaction.put(Document(id: "a", ["type": "Note", "isDraft": true]))
      try transaction.put(Document(id: "b", ["type": "Note"]))
      try transaction.put(Document(id: "c", ["type": "Folder"]))
    }
    let drafts = ReplicationFilter.named("no drafts") { change in
      change.isDeleted || change.document["isDraft"] != true
    }
    try await Replicator(database, server, direction: .push, filter: drafts).replicate()
    #expect(try remote.snapshot().ids().collect() == ["b", "c"])

    let mine = Replicator(database, notes(of: "ada"), filter: .documentTypes("Note")).start()
    let shared = Replicator(
      database, notes(of: "team"), direction: .pull, filter: .documentTypes("Folder")
    ).start()
    for try await status in mine.statuses where status.isUpToDate { break }
    for try await status in shared.statuses where status.isUpToDate { break }
    #expect(try remote.snapshot().ids().collect() == ["a", "b", "c"])
  }

  @Test func `a conflict that arrives is resolved`() async throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    let replicator = Replicator(database, DatabasePeer(remote))
    try await database.write { try _ = $0.put(Document(id: "note", ["text": "Tea", "size": 1])) }
    try await replicator.replicate()
    try await database.write { try $0.update("note") { $0["text"] = "Milk" } }
    try await remote.write { try $0.update("note") { $0["text"] = "Bread" } }
    try await replicator.replicate()
    let position: UInt64 = 0
    for try await change in database.changeFeed(since: position) where change.hasConflicts {
      try await database.write { transaction in
        _ = try transaction.resolve(change.id) { overlap in
          overlap.path == ["text"] ? .value(both(overlap.mine, overlap.theirs)) : .mine
        }
      }
      break
    }
    try await replicator.replicate()
    for each in [database, remote] {
      #expect(try each.snapshot().document("note")?["text"] == "Bread, Milk")
      #expect(try each.snapshot().branches(of: "note").count == 1)
    }
  }

  @Test func `a validation refuses what arrives`() async throws {
    let database = try Database.inMemory()
    database.setValidation(named: "notes have a text") { revision in
      if !revision.isDeletion, revision.document["text"]?.stringValue == nil {
        try revision.reject("a note has a text", keys: ["text"])
      }
    }
    try await remote.write { transaction in
      try transaction.put(Document(id: "bad", ["size": 1]))
      try transaction.put(Document(id: "good", ["text": "Milk"]))
    }
    let status = try await Replicator(database, DatabasePeer(remote)).replicate()
    #expect(status.failures.map(\.id) == ["bad"])
    #expect(try database.snapshot().ids().collect() == ["good"])
  }

  /// What a server writes to.
  private actor Connection {
    var data = Data()

    func write(_ piece: Data) async throws { data += piece }
  }

  @Test func `a request is passed to a service, and its response is written`() async throws {
    let database = try Database.inMemory()
    let (method, body) = ("PUT", HTTPBody(Data("{}".utf8)))
    let password = "metropolis"
    let credentials = Data("ada:metropolis".utf8).base64EncodedString()
    let headers = [
      "content-type": "application/json", "authorization": "Basic \(credentials)",
    ]
    let url = try #require(URL(string: "http://127.0.0.1:5984/films/metropolis"))
    let connection = Connection()
    var configuration = CouchDBService.Configuration()
    configuration.users = [
      CouchDBService.User(
        name: "ada", password: PasswordHash(of: password), permissions: ["films": .write])
    ]
    let service = CouchDBService(["films": database], configuration: configuration)
    let response = await service.respond(to: HTTPRequest(method, url, headers: headers), body: body)
    for try await piece in response.body { try await connection.write(piece) }
    #expect(try await Value(json: connection.data)["ok"] == true)
    #expect(try database.snapshot().exists("metropolis"))
  }

  @Test func `a test needs no server`() async throws {
    let phone = try Database.inMemory()
    let desk = try Database.inMemory()
    try await phone.write {
      try _ = $0.put(Document(id: "note:1", ["type": "Note", "text": "Milk"]))
    }
    try await Replicator(phone, DatabasePeer(desk)).replicate()
    #expect(try desk.snapshot().document("note:1")?["text"] == "Milk")
  }

  @Test func `the code of the pages is the code of these tests`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let tests = try ExampleSources(in: folder)
    let catalogue = ProjectFolder.url.appending(path: "Sources/DivanSync/DivanSync.docc")
    var count = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: catalogue.path)
    where name.hasSuffix(".md") {
      let page = try String(contentsOf: catalogue.appending(path: name), encoding: .utf8)
      for example in ExampleSources.examples(in: page) {
        #expect(tests.contains(example), "\(name): \(example.first ?? "")")
        count += 1
      }
    }
    #expect(count == 12)
  }
}
