import Divan
import DivanTesting
import ProofKit
import Testing

/// Tests of histories that arrive after their newest revisions, and join known histories.
struct JoinedHistoryTests {
  private let disk = SimulatedDisk(seed: 22)

  private func revision(_ generation: UInt64, _ digest: String = "a") throws -> RevisionID {
    try #require(RevisionID(generation: generation, digest: digest))
  }

  /// Returns the revisions from one generation down to another.
  private func history(_ from: UInt64, to: UInt64) throws -> [RevisionID] {
    try (to...from).reversed().map { try revision($0) }
  }

  private func insert(
    _ history: [RevisionID], isDeleted: Bool = false, into database: Database
  ) throws {
    try database.write {
      _ = try $0.insert(
        Document(id: "d", ["n": .int(Int64(history[0].generation))]), history: history,
        isDeleted: isDeleted)
    }
  }

  /// Compares the document with its expected state, also after compaction and reopening.
  private func expect(
    leaves: [RevisionID], winningHistory: [RevisionID], _ database: Database
  ) throws {
    func compare(_ database: Database) throws {
      let snapshot = try database.snapshot()
      #expect(try snapshot.leaves(of: "d").map(\.revision) == leaves)
      #expect(
        try snapshot.leaves(of: "d").map { $0["n"]?.intValue }
          == leaves.map { Int($0.generation) })
      #expect(try snapshot.revisions(of: "d") == winningHistory)
      #expect(try snapshot.missingRevisions(among: ["d": leaves]).isEmpty)
      #expect(try database.check().problems.map(\.description) == [])
    }
    try compare(database)
    try database.compact()
    try compare(database)
    try database.close()
    try compare(try Database(at: "/joined.divan", configuration: disk.configuration()))
  }

  private func open() throws -> Database {
    try Database(at: "/joined.divan", configuration: disk.configuration())
  }

  /// Regression: if the insertion also pruned the tree, it returned success and stored nothing.
  ///
  /// Found by an audit: no model repeated a change that was deleted.
  @Test func `repeating a deleted change is a conflict, even if the tree is pruned`()
    throws
  {
    var database = try open()
    let first = try database.write { try $0.put(Document(id: "d", ["n": 1])) }
    var change = first
    change["n"] = 2
    let again = change
    let second = try database.write { try $0.put(again) }
    let third = try database.write { try $0.delete(second) }
    try database.close()
    var configuration = disk.configuration()
    configuration.revisionDepth = 2
    database = try Database(at: "/joined.divan", configuration: configuration)
    let before = try database.snapshot().sequence
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.put(again, onConflict: .branch) }
    }
    #expect(error?.code == .conflict)
    #expect(try database.snapshot().sequence == before)
    #expect(try database.snapshot().leaves(of: "d").map(\.revision) == [third.revision])
  }

  @Test func `a history that joins two pruned trees keeps the newest leaf`() throws {
    let database = try open()
    try insert(history(20, to: 1), into: database)
    try insert(history(40, to: 21), into: database)
    try insert(history(21, to: 2), into: database)
    #expect(try database.snapshot().document("d")?.revision == revision(40))
    // As in CouchDB, histories are pruned before trees are joined.
    try expect(leaves: [revision(40)], winningHistory: history(40, to: 2), database)
  }

  @Test func `a history that connects the winning leaf to a tombstone deletes the document`() throws
  {
    let database = try open()
    try insert(history(2, to: 1), into: database)
    try insert(history(4, to: 3), isDeleted: true, into: database)
    #expect(try database.snapshot().document("d")?.revision == revision(2))
    try insert(history(4, to: 1), isDeleted: true, into: database)
    #expect(try database.snapshot().document("d") == nil)
    try expect(leaves: [revision(4)], winningHistory: history(4, to: 1), database)
  }

  @Test func `a local deletion is the same revision as an equal deletion of another store`() throws
  {
    let database = try open()
    let first = try database.write { try $0.put(Document(id: "d", ["n": 1])) }
    // The tombstone that another store creates for the same deletion.
    let other = try Database.inMemory()
    let tombstone = try other.write { transaction in
      _ = try transaction.put(Document(id: "d", ["n": 1]))
      _ = try transaction.delete("d")
      return try #require(try transaction.leaves(of: "d")[0].revision)
    }
    try database.write {
      _ = try $0.insert(Document(id: "d"), history: [tombstone], isDeleted: true)
    }
    #expect(try database.write { try $0.delete("d") })
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("d") == nil)
    #expect(try snapshot.leaves(of: "d").map(\.revision) == [tombstone])
    #expect(try snapshot.revisions(of: "d") == [tombstone, first.revision])
    #expect(try database.check().problems.map(\.description) == [])
    try database.compact()
    #expect(try database.snapshot().leaves(of: "d").map(\.revision) == [tombstone])
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `an inner revision that arrives late is not the base of a three-way merge`() throws {
    // Two stores have the same leaves, but one received the inner revision 21 with its content.
    var results: [RevisionID?] = []
    for isLate in [false, true] {
      let database = try Database.inMemory()
      let branch = try [revision(5, "b")] + history(4, to: 1)
      try insert(history(20, to: 1), into: database)
      try insert(history(40, to: 21), into: database)
      try insert(branch, into: database)
      try insert(history(isLate ? 21 : 40, to: 2), into: database)
      #expect(
        try database.snapshot().leaves(of: "d").map(\.revision) == [revision(40), branch[0]])
      #expect(try database.snapshot().revision(revision(21), of: "d") == nil)
      let resolved = try database.write { try $0.resolve("d") { _ in .mine } }
      results.append(resolved?.revision)
      #expect(try database.check().problems.map(\.description) == [])
    }
    #expect(results[0] == results[1])
  }

  @Test func `a losing leaf has its parent once its history arrives`() throws {
    let database = try open()
    try insert(history(9, to: 1), into: database)
    let loser = try revision(5, "b")
    try insert([loser], into: database)
    #expect(try database.snapshot().leaves(of: "d")[1].parentRevision == nil)
    try insert([loser] + history(4, to: 1), into: database)
    let leaves = try database.snapshot().leaves(of: "d")
    #expect(try leaves.map(\.revision) == [revision(9), loser])
    #expect(try leaves[1].parentRevision == revision(4))
    #expect(try leaves[1]["n"] == 5 && database.snapshot().document("d")?.revision == revision(9))
    try expect(leaves: [revision(9), loser], winningHistory: history(9, to: 1), database)
  }

  @Test func `repeating a change that was deleted since is a conflict and changes nothing`()
    throws
  {
    let database = try open()
    let first = try database.write { try $0.put(Document(id: "d", ["n": 1])) }
    var change = first
    change["n"] = 2
    let second = try database.write { try $0.put(change) }
    // As long as the revision has no successor, the same change again is the same revision.
    let again = try database.write { try $0.put(change, onConflict: .branch) }
    #expect(again.revision == second.revision)
    _ = try database.write { try $0.delete(second) }
    let before = try database.snapshot()
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(change, onConflict: .branch) }
    }
    #expect(error?.code == .conflict && error?.documentID == "d")
    #expect(try database.snapshot().leaves(of: "d") == before.leaves(of: "d"))
  }

  @Test func `a wrong parent of a local revision is refused`() throws {
    var configuration = disk.configuration()
    // At this depth the store forgets the parents of revisions.
    configuration.revisionDepth = 1
    let database = try Database(at: "/joined.divan", configuration: configuration)
    let second = try database.write { transaction in
      var document = try transaction.put(Document(id: "d", ["n": 1]))
      document["n"] = 2
      return try transaction.put(document)
    }
    try database.close()
    let deeper = try open()
    let revision = try #require(second.revision)
    let error = #expect(throws: DatabaseError.self) {
      try insert([revision, self.revision(1, "f00")], into: deeper)
    }
    #expect(error?.code == .invalidRevisionID)
    #expect(try deeper.snapshot().document("d")?["n"] == 2)
    #expect(try deeper.check().isSound)
  }

  @Test(.partOfProof)
  func `stores that exchange pruned histories match a plain model`() throws {
    let run = ProofRun(ReplicaProof.name, budget: .test)
    try ReplicaProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }
}
