import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the code of the guides on models: classes, attachments, saves and deletions.
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

  final class Sample: Model {
    @Persisted var temperature = 0.0

    override class var isObservable: Bool { false }
  }

  @Test func `a live query reports changes of models that cannot be observed`() throws {
    let database = try Database.inMemory(schema: Schema(Sample.self))
    let context = database.makeContext()
    let warm = context.liveQuery(Query<Sample>().filter { $0.temperature > 20 })
    var updateCounts: [Int] = []
    warm.onChange = { updateCounts.append($0.updates.count) }
    let sample = Sample(in: context)
    sample.temperature = 21
    try context.save()
    sample.temperature = 22
    try context.save()
    #expect(warm.results == [sample] && updateCounts == [0, 1])
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
        context.revert()
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

  // MARK: References, deletions and conflicts

  final class Note: Model {
    @Persisted var text: String
    @Persisted var tags: [String]
    @Persisted var readCount = 0
    @Inverse(\Notebook.notes) var notebooks: [Notebook]
  }

  final class Notebook: Model {
    @Persisted var name: String
    @Persisted var notes: [Note]
    @Persisted(onDelete: .cascade) var cover: Cover?
  }

  final class Cover: Model {
    @Persisted var color: String
  }

  /// Creates a database with a notebook of two notes, and with a cover.
  private func makeNotebook() throws -> Database {
    let schema = Schema(Note.self, Notebook.self, Cover.self)
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let notebook = Notebook(in: context, id: "notebook")
    notebook.name = "Old"
    notebook.cover = Cover(in: context, id: "cover")
    for id in ["a", "b"] {
      let note = Note(in: context, id: id)
      note.tags = ["tea"]
      notebook.notes.append(note)
    }
    try context.save()
    return database
  }

  @Test func `an inverse of an array is an array, and deleting the owner deletes its cover`()
    throws
  {
    let database = try makeNotebook()
    let context = database.makeContext()
    let note = try #require(try context.model(Note.self, id: "a"))
    let notebook = try #require(try context.model(Notebook.self, id: "notebook"))
    #expect(note.notebooks == [notebook])
    let second = Notebook(in: context, id: "second")
    second.notes = [note]
    second.cover = Cover(in: context, id: "second cover")
    try context.save()
    #expect(note.notebooks == [notebook, second])
    try second.cover?.delete()
    #expect(!second.isDeleted && second.cover == nil)
    note.text = "unsaved"
    try notebook.delete()
    #expect(note.notebooks == [second] && note.needsSave)
    #expect(try database.snapshot().ids().collect() == ["a", "b", "second"])
  }

  @Test func `an array of references leaves out a deleted model, and drops its ID when it changes`()
    throws
  {
    let database = try makeNotebook()
    let context = database.makeContext()
    let notebook = try #require(try context.model(Notebook.self, id: "notebook"))
    try context.model(Note.self, id: "a")?.delete()
    #expect(notebook.notes.map(\.id) == ["b"])
    #expect(try database.snapshot().document("notebook")?["notes"] == ["a", "b"])
    try database.update("notebook") { $0["notes"] = ["a", "b", "unknown"] }
    try context.refresh()
    notebook.notes.append(Note(in: context, id: "c"))
    try context.save()
    #expect(notebook.notes.map(\.id) == ["b", "c"])
    let stored = try database.snapshot().document("notebook")?["notes"]?.arrayValue ?? []
    #expect(Set(stored) == ["b", "c", "unknown"])
    notebook.notes = [notebook.notes[1]]
    try context.save()
    #expect(try database.snapshot().document("notebook")?["notes"] == ["c"])
  }

  @Test func `models are deleted and changed in one transaction, which is one step for undo`()
    throws
  {
    let database = try makeNotebook()
    let context = database.makeContext()
    context.undoLimit = 10
    try context.update(Query<Notebook>().filter { $0.name == "Old" }) { notebook in
      for note in notebook.notes { note.tags.append("old") }
      try notebook.delete()
    }
    #expect(try database.snapshot().ids().collect() == ["a", "b"])
    #expect(try database.snapshot().document("b")?["tags"] == ["tea", "old"])
    #expect(context.canUndo && !context.canRedo)
    #expect(try context.undo())
    #expect(try database.snapshot().ids().collect() == ["a", "b", "cover", "notebook"])
    #expect(try database.snapshot().document("b")?["tags"] == ["tea"])
    #expect(!context.canUndo && context.canRedo)
    #expect(try !context.undo())

    try database.write { transaction in
      let notebook = try transaction.models.model(Notebook.self, id: "notebook")
      for note in notebook?.notes ?? [] { note.tags = [] }
      try transaction.models.save()
      try notebook?.delete()
    }
    #expect(try database.snapshot().ids().collect() == ["a", "b"])
    #expect(try database.snapshot().document("a")?["tags"] == [])
    #expect(!context.canUndo)
  }

  @Test func `a handler adds up and joins the values of a conflict`() throws {
    let database = try makeNotebook()
    let context = database.makeContext()
    context.conflictHandler = { conflict in
      switch conflict.key {
      case "readCount":
        let added = (conflict.mine?.intValue ?? 0) - (conflict.base?.intValue ?? 0)
        return .value(Value((conflict.theirs?.intValue ?? 0) + added))
      case "tags":
        let theirs = conflict.theirs?.arrayValue ?? []
        let mine = conflict.mine?.arrayValue ?? []
        return .value(.array(theirs + mine.filter { !theirs.contains($0) }))
      default:
        return .reject
      }
    }
    let note = try #require(try context.model(Note.self, id: "a"))
    note.readCount += 2
    note.tags.append("cake")
    try database.update("a") { note in
      note["readCount"] = 3
      note["tags"] = ["tea", "milk"]
    }
    try note.save()
    #expect(note.readCount == 5 && note.tags == ["tea", "milk", "cake"])
    #expect(try database.snapshot().document("a")?["readCount"] == 5)

    note.text = "mine"
    try database.update("a") { $0["text"] = "theirs" }
    #expect(throws: DatabaseError.self) { try note.save() }
    #expect(note.needsSave)
  }
}
