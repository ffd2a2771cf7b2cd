import Divan
import Testing

/// Tests that run the examples of the guide to concurrency.
struct ConcurrencyGuideTests {
  final class Note: Model {
    @Persisted var title: String
    @Persisted var text: String
  }

  @MainActor final class NoteList {
    let context: ModelContext
    let notes: LiveQuery<Note>

    init(_ database: Database) {
      context = database.mainContext
      notes = context.liveQuery(Query<Note>().sorted(by: \.title))
    }
  }

  actor Importer {
    private let context: ModelContext

    init(_ database: Database) { context = database.makeContext() }

    func add(_ titles: [String]) async throws -> [ModelID<Note>] {
      var notes: [Note] = []
      for title in titles {
        let note = Note(in: context)
        note.title = title
        notes.append(note)
      }
      try await context.save()
      return notes.map { $0.modelID }
    }
  }

  @Test func `tasks write and read documents`() async throws {
    let database = try Database.inMemory()
    let count = try await database.write { transaction in
      try transaction.put(Document(id: "milk", ["title": "Buy milk"]))
      return transaction.count
    }
    let title = try await database.read { try $0.document("milk")?["title"]?.stringValue }
    #expect(count == 1 && title == "Buy milk")
  }

  @MainActor
  @Test func `a context of the main actor shows what another actor saved`() async throws {
    let database = try Database.inMemory(schema: Schema(Note.self))
    let list = NoteList(database)
    let context = list.context
    let ids = try await Importer(database).add(["Buy milk", "Read a book"])
    try context.refresh()
    let milk = try context.model(ids[0])
    #expect(milk?.title == "Buy milk")
    #expect(list.notes.results.map(\.title) == ["Buy milk", "Read a book"])
    try await database.close()
  }

  @Test func `a copy of a model is read by another task`() async throws {
    let context = try Database.inMemory().makeContext()
    let note = Note(in: context)
    note.text = "two litres"
    let copy = try note.detachedCopy()
    let words = await Task.detached { copy.text.split(separator: " ").count }.value
    #expect(words == 2)
  }

  @MainActor
  @Test func `a write whose task is cancelled before it begins stores nothing`() async throws {
    let database = try Database.inMemory()
    var message = ""
    // The task inherits the main actor, so it begins only when this function waits for it.
    let task = Task {
      try await database.write { try $0.put(Document(id: "late", ["title": "Too late"])) }
    }
    task.cancel()
    do {
      _ = try await task.value
    } catch let error as DatabaseError where error.code == .cancelled {
      message = "nothing was stored"
    }
    #expect(message == "nothing was stored")
    #expect(try database.snapshot().count == 0)
  }

  @MainActor
  @Test func `closing the database saves a context that saves by itself`() throws {
    let database = try Database.inMemory()
    let context = database.makeFollowingContext(autosavingAfter: .seconds(60))
    let note = Note(in: context)
    note.title = "Draft"
    try database.close()
    #expect(!note.needsSave)
  }
}
