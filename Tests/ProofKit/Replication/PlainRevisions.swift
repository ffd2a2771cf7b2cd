import Divan

/// A plain model of all revisions that were made on any store, with their contents.
///
/// It gets each revision when it is made, and its content from the edit. No store is asked for a
/// content, a leaf or a winner.
struct PlainRevisions: Sendable {
  struct Made: Equatable, Sendable {
    var parent: RevisionID?
    var isDeleted = false
    var properties: Value.Object = [:]
    var attachments: [String: [UInt8]] = [:]
  }

  private(set) var documents: [String: [RevisionID: Made]] = [:]

  /// Adds a revision; two stores can make the same one.
  mutating func add(_ made: Made, _ revision: RevisionID?, of id: String) throws {
    guard let revision else { throw CrashOracle.Mismatch("\(id) was stored without a revision") }
    if let known = documents[id]?[revision], known != made {
      throw CrashOracle.Mismatch("\(revision) of \(id) was made twice with different contents")
    }
    documents[id, default: [:]][revision] = made
  }

  /// Returns a revision, which must have been made.
  func made(_ revision: RevisionID?, of id: String) throws -> Made {
    guard let revision, let made = documents[id]?[revision] else {
      throw CrashOracle.Mismatch("\(revision?.description ?? "nil") of \(id) was never made")
    }
    return made
  }

  /// Returns the leaves of a document, the winner first: those that live before deleted ones, then
  /// by generation and by the text of the digest.
  func leaves(of id: String) -> [(revision: RevisionID, made: Made)] {
    let all = documents[id] ?? [:]
    let parents = Set(all.values.compactMap(\.parent))
    let leaves = all.filter { !parents.contains($0.key) }.map { (revision: $0.key, made: $0.value) }
    return leaves.sorted { a, b in
      if a.made.isDeleted != b.made.isDeleted { return b.made.isDeleted }
      let (first, second) = (a.revision, b.revision)
      if first.generation != second.generation { return first.generation > second.generation }
      return second.digestText.utf8.lexicographicallyPrecedes(first.digestText.utf8)
    }
  }

  /// The number of documents with several leaves that live.
  var conflictCount: Int {
    documents.keys.count { id in leaves(of: id).count { !$0.made.isDeleted } > 1 }
  }
}

// MARK: Comparing

extension PlainRevisions {
  /// Throws unless a store has the same leaves, winners, contents and attachments.
  func compare(with database: Database, _ name: String) throws {
    let snapshot = try database.snapshot()
    func expect<T: Equatable>(_ found: T, _ expected: T, _ what: @autoclosure () -> String) throws {
      guard found != expected else { return }
      throw CrashOracle.Mismatch("\(name): \(what()): \(found), not \(expected)")
    }
    var live = 0
    for id in documents.keys.sorted() {
      let leaves = leaves(of: id)
      let found = try snapshot.leaves(of: id)
      try expect(found.map(\.revision), leaves.map(\.revision), "the leaves of \(id)")
      for (document, leaf) in zip(found, leaves) {
        let place = "\(leaf.revision) of \(id)"
        try expect(document.isDeleted, leaf.made.isDeleted, "whether \(place) is deleted")
        try expect(
          Value.object(document.properties).json, Value.object(leaf.made.properties).json, place)
        var attachments: [String: [UInt8]] = [:]
        for (name, attachment) in document.attachments {
          attachments[name] = Array(try attachment.data())
        }
        try expect(
          attachments.mapValues(\.count), leaf.made.attachments.mapValues(\.count),
          "the sizes of the attachments of \(place)")
        guard attachments == leaf.made.attachments else {
          throw CrashOracle.Mismatch("\(name): an attachment of \(place) has other bytes")
        }
      }
      let winner = leaves.first { !$0.made.isDeleted }
      try expect(try snapshot.document(id)?.revision, winner?.revision, "the winner of \(id)")
      live += winner == nil ? 0 : 1
    }
    try expect(try snapshot.count, live, "the number of documents")
    try expect(
      try snapshot.changes().collect().count, documents.count, "the number of changed documents")
    let report = try database.check()
    guard report.isSound else { throw CrashOracle.Mismatch("\(name): \(report.problems)") }
  }
}
