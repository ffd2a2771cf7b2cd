import Divan
import DivanSync
import Foundation
import Testing

/// Tests that the service answers recorded requests as the server did that they were recorded from.
@Suite(.enabled(if: Recordings.directory != nil, Recordings.absence))
struct RecordedServiceTests {
  /// Sends the requests in order: exceptions must differ, and all others agree.
  private func replay(
    _ exchanges: ArraySlice<RecordedExchange>, _ answers: inout RecordedAnswers,
    _ exceptions: [(numbers: [Int], reason: String)] = []
  ) async throws {
    for (number, exchange) in zip(exchanges.indices, exchanges) {
      let differences = try await answers.differences(exchange)
      let place = "exchange \(number), \(exchange.note), \(exchange.method) \(exchange.target)"
      if let reason = exceptions.first(where: { $0.numbers.contains(number) })?.reason {
        #expect(!differences.isEmpty, "\(place) agrees, and is an exception: \(reason)")
      } else {
        #expect(differences.isEmpty, "\(place): \(differences.joined(separator: "; "))")
      }
    }
  }

  @Test func `a sitting with a server has the same answers`() async throws {
    let exchanges = try Recordings.sitting()
    var answers = RecordedAnswers([:])
    try await replay(exchanges[..<5], &answers, Self.exceptions)
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    answers = RecordedAnswers(["peer": database])
    try await replay(exchanges[5..<137], &answers, Self.exceptions)
    // What an administrator of CouchDB does with requests, a program does here.
    database.setValidation(named: "of the sitting") { revision in
      if revision.document["bad"] == true { try revision.reject("no bad docs") }
      if revision.document["auth"] == true { try revision.reject("who are you") }
    }
    try await replay(exchanges[137..<145], &answers, Self.exceptions)
    try await database.write { try _ = $0.purge("c5") }
    try await replay(exchanges[145..<155], &answers, Self.exceptions)
    answers.limitDocuments(to: 300)
    try await replay(exchanges[155...], &answers, Self.exceptions)
  }

  /// Exchanges of the sitting that differ, and why.
  private static let exceptions: [(numbers: [Int], reason: String)] = [
    ([5, 158, 159], "CouchDB creates and deletes databases; here the program does."),
    (
      [142, 143, 144, 150, 154, 157],
      "CouchDB has requests for administrators; here the program acts."
    ),
    ([70, 97], "CouchDB fails with 500; the service says with 400 what is wrong."),
    ([78], "CouchDB sends its compressed copy of a text; the service keeps none."),
    ([94, 96, 101, 102], "CouchDB reads a `revpos` that is missing as 0; no generation is 0."),
    (
      [103, 104], "CouchDB answers `_bulk_get` as multipart, too; JSON is accepted by each client."
    ),
    ([113], "CouchDB counts the rows before a range; the service would have to read them."),
    ([122, 125, 126], "CouchDB's `pending` counts all that a descending or filtered feed omits."),
    ([124], "CouchDB's `seq_interval` begins to count at the second row."),
    ([128, 129], "CouchDB's filters of design documents are programs; the service has none."),
    (
      [138, 139],
      "CouchDB's validations can answer `unauthorized`; those of a database `forbidden`."
    ),
    ([155], "CouchDB does not name a document that is too large; the service does."),
  ]

  @Test func `a replication of CouchDB into a store has the same answers`() async throws {
    let database = try Database.inMemory()
    var answers = RecordedAnswers(["dst": database])
    let exchanges = try Recordings.trace("trace-couchdb-oneshot.json", "a_target")
    try await replay(exchanges[...], &answers)
    #expect(
      try database.snapshot().ids().collect() == [
        "_design/f", "after", "att", "conflict", "edited", "plain", "sel1", "sel2",
      ])
  }

  @Test func `a replication of CouchDB from a store has the same answers`() async throws {
    let exchanges = try Recordings.trace("trace-couchdb-oneshot.json", "a_source")
    let changes = exchanges.filter { $0.target.contains("_changes") }.map(\.json)
    var answers = RecordedAnswers(["src": try Database.inMemory()])
    try await fill(&answers, changes[0])
    try await replay(exchanges[..<18], &answers)
    // A document was stored between the first run and the second one.
    try await fill(&answers, changes[1])
    try await replay(exchanges[18...], &answers)
  }

  @Test func `a replication of PouchDB has the same answers`() async throws {
    let exchanges = try Recordings.trace("trace-pouchdb-2.2.3.json", "pouch223")
    var answers = RecordedAnswers([
      "src": try Database.inMemory(), "old": try Database.inMemory(),
    ])
    try await fill(&answers, exchanges.first { $0.target.contains("_changes") }?.json)
    try await replay(exchanges[...], &answers)
  }

  /// Stores the documents of a recorded list of changes in their order, as CouchDB's replicator
  /// sent them.
  private func fill(_ answers: inout RecordedAnswers, _ changes: Value?) async throws {
    let written = try Recordings.trace("trace-couchdb-oneshot.json", "a_target")
    for row in changes?["results"]?.arrayValue ?? [] {
      let id = try #require(row["id"]?.stringValue)
      for change in row["changes"]?.arrayValue ?? [] {
        var exchange = try #require(
          written.first { exchange in
            if exchange.method == "PUT" { return exchange.target.hasPrefix("/dst/\(id)?") }
            return exchange.target.hasSuffix("_bulk_docs")
              && exchange.document(id, change["rev"]) != nil
          }, "\(id)")
        exchange.target = exchange.target.replacingOccurrences(of: "/dst/", with: "/src/")
        exchange.requestHeaders["authorization"] = "Basic <admin>"
        if let document = exchange.document(id, change["rev"]) {
          let body: Value = ["new_edits": false, "docs": [document]]
          exchange.requestBody = Data(body.json.utf8)
        }
        #expect(try await answers.differences(exchange).isEmpty)
      }
    }
  }
}

extension RecordedExchange {
  /// The document with an ID and a revision among those that are written.
  fileprivate func document(_ id: String, _ revision: Value?) -> Value? {
    (try? Value(json: requestBody))?["docs"]?.arrayValue?.first {
      $0["_id"]?.stringValue == id && $0["_rev"] == revision
    }
  }
}
