import Divan
import Foundation
import TestSupport
import Testing

/// Tests that run the program of the tutorial, and its test.
struct GettingStartedGuideTests {
  final class TodoList: Model {
    @Persisted var name: String
    @Inverse(\Todo.list, onDelete: .cascade) var todos: [Todo]
  }

  final class Todo: Model {
    @Persisted var text: String
    @Persisted var isDone = false
    @Persisted(index: .value) var due: Date?
    @Persisted var list: TodoList?
  }

  @MainActor final class TodoStore {
    static let schema = Schema(TodoList.self, Todo.self)

    let context: ModelContext
    let unfinished: LiveQuery<Todo>

    init(_ database: Database) {
      context = database.mainContext
      context.undoLimit = 100
      unfinished = context.liveQuery(
        Query<Todo>().filter { !$0.isDone }.sorted(by: \.due).sorted(by: \.text))
    }

    @discardableResult
    func add(_ text: String, due: Date? = nil, to list: TodoList? = nil) throws -> Todo {
      let todo = Todo(in: context)
      todo.text = text
      todo.due = due
      todo.list = list
      try context.save()
      return todo
    }
  }

  @MainActor
  @Test func `the program of the tutorial saves, observes, finds and undoes`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Todos.divan"

    let database = try Database(at: path, schema: TodoStore.schema)
    let store = TodoStore(database)
    store.unfinished.onChange = { change in
      let (added, removed) = (change.insertions.count, change.deletions.count)
      print("\(added) added, \(removed) removed, \(change.moves.count) moved")
    }

    let home = TodoList(in: store.context)
    home.name = "Home"
    let milk = try store.add("Buy milk", due: Date(timeIntervalSinceNow: 86_400), to: home)
    try store.add("Call Ann")
    print(store.unfinished.results.map(\.text))
    #expect(store.unfinished.results.map(\.text) == ["Call Ann", "Buy milk"])

    let now = Date.now
    let late = Query<Todo>().filter { !$0.isDone && $0.due < now }.sorted(by: \.due)
    for todo in try store.context.find(late) { print(todo.text, "is late") }
    print(try store.context.count(late), home.todos.map(\.text))
    #expect(try store.context.count(late) == 0 && home.todos == [milk])

    milk.isDone = true
    try milk.save()
    try store.context.undo()
    print(milk.isDone, store.unfinished.results.map(\.text))
    #expect(!milk.isDone && store.unfinished.results.map(\.text) == ["Call Ann", "Buy milk"])

    let (first, second) = (milk.due, Date(timeIntervalSinceNow: 172_800))
    let walk = try store.add("Walk", due: second)
    var changes: [ListDifference] = []
    store.unfinished.onChange = { changes.append($0) }
    walk.due = first?.addingTimeInterval(-3600)
    try walk.save()
    walk.due = second
    walk.text = "Walk far"
    try walk.save()
    walk.text = "Walk"
    try walk.save()
    #expect(changes.map(\.moves.count) == [1, 1, 0] && changes.map(\.updates.count) == [1, 1, 1])
    #expect(changes.allSatisfy { $0.insertions.isEmpty && $0.deletions.isEmpty })
    try walk.delete()

    #expect(try database.indexes().contains { $0.name == "model:Todo.due" })
    try database.close()
    let reopened = try Database(at: path, schema: TodoStore.schema)
    #expect(try reopened.snapshot().count == 3)
    let context = reopened.makeContext()
    let list = try #require(try context.find(Query<TodoList>()).first)
    try list.delete()
    #expect(try reopened.snapshot().find(Query<Document>()).map { $0["text"] } == ["Call Ann"])
  }

  @MainActor struct TodoStoreTests {
    let store: TodoStore

    init() throws {
      store = TodoStore(try Database.inMemory(schema: TodoStore.schema))
    }

    @Test func `a finished todo leaves the list, and undo brings it back`() throws {
      let milk = try store.add("Buy milk")
      try store.add("Call Ann")
      milk.isDone = true
      try store.context.save()
      #expect(store.unfinished.results.map(\.text) == ["Call Ann"])
      try store.context.undo()
      #expect(store.unfinished.results.map(\.text) == ["Buy milk", "Call Ann"])
    }
  }
}
