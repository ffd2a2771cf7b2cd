import Foundation
import Testing

@testable import Divan

/// Tests of migrations, which change all documents at once, and of upgrades of single models.
struct MigrationTests {
  private let database: Database

  init() throws {
    database = try Database.inMemory()
    for (id, year) in [("a", "1927"), ("b", "1931"), ("c", "soon")] {
      try database.put(id, #"{"year": "\#(year)"}"#)
    }
  }

  private let numbers = Migration(id: "years are numbers") { transaction in
    var films = try transaction.documents()
    while var film = try films.next() {
      guard let year = film["year"]?.stringValue.flatMap({ Int64($0) }) else { continue }
      film["year"] = .int(year)
      try transaction.put(film)
    }
    _ = try transaction.delete("c")
  }

  @Test func `a migration runs once`() throws {
    #expect(try database.migrate([numbers]) == ["years are numbers"])
    #expect(try database.json("a") == #"{"year":1927}"# && database.snapshot().count == 2)
    try database.put("d", #"{"year": "1933"}"#)
    let more = Migration(id: "nothing") { _ in }
    #expect(try database.migrate([numbers, more]) == ["nothing"])
    #expect(try database.json("d") == #"{"year":"1933"}"#)
    let notes = try database.read { try $0.localDocument(Migration.documentID) }
    #expect(notes?.count == 2)
  }

  @Test func `a failed migration changes nothing and runs again the next time`() throws {
    struct Refused: Error {}
    let failing = Migration(id: "second") { transaction in
      try transaction.replace("a", with: [:])
      throw Refused()
    }
    let third = Migration(id: "third") { _ in }
    #expect(throws: Refused.self) { try database.migrate([numbers, failing, third]) }
    #expect(try database.json("a") == #"{"year":1927}"#)
    let repaired = Migration(id: "second") { try $0.replace("a", with: ["repaired": true]) }
    #expect(try database.migrate([numbers, repaired, third]) == ["second", "third"])
    #expect(try database.json("a") == #"{"repaired":true}"#)
  }

  @Test func `a dry run returns the changes of a migration without storing them`() throws {
    let before = try database.snapshot().sequence
    let effects = try database.dryRun(numbers)
    #expect(effects.changes.map(\.id) == ["a", "b", "c"])
    #expect(effects.changes.map(\.isDeleted) == [false, false, true])
    #expect(effects.changes[0].document["year"] == 1927)
    #expect(effects.countBefore == 3 && effects.countAfter == 2)
    #expect(try database.snapshot().sequence == before)
    #expect(try database.json("a") == #"{"year":"1927"}"#)
    #expect(try database.read { try $0.localDocument(Migration.documentID) } == nil)
    #expect(try database.migrate([numbers]) == ["years are numbers"])
  }

  @Test func `a dry run of several migrations skips those that were run, and adds up the others`()
    async throws
  {
    let titled = Migration(id: "titles") { transaction in
      for id in try transaction.ids(Query<Document>()) {
        try transaction.update(id) { $0["title"] = .string(id) }
      }
    }
    let all = [numbers, titled]
    #expect(
      try database.pendingMigrations(among: all).map(\.id) == ["years are numbers", "titles"])
    let both = try await database.dryRun(all)
    #expect(both.changes.map { $0.document["year"] }.contains(1927))
    #expect(both.changes.filter { $0.document["title"] != nil }.count == both.countAfter)
    #expect(both.countAfter == 2)

    try await database.migrate([numbers])
    #expect(try database.pendingMigrations(among: all).map(\.id) == ["titles"])
    let sequence = try database.snapshot().sequence
    let second = try await database.dryRun(all)
    #expect(second.changes.map(\.id) == ["a", "b"] && second.countBefore == 2)
    #expect(try database.snapshot().sequence == sequence)

    try await database.migrate(all)
    #expect(try database.pendingMigrations(among: all).isEmpty)
    #expect(try await database.dryRun(all).changes.isEmpty)
    let twice = #expect(throws: DatabaseError.self) {
      try database.pendingMigrations(among: [numbers, numbers])
    }
    #expect(twice?.code == .alreadyExists)
    // By itself, a migration runs whether one with its ID was run or not.
    let retitled = Migration(id: "titles") { try $0.put(Document(id: "z", ["title": "Z"])) }
    #expect(try await database.dryRun([retitled]).changes.isEmpty)
    #expect(try await database.dryRun(retitled).changes.map(\.id) == ["z"])
  }

  private final class Film: Model {
    @Persisted var year: Int
    @Persisted var title: String
    override class var modelVersion: Int { 3 }
    override func upgrade(from version: Int) {
      if version < 2, let old = try? value(for: "year")?.stringValue { year = Int(old) ?? 0 }
      if version < 3 {
        title = ((try? value(for: "name")) ?? nil)?.stringValue ?? "untitled"
        try? setValue(nil, for: "name")
      }
    }
    override class var documentType: String? { nil }
  }

  @Test
  func `an upgraded model is stored with its new version, also by copies and after other changes`()
    throws
  {
    try database.put("f", #"{"name":"Metropolis","year":"1927"}"#)
    let context = database.makeContext()
    let film = try #require(try context.model(Film.self, id: "f"))
    _ = try database.write { try $0.update("f") { $0["note"] = "x" } }
    // The change reaches the context when another model is saved.
    try Film(in: context, id: "g").save()
    try context.save()
    #expect(film.title == "Metropolis")
    #expect(
      try database.json("f")
        == #"{"modelVersion":3,"note":"x","title":"Metropolis","year":1927}"#)

    try database.put("h", #"{"name":"M","year":"1931"}"#)
    let copy = try #require(try database.makeContext().model(Film.self, id: "h")).detachedCopy()
    let other = database.makeContext()
    try other.insert(copy)
    try other.save()
    #expect(try database.json("h") == #"{"modelVersion":3,"title":"M","year":1931}"#)
  }

  @Test func `a document of an earlier model version is upgraded when read and stored when saved`()
    throws
  {
    try database.put("a", #"{"year": "1927", "name": "Metropolis"}"#)
    try database.put("b", #"{"year": 1931, "name": "M", "modelVersion": 2}"#)
    try database.put("d", #"{"year": 1933, "title": "new", "modelVersion": 3}"#)
    try database.put("e", #"{"year": 1933, "title": "newer", "modelVersion": 4}"#)
    let context = database.makeContext()
    let films = try ["a", "b", "d", "e"].map { try #require(try context.model(Film.self, id: $0)) }
    #expect(films.map(\.title) == ["Metropolis", "M", "new", "newer"])
    #expect(films.map(\.year) == [1927, 1931, 1933, 1933])
    #expect(films.map(\.needsSave) == [true, true, false, false])
    try context.save()
    #expect(
      try database.json("a") == #"{"modelVersion":3,"title":"Metropolis","year":1927}"#)
    films[3].year = 1
    try films[3].save()
    #expect(try database.json("e") == #"{"modelVersion":4,"title":"newer","year":1}"#)
    let again = try #require(try database.makeContext().model(Film.self, id: "a"))
    #expect(again.title == "Metropolis" && !again.needsSave)
  }

  @Test func `a new model is stored with its model version`() throws {
    let context = database.makeContext()
    let film = Film(in: context, id: "n")
    try film.save()
    #expect(try database.json("n") == #"{"modelVersion":3,"title":"","year":0}"#)
    #expect(!film.needsSave)
  }

  @Test func `a reverted model is upgraded again before it is saved`() throws {
    try database.put("a", #"{"year": "1927", "name": "Metropolis"}"#)
    let context = database.makeContext()
    let film = try #require(try context.model(Film.self, id: "a"))
    film.title = "other"
    film.revert()
    #expect(film.title == "Metropolis" && film.year == 1927 && film.needsSave)
    try film.save()
    #expect(try database.json("a") == #"{"modelVersion":3,"title":"Metropolis","year":1927}"#)
  }

  @Test func `saving over a document of an earlier program keeps that document at its version`()
    throws
  {
    try database.put("a", #"{"modelVersion": 3, "title": "M", "year": 1931}"#)
    let context = database.makeContext()
    let film = try #require(try context.model(Film.self, id: "a"))
    film.year = 1932
    try database.put("a", #"{"name": "M!", "title": "M", "year": 1931}"#)
    try film.save()
    #expect(try database.json("a") == #"{"name":"M!","title":"M","year":1932}"#)
  }

  @Test func `a strict context checks the upgraded properties`() throws {
    try database.put("a", #"{"year": "1927", "name": "Metropolis"}"#)
    let context = database.makeContext()
    context.isStrict = true
    #expect(try context.model(Film.self, id: "a")?.year == 1927)
  }

  private final class Refusing: Model {
    @Persisted var title: String
    override class var modelVersion: Int { 2 }
    struct NotYet: Error {}
    override func upgrade(from version: Int) throws {
      title = "half"
      throw NotYet()
    }
    override class var documentType: String? { nil }
  }

  @Test func `a failed upgrade is reported, and the model keeps its stored properties`() throws {
    try database.put("a", #"{"title": "old"}"#)
    let context = database.makeContext()
    var errors = 0
    context.errorHandler = { errors += $0 is Refusing.NotYet ? 1 : 0 }
    let model = try #require(try context.model(Refusing.self, id: "a"))
    #expect(errors == 1 && model.title == "old" && !model.needsSave)
    model.title = "new"
    try model.save()
    #expect(try database.json("a") == #"{"title":"new"}"#)
  }

  /// A model that reads its reference to another model while it is upgraded.
  private final class Part: Model {
    @Persisted var other: Part?
    @Persisted var note: String
    override class var modelVersion: Int { 2 }
    override func upgrade(from version: Int) { note = "beside \(other?.id ?? "none")" }
    override class var documentType: String? { nil }
  }

  /// Regression test: each of the two models was recreated for the other, without end.
  @Test func `models that refer to each other are upgraded once each`() throws {
    try database.put("a", #"{"other": "b"}"#)
    try database.put("b", #"{"other": "a"}"#)
    for isStrict in [false, true] {
      let context = database.makeContext()
      context.isStrict = isStrict
      let part = try #require(try context.model(Part.self, id: "a"))
      #expect(part.note == "beside b" && part.other?.note == "beside a")
      #expect(part.other?.other === part)
    }
  }

  @Test func `two migrations with the same name are refused, and neither runs`() throws {
    let twice = [
      Migration(id: "same") { try $0.putLocal("l", [:]) }, Migration(id: "same") { _ in },
    ]
    let error = #expect(throws: DatabaseError.self) { try database.migrate(twice) }
    #expect(error?.code == .alreadyExists)
    #expect(try database.snapshot().localDocument("l") == nil)
  }
}
