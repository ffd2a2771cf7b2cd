import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the app of the page on coming from GRDB.
struct ComingFromGRDBTests {
  struct TodoList: DocumentCodable {
    @DocumentID var id: String? = nil
    var name: String
  }

  struct Todo: DocumentCodable {
    @DocumentID var id: String? = nil
    var text: String
    var done = false
    var due: Date?
    var list: String?
  }

  private static let todosByDate = DocumentIndex("todos by date", on: "done", "due") {
    $0["type"] == "Todo"
  }
  private static let schema = Schema(documents: [TodoList.self, Todo.self], indexes: [todosByDate])

  private func open() throws -> Database {
    try Database.inMemory(schema: ComingFromGRDBTests.schema)
  }

  @Test func `structures are put, found, changed and deleted`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Todos.divan"
    let tomorrow = Date(timeIntervalSinceNow: 86_400)

    let todosByDate = DocumentIndex("todos by date", on: "done", "due") { $0["type"] == "Todo" }
    let schema = Schema(documents: [TodoList.self, Todo.self], indexes: [todosByDate])
    let database = try await Database.open(at: path, schema: schema)

    let home = TodoList(id: "home", name: "Home")
    let milk = Todo(text: "Buy milk", due: tomorrow, list: "home")
    try await database.write { transaction in
      try transaction.put(home)
      try transaction.put(milk)
    }

    let soon = Date(timeIntervalSinceNow: 7 * 86_400)
    let next = Query<Todo>()
      .filter { $0.done == false && $0.due < soon }
      .sorted(by: \.due).limit(20)
    let todos = try await database.read { try $0.find(next) }
    #expect(todos.map(\.text) == ["Buy milk"])
    #expect(try database.snapshot().explain(next).indexes == ["todos by date"])

    let atHome = Query<Document>()
      .filter { $0["type"] == "Todo" && $0["list"].reference["name"] == "Home" }
    let counts = try await database.read { snapshot in
      try snapshot.groups(Query<Todo>(), by: { $0.done }, .count)
    }
    #expect(try database.snapshot().count(atHome) == 1)
    #expect(counts.map(\.1) == [1])

    try await database.write { transaction in
      guard var todo = try transaction.first(next) else { return }
      todo.done = true
      try transaction.put(todo)
    }
    #expect(try database.snapshot().count(next) == 0)

    try await database.write { transaction in
      try transaction.delete(Query<Todo>().filter { $0.list == "home" })
      try transaction.delete("home")
    }
    #expect(try database.snapshot().count == 0)
  }

  @Test func `results are observed`() async throws {
    let database = try open()
    var shown: [String] = []
    let writer = Task {
      for text in ["Buy milk", "Call Ann"] {
        try await database.write { try $0.put(Todo(text: text)) }
      }
    }
    let undone = Query<Todo>().filter { $0.done == false }.sorted(by: \.text)
    for try await todos in database.liveResults(of: undone) {
      shown = todos.map(\.text)
      print(todos.changes.insertions, todos.changes.deletions, todos.changes.updates)
      if todos.count == 2 { break }
    }
    try await writer.value
    #expect(shown == ["Buy milk", "Call Ann"])
  }

  struct Note: DocumentCodable {
    @DocumentID var id: String? = nil
    @DocumentRevision var revision: RevisionID? = nil
    var text: String
  }

  @Test func `a value with a revision does not overwrite a newer one`() throws {
    let database = try open()
    try database.write { try $0.put(Note(id: "note", text: "Tea")) }
    let read = try database.snapshot().value(Note.self, id: "note")
    try database.update("note") { $0["text"] = "Coffee" }
    var stale = try #require(read)
    stale.text = "Green tea"
    do {
      try database.write { try $0.put(stale) }
    } catch let error as DatabaseError where error.code == .conflict {
      print(error)
    }
    #expect(try database.snapshot().document("note")?["text"] == "Coffee")
  }

  @Test func `a transaction is rolled back as a whole, and a savepoint alone`() throws {
    let database = try open()
    struct Refusal: Error {}
    try database.write { transaction in
      try transaction.put(Todo(text: "Buy milk"))
      try? transaction.savepoint {
        try transaction.put(Todo(text: "Call Ann"))
        throw Refusal()
      }
    }
    #expect(try database.snapshot().find(Query<Todo>()).map(\.text) == ["Buy milk"])
  }

  @Test func `migrations change rows once`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.replace("a", with: ["type": "Todo", "text": "Buy milk", "done": 1])
      try transaction.replace("b", with: ["type": "Todo", "text": "Call Ann", "done": 0])
    }
    let booleans = Migration(id: "2026-11-done-is-a-boolean") { transaction in
      let todos = Query<Document>().filter { $0["type"] == "Todo" && $0["done"].isIn([0, 1]) }
      try transaction.update(todos) { todo in
        todo["done"] = .bool(todo["done"] == 1)
      }
    }
    try database.migrate([booleans])
    #expect(try database.snapshot().count(Query<Todo>().filter { $0.done == true }) == 1)
    #expect(try database.migrate([booleans]).isEmpty)
  }

  @Test func `the lines that SQLite prints are imported as structures`() throws {
    let directory = try TemporaryDirectory()
    let exported = directory.path + "/todos.jsonl"
    let lines = """
      {"_id":"1","type":"Todo","text":"Buy milk","done":false,"due":"2026-12-01T09:00:00.250Z","list":"7"}
      {"_id":"2","type":"Todo","text":"Call Ann","done":true,"due":null,"list":null}
      {"_id":"7","type":"TodoList","name":"Home"}
      """
    try Data(lines.utf8).write(to: URL(filePath: exported))
    let database = try open()

    let report = try database.importJSONLines(from: exported)
    print(report)
    let todos = try database.snapshot().find(Query<Todo>().sorted(by: \.text))
    let lists = try database.snapshot().find(Query<TodoList>())
    #expect(report.storedCount == 3 && lists.map(\.name) == ["Home"])
    #expect(todos.map(\.done) == [false, true] && todos.map(\.list) == ["7", nil])
    let due = try #require(todos.first?.due)
    #expect(try database.snapshot().count(Query<Todo>().filter { $0.due == due }) == 1)
  }

  // MARK: A test of the app

  struct TodoTests {
    let database: Database

    init() throws {
      database = try Database.inMemory(schema: Schema(documents: [Todo.self]))
    }

    @Test func `a todo that is done is no longer listed`() async throws {
      let undone = Query<Todo>().filter { $0.done == false }
      try await database.write { try $0.put(Todo(id: "milk", text: "Buy milk")) }
      try await database.update("milk") { $0["done"] = true }
      #expect(try await database.read { try $0.count(undone) } == 0)
    }
  }
}
