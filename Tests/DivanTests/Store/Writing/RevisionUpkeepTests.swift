import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of conflicts and purges across compactions, checkpoints and openings.
struct RevisionUpkeepTests {
  @Test(arguments: 1...6)
  func `random revisions survive maintenance, and match an index rebuilt from the log`(
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
        // A replicated revision: a child of an earlier known revision, or a first one.
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
          if var document = try transaction.document(id) {
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
      try RebuiltIndex(of: database).expectSame("seed \(seed), step \(step)")
      let view = try database.store.view()
      let areRetained = try leafKeys(database).allSatisfy {
        try view.locator(in: \.retained, $0) != nil
      }
      #expect(areRetained, "seed \(seed), step \(step)")
    }
    #expect(try database.check().problems.map(\.message) == [], "seed \(seed)")
  }

  /// Returns the keys of the records of all leaves except the newest ones.
  private func leafKeys(_ database: Database) throws -> [[UInt8]] {
    let view = try database.store.view()
    var keys: [[UInt8]] = []
    var scan = view.state.documents.scan()
    while let item = try view.step(&scan) {
      let entry = try view.decodeEntry(item.value)
      let id = try #require(item.key.text)
      let tree = try view.tree(of: entry, id)
      for leaf in tree.leaves where tree.nodes[leaf].sequence != entry.sequence {
        keys.append(RetainedKey.bytes(item.key, tree.nodes[leaf].sequence))
      }
    }
    return keys
  }
}
