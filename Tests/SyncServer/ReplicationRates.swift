import Divan
import DivanSync
import Foundation

/// Measures how fast a database in memory replicates with a server, for a comparison with PouchDB.
struct ReplicationRates {
  struct Failure: Error, CustomStringConvertible { let description: String }

  let count: Int
  private let source: Database
  private let peer: CouchDBPeer

  /// Fills a database, and creates an empty one of the server.
  init(server: String, count: Int) async throws {
    self.count = count
    guard let url = URL(string: server + "/rates-\(ProcessInfo.processInfo.processIdentifier)")
    else {
      throw Failure(description: "\(server) is not a URL")
    }
    _ = try await URLSessionTransport().send(HTTPRequest("PUT", url))
    peer = CouchDBPeer(url: url)
    source = try Database.inMemory()
    for first in stride(from: 0, to: count, by: 1000) {
      try await source.write { transaction in
        for number in first..<min(first + 1000, count) {
          try transaction.put(
            Document(
              id: "document \(number)",
              [
                "type": "note", "number": .int(Int64(number)),
                "text": .string(String(repeating: "tea and cake. ", count: 18)),
              ]))
        }
      }
    }
  }

  /// Pushes everything, pulls it into another database, and prints how long each took.
  func measure() async throws {
    try await replicate("push", source, .push)
    let target = try Database.inMemory()
    try await replicate("pull", target, .pull)
    let arrived = try target.snapshot().count
    guard arrived == count else {
      throw Failure(description: "\(arrived) documents instead of \(count)")
    }
  }

  private func replicate(
    _ name: String, _ database: Database, _ direction: Replicator.Direction
  ) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    let status = try await Replicator(database, peer, direction: direction).replicate()
    let seconds = (clock.now - start) / .seconds(1)
    guard status.failures.isEmpty else { throw Failure(description: "\(status.failures)") }
    let (time, rate) = ((seconds * 100).rounded() / 100, Int(Double(count) / seconds))
    print("Divan \(name): \(count) documents in \(time) s, \(rate) each second")
  }
}
