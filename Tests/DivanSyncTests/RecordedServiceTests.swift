import Divan
import DivanSync
import Foundation
import Testing

/// Tests that the service answers recorded requests as the server did that they were recorded from.
@Suite(.enabled(if: Recordings.directory != nil, Recordings.absence))
struct RecordedServiceTests {
  /// Exchanges of the sitting that differ, by their numbers, and why.
  private static let exceptions: [Int: String] = [:]

  /// Sends the requests in order; exceptions must differ, and all others agree.
  private func replay(
    _ exchanges: some Sequence<RecordedExchange>, _ answers: inout RecordedAnswers,
    _ exceptions: [Int: String] = [:]
  ) async throws {
    for (number, exchange) in exchanges.enumerated() {
      let differences = try await answers.differences(exchange)
      let place = "exchange \(number), \(exchange.note), \(exchange.method) \(exchange.target)"
      if let reason = exceptions[number] {
        #expect(!differences.isEmpty, "\(place) agrees, and is an exception: \(reason)")
      } else {
        #expect(differences.isEmpty, "\(place): \(differences.joined(separator: "; "))")
      }
    }
  }

  @Test func `a sitting with a server has the same answers`() async throws {
    var answers = RecordedAnswers(CouchDBService(["peer": try Database.inMemory()]))
    try await replay(try Recordings.sitting(), &answers, Self.exceptions)
  }

  @Test func `a replication of CouchDB into a store has the same answers`() async throws {
    let database = try Database.inMemory()
    var answers = RecordedAnswers(CouchDBService(["dst": database]))
    try await replay(try Recordings.trace("trace-couchdb-oneshot.json", "a_target"), &answers)
    #expect(
      try database.snapshot().ids().collect() == [
        "_design/f", "after", "att", "conflict", "edited", "plain", "sel1", "sel2",
      ])
  }

  /// Stores the documents of a recorded list of changes in their order, as CouchDB's replicator sent
  /// them.
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
        if let document = exchange.document(id, change["rev"]) {
          let body: Value = ["new_edits": false, "docs": [document]]
          exchange.requestBody = Data(body.json.utf8)
        }
        #expect(try await answers.differences(exchange).isEmpty)
      }
    }
  }

  @Test func `a replication of CouchDB from a store has the same answers`() async throws {
    let exchanges = try Recordings.trace("trace-couchdb-oneshot.json", "a_source")
    let changes = exchanges.filter { $0.target.contains("_changes") }.map(\.json)
    var answers = RecordedAnswers(CouchDBService(["src": try Database.inMemory()]))
    try await fill(&answers, changes[0])
    try await replay(exchanges[..<18], &answers)
    // A document was stored between the first run and the second one.
    try await fill(&answers, changes[1])
    try await replay(exchanges[18...], &answers)
  }

  @Test func `a replication of PouchDB has the same answers`() async throws {
    let exchanges = try Recordings.trace("trace-pouchdb-2.2.3.json", "pouch223")
    let service = CouchDBService([
      "src": try Database.inMemory(), "old": try Database.inMemory(),
    ])
    var answers = RecordedAnswers(service)
    try await fill(&answers, exchanges.first { $0.target.contains("_changes") }?.json)
    try await replay(exchanges, &answers)
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
