import Divan
import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests that a copy of a store, and a copy of the copy, are the same to an export with histories.
struct ExportEqualityTests {
  /// Everything but local documents, which each store has of its own.
  private func export(_ database: Database) throws -> String {
    var options = JSONLines.ExportOptions()
    options.content.remove(.localDocuments)
    var data = Data()
    try database.snapshot().exportJSONLines(options: options) { data.append($0) }
    return String(decoding: data, as: UTF8.self)
  }

  /// Makes documents with branches, deletions and attachments.
  private func fill(_ database: Database, seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for number in 0..<300 {
      let id = "doc-\(Int.random(in: 0..<60, using: &generator))/ä+"
      try database.write { transaction in
        let kind = Int.random(in: 0..<10, using: &generator)
        guard var document = try transaction.document(id) else {
          try transaction.put(Document(id: id, ["n": .int(Int64(number)), "big": .int(.max)]))
          return
        }
        switch kind {
        case 0: try transaction.delete(document)
        case 1...2:
          // Two changes of the same revision.
          var other = document
          document["n"] = .int(Int64(number))
          try transaction.put(document)
          other["n"] = .double(Double(number) / 7)
          try transaction.put(other, onConflict: .branch)
        case 3...4:
          let bytes = (0..<Int.random(in: 0...3000, using: &generator)).map {
            UInt8(truncatingIfNeeded: $0)
          }
          document.attachments["a b \(number % 3)"] = Document.Attachment(
            contentType: "image/png", bytes)
          try transaction.put(document)
        case 5:
          document.attachments = [:]
          try transaction.put(document)
        default:
          document["n"] = .int(Int64(number))
          document["text"] = .string("“\(number)”\n")
          try transaction.put(document)
        }
      }
    }
  }

  @Test(arguments: 1...6)
  func `a store that is replicated to an empty one and back is the same`(
    _ seed: UInt64
  ) async throws {
    let first = try Database.inMemory()
    try fill(first, seed: seed)
    let expected = try export(first)
    let (second, third) = (try Database.inMemory(), try Database.inMemory())
    let peer = CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/notes")),
      transport: ServiceTransport(CouchDBService(["notes": second])))
    // Over CouchDB's protocol there and back, and between databases of this process.
    try await Replicator(first, peer, direction: .push).replicate()
    #expect(try export(second) == expected, "seed \(seed)")
    try await Replicator(third, peer, direction: .pull).replicate()
    #expect(try export(third) == expected, "seed \(seed)")
    let fourth = try Database.inMemory()
    try await Replicator(fourth, DatabasePeer(third)).replicate()
    #expect(try export(fourth) == expected, "seed \(seed)")
    // Nothing comes back to the first one.
    let status = try await Replicator(first, peer).replicate()
    #expect(status.pull.counts.revisionsWritten == 0, "seed \(seed)")
    #expect(try export(first) == expected, "seed \(seed)")
    let changes = try first.snapshot().changes().collect()
    #expect(changes.contains { $0.hasConflicts } && changes.contains { $0.isDeleted })
  }
}
