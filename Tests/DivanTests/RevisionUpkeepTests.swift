import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Conflicts and purges, through merges, checkpoints, and openings with and without a checkpoint.
struct RevisionUpkeepTests {
  @Test(arguments: 1...6)
  func `random revisions survive upkeep, and an index rebuilt from nothing is the same`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let disk = MemoryFileSystem()
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.revisionDepth = 4
    var database = try Database(at: "/s", configuration: configuration)
    var known: [String: [[RevisionID]]] = [:]
    for step in 0..<160 {
      let id = "d\(Int.random(in: 0..<6, using: &random))"
      switch Int.random(in: 0..<12, using: &random) {
      case 0...5:
        // From elsewhere: a child of something that was known once, or a beginning.
        let parent = known[id]?.randomElement(using: &random) ?? []
        let generation = (parent.first?.generation ?? 0) + 1
        let digest = String(UInt64.random(in: 0..<1 << 40, using: &random), radix: 16)
        let revision = RevisionID(
          generation: generation, digest: String(repeating: "0", count: 32 - digest.count) + digest)!
        let history = [revision] + parent.prefix(3)
        known[id, default: []].append(history)
        let isDeleted = Int.random(in: 0..<5, using: &random) == 0
        try database.write {
          _ = try $0.insert(
            Document(id: id, ["step": .int(Int64(step))]), history: history,
            isDeleted: isDeleted)
        }
      case 6:
        try database.write { transaction in
          if var document = try transaction.get(id) {
            document["step"] = .int(Int64(step))
            let stored = try transaction.put(document)
            known[id, default: []].append(
              try Snapshot(transaction.view).revisions(of: id))
            #expect(stored.revision == known[id]?.last?.first)
          }
        }
      case 7:
        let leaf = try database.read { try $0.leaves(of: id).randomElement(using: &random) }
        if let revision = leaf?.revision {
          try database.write { _ = try $0.purge(id, revision: revision) }
        }
      case 8: try database.write { _ = try $0.purge(id) }
      case 9: try database.store.writeCheckpoint()
      case 10: try database.compact()
      default:
        try database.close()
        if Bool.random(using: &random) {
          for name in try disk.list("/s") where name.hasSuffix(".checkpoint") {
            try disk.remove("/s/\(name)")
          }
        }
        let before = database
        database = try Database(at: "/s", configuration: configuration)
        _ = before
      }
      try compareWithRebuilt(database, "seed \(seed), step \(step)")
    }
    #expect(try database.check().problems.map(\.message) == [], "seed \(seed)")
  }

  /// Reads everything through the index in use, and through one that is made of the segments alone.
  private func compareWithRebuilt(_ database: Database, _ comment: Comment) throws {
    let state = database.store.commits.visible
    var replay = Replay(onto: StoreState(nodeSize: 4096), isFromNothing: true)
    for segment in state.segments.segments.sorted(by: {
      $0.header.numbers.lowerBound < $1.header.numbers.lowerBound
    }) {
      _ = try replay.run(segment, from: nil)
    }
    #expect(try contents(replay.state.documents) == contents(state.documents), comment)
    #expect(try contents(replay.state.sequences) == contents(state.sequences), comment)
    #expect(replay.state.documentCount == state.documentCount, comment)
    // What no merge has reached yet may be held once more.
    let held = try contents(state.older)
    let rebuilt = try contents(replay.state.older)
    #expect(held.allSatisfy { rebuilt[$0.key] == $0.value }, comment)
    let leaves = try leafSequences(database)
    #expect(leaves.allSatisfy { held[$0] != nil }, comment)
  }

  private func contents(_ tree: LayeredTree) throws -> [[UInt8]: [UInt8]] {
    var scan = tree.scan()
    var found: [[UInt8]: [UInt8]] = [:]
    while let item = try scan.next() { found[item.key.array] = item.value.array }
    return found
  }

  /// The keys of the records that leaves stand in, but for the newest ones.
  private func leafSequences(_ database: Database) throws -> [[UInt8]] {
    let view = try database.store.view()
    var keys: [[UInt8]] = []
    var scan = view.state.documents.scan()
    while let item = try view.step(&scan) {
      let entry = try view.decodeEntry(item.value)
      let id = try #require(item.key.text)
      let tree = try view.tree(of: entry, id)
      for leaf in tree.leaves where tree.nodes[leaf].sequence != entry.sequence {
        keys.append(OlderKey.bytes(item.key, tree.nodes[leaf].sequence))
      }
    }
    return keys
  }
}
