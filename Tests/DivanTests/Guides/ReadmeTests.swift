import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

private class Film: Model {
  @Persisted var title = ""
  @Persisted var year: Int?
  @Persisted var cast: [String]
}

private struct Book: Codable {
  @DocumentID var id: String?
  var title: String
  var published: Date?
}

/// Tests that run the examples of the README.
struct ReadmeTests {
  @Test func `models, snapshots and history work as in the README`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.divan"
    do {
      let database = try Database(at: path)
      let context = database.makeContext()

      let film = Film(in: context)
      film.title = "Metropolis"
      film.year = 1927
      film.cast.append("Brigitte Helm")
      try film.save()

      try database.write { transaction in
        try transaction.put(Document(id: "m", ["title": "M", "year": 1931]))
      }
      let snapshot = try database.snapshot()
      #expect(try (snapshot.get("m")?["title"] ?? "none") == "M")
      #expect(try snapshot.get(film.id)?["cast"] == ["Brigitte Helm"])
      try database.close()
    }
    var configuration = Configuration()
    configuration.history = HistoryRetention(age: .seconds(30 * 86_400))
    let database = try Database(at: path, configuration: configuration)
    #expect(try database.snapshot().count == 2)

    try database.saveSnapshot(named: "before import")
    let before = try database.snapshot()
    try database.write { transaction in
      try transaction.overwrite("m", with: ["title": "M", "year": 1932])
    }
    #expect(try (database.snapshot(named: "before import").get("m")?["year"] ?? "none") == 1931)
    #expect(try database.snapshot(at: before.sequence).count == 2)
    #expect(try database.snapshot().get("m")?["year"] == 1932)
  }

  @Test func `validation, expiry and the change feed work as in the README`() async throws {
    let database = try Database.inMemory()
    try await database.write { _ = try $0.put(Document(id: "m", ["title": "M"])) }
    try watch(database)
    let snapshot = try database.snapshot()
    #expect(try snapshot.get("m")?["seen"] == true)
    #expect(try snapshot.expiry(of: "m") != nil)
    var ids: [String] = []
    for try await change in database.changes(since: 0) {
      ids.append(change.id)
      if change.id == "m" { break }
    }
    #expect(ids == ["m"])
    await #expect(throws: DatabaseError.self) {
      try await database.write { _ = try $0.put(Document(id: "n")) }
    }
  }

  private func watch(_ database: Database) throws {
    database.setValidation(named: "films") { revision in
      if !revision.isDeletion, revision.document["title"]?.stringValue == nil {
        try revision.reject("a film has a title", keys: ["title"])
      }
    }
    try database.update("m") { $0["seen"] = true }

    try database.write { transaction in
      try transaction.setExpiry(Date(timeIntervalSinceNow: 3600), of: "m")
      try transaction.putLocal("settings", ["theme": "dark"])
    }
    let settings = try database.snapshot().localDocument("settings")
    #expect(settings == ["theme": "dark"])
  }

  @Test func `a Codable type is stored and read as in the README`() throws {
    let database = try Database.inMemory()
    var book = Book(title: "Berlin Alexanderplatz")
    try database.write { try $0.put(&book) }
    let same = try database.snapshot().get(Book.self, book.id ?? "")
    #expect(same?.title == book.title)
    #expect(same?.id == book.id)
    #expect(book.id != nil)
  }

  @Test func `branches and attachments are stored and read as in the README`() throws {
    let database = try Database.inMemory()
    let base = try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    for text in ["Green tea", "Tea and cake"] {
      var mine = base
      mine["text"] = .string(text)
      try database.write { try $0.put(mine, allowingConflict: true) }
    }
    let branches = try database.read { try $0.branches(of: "note") }
    #expect(branches.count == 2)
    try database.write { transaction in
      try transaction.resolve("note") { overlap in
        overlap.path == ["text"] ? .theirs : .mine
      }
    }
    let resolved = try database.snapshot().branches(of: "note")
    #expect(resolved.map { $0["text"] } == [branches[1]["text"]])

    let jpeg = Data(repeating: 7, count: 100_000)
    var size = 0
    var note = try database.read { try $0.get("note") } ?? base
    note.attachments["photo"] = Document.Attachment(contentType: "image/jpeg", jpeg)
    try database.write { try $0.put(note) }
    var pieces = try database.read { try $0.get("note")?.attachments["photo"]?.pieces() }
    while let piece = try pieces?.next() { size += piece.count }
    #expect(size == jpeg.count)
  }

  @Test func `indexes find documents as in the README`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(
        Document(id: "m", ["title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm"]]))
    }
    try database.addIndex(DocumentIndex("by year", on: "year"))
    try database.addIndex(DocumentIndex("by actor", on: "cast", eachElement: true))
    try database.addIndex(DocumentIndex("by number", on: "catalogue.number", isUnique: true))

    let snapshot = try database.snapshot()
    var twenties = try snapshot.ids(by: "by year", .from(1920, upTo: 1930))
    var films = try snapshot.documents(by: "by actor", .prefix("Brigitte"))
    while let film = try films.next() { print(film.id, film["title"] ?? "none") }
    #expect(try twenties.collect() == ["m"] && snapshot.count(by: "by actor") == 1)
    #expect(try database.indexes().count == 3)
  }

  @Test func `a query finds its film as in the README`() throws {
    let database = try Database.inMemory()
    let context = database.makeContext()
    for (title, year) in [("Metropolis", 1927), ("M", 1931), ("The Kid", 1921)] {
      let film = Film(in: context)
      film.title = title
      film.year = year
      film.cast = ["Brigitte Helm"]
    }
    try context.save()
    let silent = Query<Film>()
      .filter {
        $0.year.isIn(1920..<1930) && $0.cast.contains("Brigitte Helm") && !$0.title.hasPrefix("The")
      }
      .sort(\.year).limit(20)
    for film in try context.find(silent) { print(film.title) }
    print(try context.count(silent), try context.explain(silent))
    #expect(try context.find(silent).map(\.title) == ["Metropolis"])
  }

  @Test func `JSON lines are exported and imported as in the README`() throws {
    let disk = SimulatedDisk()
    let database = try Database(at: "Films.divan", configuration: disk.configuration())
    let copy = try Database(at: "Copy.divan", configuration: disk.configuration())
    let film = try database.write { try $0.put(Document(id: "m", ["title": "M"])) }
    try disk.addFile("More.jsonl", contents: Array("{\"title\":\"Metropolis\"}\n?\n".utf8))
    try database.exportJSONLines(to: "Films.jsonl")
    try copy.importJSONLines(from: "Films.jsonl")
    let options = JSONLines.ImportOptions(
      onExisting: .skip, onInvalidLine: .skip, idProperty: "title")
    let report = try copy.importJSONLines(from: "More.jsonl", options: options)
    for problem in report.errors { print(problem) }
    #expect(report.rejectedCount == 1)
    #expect(try copy.snapshot().get("m")?.revision == film.revision)
    #expect(try copy.snapshot().get("Metropolis") != nil)
  }

  @Test func `the code of the README is the code of these tests`() throws {
    let here = URL(filePath: #filePath)
    let readme = try ProjectFolder.text(of: "README.md")
    let source = try String(contentsOf: here, encoding: .utf8)
    let blocks = readme.matches(of: /```swift\n([\s\S]*?)```/).map(\.output.1)
    #expect(blocks.count == 9)
    // Paths and printed output differ; every other line of the examples is part of this file.
    for line in blocks.flatMap({ $0.split(separator: "\n") }) {
      let code = line.split(separator: "//")[0].trimmingCharacters(in: .whitespaces)
      if code.hasPrefix("let database =") || code.hasPrefix("print(") { continue }
      #expect(source.contains(code), "\(code)")
    }
  }
}
