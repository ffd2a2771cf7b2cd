import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the code of the README.
struct ReadmeTests {
  class Person: Model {
    @Persisted var name = ""
    @Inverse(\Film.director) var films: [Film]
  }

  class Film: Model {
    @Persisted var title = ""
    @Persisted(index: .value) var year: Int?
    @Persisted var director: Person?
  }

  @MainActor final class SilentFilms {
    let films: LiveQuery<Film>

    init(_ database: Database) {
      films = database.mainContext.liveQuery(
        Query<Film>().filter { $0.year < 1930 }.sorted(by: \.title))
      films.onChange = { change in print(change.insertions, change.deletions, change.moves) }
    }
  }

  struct Book: DocumentCodable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int
  }

  private func open(in folder: URL) throws -> Database {
    let schema = Schema(Film.self, Person.self, documents: [Book.self])
    let database = try Database(url: folder.appending(path: "Films.divan"), schema: schema)
    return database
  }

  @Test func `a database is opened at a URL with a schema`() throws {
    let directory = try TemporaryDirectory()
    for count in 0..<2 {
      let database = try open(in: URL(filePath: directory.path).appending(path: "new folder"))
      #expect(database.path == directory.path + "/new folder/Films.divan")
      #expect(try database.indexes().map(\.name).contains("model:Film.year"))
      #expect(try database.snapshot().count == count)
      try database.write { _ = try $0.put(Book(title: "Amerika", year: 1927)) }
      try database.close()
    }
  }

  @Test @MainActor func `models are saved together and found`() throws {
    let database = try Database.inMemory(schema: Schema(Film.self, Person.self))
    let context = database.mainContext
    let director = Person(in: context)
    director.name = "Fritz Lang"
    let film = Film(in: context)
    film.title = "Metropolis"
    film.year = 1927
    film.director = director
    try context.save()

    let silent = Query<Film>().filter { $0.year < 1930 && $0.director.name.hasPrefix("Fritz") }
    for film in try context.find(silent.sorted(by: \.title)) { print(film.title) }
    print(try context.explain(silent))
    #expect(try context.find(silent) == [film])
    #expect(try context.explain(silent).results == 1)
    #expect(director.films == [film])
    #expect(try database.snapshot().document(film.id)?["type"] == "Film")
    #expect(try database.snapshot().document(film.id)?["director"] == Value.string(director.id))
    director.name = "Lang, Fritz"
    try context.save()
    #expect(try context.find(silent).isEmpty)
    try database.close()
  }

  @Test(.timeLimit(.minutes(30))) @MainActor func `a live list follows changes`() async throws {
    let database = try Database.inMemory(schema: Schema(Film.self, Person.self))
    let list = SilentFilms(database)
    #expect(list.films.results.isEmpty)
    for (title, year) in [("M", 1931), ("Nosferatu", 1922)] {
      let film = Film(in: database.mainContext)
      film.title = title
      film.year = year
    }
    try await database.mainContext.save()
    #expect(list.films.results.map(\.title) == ["Nosferatu"])
    try await database.write { transaction in
      _ = try transaction.put(Document(["type": "Film", "title": "Faust", "year": 1926]))
    }
    while list.films.results.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(list.films.results.map(\.title) == ["Faust", "Nosferatu"])
    try await database.close()
  }

  @Test(.timeLimit(.minutes(30))) func `structures are stored, found and followed`() async throws {
    let database = try Database.inMemory(schema: Schema(documents: [Book.self]))
    let silent = Query<Book>().filter { $0.year < 1930 }.sorted(by: \.title)
    try await database.write { transaction in
      try transaction.put(Book(title: "Berlin Alexanderplatz", year: 1929))
    }
    let books = try await database.read { try $0.find(silent) }
    #expect(books.map(\.title) == ["Berlin Alexanderplatz"] && books.allSatisfy { $0.id != nil })

    let writer = Task {
      try await database.write { transaction in
        try transaction.put(Book(title: "Der Untertan", year: 1918))
        try transaction.put(Book(title: "Der Zauberlehrling", year: 1933))
      }
    }
    var titles: [String] = []
    for try await books in database.liveResults(of: silent) {
      titles = books.map(\.title)
      if titles.count == 2 { break }
    }
    #expect(titles == ["Berlin Alexanderplatz", "Der Untertan"])
    try await writer.value
  }

  @Test func `films are sorted by year`() throws {
    let database = try Database.inMemory(schema: Schema(Film.self, Person.self))
    let context = database.makeContext()
    for (title, year) in [("M", 1931), ("Nosferatu", 1922)] {
      let film = Film(in: context)
      film.title = title
      film.year = year
    }
    try context.save()
    let films = try context.find(Query<Film>().sorted(by: \.year))
    #expect(films.map(\.title) == ["Nosferatu", "M"])
  }

  // MARK: The page

  /// Returns the lines of a text, without comments and without spaces at their ends.
  private func lines(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
      while code.last == " " { code.removeLast() }
      return String(code)
    }
  }

  /// Returns whether lines follow each other in a source, all of them indented by the same amount.
  private func isPart(_ block: [String], of source: [String]) -> Bool {
    guard let first = block.first else { return false }
    return source.indices.contains { start in
      guard source.count - start >= block.count else { return false }
      let indentation = String(repeating: " ", count: max(0, source[start].count - first.count))
      return zip(block, source[start...]).allSatisfy { line, code in
        code == (line.isEmpty ? "" : indentation + line)
      }
    }
  }

  @Test func `each block of code in the README is part of these tests`() throws {
    let source = lines(of: try String(contentsOf: URL(filePath: #filePath), encoding: .utf8))
    let readme = try ProjectFolder.text(of: "README.md")
    let blocks = readme.matches(of: /```swift\n([\s\S]*?)\n```/).map {
      lines(of: String($0.output.1))
    }
    #expect(blocks.count == 8)
    for block in blocks {
      let imports = block.prefix { $0.hasPrefix("import ") || $0.isEmpty }
      for line in imports where !line.isEmpty { #expect(source.contains(line), "\(line)") }
      let code = Array(block.dropFirst(imports.count))
      #expect(isPart(code, of: source), "\(code.joined(separator: "\n"))")
    }
  }

  @Test func `a block of code is found only whole, in its order and indented evenly`() {
    let source = lines(of: "  a {\n    b  // comment\n\n    c\n  }\n")
    #expect(isPart(["a {", "  b", "", "  c", "}"], of: source))
    #expect(isPart(["b", "", "c"], of: source))
    for other in [["a {", "b"], ["b", "c"], ["c", "", "b"], ["c", "}", "", "d"], ["a"], []] {
      #expect(!isPart(other, of: source), "\(other)")
    }
  }
}
