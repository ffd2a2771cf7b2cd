import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the code of the guides on models: class hierarchies, attachments, and failed saves.
struct ModelGuideTests {
  class Work: Model {
    @Persisted var title = ""
    @Persisted(index: .value) var year: Int?
  }

  final class Film: Work {
    @Persisted var minutes: Int?
  }

  final class Series: Work {
    @Persisted var episodes = 0
  }

  private func makeDatabase() throws -> Database {
    let database = try Database.inMemory(schema: Schema(Work.self, Film.self, Series.self))
    let context = database.makeContext()
    for (title, year) in [("Nosferatu", 1922), ("Metropolis", 1927)] {
      let film = Film(in: context, id: title)
      (film.title, film.year) = (title, year)
    }
    let series = Series(in: context, id: "Alexanderplatz")
    (series.title, series.year, series.episodes) = ("Berlin Alexanderplatz", 1980, 14)
    try context.save()
    return database
  }

  @Test func `a query for a class finds models of its subclasses`() throws {
    let database = try makeDatabase()
    let context = database.makeContext()
    var lines: [String] = []
    let works = try context.find(Query<Work>().filter { $0.year > 1925 }.sorted(by: \.year))
    for work in works {
      if let series = work as? Series {
        lines.append("\(series.title), \(series.episodes) episodes")
      } else {
        lines.append(work.title)
      }
    }
    let silent = try context.find(Film.self) { $0.year < 1930 }
    #expect(lines == ["Metropolis", "Berlin Alexanderplatz, 14 episodes"])
    #expect(Set(silent.map(\.title)) == ["Nosferatu", "Metropolis"])
    let plan = try context.explain(Query<Work>().filter { $0.year > 1925 })
    #expect(plan.indexes == ["model:Work.year"], "\(plan)")
  }

  @Test func `a model has attachments that come from files and go to files`() async throws {
    let directory = try TemporaryDirectory()
    let (jpeg, copy) = (directory.path + "/poster.jpg", directory.path + "/copy.jpg")
    try Data([UInt8](repeating: 7, count: 100_000)).write(to: URL(fileURLWithPath: jpeg))
    let database = try makeDatabase()
    let context = database.makeContext()
    let film = try #require(try context.model(Film.self, id: "Metropolis"))
    film.attachments["poster"] = try await database.storeAttachment(
      contentType: "image/jpeg", file: jpeg)
    try await context.save()
    try await film.attachments["poster"]?.write(to: copy)
    #expect(FileManager.default.contentsEqual(atPath: jpeg, andPath: copy))
  }

  @Test func `after a save that failed, everything unsaved can be discarded`() throws {
    let database = try makeDatabase()
    let context = database.makeContext()
    func save() throws {
      do {
        try context.save()
      } catch {
        try context.revert()
        throw error
      }
    }
    let film = try #require(try context.model(Film.self, id: "Metropolis"))
    let series = try #require(try context.model(Series.self, id: "Alexanderplatz"))
    film.title = "mine"
    series.episodes = 15
    try database.update("Metropolis") { $0["title"] = "theirs" }
    #expect(throws: DatabaseError.self) { try save() }
    #expect(context.unsavedModels.isEmpty && series.episodes == 14)
    try context.refresh()
    #expect(film.title == "theirs")
  }
}
