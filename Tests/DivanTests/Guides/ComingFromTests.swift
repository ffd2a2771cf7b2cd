import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the app of the pages on coming from SwiftData, Core Data, Realm and `CBLModel`.
///
/// The app of all these pages is the same, so their code is mostly the same, too.
@MainActor struct ComingFromTests {
  final class TodoList: Model {
    @Persisted var name = ""
    @Inverse(\Todo.list, onDelete: .cascade) var todos: [Todo]
  }

  final class Todo: Model {
    @Persisted var text = ""
    @Persisted var done = false
    @Persisted(index: .value) var due: Date?
    @Persisted var tags: [String]
    @Persisted var list: TodoList?
  }

  @MainActor final class OpenTodos {
    let todos: LiveQuery<Todo>

    init(_ context: ModelContext) {
      todos = context.liveQuery(Query<Todo>().filter { !$0.done }.sorted(by: \.due))
      todos.onChange = { change in
        print(change.deletions, change.insertions, change.moves, change.updates)
      }
    }
  }

  actor Importer {
    private let context: ModelContext

    init(_ database: Database) { context = database.makeContext() }

    func add(_ texts: [String], to list: ModelID<TodoList>) async throws {
      try context.refresh()
      let list = try context.model(list)
      for text in texts {
        let todo = Todo(in: context)
        todo.text = text
        todo.list = list
      }
      try await context.save()
    }
  }

  private let schema = Schema(TodoList.self, Todo.self)
  private let tomorrow = Date(timeIntervalSinceNow: 86_400)

  @Test func `the app is opened, saves, finds and deletes`() throws {
    let directory = try TemporaryDirectory()
    let folder = URL(filePath: directory.path)

    let schema = Schema(TodoList.self, Todo.self)
    let database = try Database(url: folder.appending(path: "Todos.divan"), schema: schema)
    let context = database.mainContext

    let home = TodoList(in: context)
    home.name = "Home"
    let milk = Todo(in: context)
    milk.text = "Buy milk"
    milk.due = tomorrow
    milk.list = home
    try context.save()

    let soon = Date(timeIntervalSinceNow: 7 * 86_400)
    let next = Query<Todo>()
      .filter { !$0.done && $0.due < soon && $0.list.name == "Home" }
      .sorted(by: \.due).limit(20)
    for todo in try context.find(next) { print(todo.text) }
    #expect(try context.find(next) == [milk])

    let same = try Query<Todo>()
      .filter(#Predicate { !$0.done && $0.text.contains("milk") })
      .sorted(by: \.due)
    #expect(try context.find(same) == [milk])

    milk.done = true
    #expect(try context.find(next) == [milk])
    try context.save()
    #expect(try context.find(next).isEmpty)

    try home.delete()
    print(milk.text, milk.isDeleted)
    #expect(milk.text == "Buy milk" && milk.isDeleted)
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a model is found by its ID, and undone`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.mainContext
    let milk = Todo(in: context, id: "todo:milk")
    milk.text = "Buy milk"
    try context.save()

    let found = try context.model(Todo.self, id: "todo:milk")
    #expect(found === milk)

    context.undoLimit = 100
    milk.text = "Buy oat milk"
    try milk.save()
    try context.undo()
    #expect(milk.text == "Buy milk")
    milk.text = "Buy soya milk"
    milk.revert()
    #expect(milk.text == "Buy milk" && !milk.needsSave)
  }

  @Test func `a live list follows saves`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.mainContext
    let open = OpenTodos(context)
    let milk = Todo(in: context)
    milk.text = "Buy milk"
    #expect(open.todos.results.isEmpty)
    try context.save()
    #expect(open.todos.results == [milk])
    milk.done = true
    try context.save()
    #expect(open.todos.results.isEmpty)
  }

  @Test func `work in the background is followed`() async throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.mainContext
    let home = TodoList(in: context)
    home.name = "Home"
    try await context.save()

    try await Importer(database).add(["Water the plants", "Call Ann"], to: home.modelID)
    try context.refresh()
    print(home.todos.map(\.text))
    #expect(home.todos.map(\.text).sorted() == ["Call Ann", "Water the plants"])
  }

  @Test func `edits of different properties are merged, and overlaps are decided`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.mainContext
    let milk = Todo(in: context, id: "milk")
    milk.text = "Buy milk"
    try context.save()

    try database.update("milk") { $0["done"] = true }
    milk.text = "Buy oat milk"
    try milk.save()
    print(milk.text, milk.done)
    #expect(milk.text == "Buy oat milk" && milk.done)

    try database.update("milk") { $0["text"] = "Buy soya milk" }
    milk.text = "Buy rice milk"
    do {
      try milk.save()
    } catch let error as DatabaseError where error.code == .conflict {
      print(error)
    }
    #expect(milk.needsSave)

    context.conflictHandler = { conflict in
      conflict.key == "text" ? .theirs : .mine
    }
    try milk.save()
    print(milk.text)
    #expect(milk.text == "Buy soya milk")
  }

  // MARK: Migration

  @Test func `stored todos are changed once, when the database is opened`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Todos.divan"
    do {
      let database = try Database(at: path)
      try database.write { transaction in
        try transaction.replace("a", with: ["type": "Todo", "text": "Buy milk", "state": "done"])
        try transaction.replace("b", with: ["type": "Todo", "text": "Call Ann", "state": "open"])
      }
      try database.close()
    }

    let states = Migration(id: "2026-11-state-becomes-done") { transaction in
      let todos = Query<Document>().filter { $0["type"] == "Todo" && !$0["state"].isMissing }
      try transaction.update(todos) { todo in
        todo["done"] = .bool(todo["state"] == "done")
        todo["state"] = nil
      }
    }
    let schema = Schema(TodoList.self, Todo.self, migrations: [states])
    let database = try Database(at: path, schema: schema)
    let context = database.mainContext
    #expect(try context.find(Query<Todo>().filter { $0.done }).map(\.text) == ["Buy milk"])
    #expect(try database.snapshot().document("b")?["state"] == nil)
  }

  // MARK: Moving data

  struct ExportedTodo: Encodable {
    var _id: String
    var type = "Todo"
    var text: String
    var done: Bool
    var due: String?
    var tags: [String] = []
    var list: String?
  }

  func line(_ value: some Encodable) throws -> Data {
    try JSONEncoder().encode(value) + Data("\n".utf8)
  }

  func stored(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  private struct ExportedList: Encodable {
    var _id: String
    var type = "TodoList"
    var name: String
  }

  @Test func `the lines that an old store exports are imported as models`() throws {
    let directory = try TemporaryDirectory()
    let exported = directory.path + "/Todos.jsonl"
    let due = Date(timeIntervalSince1970: 1_796_115_600.25)
    var text = try line(ExportedList(_id: "list-1", name: "Home"))
    text += try line(
      ExportedTodo(
        _id: "todo-1", text: "Buy milk", done: false, due: stored(due),
        list: "list-1"))
    try text.write(to: URL(filePath: exported))
    let database = try Database.inMemory(schema: schema)

    let options = JSONLines.ImportOptions(onExisting: .skip)
    let report = try database.importJSONLines(from: exported, options: options)
    print(report.storedCount, "stored,", report.skippedCount, "skipped")
    #expect(report.storedCount == 2)

    let context = database.mainContext
    try context.refresh()
    let lists = try context.find(Query<TodoList>())
    print(lists.map(\.name), lists.flatMap(\.todos).map(\.text))
    #expect(lists.map(\.name) == ["Home"] && lists.flatMap(\.todos).map(\.text) == ["Buy milk"])
    #expect(try context.find(Query<Todo>().filter { $0.due == due }).count == 1)
    #expect(try context.count(Query<Todo>().filter { $0.due > due }) == 0)
    #expect(try database.importJSONLines(from: exported, options: options).storedCount == 0)
  }

  private struct OldTodo {
    var id: String
    var text: String
    var done: Bool
    var due: Date?
  }

  @Test func `objects of another library are copied in batches, and again`() throws {
    let database = try Database.inMemory(schema: schema)
    let batches = (0..<3).map { batch in
      (0..<10).map { OldTodo(id: "\(batch)-\($0)", text: "Todo \($0)", done: $0 > 5) }
    }
    for _ in 1...2 {
      let context = database.makeContext()
      context.isObservable = false
      for batch in batches {
        for old in batch where try context.model(Todo.self, id: old.id) == nil {
          let todo = Todo(in: context, id: old.id)
          todo.text = old.text
          todo.done = old.done
          todo.due = old.due
        }
        try context.save()
      }
    }
    #expect(try database.snapshot().count == 30)
    #expect(try database.mainContext.count(Query<Todo>().filter { $0.done }) == 12)
  }

  // MARK: A test of the app

  @MainActor struct TodoTests {
    let context: ModelContext

    init() throws {
      let database = try Database.inMemory(schema: Schema(TodoList.self, Todo.self))
      context = database.mainContext
    }

    @Test func `a list is deleted together with its todos`() throws {
      let home = TodoList(in: context)
      Todo(in: context).list = home
      try context.save()
      try home.delete()
      #expect(try context.count(Query<Todo>()) == 0)
    }
  }
}
