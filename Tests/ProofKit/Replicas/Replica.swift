import Divan
import DivanTesting

/// One of several stores that exchange revisions, and what it should know of each document.
final class Replica {
  static let path = "/replica.divan"

  let disk: SimulatedDisk
  let configuration: Configuration
  private(set) var database: Database
  /// The expected histories, by the documents' IDs.
  private(set) var expected: [String: PlainHistories] = [:]

  var depth: Int { configuration.revisionDepth }

  init(seed: UInt64, depth: Int, isWithHistory: Bool) throws {
    disk = SimulatedDisk(seed: seed)
    var configuration = disk.configuration()
    configuration.revisionDepth = depth
    configuration.durability = .none
    if isWithHistory { configuration.history = .unlimited }
    self.configuration = configuration
    database = try Database(at: Self.path, configuration: configuration)
    try database.addIndex(DocumentIndex("number", on: "number"))
  }

  func reopen() throws {
    try database.close()
    database = try Database(at: Self.path, configuration: configuration)
  }

  // MARK: Changes

  /// Inserts a revision with the beginning of its history.
  func insert(_ made: ReplicaWorld.Made, _ history: [RevisionID], in world: ReplicaWorld) throws {
    let before = expected[world.id] ?? PlainHistories()
    let isNew = try database.write {
      try $0.insert(
        Document(id: world.id, ["number": .int(Int64(made.number))]), history: history,
        isDeleted: made.isDeleted)
    }
    var after = before
    after.insert(history, depth: depth)
    expected[world.id] = after
    let becomesLeaf =
      after.leaves.contains(made.revision) && !before.leaves.contains(made.revision)
    try expect(
      isNew == becomesLeaf,
      "inserting \(history) said that the revision was \(isNew ? "" : "not ")new; known were "
        + "\(before.leaves.sorted().map(before.history))")
  }

  /// Changes or deletes one of the document's current revisions, as a user does.
  func edit(
    _ leaf: ReplicaWorld.Made, isDeletion: Bool, number: Int, in world: inout ReplicaWorld
  ) throws {
    func change(_ transaction: WriteTransaction) throws -> RevisionID? {
      let document = try transaction.leaves(of: world.id).first { $0.revision == leaf.revision }
      guard var document else {
        throw CrashOracle.Mismatch("\(world.id) has no leaf \(leaf.revision)")
      }
      document["number"] = .int(Int64(number))
      let stored =
        isDeletion
        ? try transaction.delete(document) : try transaction.put(document, onConflict: .branch)
      return stored.revision
    }
    let known = expected[world.id] ?? PlainHistories()
    func hasSuccessors(_ revision: RevisionID) -> Bool {
      known.known.contains(revision) && !known.leaves.contains(revision)
    }
    let revision: RevisionID?
    do {
      revision = try database.write { try change($0) }
    } catch let error as DatabaseError where error.code == .conflict {
      // Where the tree was cut, the leaf can be the parent of a revision that the store knows.
      let again = try Self.inEmptyStore(leaf, of: world.id, change)
      try expect(
        again.map(hasSuccessors) == true,
        "changing \(leaf.revision) to \(String(describing: again)) was refused: \(error)")
      return
    }
    guard let revision else {
      throw CrashOracle.Mismatch("\(world.id) was stored without revision")
    }
    try expect(!hasSuccessors(revision), "\(revision) was made again, and has successors")
    world.add(
      ReplicaWorld.Made(
        revision: revision, parent: leaf.revision, isDeleted: isDeletion, number: number))
    expected[world.id, default: PlainHistories()].insert([revision, leaf.revision], depth: depth)
  }

  /// Returns what a change of a leaf makes in a store that knows no other revision.
  private static func inEmptyStore(
    _ leaf: ReplicaWorld.Made, of id: String,
    _ change: (WriteTransaction) throws -> RevisionID?
  ) throws -> RevisionID? {
    let database = try Database.inMemory()
    defer { try? database.close() }
    return try database.write { transaction in
      _ = try transaction.insert(
        Document(id: id, ["number": .int(Int64(leaf.number))]), history: [leaf.revision],
        isDeleted: leaf.isDeleted)
      return try change(transaction)
    }
  }

  /// Purges a leaf.
  func purge(_ leaf: RevisionID, in world: ReplicaWorld) throws {
    let isGone = try database.write { try $0.purge(world.id, revision: leaf) }
    try expect(isGone, "\(leaf) of \(world.id) was not there to be purged")
    expected[world.id]?.remove(leaf: leaf)
    if expected[world.id]?.known.isEmpty == true { expected[world.id] = nil }
  }

  /// Sends all leaves of a document with their known histories to another replica.
  ///
  /// Returns the number of revisions.
  func send(_ world: ReplicaWorld, to other: Replica) throws -> Int {
    let snapshot = try database.snapshot()
    var count = 0
    for leaf in try snapshot.leaves(of: world.id).reversed() {
      guard let revision = leaf.revision, let made = world[revision] else {
        throw CrashOracle.Mismatch("\(world.id) has the leaf \(leaf), which was never made")
      }
      let history = try snapshot.revisions(leadingTo: revision, of: world.id)
      try other.insert(made, history, in: world)
      count += 1
    }
    return count
  }

  // MARK: Comparing

  /// Throws if the store's data about a document differs from the expected data.
  func compare(_ world: ReplicaWorld) throws {
    try Self.compare(world, expected[world.id] ?? PlainHistories(), with: database)
  }

  static func compare(
    _ world: ReplicaWorld, _ expected: PlainHistories, with database: Database
  ) throws {
    let snapshot = try database.snapshot()
    let leaves = world.ordered(expected.leaves)
    func expect<T: Equatable>(_ found: T, _ expected: T, _ what: String) throws {
      guard found != expected else { return }
      throw CrashOracle.Mismatch("\(what) of \(world.id): \(found), not \(expected)")
    }
    let found = try snapshot.leaves(of: world.id)
    try expect(found.map(\.revision), leaves.map(\.revision), "the leaves")
    try expect(found.map(\.isDeleted), leaves.map(\.isDeleted), "which leaves are deleted")
    try expect(
      found.map { $0["number"]?.intValue }, leaves.map(\.number), "the contents of the leaves")
    let winner = leaves.first { !$0.isDeleted }
    let current = try snapshot.document(world.id)
    try expect(current?.revision, winner?.revision, "the winner")
    try expect(current?["number"]?.intValue, winner?.number, "the winner's content")
    try expect(
      try snapshot.branches(of: world.id).map(\.revision),
      leaves.filter { !$0.isDeleted }.map(\.revision), "the conflicts")
    try expect(
      found.map(\.parentRevision), leaves.map { expected.parent(of: $0.revision) },
      "the leaves' parents")
    try expect(
      try snapshot.revisions(of: world.id),
      leaves.first.map { expected.history(of: $0.revision) } ?? [], "the winner's history")
    for leaf in leaves {
      try expect(
        try snapshot.revisions(leadingTo: leaf.revision, of: world.id),
        expected.history(of: leaf.revision), "the history of \(leaf.revision)")
      try expect(
        try snapshot.revision(leaf.revision, of: world.id)?["number"]?.intValue, leaf.number,
        "the content of \(leaf.revision)")
    }
    let all = world.revisions.map(\.revision)
    let missing = try snapshot.missingRevisions(among: [world.id: all])[world.id]?.missing ?? []
    try expect(missing, all.filter { !expected.known.contains($0) }, "the missing revisions")
  }

  /// Throws unless everything is as expected: also the feed, the count, an index and the check.
  func compareAll(_ worlds: [ReplicaWorld], isThorough: Bool = true) throws {
    for world in worlds { try compare(world) }
    let live = worlds.filter { world in
      world.ordered(expected[world.id]?.leaves ?? []).contains { !$0.isDeleted }
    }
    let snapshot = try database.snapshot()
    let count = try snapshot.count
    try expect(count == live.count, "the count is \(count), not \(live.count)")
    for world in live {
      let number = world.ordered(expected[world.id]?.leaves ?? [])[0].number
      let found = try snapshot.find(
        Query<Document>().filter { $0["number"] == .int(Int64(number)) })
      try expect(
        found.contains { $0.id == world.id }, "the index lacks \(world.id) with \(number)")
    }
    guard isThorough else { return }
    let report = try database.check()
    try expect(report.isSound, "the check found \(report.problems)")
  }

  /// Throws unless a backup, and an import of an export, have the same data.
  func compareCopies(_ worlds: [ReplicaWorld]) throws {
    let copy = "/copy.divan"
    try database.backup(to: copy)
    let backup = try Database(at: copy, configuration: configuration)
    for world in worlds {
      try Self.compare(world, expected[world.id] ?? PlainHistories(), with: backup)
    }
    try expect(try backup.check().isSound, "the backup is not sound")
    try backup.close()
    try Database.delete(at: copy, configuration: configuration)

    var text: [[UInt8]] = []
    try database.snapshot().exportJSONLines { text.append(Array($0)) }
    let imported = try Database.inMemory(configuration: configuration)
    var pieces = text.makeIterator()
    _ = try imported.importJSONLines { pieces.next() }
    for world in worlds {
      // One leaf at a time, the winner first, so that trees are cut in another order.
      var histories = PlainHistories()
      let known = expected[world.id] ?? PlainHistories()
      for leaf in world.ordered(known.leaves) {
        histories.insert(known.history(of: leaf.revision), depth: depth)
      }
      try Self.compare(world, histories, with: imported)
    }
    try expect(try imported.check().isSound, "the import is not sound")
    try imported.close()
  }
}
