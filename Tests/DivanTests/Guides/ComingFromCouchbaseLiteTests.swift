import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the app of the page on coming from Couchbase Lite, 1 and 4.
struct ComingFromCouchbaseLiteTests {
  // MARK: CBLModel

  final class TodoList: Model {
    @Persisted var name = ""
    @Inverse(\Todo.list) var todos: [Todo]

    override class var documentType: String? { "list" }
  }

  final class Todo: Model {
    @Persisted var text = ""
    @Persisted var done = false
    @Persisted var due: Date?
    @Persisted var tags: [String]
    @Persisted var list: TodoList?
    @Persisted var changed: Date?

    override class var documentType: String? { "todo" }

    override func willSave(_ changedProperties: [String]) {
      if changedProperties.contains("text") { changed = Date.now }
    }

    override var tombstoneProperties: Value.Object { ["text": .string(text)] }
  }

  private func open() throws -> Database {
    try Database.inMemory(schema: Schema(TodoList.self, Todo.self))
  }

  @MainActor @Test func `models are saved together, found, followed and deleted`() throws {
    let database = try open()
    let context = database.mainContext
    let jpeg = Data(repeating: 7, count: 1000)

    let home = TodoList(in: context)
    home.name = "Home"
    let milk = Todo(in: context)
    milk.text = "Buy milk"
    milk.list = home
    milk.attachments["photo"] = Document.Attachment(contentType: "image/jpeg", jpeg)
    try context.saveModels([home, milk])
    #expect(milk.changed != nil && home.todos == [milk])

    try milk.setValue("blue", for: "color")
    try milk.save()
    let color = try milk.value(for: "color")
    #expect(color == "blue")

    try database.update(milk.id) { $0["done"] = true }
    try context.refresh()
    print(milk.done, milk.timeSinceExternalChange ?? .zero)
    #expect(milk.done && milk.timeSinceExternalChange != nil)

    let id = milk.id
    try milk.delete()
    let tombstone = try database.snapshot().tombstone(id)
    #expect(tombstone?["text"] == "Buy milk")
    #expect(try context.find(Query<Todo>()).isEmpty)
  }

  @Test func `a view maps and counts`() throws {
    let database = try open()
    for (text, list) in [("Buy milk", "home"), ("Call Ann", "home"), ("Ship", "work")] {
      try database.write { transaction in
        _ = try transaction.put(
          Document(["type": "todo", "text": .string(text), "list": .string(list)]))
      }
    }
    let byList = MapReduceView(
      "todos by list", version: "1", documentType: "todo", reduction: .count
    ) { todo, emit in
      emit(todo["list"])
    }
    let counts = try database.rows(of: byList, .all.grouped())
    for row in counts { print(row.key, row.value) }
    #expect(counts.map(\.value) == [2, 1])
  }

  @Test func `revisions, conflicts, deletions and attachments of 1 are imported`() throws {
    let directory = try TemporaryDirectory()
    let exported = directory.path + "/Todos.jsonl"
    let (a, b, c) = (
      String(repeating: "a", count: 32), String(repeating: "b", count: 32),
      String(repeating: "c", count: 32)
    )
    let lines = """
      {"_id":"milk","_rev":"2-\(b)","_revisions":{"start":2,"ids":["\(b)","\(a)"]},"type":"todo",\
      "text":"Buy milk","due":"2026-12-01T09:00:00.250Z","list":"home","_attachments":{"note":\
      {"content_type":"text/plain","digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","length":5,"data":"aGVsbG8="}}}
      {"_id":"milk","_rev":"2-\(c)","_revisions":{"start":2,"ids":["\(c)","\(a)"]},"type":"todo",\
      "text":"Buy oat milk"}
      {"_id":"old","_rev":"2-\(c)","_revisions":{"start":2,"ids":["\(c)","\(b)"]},"_deleted":true}
      {"_id":"home","_rev":"1-\(a)","_revisions":{"start":1,"ids":["\(a)"]},"type":"list","name":"Home"}
      """
    try Data(lines.utf8).write(to: URL(filePath: exported))
    let database = try open()

    try database.importJSONLines(from: exported)
    let snapshot = try database.snapshot()
    let branches = try snapshot.branches(of: "milk")
    print(branches.map { $0["text"]?.stringValue ?? "" })
    #expect(branches.map { $0["text"] } == ["Buy oat milk", "Buy milk"])
    #expect(try snapshot.revision(of: "milk")?.description == "2-\(c)")
    #expect(try snapshot.tombstone("old") != nil && snapshot.count == 2)
    let note = try branches.last?.attachments["note"]?.data()
    #expect(note == Data("hello".utf8))

    let merged = try database.write { transaction in
      try transaction.resolve("milk") { overlap in .mine }
    }
    #expect(merged?["text"] == "Buy oat milk")
    #expect(try database.snapshot().hasConflict("milk") == false)
    #expect(try database.importJSONLines(from: exported).storedCount == 0)
  }

  // MARK: Couchbase Lite 4

  struct Note: DocumentCodable {
    @DocumentID var id: String? = nil
    @DocumentRevision var revision: RevisionID? = nil
    var text: String
    var done = false
    var due: Date?
    var list: String?
  }

  @Test func `structures are put, found, changed and deleted`() async throws {
    let database = try Database.inMemory(schema: Schema(documents: [Note.self]))
    let now = Date(timeIntervalSinceNow: 0)

    let milk = try await database.write { transaction in
      var note = Note(text: "Buy milk", due: Date(timeIntervalSinceNow: -3600))
      try transaction.put(&note)
      return note
    }
    #expect(milk.id != nil && milk.revision?.generation == 1)

    let late = Query<Note>()
      .filter { $0.done == false && $0.due < now }
      .sorted(by: \.due).limit(20)
    for note in try await database.read({ try $0.find(late) }) { print(note.text) }
    #expect(try await database.read { try $0.count(late) } == 1)

    let id = milk.id ?? ""
    try await database.update(id) { $0["done"] = true }
    #expect(try await database.read { try $0.count(late) } == 0)

    var mine = milk
    mine.text = "Buy oat milk"
    let edited = mine
    do {
      try await database.write { try $0.put(edited) }
    } catch let error as DatabaseError where error.code == .conflict {
      print("changed since it was read:", error.documentID ?? "")
    }
    #expect(try database.snapshot().document(id)?["text"] == "Buy milk")
    try await database.update(id) { $0["text"] = "Buy oat milk" }
    let stored = try database.snapshot().value(Note.self, id: id)
    #expect(stored?.text == "Buy oat milk" && stored?.done == true)

    try await database.write { try $0.delete(id) }
    #expect(try database.snapshot().count == 0)
  }

  @Test func `documents are migrated once, and written in the background`() async throws {
    let database = try Database.inMemory(schema: Schema(documents: [Note.self]))
    try await database.write { transaction in
      _ = try transaction.put(
        Document(["type": "Note", "text": "Buy milk", "done": false, "state": "done"]))
    }
    let states = Migration(id: "2026-11-state-becomes-done") { transaction in
      try transaction.update(Query<Document>().filter { $0["state"] == "done" }) { note in
        note["done"] = true
        note["state"] = nil
      }
    }
    try await database.migrate([states])
    let done = try database.snapshot().find(Query<Note>().filter { $0.done == true })
    #expect(done.map(\.text) == ["Buy milk"])

    let texts = ["Call Ann", "Water the plants"]
    let importing = Task.detached {
      try await database.write { transaction in
        try transaction.put(contentsOf: texts.map { Note(text: $0) })
      }
    }
    let ids = try await importing.value
    #expect(try ids.count == 2 && database.snapshot().count == 3)
  }

  @Test func `results are observed`() async throws {
    let database = try Database.inMemory(schema: Schema(documents: [Note.self]))
    let writer = Task {
      try await database.write { try $0.put(Note(text: "Buy milk")) }
    }
    let undone = Query<Note>().filter { $0.done == false }.sorted(by: \.text)
    for try await notes in database.liveResults(of: undone) {
      print(notes.map(\.text), notes.changes.insertions, notes.changes.deletions)
      if notes.count == 1 { break }
    }
    _ = try await writer.value
  }

  @Test func `the rows that a query of 4 prints are imported`() throws {
    let directory = try TemporaryDirectory()
    let exported = directory.path + "/Notes.jsonl"
    let lines = """
      {"_id":"note:1","type":"Note","text":"Buy milk","done":false,"due":"2026-12-01T09:00:00.250Z"}
      {"_id":"note:2","type":"Note","text":"Call Ann","done":true}
      """
    try Data(lines.utf8).write(to: URL(filePath: exported))
    let database = try Database.inMemory(schema: Schema(documents: [Note.self]))

    let options = JSONLines.ImportOptions(onExisting: .replace)
    let report = try database.importJSONLines(from: exported, options: options)
    print(report)
    #expect(report.storedCount == 2)
    let notes = try database.snapshot().find(Query<Note>().sorted(by: \.text))
    #expect(notes.map(\.done) == [false, true] && notes[0].due != nil)
    let ids = try database.snapshot().ids(.prefix("note:")).collect()
    #expect(ids == ["note:1", "note:2"])
  }
}
