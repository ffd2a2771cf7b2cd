package import Divan
package import DivanLog
package import DivanTesting
package import Testing

/// The expected contents of a store as a plain dictionary.
package struct PlainStore: Equatable, Sendable {
  package struct Entry: Equatable, Sendable {
    package var properties: Value.Object
    package var revision: RevisionID?
    package var sequence: UInt64
    package var isDeleted: Bool
  }

  package private(set) var entries: [String: Entry] = [:]

  package init() {}

  /// The IDs of documents that are not deleted, in the order of their bytes.
  package var liveIDs: [String] {
    entries.filter { !$0.value.isDeleted }.map(\.key)
      .sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
  }

  package mutating func note(_ document: Document) {
    entries[document.id] = Entry(
      properties: document.properties, revision: document.revision, sequence: document.sequence,
      isDeleted: document.isDeleted)
  }
}

extension PlainStore {
  /// Returns this model after random changes, which are also made in the transaction.
  package func changed(
    by transaction: WriteTransaction, _ random: inout SeededGenerator
  ) throws -> PlainStore {
    var changed = self
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      if Int.random(in: 0..<10, using: &random) == 0 {
        struct Stop: Error {}
        do {
          try transaction.savepoint {
            var inner = changed
            try inner.changeOnce(by: transaction, &random)
            throw Stop()
          }
        } catch is Stop {}
      } else {
        try changed.changeOnce(by: transaction, &random)
      }
    }
    return changed
  }

  private mutating func changeOnce(
    by transaction: WriteTransaction, _ random: inout SeededGenerator
  ) throws {
    let id = "doc-\(Int.random(in: 0..<60, using: &random))"
    let size = Int.random(in: 0..<200, using: &random)
    let properties: Value.Object = [
      "text": .string(String(repeating: "x", count: size)),
      "number": .int(Int64(Int.random(in: 0..<1000, using: &random))),
    ]
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<6:
      note(try transaction.replace(id, with: properties))
    case 6..<8:
      let wasLive = entries[id].map { !$0.isDeleted } ?? false
      #expect(try transaction.delete(id) == wasLive)
      if wasLive {
        entries[id]?.isDeleted = true
        entries[id]?.properties = [:]
        // The store determines the revision and the sequence.
        entries[id]?.revision = nil
        entries[id]?.sequence = 0
      }
    default:
      let updated = try transaction.update(id) { $0["number"] = properties["number"] }
      #expect((updated != nil) == (entries[id].map { !$0.isDeleted } ?? false))
      if let updated { note(updated) }
    }
  }

  /// Expects a snapshot to have the contents of this model, by every way of reading.
  package func compare(
    with snapshot: Snapshot, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let ids = liveIDs
    #expect(try snapshot.count == ids.count, sourceLocation: sourceLocation)
    let ascending = snapshot.ids()
    #expect(try ascending.collect() == ids, sourceLocation: sourceLocation)
    let descending = snapshot.ids(descending: true)
    #expect(try descending.collect() == ids.reversed(), sourceLocation: sourceLocation)
    for (id, entry) in entries {
      let document = try snapshot.document(id)
      #expect((document == nil) == entry.isDeleted, sourceLocation: sourceLocation)
      if let document {
        #expect(document.properties == entry.properties, sourceLocation: sourceLocation)
        #expect(document.revision == entry.revision, sourceLocation: sourceLocation)
        #expect(document.sequence == entry.sequence, sourceLocation: sourceLocation)
      }
      #expect(try snapshot.exists(id) == !entry.isDeleted, sourceLocation: sourceLocation)
    }
    let changes = snapshot.changes()
    let feed = try changes.collect()
    #expect(Set(feed.map(\.id)) == Set(entries.keys), sourceLocation: sourceLocation)
    #expect(feed.count == entries.count, sourceLocation: sourceLocation)
    #expect(
      zip(feed, feed.dropFirst()).allSatisfy { $0.sequence < $1.sequence },
      sourceLocation: sourceLocation)
  }
}

extension Configuration {
  /// Returns a configuration with files that a few transactions fill, and synchronous maintenance.
  ///
  /// Maintenance runs within the calls that make it due, so one seed always makes the same calls.
  package static func small(on fileSystem: any FileSystem) -> Configuration {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.segmentSizeGoal = 16 << 10
    configuration.compactedSegmentSizeLimit = 64 << 10
    configuration.checkpointInterval = 8 << 10
    configuration.maintenance = .inline
    configuration.unwitnessedLimit = 4 << 10
    configuration.reserveSize = 4096
    return configuration
  }
}
