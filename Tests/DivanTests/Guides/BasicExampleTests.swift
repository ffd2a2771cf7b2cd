import Divan
import DivanTesting
import Foundation
import Testing

/// Tests that run the examples of the types that every program uses.
struct BasicExampleTests {
  // MARK: Documents

  @Test func `a document has properties`() {
    var film = Document(id: "film:1", ["title": "Metropolis", "year": 1927])
    film["genres"] = ["drama", "science fiction"]
    #expect(film["year"] == 1927 && film["genres"]?[0] == "drama")
  }

  @Test func `values are documents`() throws {
    struct Film: Codable {
      @DocumentID var id: String? = nil
      var title: String
      var released: Date?
    }
    let document = try DocumentEncoder().encode(Film(title: "Metropolis"))
    let film = try DocumentDecoder().decode(Film.self, from: document)
    #expect(film.title == "Metropolis" && film.released == nil && document["title"] == "Metropolis")
  }

  @Test func `a value has a type, a revision and an ID`() throws {
    let database = try Database.inMemory()
    struct Recipe: DocumentCodable {
      @DocumentID var id: String? = nil
      var name: String
      var minutes: Int
    }
    try database.write { try $0.put(Recipe(name: "Soup", minutes: 20)) }
    let quick = try database.snapshot().find(Query<Recipe>().filter { $0.minutes < 30 })
    #expect(quick.map(\.name) == ["Soup"] && quick[0].id != nil)
  }

  @Test func `a value records its revision`() throws {
    struct Film: Codable {
      @DocumentID var id: String? = nil
      @DocumentRevision var revision: RevisionID?
      var title: String
    }
    let database = try Database.inMemory()
    var film = Film(title: "Metropolis")
    try database.write { try $0.put(&film) }
    #expect(film.revision?.generation == 1 && film.id != nil)
  }

  @Test func `a value records its ID`() throws {
    struct Film: Codable {
      @DocumentID var id: String? = nil
      var title: String
    }
    let database = try Database.inMemory()
    let film = try database.write { try $0.put(Film(title: "Metropolis")) }
    #expect(try database.snapshot().value(Film.self, id: film.id)?.id == film.id)
  }

  @Test func `attachments are stored and read`() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data([1, 2, 3]).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    let path = url.path
    let database = try Database.inMemory()
    let jpeg = Data(repeating: 7, count: 1000)
    var film = Document(id: "film:1", ["title": "Metropolis"])
    film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", jpeg)
    film.attachments["trailer"] = try Document.Attachment(contentType: "video/mp4", file: path)
    try database.write { try $0.put(film) }
    let poster = try database.read { try $0.document(film.id)?.attachments["poster"]?.data() }
    #expect(poster == jpeg)
  }

  @Test func `two edits are merged`() {
    let merge = ThreeWayMerge(
      base: ["title": "Metropolis", "year": 1926, "stars": 4],
      mine: ["title": "Metropolis", "year": 1927, "stars": 5],
      theirs: ["title": "Metropolis (restored)", "year": 1926, "stars": 3])
    #expect(merge.properties == ["title": "Metropolis (restored)", "year": 1927, "stars": 4])
    #expect(merge.overlaps.map(\.path) == [["stars"]])
  }

  // MARK: Cursors, indexes and views

  private func films() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (title, year) in [("Metropolis", 1927), ("Nosferatu", 1922), ("Zorro", 1940)] {
        try transaction.put(
          Document(id: "film:" + title, ["title": .string(title), "year": Value(year)]))
      }
    }
    return database
  }

  @Test func `a cursor is read, or another one derived`() throws {
    let snapshot = try films().snapshot()
    var printed: [String] = []
    func print(_ id: String) { printed.append(id) }
    var films = snapshot.documents(.prefix("film:"))
    while let film = try films.next() { print(film.id) }
    #expect(printed == ["film:Metropolis", "film:Nosferatu", "film:Zorro"])

    let titles = try snapshot.documents(.prefix("film:"))
      .compactMap { $0["title"]?.stringValue }
      .prefix(10)
      .collect()
    #expect(titles == ["Metropolis", "Nosferatu", "Zorro"])
  }

  @Test func `films are found by their year`() throws {
    let database = try films()
    var printed: [String] = []
    func print(_ id: String) { printed.append(id) }
    try database.addIndex(DocumentIndex("by year", on: "year"))
    var films = try database.snapshot().documents(by: "by year", 1920..<1930)
    while let film = try films.next() { print(film.id) }
    #expect(printed == ["film:Nosferatu", "film:Metropolis"])
    try database.addIndex(
      DocumentIndex("open by date", on: "due") { $0["done"] == false && $0["due"] != .null }
    )
    #expect(try database.snapshot().count(by: "open by date") == 0)
  }

  @Test func `a view counts films by year`() throws {
    let database = try films()
    let byYear = MapReduceView("films by year", version: "1", reduction: .count) { film, emit in
      emit(film["year"], film["title"])
    }
    let twenties = try database.rows(of: byYear, .keys(in: 1920..<1930).unreduced())
    let perYear = try database.rows(of: byYear, .all.grouped())
    #expect(twenties.map(\.value) == ["Nosferatu", "Metropolis"] && perYear.count == 3)
  }

  @Test func `a migration changes documents once`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "m", ["year": "1927"])) }
    let migrations = [
      Migration(id: "years are numbers") { transaction in
        var films = try transaction.documents()
        while var film = try films.next() {
          guard let year = film["year"]?.stringValue.flatMap({ Int64($0) }) else { continue }
          film["year"] = .int(year)
          try transaction.put(film)
        }
      }
    ]
    try database.migrate(migrations)
    #expect(try database.snapshot().document("m")?["year"] == 1927)
  }

  @Test func `metrics are compared`() throws {
    let database = try Database.inMemory()
    func importEverything() throws { try database.write { try $0.put(Document(id: "a")) } }
    var commits = 0
    func print(_ metrics: DatabaseMetrics) { commits = metrics.commits }
    let before = database.metrics
    try importEverything()
    print(database.metrics.delta(since: before))
    #expect(commits > 0)
  }

  // MARK: Tests of programs

  private final class Trip: Model {
    @Persisted var title: String
    @Persisted var nights: Int?
    override class var documentType: String? { "Trip" }
  }

  @Test func `a database of a test contains documents at first`() throws {
    let database = try Database.inMemory(
      schema: Schema(Trip.self),
      fixtures: .jsonLines(
        """
        {"_id": "elbe", "type": "Trip", "title": "Along the Elbe", "nights": 3}
        {"_id": "lisbon", "type": "Trip", "title": "Lisbon"}
        """),
      .models { context in Trip(in: context, id: "rome").title = "Rome" })
    #expect(try database.makeContext().count(Query<Trip>()) == 3)
  }
}
