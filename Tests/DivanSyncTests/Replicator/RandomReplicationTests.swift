import Divan
import DivanSync
import DivanTesting
import Testing

/// Random edits of three stores that replicate with cuts, compared with a plain model.
struct RandomReplicationTests {
  /// All revisions that any store made: the truth, which no store is asked for.
  private struct Model {
    struct Node {
      var leaf: Leaf
      var parent: RevisionID?
    }

    var documents: [String: [RevisionID: Node]] = [:]

    mutating func add(_ document: Document) throws {
      let leaf = try Leaf(document)
      documents[document.id, default: [:]][leaf.revision] = Node(
        leaf: leaf, parent: document.parentRevision)
    }

    /// What each store has when everything is replicated.
    var contents: Contents {
      var contents = Contents()
      for (id, nodes) in documents {
        let parents = Set(nodes.values.compactMap(\.parent))
        let leaves = nodes.values.map(\.leaf).filter { !parents.contains($0.revision) }.sorted()
        contents.leaves[id] = leaves
        // A revision that lives wins over a deleted one; then the greater ID.
        contents.winners[id] = (leaves.last { !$0.isDeleted } ?? leaves.last)?.revision
      }
      return contents
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `stores that replicate with cuts have the same leaves and winners`(
    seed: UInt64
  ) async throws {
    var random = SeededGenerator(seed: seed)
    let databases = try (0..<3).map { _ in try Database.inMemory() }
    var model = Model()
    for round in 0..<60 {
      for _ in 0..<8 {
        let database = databases.randomElement(using: &random)!
        if let document = try edit(database, round, &random) { try model.add(document) }
      }
      let (a, b) = (Int.random(in: 0..<3, using: &random), Int.random(in: 1..<3, using: &random))
      let chance = Int.random(in: 4...60, using: &random)
      let cutSeed = random.next()
      let peer = CutPeer(databases[(a + b) % 3]) { call in
        var random = SeededGenerator(seed: cutSeed &+ UInt64(call))
        guard Int.random(in: 0..<chance, using: &random) == 0 else { return nil }
        return CutPeer.Cut.allCases.randomElement(using: &random)
      }
      var options = Replicator.Options()
      options.batchCount = Int.random(in: 1...20, using: &random)
      options.retryLimit = 0
      do {
        try await Replicator(databases[a], peer, options: options).replicate()
      } catch let error as ReplicationError where error.code == .unreachable {}
    }
    // Twice around the ring: the second time brings what the last store got to the first.
    for a in [0, 1, 2, 0, 1] {
      try await Replicator(databases[a], DatabasePeer(databases[(a + 1) % 3])).replicate()
    }
    let expected = model.contents
    for (number, database) in databases.enumerated() {
      let contents = try Contents(of: database)
      #expect(contents == expected, "store \(number), seed \(seed)")
      #expect(try await database.check().isSound)
    }
    #expect(expected.leaves.values.contains { $0.count > 2 })
  }

  /// Edits a document of a store in a random way, and returns the new revision.
  private func edit(
    _ database: Database, _ round: Int, _ random: inout SeededGenerator
  ) throws -> Document? {
    let id = "doc-\(Int.random(in: 0..<30, using: &random))"
    let number = Int64.random(in: 0..<1_000_000, using: &random)
    let choice = Int.random(in: 0..<10, using: &random)
    let size = Int.random(in: 0..<5000, using: &random)
    return try database.write { transaction in
      let branches = try transaction.branches(of: id)
      // The branch that wins is the first, and any can be edited.
      guard var document = branches.isEmpty ? nil : branches[Int(number) % branches.count] else {
        return try transaction.put(Document(id: id, ["number": .int(number)]))
      }
      if choice == 0 { return try transaction.delete(document) }
      document["number"] = .int(number)
      if choice < 3 {
        document.attachments["data"] = Document.Attachment(
          contentType: "text/plain", [UInt8](repeating: UInt8(number % 256), count: size))
      }
      return try transaction.put(document)
    }
  }
}
