import Divan
import Testing

/// Tests that updates store a revision only of what they change.
struct UnchangedUpdateTests {
  private let database: Database

  private struct Film: DocumentCodable {
    var title: String
    var year: Int
  }

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for (id, year) in [("m", 1931), ("metropolis", 1927), ("vampyr", 1932)] {
        let properties: Value.Object = [
          "type": "Film", "title": .string(id), "year": .int(Int64(year)), "stars": 3.0,
        ]
        try transaction.put(Document(id: id, properties))
      }
      var film = try #require(try transaction.document("m"))
      film.attachments["poster"] = Document.Attachment(contentType: "text/plain", Array("M".utf8))
      try transaction.put(film)
    }
  }

  private func revision(_ id: String) throws -> RevisionID? {
    try database.snapshot().document(id)?.revision
  }

  /// The synchronous call, also for an asynchronous test.
  private func updateOnThisThread(_ change: (inout Document) -> Void) throws -> Document? {
    try database.update("m") { change(&$0) }
  }

  @Test func `an update that leaves a document as it is stores no revision`() async throws {
    let sequence = try database.snapshot().sequence
    let stored = try await database.write { transaction in
      // Untouched, and set to what it was.
      #expect(try transaction.update("m") { _ in }?.revision == transaction.document("m")?.revision)
      return try transaction.update("m") { $0["year"] = 1931 }
    }
    #expect(stored?.attachments["poster"] != nil)
    #expect(try updateOnThisThread { $0["year"] = 1931 }?["title"] == "m")
    #expect(try await database.update("m") { _ in }?["year"] == 1931)
    try await database.write { transaction in
      let film = try transaction.update(Film.self, id: "m") { $0.year = 1931 }
      #expect(film?.attachments["poster"] != nil)
    }
    #expect(try database.snapshot().sequence == sequence)
  }

  @Test func `an update by query counts and stores only the documents that it changes`() throws {
    let before = try ["m", "metropolis", "vampyr"].map { try revision($0) }
    let count = try database.write { transaction in
      try transaction.update(Query<Film>()) { film in
        guard let year = film["year"]?.intValue, year > 1930 else { return }
        film["sound"] = true
      }
    }
    #expect(count == 2)
    let after = try ["m", "metropolis", "vampyr"].map { try revision($0) }
    #expect(zip(before, after).map { $0 == $1 } == [false, true, false])
  }

  @Test(arguments: ["number", "property", "attachment", "type"])
  func `an update with any difference stores a revision`(kind: String) throws {
    let before = try revision("m")
    try database.write { transaction in
      try transaction.update("m") { film in
        switch kind {
        // Equal to Swift, and another number as JSON.
        case "number": film["stars"] = 3
        case "property": film["sound"] = .null
        case "attachment": film.attachments["poster"] = nil
        default: film["type"] = nil
        }
      }
    }
    #expect(try revision("m") != before)
  }

  @Test func `an update that cannot be stored throws and stores nothing`() throws {
    let sequence = try database.snapshot().sequence
    #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        try transaction.update("m") { $0["year"] = .double(.nan) }
      }
    }
    #expect(try database.snapshot().sequence == sequence)
  }

  @Test func `a trial of a migration reports the documents that a dry run reports`() throws {
    let migration = Migration(id: "sound") { transaction in
      try transaction.update(Query<Film>()) { film in
        guard let year = film["year"]?.intValue, year > 1930 else { return }
        film["sound"] = true
      }
    }
    #expect(try database.dryRun(migration).changes.map(\.id) == ["m", "vampyr"])
  }
}
