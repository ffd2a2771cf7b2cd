import Divan
import Foundation
import ProofKit
import Testing

/// Tests that updates store a revision only of what they change.
struct UnchangedUpdateTests {
  private let database: Database

  private struct Film: DocumentCodable {
    var title: String
    var year: Int
    /// Stored as `3`, and encoded as `3.0`.
    var stars: Double
  }

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for (id, year) in [("m", 1931), ("metropolis", 1927), ("vampyr", 1932)] {
        let properties: Value.Object = [
          "type": "Film", "title": .string(id), "year": .int(Int64(year)), "stars": 3,
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
    let before = try revision("m")
    let stored = try await database.write { transaction in
      // Untouched, and set to what it was.
      #expect(try transaction.update("m") { _ in }?.revision == before)
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

  @Test(arguments: ["number", "property", "attachment", "digest", "type"])
  func `an update with any difference stores a revision`(kind: String) throws {
    let before = try revision("m")
    try database.write { transaction in
      try transaction.update("m") { film in
        switch kind {
        // Equal to Swift, and another number as JSON.
        case "number": film["stars"] = 3.0
        case "property": film["sound"] = .null
        case "attachment": film.attachments["poster"] = nil
        // Not a part of the attachments' equality.
        case "digest":
          film.attachments["poster"]?.foreignDigest = Document.Attachment.ForeignDigest("md5-x")
        default: film["type"] = nil
        }
      }
    }
    #expect(try revision("m") != before)
  }

  @Test func `an update that cannot be stored throws and stores nothing`() throws {
    let sequence = try database.snapshot().sequence
    let error = #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        try transaction.update("m") { $0["year"] = .double(.nan) }
      }
    }
    #expect(error?.code == .invalidValue)
    #expect(try database.snapshot().sequence == sequence)
  }

  @Test(arguments: [true, false])
  func `a closure that stores or deletes its document is a conflict, also if its copy is unchanged`(
    isDeleted: Bool
  ) throws {
    let error = #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        try transaction.update("m") { _ in
          if isDeleted {
            try transaction.delete("m")
          } else {
            try transaction.replace("m", with: ["year": 2000])
          }
        }
      }
    }
    #expect(error?.code == .conflict)
    #expect(try database.snapshot().document("m")?["year"] == 1931)
  }

  @Test func `no validation runs if nothing changes, and expiry and conflicts stay`() throws {
    let film = try #require(try database.snapshot().document("m"))
    try database.write { transaction in
      try transaction.setExpiry(Date(timeIntervalSince1970: 4e9), of: "m")
      try transaction.put(film, onConflict: .branch)
    }
    let branches = try database.snapshot().branches(of: "m").map(\.revision)
    let validated = Recorder<String>()
    database.setValidation(named: "all") { revision in validated.append(revision.id) }
    try database.write { try $0.update("m") { $0["year"] = 1931 } }
    #expect(validated.all.isEmpty)
    #expect(try database.snapshot().branches(of: "m").map(\.revision) == branches)
    #expect(try database.snapshot().expiry(of: "m") == Date(timeIntervalSince1970: 4e9))
    try database.write { try $0.update("m") { $0["year"] = 1932 } }
    #expect(validated.all == ["m"])
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
