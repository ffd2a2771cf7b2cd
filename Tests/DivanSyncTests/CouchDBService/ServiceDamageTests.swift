import Divan
import DivanTesting
import Foundation
import Synchronization
import Testing

@testable import DivanSync

/// Tests of what a service says about changes that it cannot read, and of the cost of filters.
struct ServiceDamageTests {
  private final class Log: Sendable {
    let events = Mutex<[CouchDBService.Event]>([])

    var all: [CouchDBService.Event] { events.withLock { $0 } }
  }

  private let log = Log()

  private func service(
    _ database: Database, _ change: (inout CouchDBService.Configuration) -> Void = { _ in }
  ) -> CouchDBService {
    var configuration = CouchDBService.Configuration()
    configuration.eventHandler = { [log] event in log.events.withLock { $0.append(event) } }
    change(&configuration)
    return CouchDBService(["films": database], configuration: configuration)
  }

  /// A store with 60 films, some of which are damaged where no checkpoint needs it.
  private func damagedDatabase(_ numbers: Range<Int> = 5..<6) throws -> Database {
    let disk = SimulatedDisk(seed: 3)
    let filler = String(repeating: "x", count: 300)
    let database = try Database(at: "/films.divan", configuration: disk.configuration())
    for number in 0..<60 {
      try database.write { transaction in
        _ = try transaction.put(
          Document(id: "film \(number)", ["text": .string("the film \(number). \(filler)")]))
      }
    }
    try database.close()
    let texts = numbers.map { Array("the film \($0). ".utf8) }
    var count = 0
    for path in disk.filePaths where path.hasSuffix(".segment") {
      let bytes = try disk.contents(of: path)
      for offset in bytes.indices where bytes[offset...].starts(with: "the film ".utf8) {
        guard texts.contains(where: { bytes[offset...].starts(with: $0) }) else { continue }
        try disk.corrupt(path, atOffset: offset + 20, mask: 1)
        count += 1
      }
    }
    try #require(count >= numbers.count)
    let damaged = try Database(at: "/films.divan", configuration: disk.configuration())
    try #require(damaged.openingReport.damage.isEmpty)
    return damaged
  }

  private func send(
    _ service: CouchDBService, _ query: String, _ body: Value? = nil
  ) async throws -> (status: Int, text: String) {
    let url = try #require(URL(string: "http://server.invalid/films/_changes\(query)"))
    let response = await service.respond(
      to: HTTPRequest(
        body == nil ? "GET" : "POST", url, headers: ["content-type": "application/json"]),
      body: HTTPBody(Data((body?.json ?? "").utf8)))
    var data = Data()
    for try await piece in response.body { data.append(piece) }
    return (response.status, String(decoding: data, as: UTF8.self))
  }

  @Test(arguments: [
    "", "?feed=longpoll", "?descending=true", "?include_docs=true", "?style=all_docs",
  ])
  func `a feed says which changes it leaves out`(_ query: String) async throws {
    let database = try damagedDatabase()
    let answer = try Value(json: try await send(service(database), query).text)
    let ids = Set((answer["results"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue })
    #expect(ids == Set((0..<60).map { "film \($0)" }).subtracting(["film 5"]))
    let unreadable = try #require(answer["unreadable"]?.arrayValue)
    #expect(unreadable.count == 1 && unreadable[0]["reason"]?.stringValue?.isEmpty == false)
    let incidents = log.all.filter { $0.incident != nil }
    #expect(incidents.count == 1 && incidents[0].error == "unreadable_change")
    #expect(incidents[0].description.hasPrefix("GET /films/_changes 200 unreadable_change - "))
  }

  /// Regression test: damaged changes at the end of a batch were read again and again.
  @Test(.timeLimit(.minutes(5)), arguments: ["", "?descending=true", "?include_docs=true"])
  func `a feed goes on after more changes that it leaves out than it looks at in one go`(
    _ query: String
  ) async throws {
    let service = service(try damagedDatabase(5..<12)) { $0.limits.batchCount = 3 }
    let answer = try Value(json: try await send(service, query).text)
    let ids = Set((answer["results"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue })
    #expect(ids == Set((0..<60).filter { !(5..<12).contains($0) }.map { "film \($0)" }))
    #expect(answer["unreadable"]?.arrayValue?.count == 7)
  }

  @Test func `a feed that is repeated gets past the changes that it leaves out`() async throws {
    let service = service(try damagedDatabase(5..<12)) { $0.limits.batchCount = 2 }
    var ids: Set<String> = []
    var since = "0"
    for _ in 0..<20 where ids.count < 53 {
      let answer = try Value(json: try await send(service, "?feed=longpoll&since=\(since)").text)
      ids.formUnion((answer["results"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue })
      since = try #require(answer["last_seq"]?.stringValue)
    }
    #expect(ids.count == 53)
  }

  @Test func `a continuous feed ends after a change that it leaves out`() async throws {
    let database = try damagedDatabase()
    let text = try await send(service(database), "?feed=continuous&heartbeat=60000").text
    let lines = text.split(separator: "\n").map(String.init)
    let last = try Value(json: try #require(lines.last))
    #expect(last["unreadable"]?.arrayValue?.count == 1)
    let position = try #require(last["last_seq"]?.stringValue)
    let rest = try await send(
      service(database), "?feed=continuous&timeout=10&since=\(position)"
    ).text
    #expect(!rest.contains("unreadable"))
    let count = lines.count - 1 + rest.split(separator: "\n").count - 1
    #expect(count == 59)
  }

  @Test func `an event stream has a comment for a change that it leaves out`() async throws {
    let database = try damagedDatabase()
    let service = service(database)
    async let answer = send(service, "?feed=eventsource&timeout=50")
    #expect(try await answer.text.contains("\n: unreadable {"))
  }

  @Test func `a replication reports a change that the server cannot read`() async throws {
    let local = try Database.inMemory()
    let url = try #require(URL(string: "http://server.invalid/films"))
    let peer = CouchDBPeer(url: url, transport: ServiceTransport(service(try damagedDatabase())))
    let status = try await Replicator(local, peer, direction: .pull).replicate()
    #expect(try local.snapshot().count == 59)
    #expect(status.failures.count == 1)
    #expect("\(status.failures)".contains("the server cannot read a change"))
  }

  /// Regression test: a descending feed of such a store never ended, and reported without end.
  @Test(.timeLimit(.minutes(5)), arguments: ["", "?descending=true"])
  func `a store that cannot list its changes has no feed`(_ query: String) async throws {
    let disk = SimulatedDisk(seed: 3)
    var database = try Database(at: "/films.divan", configuration: disk.configuration())
    for number in 0..<3 {
      try await database.write {
        _ = try $0.put(Document(id: "\(number)", ["text": .string("the film \(number).")]))
      }
    }
    let crashed = disk.restarted(.everything)
    let text = Array("the film 1.".utf8)
    for path in crashed.filePaths where path.hasSuffix(".segment") {
      let bytes = try crashed.contents(of: path)
      for offset in bytes.indices where bytes[offset...].starts(with: text) {
        try crashed.corrupt(path, atOffset: offset, mask: 1)
      }
    }
    var configuration = crashed.configuration()
    configuration.isReadOnly = true
    database = try Database(at: "/films.divan", configuration: configuration)
    let damaged = database
    try #require(!damaged.openingReport.damage.isEmpty)
    await #expect(throws: DatabaseError.self) { try await send(service(damaged), query) }
    #expect(log.all.contains { $0.incident?.contains("The answer was cut") == true })
    await #expect(throws: DatabaseError.self) {
      try await DatabasePeer(damaged).changes(since: nil, limit: 10, filter: .all)
    }
  }
}

// MARK: - Attachments

extension ServiceDamageTests {
  /// A network, on which an answer that is cut looks like a lost connection.
  private struct Network: HTTPTransport {
    let server: ServiceTransport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      var response = try await server.send(request)
      let body = response.body
      response.body = HTTPBody {
        let pieces = body.makeAsyncIterator()
        return {
          do {
            return try await pieces.next()
          } catch {
            throw ReplicationError(.unreachable, "the connection was lost", underlying: error)
          }
        }
      }
      return response
    }
  }

  /// Regression test: each session was cut at the attachment, and took that for a lost connection.
  @Test func `a damaged attachment does not stop the copying of other documents`() async throws {
    let disk = SimulatedDisk(seed: 3)
    let there = try Database(at: "/films.divan", configuration: disk.configuration())
    try await there.write { transaction in
      for number in 0..<5 {
        var film = Document(id: "film \(number)", [:])
        film.attachments["poster"] = Document.Attachment(
          contentType: "image/png", [UInt8](repeating: UInt8(number), count: 300_000))
        try transaction.put(film)
      }
    }
    let path = try #require(disk.filePaths.first { $0.contains("/attachments/") })
    try disk.corrupt(path, atOffset: disk.contents(of: path).count - 10, mask: 1)
    let here = try Database.inMemory()
    let url = try #require(URL(string: "http://server.invalid/films"))
    let peer = CouchDBPeer(
      url: url, transport: Network(server: ServiceTransport(service(there))))
    var options = Replicator.Options()
    options.retryDelay = .milliseconds(1)
    let status = try await Replicator(here, peer, direction: .pull, options: options).replicate()
    #expect(status.failures.count == 1)
    let error = try #require(status.failures.first?.error as? ReplicationError)
    #expect(error.code == .unavailableContent && error.status == 500)
    #expect(try here.snapshot().count == 4)
  }
}

// MARK: - Filters

extension ServiceDamageTests {
  private func longDatabase() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      let text = String(repeating: "a", count: 50_000) + "!"
      for number in 0..<5 {
        _ = try transaction.put(Document(id: "\(number)", ["a": .string(text)]))
      }
    }
    return database
  }

  private func filter(_ pattern: String) -> Value {
    ["selector": ["a": ["$regex": .string(pattern)]]]
  }

  @Test(.timeLimit(.minutes(5)))
  func `a filter of a user is matched in linear time, unless users are trusted`() async throws {
    let database = try longDatabase()
    let query = "?filter=_selector"
    let slow = try await send(service(database), query, filter("(a+)+$"))
    #expect(slow.status == 200 && !slow.text.contains("\"id\""))
    #expect(try await send(service(database), query, filter("a!$")).text.contains("\"id\":\"4\""))
    let refused = try await send(service(database), query, filter("(?=a)a"))
    #expect(refused.status == 400 && refused.text.contains("the regular expression is invalid"))
    let trusting = service(database) { $0.allowsBacktracking = true }
    #expect(try await send(trusting, query, filter("(?=a)a")).text.contains("\"id\":\"4\""))
  }

  @Test func `filters have limits of size and of time`() async throws {
    let database = try longDatabase()
    let large: Value = ["selector": ["a": .string(String(repeating: "x", count: 20_000))]]
    #expect(try await send(service(database), "?filter=_selector", large).status == 413)
    let hurried = service(database) { $0.limits.filterTime = .zero }
    await #expect(throws: (any Error).self) {
      try await send(hurried, "?filter=_selector", filter("(a+)+$"))
    }
    #expect(log.all.contains { $0.error == "filter_timeout" && $0.incident != nil })
  }
}
