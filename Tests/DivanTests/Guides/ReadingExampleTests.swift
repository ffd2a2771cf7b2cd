import Divan
import DivanTesting
import Foundation
import Testing

/// Tests that run the examples of the types that read documents and follow their changes.
struct ReadingExampleTests {
  struct Film: Codable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int
  }

  private func films() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (id, title, year) in [
        ("film:m", "Metropolis", 1927), ("film:n", "Nosferatu", 1922), ("film:z", "Zorro", 1940),
      ] {
        try transaction.put(Film(title: title, year: year), id: id)
      }
    }
    return database
  }

  // MARK: Cursors

  @Test func `documents are read one after the other`() throws {
    let database = try films()
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    do {
      var ids = try database.snapshot().ids(.prefix("film:"))
      while let id = try ids.next() { print(id) }
    }
    #expect(printed == ["film:m", "film:n", "film:z"])
    printed = []
    do {
      var films = try database.snapshot().documents(.prefix("film:"), descending: true)
      while let film = try films.next() { print(film["title"]?.stringValue ?? film.id) }
    }
    #expect(printed == ["Zorro", "Nosferatu", "Metropolis"])
    printed = []
    do {
      var films = try database.snapshot().documents(Film.self, .prefix("film:"))
      while let film = try films.next() { print(film.title) }
    }
    #expect(printed == ["Metropolis", "Nosferatu", "Zorro"])
  }

  func titles(in range: some IDRangeExpression, of snapshot: Snapshot) throws -> [String] {
    try snapshot.documents(range).compactMap { $0["title"]?.stringValue }.collect()
  }

  @Test func `a function takes any range of IDs`() throws {
    let snapshot = try films().snapshot()
    #expect(try titles(in: "film:a"..<"film:n", of: snapshot) == ["Metropolis"])
    #expect(try titles(in: .after("film:m"), of: snapshot) == ["Nosferatu", "Zorro"])
  }

  @Test func `documents are read in the order of an index`() throws {
    let database = try films()
    try database.addIndex(DocumentIndex("by year", on: "year"))
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    do {
      var ids = try database.snapshot().ids(by: "by year", 1920..<1930)
      while let id = try ids.next() { print(id) }
    }
    #expect(printed == ["film:n", "film:m"])
    printed = []
    do {
      var films = try database.snapshot().documents(by: "by year", 1927..., descending: true)
      while let film = try films.next() { print(film.id) }
    }
    #expect(printed == ["film:z", "film:m"])
  }

  @Test func `a range has a constraint for each property of an index`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (id, list, due) in [
        ("a", "home", "2026-05-01"), ("b", "home", "2027-01-01"), ("c", "work", "2026-05-01"),
      ] {
        try transaction.put(Document(id: id, ["list": .string(list), "due": .string(due)]))
      }
    }
    try database.addIndex(DocumentIndex("by list and date", on: "list", "due"))
    let range = IndexRange.equal(to: "home").then("2026-01-01"..<"2027-01-01")
    let ids = try database.snapshot().ids(by: "by list and date", range).collect()
    #expect(ids == ["a"])
  }

  @Test func `an index has the conditions that were written like a filter`() {
    let index = DocumentIndex("open by date", on: "due") { $0["done"] == false }
    let condition = index.conditions[0]  // path: ["done"], test: .equal(false)
    #expect(condition.path == ["done"] && condition.test == .equal(false))
  }

  @Test func `the conditions of an index have tests`() {
    let index = DocumentIndex("films by year", on: "year") { $0["type"] == "film" }
    let isOfFilms = index.conditions.contains { $0.test == .equal("film") }  // true
    #expect(isOfFilms)
  }

  // MARK: Changes

  @Test func `changes are read from a snapshot`() throws {
    let database = try films()
    let last = try database.snapshot().sequence
    var printed: [String] = []
    func print(_ id: String, _ text: String) { printed.append("\(id) \(text)") }
    try database.update("film:m") { $0["year"] = 1926 }
    try database.write { try $0.delete("film:z") }
    var changes = try database.snapshot().changes(since: last)
    while let change = try changes.next() {
      print(change.id, change.isDeleted ? "was deleted" : "was stored")
    }
    #expect(printed == ["film:m was stored", "film:z was deleted"])
  }

  @Test func `a change says which documents have conflicts`() throws {
    let database = try films()
    let base = try #require(try database.snapshot().document("film:m"))
    for year in [1926, 1928] as [Value] {
      var film = base
      film["year"] = year
      try database.write { try $0.put(film, onConflict: .branch) }
    }
    let snapshot = try database.snapshot()
    var printed: [String] = []
    func print(_ id: String, _ leaves: [RevisionID]) { printed.append("\(id) \(leaves.count)") }
    for change in try snapshot.changes().collect() where change.hasConflicts {
      print(change.id, change.leaves.map(\.id))
    }
    #expect(printed == ["film:m 2"])
  }

  @Test func `a feed delivers changes as they come`() async throws {
    let database = try films()
    var titles: [String] = []
    for try await change in database.changeFeed() where !change.isDeleted {
      titles.append(change.document["title"]?.stringValue ?? "")
      if titles.count == 3 { break }
    }
    #expect(titles == ["Metropolis", "Nosferatu", "Zorro"])
  }

  @Test func `a change is awaited`() async throws {
    let database = try films()
    let last = try database.snapshot().sequence
    _ = try await database.write { try $0.delete("film:z") }
    var changes = database.changeFeed(since: last).makeAsyncIterator()
    let change = try await changes.next()  // waits until there is one
    #expect(change?.id == "film:z" && change?.isDeleted == true)
  }

  @Test func `a position in the changes is saved as a text`() async throws {
    let database = try films()
    let saved = try database.snapshot().feedPosition.description
    let feed = try FeedPosition(saved).map { try database.changeFeed(since: $0) }
    _ = try await database.write { try $0.delete("film:z") }
    var id: String?
    for try await change in try #require(feed) {
      id = change.id
      break
    }
    #expect(id == "film:z")
  }
}
