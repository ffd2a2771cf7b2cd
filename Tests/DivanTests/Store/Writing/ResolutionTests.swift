import DivanTesting
import Foundation
import Testing

@testable import Divan

/// Tests of conflicts and their resolution.
struct ResolutionTests {
  /// Returns a database that retains history, so that conflicts have a base.
  private static func makeDatabase(_ history: HistoryRetention = .unlimited) throws -> Database {
    var configuration = Configuration()
    configuration.history = history
    return try Database.inMemory(configuration: configuration)
  }

  /// Stores a film, and one branch for each of the changes, all made from the same revision.
  private func store(
    _ film: Document, in database: Database, branches: [(inout Document) -> Void]
  ) throws {
    let base = try database.write { try $0.put(film) }
    for change in branches {
      var branch = base
      change(&branch)
      try database.write { _ = try $0.put(branch, onConflict: .branch) }
    }
  }

  private func checkIsSound(_ database: Database) throws {
    #expect(try database.check().problems.map(\.description) == [])
  }

  /// Sends all documents and revisions of one database to another.
  private func send(_ source: Database, to target: Database) throws {
    let snapshot = try source.snapshot()
    let cursor = snapshot.changes()
    for change in try cursor.collect() {
      for leaf in try snapshot.leaves(of: change.document.id).reversed() {
        let revision = try #require(leaf.revision)
        let history = try snapshot.revisions(leadingTo: revision, of: leaf.id)
        try target.write { _ = try $0.insert(leaf, history: history, isDeleted: leaf.isDeleted) }
      }
    }
  }

  private let film = Document(
    id: "film", ["title": "Metropolis", "year": 1926, "cast": ["maria": "Helm", "rotwang": "?"]])

  @Test func `changes of single branches are merged, and one live revision is left`() throws {
    let database = try Self.makeDatabase()
    try store(
      film, in: database,
      branches: [
        { $0["year"] = 1927 },
        { $0["cast"] = ["maria": "Helm", "rotwang": "Klein-Rogge"] },
        { $0["title"] = nil },
      ])
    #expect(try database.snapshot().branches(of: "film").count == 3)
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        Issue.record("nothing overlaps at \(overlap.path)")
        return .mine
      }
    }
    let document = try #require(resolved)
    #expect(
      document.properties == ["year": 1927, "cast": ["maria": "Helm", "rotwang": "Klein-Rogge"]])
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("film") == document)
    #expect(try snapshot.branches(of: "film") == [document])
    #expect(try snapshot.leaves(of: "film").map(\.isDeleted) == [false, true, true])
    #expect(document.revision?.generation == 3)
    try checkIsSound(database)
  }

  @Test func `overlapping changes are passed to the closure with base, mine and theirs`()
    throws
  {
    let database = try Self.makeDatabase()
    try store(
      film, in: database, branches: [{ $0["year"] = 1927 }, { $0["year"] = 1928 }])
    let mine = try #require(try database.snapshot().document("film")?["year"])
    let theirs: Value = mine == 1927 ? 1928 : 1927
    var overlaps: [ThreeWayMerge.Overlap] = []
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        overlaps.append(overlap)
        return .value(1930)
      }
    }
    #expect(overlaps == [.init(path: ["year"], base: 1926, mine: mine, theirs: theirs)])
    #expect(resolved?["year"] == 1930)
    #expect(resolved?["title"] == "Metropolis")
  }

  /// Regression test: a value that one branch had removed came back without an error.
  @Test func `without a retained base, removed values overlap, too`() throws {
    let database = try Self.makeDatabase(.disabled)
    try store(film, in: database, branches: [{ $0["year"] = nil }, { $0["title"] = "Moloch" }])
    var overlaps: [[String]] = []
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        overlaps.append(overlap.path)
        return overlap.mine == nil ? .mine : overlap.theirs == nil ? .theirs : .mine
      }
    }
    #expect(overlaps == [["title"], ["year"]])
    #expect(resolved?["year"] == nil)
  }

  @Test func `without a retained base, all differences overlap`() throws {
    let database = try Self.makeDatabase(.disabled)
    try store(
      film, in: database, branches: [{ $0["year"] = 1927 }, { $0["title"] = "Moloch" }])
    var overlaps: [[String]] = []
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        #expect(overlap.base == nil)
        overlaps.append(overlap.path)
        return .theirs
      }
    }
    #expect(overlaps == [["title"], ["year"]])
    #expect(try database.snapshot().branches(of: "film").count == 1)
    #expect(resolved?["cast"] == film["cast"])
  }

  @Test func `the base of a later branch is where it diverged from the branches merged before`()
    throws
  {
    let database = try Self.makeDatabase()
    // Two branches share changes that the winning one does not have.
    let base = try database.write { try $0.put(film) }
    var other = base
    other["title"] = "Moloch"
    other = try database.write { try $0.put(other, onConflict: .branch) }
    var (first, second) = (other, other)
    first["title"] = "Maschinen"
    second["year"] = 1929
    var winner = base
    for stars in 1...3 {
      winner["stars"] = .int(Int64(stars))
      winner = try database.write { try $0.put(winner, onConflict: .branch) }
    }
    for branch in [first, second] {
      try database.write { _ = try $0.put(branch, onConflict: .branch) }
    }
    #expect(try database.snapshot().branches(of: "film").count == 3)
    // Relative to the winner, both branches changed the title, in different ways.
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        Issue.record("nothing overlaps at \(overlap.path)")
        return .mine
      }
    }
    #expect(resolved?["title"] == "Maschinen")
    #expect(resolved?["year"] == 1929)
    #expect(resolved?["stars"] == 3)
  }

  @Test func `attachments are merged by name, each as a whole`() throws {
    func text(_ text: String) -> Document.Attachment {
      Document.Attachment(contentType: "text/plain", text.utf8)
    }
    let database = try Self.makeDatabase()
    var film = film
    film.attachments = ["note": text("one"), "old": text("old"), "cover": text("cover")]
    try store(
      film, in: database,
      branches: [
        {
          $0.attachments["note"] = text("mine")
          $0.attachments["old"] = nil
        },
        {
          $0.attachments["note"] = text("theirs")
          $0.attachments["added"] = text("added")
          $0.attachments["cover"] = Document.Attachment(contentType: "text/html", "cover".utf8)
        },
      ])
    let digest = text("theirs").digest
    var overlaps: [[String]] = []
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { overlap in
        overlaps.append(overlap.path)
        guard case .object(let theirs)? = overlap.theirs else { return .unresolved }
        return theirs["digest"] == digest.map(Value.string) ? .theirs : .mine
      }
    }
    #expect(overlaps == [["_attachments", "note"]])
    let attachments = try #require(resolved).attachments
    #expect(
      attachments == [
        "note": text("theirs"), "added": text("added"),
        "cover": Document.Attachment(contentType: "text/html", "cover".utf8),
      ])
    let read = try #require(try database.read { try $0.document("film") })
    #expect(try read.attachments["note"]?.data() == Data("theirs".utf8))
    try checkIsSound(database)
  }

  @Test func `attachments that both sides added overlap, and are a conflict if unresolved`()
    throws
  {
    let database = try Self.makeDatabase()
    try store(
      film, in: database,
      branches: [1, 2].map { byte in
        { $0.attachments["note"] = Document.Attachment(contentType: "text/plain", [byte]) }
      })
    var bases: [Value?] = []
    let error = #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        try transaction.resolve("film") { overlap in
          bases.append(overlap.base)
          return .unresolved
        }
      }
    }
    #expect(bases == [nil])
    #expect(error?.code == .conflict && error?.propertyPath == "_attachments.note")
    #expect(try database.snapshot().branches(of: "film").count == 2)
  }

  @Test func `an attachment can be resolved to an existing one or to none, but to no other value`()
    throws
  {
    func resolve(
      _ resolution: @escaping (ThreeWayMerge.Overlap) -> ThreeWayMerge.Resolution
    ) throws -> Document.Attachments {
      let database = try Self.makeDatabase()
      var film = film
      film.attachments["note"] = Document.Attachment(contentType: "text/plain", [1])
      try store(
        film, in: database,
        branches: [2, 3].map { byte in
          {
            $0.attachments["note"] = Document.Attachment(
              contentType: "text/plain", [UInt8](repeating: byte, count: Int(byte)))
          }
        })
      return try database.write { transaction in
        try #require(try transaction.resolve("film") { resolution($0) }).attachments
      }
    }
    let base = try resolve { .value($0.base) }
    #expect(base["note"]?.length == 1)
    let none = try resolve { _ in .value(nil) }
    #expect(none.isEmpty)
    do {
      _ = try resolve { _ in .value("something else") }
      Issue.record("the attachment was resolved with something else")
    } catch let error as DatabaseError {
      #expect(error.code == .invalidAttachment)
      #expect(error.propertyPath == "_attachments.note")
    }
  }

  @Test func `an unresolved overlap throws an error with its path and changes nothing`() throws {
    struct Refusal: Error {}
    let database = try Self.makeDatabase()
    try store(
      film, in: database,
      branches: [
        { $0["cast"] = ["maria": "Helm", "rotwang": "A"] },
        { $0["cast"] = ["maria": "Helm", "rotwang": "B"] },
      ])
    let before = try database.snapshot()
    do {
      try database.write { _ = try $0.resolve("film") { _ in .unresolved } }
      Issue.record("the conflict was resolved")
    } catch let error as DatabaseError {
      #expect(error.code == .conflict)
      #expect(error.documentID == "film")
      #expect(error.propertyPath == "cast.rotwang")
    }
    #expect(throws: Refusal.self) {
      try database.write { _ = try $0.resolve("film") { _ in throw Refusal() } }
    }
    // A resolution that a validation refuses leaves no partial result.
    database.setValidation(named: "year") { revision in
      if revision.document["year"] == nil { try revision.reject("a film has a year") }
    }
    try database.write { transaction in
      #expect(throws: DatabaseError.self) {
        var winner = try #require(try transaction.document("film"))
        winner["year"] = nil
        try transaction.resolve(with: winner)
      }
    }
    let after = try database.snapshot()
    #expect(after.sequence == before.sequence)
    #expect(try after.leaves(of: "film") == before.leaves(of: "film"))
  }

  @Test func `a conflict can be resolved with one branch, changed or unchanged`() throws {
    for isChanged in [false, true] {
      let database = try Self.makeDatabase(.disabled)
      try store(
        film, in: database,
        branches: [{ $0["year"] = 1927 }, { $0["year"] = 1928 }, { $0["year"] = 1929 }])
      let resolved = try database.write { transaction in
        let branches = try transaction.branches(of: "film")
        var chosen = try #require(branches.first { $0["year"] == 1928 })
        if isChanged { chosen["stars"] = 4 }
        return try transaction.resolve(with: chosen)
      }
      #expect(resolved["year"] == 1928)
      #expect(resolved.revision?.generation == (isChanged ? 3 : 2))
      #expect(try database.snapshot().branches(of: "film") == [resolved])
      // After that, there is nothing to resolve, and other branches cannot be chosen.
      try database.write { transaction in
        let again = try transaction.resolve("film") { _ in .unresolved }
        #expect(again == resolved)
        #expect(throws: DatabaseError.self) {
          try transaction.resolve(with: Document(id: "film", ["year": 1930]))
        }
      }
      let none = try database.write { try $0.resolve("none") { _ in .mine } }
      #expect(none == nil)
      try checkIsSound(database)
    }
  }

  @Test func `stores that resolve the same conflict create the same revisions`() throws {
    let stores = try [Self.makeDatabase(), Self.makeDatabase()]
    try store(
      film, in: stores[0], branches: [{ $0["year"] = 1927 }, { $0["year"] = 1928 }])
    try send(stores[0], to: stores[1])
    for store in stores {
      try store.write { _ = try $0.resolve("film") { _ in .value(1930) } }
    }
    try send(stores[0], to: stores[1])
    try send(stores[1], to: stores[0])
    let leaves = try stores.map { try $0.snapshot().leaves(of: "film") }
    #expect(leaves[0] == leaves[1])
    #expect(leaves[0].map(\.isDeleted) == [false, true])
  }

  @Test(arguments: 1...8)
  func `replicas that edit, exchange and resolve at random end with the same documents`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let replicas = try (0..<3).map { _ in
      try Self.makeDatabase(Bool.random(using: &random) ? .unlimited : .disabled)
    }
    // Depends on the values alone, so that all replicas get the same result.
    func later(_ overlap: ThreeWayMerge.Overlap) -> ThreeWayMerge.Resolution {
      let sides = [overlap.mine, overlap.theirs].sorted { ($0?.json ?? "") < ($1?.json ?? "") }
      return .value(sides[1])
    }
    for step in 0..<120 {
      let replica = replicas[random.below(3)]
      let id = "d\(random.below(4))"
      switch random.below(8) {
      case 0...3:
        try replica.write { transaction in
          var document = try transaction.document(id) ?? Document(id: id)
          document["p\(random.below(4))"] = .int(Int64(step))
          try transaction.put(document)
        }
      case 4: try replica.write { _ = try $0.delete(id) }
      case 5, 6: try send(replica, to: replicas[random.below(3)])
      default: try replica.write { _ = try $0.resolve(id, overlap: later) }
      }
    }
    for _ in 0..<2 {
      for source in replicas {
        for target in replicas { try send(source, to: target) }
      }
    }
    for index in 0..<4 {
      let id = "d\(index)"
      let leaves = try replicas.map { try $0.snapshot().leaves(of: id) }
      #expect(leaves[0] == leaves[1] && leaves[0] == leaves[2], "seed \(seed), \(id)")
      for replica in replicas {
        let resolved = try replica.write { try $0.resolve(id, overlap: later) }
        let snapshot = try replica.snapshot()
        #expect(try snapshot.document(id) == resolved, "seed \(seed), \(id)")
        #expect(try snapshot.branches(of: id).count == (resolved == nil ? 0 : 1))
      }
    }
    for replica in replicas { try checkIsSound(replica) }
  }

  @Test func `many branches are resolved at once`() throws {
    let database = try Self.makeDatabase(.disabled)
    let base = try database.write { try $0.put(film) }
    try database.write { transaction in
      for index in 0..<200 {
        var branch = base
        branch["p\(index)"] = true
        try transaction.put(branch, onConflict: .branch)
      }
    }
    #expect(try database.snapshot().branches(of: "film").count == 200)
    let resolved = try database.write { transaction in
      try transaction.resolve("film") { .value($0.mine ?? $0.theirs) }
    }
    #expect(resolved?.properties.count == 203)
    #expect(try database.snapshot().branches(of: "film").count == 1)
    try checkIsSound(database)
  }
}
