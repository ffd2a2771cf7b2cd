import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of documents with more than one branch of revisions.
struct RevisionStoreTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func revision(_ generation: UInt64, _ letter: Character) throws -> RevisionID {
    try RevisionID(parsing: "\(generation)-\(String(repeating: letter, count: 32))")
  }

  private func insert(
    _ history: [RevisionID], _ properties: Value.Object = [:], isDeleted: Bool = false
  ) throws -> Bool {
    try database.write {
      try $0.insert(Document(id: "a", properties), history: history, isDeleted: isDeleted)
    }
  }

  private func changes(_ snapshot: Snapshot) throws -> [Change] {
    let cursor = snapshot.changes()
    return try cursor.collect()
  }

  private func checkIsSound() throws {
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `a revision of another store is stored once, with its history`() throws {
    let history = try [revision(3, "c"), revision(2, "b"), revision(1, "a")]
    #expect(try insert(history, ["n": 3]))
    #expect(try !insert(history, ["n": 4]))
    #expect(try !insert(Array(history.dropFirst()), ["n": 4]))
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.document("a")?["n"] == 3)
      #expect(try snapshot.revisions(of: "a") == history)
      #expect(snapshot.sequence == 1)
      #expect(try snapshot.history(of: "a").map { $0.document != nil } == [true, false, false])
    }
    try checkIsSound()
  }

  @Test func `a known revision that arrives with more history is not a new revision`() throws {
    let history = try [revision(2, "b"), revision(1, "a")]
    #expect(try insert([history[0]], ["n": 2]))
    #expect(try !insert(history, ["n": 3]))
    #expect(try database.snapshot().revisions(of: "a") == history)
    #expect(try database.snapshot().document("a")?["n"] == 2)
  }

  @Test func `branches are a conflict, which the highest live revision wins`() throws {
    #expect(try insert([revision(1, "a")], ["n": 1]))
    #expect(try insert([revision(2, "c"), revision(1, "a")], ["n": "c"]))
    #expect(try insert([revision(2, "b"), revision(1, "a")], ["n": "b"]))
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.document("a")?["n"] == "c")
      #expect(try snapshot.branches(of: "a").map { $0["n"] } == ["c", "b"])
      #expect(try snapshot.hasConflict("a") && !snapshot.hasConflict("b"))
      #expect(try database.write { try $0.hasConflict("a") })
      #expect(try snapshot.count == 1)
      #expect(try changes(snapshot).map(\.sequence) == [3])
      #expect(try changes(snapshot).map(\.document["n"]) == ["c"])
      #expect(try snapshot.revision(revision(2, "b"), of: "a")?["n"] == "b")
      #expect(try snapshot.revision(revision(1, "a"), of: "a") == nil)
      let documents = snapshot.documents()
      #expect(try documents.collect().map { $0["n"] } == ["c"])
    }
    try checkIsSound()
    // The winner is deleted; the other one takes its place.
    try database.write { _ = try $0.delete(try #require(try $0.document("a"))) }
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.document("a")?["n"] == "b")
      #expect(try snapshot.branches(of: "a").count == 1 && !snapshot.hasConflict("a"))
      let leaves = try snapshot.leaves(of: "a")
      #expect(leaves.map(\.isDeleted) == [false, true])
    }
    try checkIsSound()
    try database.write { _ = try $0.delete("a") }
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.document("a") == nil)
      #expect(try snapshot.count == 0)
      let leaves = try snapshot.leaves(of: "a")
      #expect(leaves.map(\.isDeleted) == [true, true])
    }
    // The new revision continues from the tombstone.
    let again = try database.write { try $0.put(Document(id: "a", ["n": "new"])) }
    #expect(again.revision?.generation == 4)
    try checkIsSound()
  }

  @Test func `either branch of a conflict can be changed, but not a superseded revision`() throws {
    _ = try insert([revision(1, "a")])
    _ = try insert([revision(2, "c"), revision(1, "a")], ["n": "c"])
    _ = try insert([revision(2, "b"), revision(1, "a")], ["n": "b"])
    var losing = try #require(try database.read { try $0.branches(of: "a").last })
    let stale = losing
    losing["n"] = "b, changed"
    try database.write { _ = try $0.put(losing) }
    #expect(try database.read { try $0.document("a")?["n"] } == "b, changed")
    #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(stale) } }
    try database.write { _ = try $0.put(stale, onConflict: .branch) }
    #expect(try database.read { try $0.branches(of: "a").count } == 3)
    try checkIsSound()
  }

  /// The benchmarks use a thousand leaves: the bytes written grow with the square of their number.
  @Test func `hundreds of leaves can be stored, read, changed and resolved`() throws {
    let root = try revision(1, "a")
    let count = 300
    func leaf(_ number: Int) throws -> RevisionID {
      try RevisionID(parsing: "2-\(String(format: "%032d", number))")
    }
    for number in 0..<count {
      #expect(try insert([leaf(number), root], ["n": .int(Int64(number))]))
    }
    #expect(try database.snapshot().branches(of: "a").count == count)
    #expect(try database.snapshot().document("a")?["n"] == .int(Int64(count - 1)))
    // A losing leaf is updated, and wins then.
    var document = try #require(try database.snapshot().revision(leaf(0), of: "a"))
    document["n"] = "mine"
    let next = document
    try database.write { _ = try $0.put(next) }
    #expect(try database.snapshot().document("a")?["n"] == "mine")
    #expect(try database.snapshot().leaves(of: "a").count == count)
    // Each leaf's record contains the tree at the time of its commit.
    #expect(try database.statistics.liveSize < 25 * count * count)
    try checkIsSound()
    try database.compact()
    try database.write { transaction in
      _ = try transaction.resolve("a") { _ in .value("all") }
    }
    #expect(try database.snapshot().branches(of: "a").map { $0["n"] } == ["all"])
    try checkIsSound()
  }

  @Test func `a history of ten thousand revisions can be stored, read and continued`() throws {
    var configuration = Configuration()
    configuration.revisionDepth = 10_000
    let database = try Database.inMemory(configuration: configuration)
    let history = try (1...10_000).reversed().map {
      try RevisionID(parsing: "\($0)-\(String(format: "%032d", $0))")
    }
    #expect(try database.write { try $0.insert(Document(id: "a", ["n": 0]), history: history) })
    for number in 1...20 as ClosedRange<Int64> {
      try database.write { transaction in
        try transaction.update("a") { $0["n"] = .int(number) }
      }
    }
    let revisions = try database.snapshot().revisions(of: "a")
    #expect(revisions.count == 10_000 && Array(revisions.dropFirst(20)) == history.dropLast(20))
    // A branch that starts near the beginning.
    let branch = try [
      RevisionID(parsing: "23-\(String(repeating: "f", count: 32))"), history[9978],
    ]
    #expect(try database.write { try $0.insert(Document(id: "a", ["n": -1]), history: branch) })
    #expect(try database.snapshot().branches(of: "a").map { $0["n"] } == [20, -1])
    // Each commit carries the history: sixteen bytes per revision.
    #expect(try database.statistics.liveSize < 2 * 25 * 10_000)
    #expect(try database.check().isSound)
  }

  @Test func `a purged revision is unknown, and a purged document starts a new history`() throws {
    _ = try insert([revision(1, "a")])
    _ = try insert([revision(2, "c"), revision(1, "a")], ["n": "c"])
    _ = try insert([revision(3, "b"), revision(2, "b"), revision(1, "a")], ["n": "b"])
    #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.purge("a", revision: revision(1, "a")) }
    }
    #expect(try database.write { try $0.purge("a", revision: revision(3, "b")) })
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.branches(of: "a").map { $0["n"] } == ["c"])
      #expect(try snapshot.revisions(of: "a") == [revision(2, "c"), revision(1, "a")])
      #expect(snapshot.sequence == 4)
      let missing = try snapshot.missingRevisions(among: [
        "a": [revision(3, "b"), revision(2, "c")]
      ])
      #expect(try missing["a"]?.missing == [revision(3, "b")])
      #expect(try missing["a"]?.possibleAncestors == [revision(2, "c")])
    }
    try checkIsSound()
    #expect(try database.write { try $0.purge("a") })
    #expect(try database.write { try !$0.purge("a") })
    do {
      let snapshot = try database.snapshot()
      #expect(try snapshot.count == 0)
      let revision = try snapshot.revision(of: "a")
      let changes = try changes(snapshot)
      #expect(revision == nil)
      #expect(changes.isEmpty)
    }
    let again = try database.write { try $0.put(Document(id: "a")) }
    #expect(again.revision?.generation == 1)
    try checkIsSound()
  }

  @Test func `a backup has all branches of a conflict with their revisions and sequence numbers`()
    throws
  {
    let disk = SimulatedDisk()
    let database = try Database(at: "/s", configuration: disk.configuration())
    try database.write { transaction in
      for letter: Character in ["b", "d", "c"] {
        try transaction.insert(
          Document(id: "a", ["n": .string(String(letter))]),
          history: [revision(2, letter), revision(1, "a")])
      }
      try transaction.put(Document(id: "b"))
    }
    try database.backup(to: "/copy")
    let copy = try Database(at: "/copy", configuration: disk.configuration())
    let (ours, theirs) = (try database.snapshot(), try copy.snapshot())
    #expect(try theirs.leaves(of: "a") == ours.leaves(of: "a"))
    #expect(try changes(theirs) == changes(ours))
    #expect(try theirs.count == 2)
    #expect(try copy.check().isSound)
  }
}
