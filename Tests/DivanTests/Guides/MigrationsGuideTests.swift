import Divan
import TestSupport
import Testing

/// Tests that run the examples of the guide to migrations and schema evolution.
struct MigrationsGuideTests {
  final class Person: Model {
    @Persisted(key: "full_name") var name: String
    @Persisted var nickname: String?
    @Persisted var isActive = true
  }

  final class Member: Model {
    @Persisted(key: "full_name") var name: String

    override class var earlierDocumentTypes: [String] { ["Person"] }
  }

  final class Film: Model {
    @Persisted var title: String
    @Persisted var minutes: Int
    @Persisted var year: Int?

    override class var modelVersion: Int { 2 }

    override func upgrade(from version: Int) throws {
      guard version < 2, let hours = try value(for: "hours")?.doubleValue else { return }
      minutes = Int(hours * 60)
      try setValue(nil, for: "hours")
    }
  }

  struct Recipe: DocumentCodable {
    static let documentType = "recipe"

    @DocumentID var id: String? = nil
    var name: String
    var minutes: Int?
  }

  let numbers = Migration(id: "2026-03-years-are-numbers") { transaction in
    let films = Query<Document>().filter { $0["type"] == "Film" }
    try transaction.update(films) { film in
      guard let year = film["year"]?.stringValue.flatMap({ Int64($0) }) else { return }
      film["year"] = .int(year)
    }
  }

  let addresses = Migration(id: "2026-04-addresses") { transaction in
    let people = Query<Document>().filter { $0["type"] == "Person" && !$0["city"].isMissing }
    try transaction.update(people) { person in
      person["address"] = .object(["city": person["city"] ?? .null])
      person["city"] = nil
    }
  }

  @Test func `added properties have declared values, and removed ones stay`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.replace("p", with: ["type": "Person", "full_name": "Ada", "age": 36])
    }
    let context = database.makeContext()
    let ada = try #require(try context.model(Person.self, id: "p"))
    #expect(ada.name == "Ada" && ada.nickname == nil && ada.isActive)
    ada.name = "Ada Lovelace"
    try context.save()
    let stored = try database.snapshot().document("p")
    #expect(stored?["full_name"] == "Ada Lovelace" && stored?["age"] == 36)
  }

  @Test func `documents of a renamed class are of the new one, and keep their type`() throws {
    let database = try Database.inMemory(schema: Schema(Member.self))
    try database.write { transaction in
      try transaction.replace("p", with: ["type": "Person", "full_name": "Ada"])
    }
    let context = database.makeContext()
    let ada = try #require(try context.find(Query<Member>()).first)
    ada.name = "Ada Lovelace"
    try ada.save()
    let stored = try database.snapshot().document("p")
    #expect(stored?["full_name"] == "Ada Lovelace" && stored?["type"] == "Person")
  }

  @Test func `a model of an earlier version is upgraded when it is loaded`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.replace("m", with: ["type": "Film", "title": "Metropolis", "hours": 2.5])
    }
    let context = database.makeContext()
    let film = try #require(try context.model(Film.self, id: "m"))
    #expect(film.minutes == 150 && film.needsSave)
    try film.save()
    let stored = try database.snapshot().document("m")
    #expect(stored?["minutes"] == 150 && stored?["hours"] == nil && stored?["modelVersion"] == 2)
  }

  @Test func `a dry run shows what a migration does, and opening with a schema runs it`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.divan"
    do {
      let earlier = try Database(at: path)
      try earlier.write { try $0.replace("m", with: ["type": "Film", "year": "1927"]) }
      try earlier.close()

      let database = try Database(at: path)
      let effects = try database.dryRun(numbers)
      for change in effects.changes { print(change.id, change.document.json) }
      print(effects.countBefore, "documents before,", effects.countAfter, "after")
      let pending = try database.pendingMigrations(among: [numbers])
      print("To do:", pending.map(\.id))
      let together = try database.dryRun([numbers])
      #expect(pending.count == 1 && together.changes.map(\.id) == ["m"])
      #expect(effects.changes.map { $0.document["year"] } == [1927])
      #expect(effects.countBefore == 1 && effects.countAfter == 1)
      #expect(try database.snapshot().document("m")?["year"] == "1927")
      try database.close()
    }

    let schema = Schema(Film.self, Member.self, migrations: [numbers])
    let database = try Database(at: path, schema: schema)
    #expect(try database.snapshot().document("m")?["year"] == 1927)
    #expect(try database.migrate([numbers]).isEmpty)
  }

  @Test func `years become numbers, and other texts stay`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.replace("m", with: ["type": "Film", "year": "1927"])
      try transaction.replace("x", with: ["type": "Film", "year": "soon"])
    }
    #expect(try database.migrate([numbers]) == [numbers.id])
    #expect(try database.snapshot().document("m")?["year"] == 1927)
    #expect(try database.snapshot().document("x")?["year"] == "soon")
  }

  @Test func `a property moves into an object`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.replace("a", with: ["type": "Person", "city": "London"])
      try transaction.replace("b", with: ["type": "Person"])
    }
    #expect(try database.migrate([addresses]) == [addresses.id])
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("a")?["address"] == ["city": "London"])
    #expect(try snapshot.document("a")?["city"] == nil)
    #expect(try snapshot.document("b")?["address"] == nil)
  }

  @Test func `an added optional property of a Codable type is nil in earlier documents`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.replace("s", with: ["type": "recipe", "name": "Soup"]) }
    let recipes = try database.snapshot().find(Query<Recipe>())
    #expect(recipes.map(\.name) == ["Soup"] && recipes.map(\.minutes) == [nil])
  }
}
