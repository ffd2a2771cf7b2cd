import Divan
import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of what a database of this process answers to a replication.
struct DatabasePeerTests {
  @Test func `a filter that chooses few documents does not make one call read the whole store`()
    async throws
  {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await here.write { transaction in
      for number in 0..<1000 { try transaction.put(Document(id: "doc-\(number)", [:])) }
    }
    let (peer, filter) = (DatabasePeer(here), ReplicationFilter.documentIDs(["doc-990"]))
    var (position, callCount, found) = (nil as ReplicationPosition?, 0, [String]())
    while true {
      let changes = try await peer.changes(since: position, limit: 5, filter: filter)
      callCount += 1
      found += changes.changes.map(\.id)
      if changes.isEnd { break }
      #expect(changes.position != position && changes.position != nil)
      position = changes.position
    }
    #expect(found == ["doc-990"] && callCount > 5)
    var options = Replicator.Options()
    options.batchCount = 5
    let replicator = Replicator(
      here, DatabasePeer(there), direction: .push, filter: filter, options: options)
    #expect(try await replicator.replicate().push.counts.revisionsWritten == 1)
    #expect(try await replicator.replicate().push.counts.revisionsChecked == 0)
    #expect(try there.snapshot().ids().collect() == ["doc-990"])
  }

  /// Regression test: the error ended a continuous replication, which reports such changes
  /// otherwise.
  @Test func `waiting ends where a change cannot be read`() async throws {
    let disk = SimulatedDisk(seed: 3)
    let filler = String(repeating: "x", count: 300)
    let database = try Database(at: "/films.divan", configuration: disk.configuration())
    for number in 0..<60 {
      try await database.write { transaction in
        _ = try transaction.put(
          Document(id: "film \(number)", ["text": .string("the film \(number). \(filler)")]))
      }
    }
    try await database.close()
    let text = Array("the film 5. ".utf8)
    for path in disk.filePaths where path.hasSuffix(".segment") {
      let bytes = try disk.contents(of: path)
      for offset in bytes.indices where bytes[offset...].starts(with: text) {
        try disk.corrupt(path, atOffset: offset + 20, mask: 1)
      }
    }
    let damaged = try Database(at: "/films.divan", configuration: disk.configuration())
    let peer = DatabasePeer(damaged)
    let before = try await peer.changes(since: nil, limit: 5, filter: .all)
    #expect(before.changes.map(\.id).last == "film 4")
    var feed = damaged.changeFeed(since: 5).makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { _ = try await feed.next() }
    #expect(error?.code == .damaged)
    try await peer.waitForChanges(since: before.position)
    let after = try await peer.changes(since: before.position, limit: 5, filter: .all)
    #expect(after.unreadable.count == 1 && after.changes.first?.id == "film 6")
  }
}
