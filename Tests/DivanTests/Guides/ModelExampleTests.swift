import Divan
import Foundation
import Testing

/// Tests that run the examples of the types of models and their contexts.
@MainActor
struct ModelExampleTests {
  final class Todo: Model {
    @Persisted var text: String
    @Persisted var done = false
    @Persisted var due: Date?
    @Persisted var list: TodoList?

    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Todo.self, on: { $0.list }, { $0.due }, where: { $0.done == false })]
    }

    override func validate(_ validation: inout ModelValidation) {
      validation.require(!text.isEmpty, "a todo has a text", property: "text")
    }
  }

  final class TodoList: Model {
    @Persisted var name: String
    @Inverse(\Todo.list, onDelete: .cascade) var todos: [Todo]
  }

  final class User: Model {
    @Persisted(index: .unique) var email: String?
    @Persisted(index: .value) var joined: Date?
    @Persisted(index: .eachElement) var groups: [String]
    @Persisted(index: .fullText) var about: String
  }

  private let schema = Schema(Todo.self, TodoList.self, User.self)

  @Test func `a context makes, saves and finds models`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let todo = Todo(in: context)
    todo.text = "Buy milk"
    try context.save()
    let open = try context.find(Query<Todo>().filter { !$0.done })
    #expect(open == [todo])

    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    var todos = try context.models(Todo.self)
    while let todo = try todos.next() { print(todo.text) }
    #expect(printed == ["Buy milk"])
  }

  @Test func `a live query follows saves`() throws {
    let context = try Database.inMemory(schema: schema).makeContext()
    var printed: [String] = []
    func print(_ insertions: [Int], _ deletions: [Int]) {
      printed.append("\(insertions) \(deletions)")
    }
    let open = context.liveQuery(Query<Todo>().filter { !$0.done }.sorted(by: \.due))
    open.onChange = { change in print(change.insertions, change.deletions) }
    let texts = open.results.map(\.text)
    #expect(texts.isEmpty)
    let todo = Todo(in: context)
    todo.text = "Buy milk"
    try context.save()
    #expect(open.results == [todo] && printed.last == "[0] []")
  }

  @Test func `external changes are followed`() async throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let todo = Todo(in: context, id: "todo:1")
    todo.text = "Buy milk"
    try await context.save()
    var printed: [String] = []
    func print(_ ids: [String]) { printed += ids }
    let writer = Task {
      try await Task.sleep(for: .milliseconds(50))
      try await database.update("todo:1") { $0["text"] = "Buy oat milk" }
    }
    for try await update in context.updates {
      print(update.changed.map(\.id))
      if todo.text == "Buy oat milk" { break }
    }
    _ = try await writer.value
    #expect(printed == ["todo:1"])
  }

  /// Changes one of two todos and deletes the other, unknown to their context.
  private func changeAndDelete(in database: Database) throws {
    try database.write { transaction in
      try transaction.update("milk") { $0["text"] = "Buy oat milk" }
      try transaction.delete("tea")
    }
  }

  @Test func `an update has the models that were changed or deleted`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let (milk, tea) = (Todo(in: context, id: "milk"), Todo(in: context, id: "tea"))
    (milk.text, tea.text) = ("Buy milk", "Buy tea")
    try context.save()
    try changeAndDelete(in: database)
    var printed: [String] = []
    func print(_ id: String, _ text: String) { printed.append("\(id) \(text)") }
    let update = try context.refresh()
    for todo in update.changed { print(todo.id, "was changed") }
    for todo in update.deleted { print(todo.id, "was deleted") }
    #expect(printed == ["milk was changed", "tea was deleted"])
    #expect(milk.text == "Buy oat milk" && tea.isDeleted)
  }

  @Test func `an update is awaited`() async throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let (milk, tea) = (Todo(in: context, id: "milk"), Todo(in: context, id: "tea"))
    (milk.text, tea.text) = ("Buy milk", "Buy tea")
    try await context.save()
    try changeAndDelete(in: database)
    var updates = context.updates.makeAsyncIterator()
    let update = try await updates.next()
    #expect(update?.changed == [milk] && update?.deleted == [tea])
  }

  @Test func `conflicts are resolved by a handler`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let todo = Todo(in: context, id: "todo:1")
    todo.text = "Buy milk"
    try context.save()
    context.conflictHandler = { conflict in
      conflict.key == "text" ? .mine : .theirs
    }
    todo.text = "Buy soya milk"
    try database.update("todo:1") { $0["text"] = "Buy oat milk" }
    try context.save()
    #expect(try database.snapshot().document("todo:1")?["text"] == "Buy soya milk")
  }

  @Test func `the failures of validations are listed`() throws {
    let context = try Database.inMemory(schema: schema).makeContext()
    let todo = Todo(in: context)
    var printed: [String] = []
    func print(_ property: String, _ message: String) { printed.append("\(property): \(message)") }
    do {
      try context.save()
    } catch let error as DatabaseError where error.code == .invalidModel {
      let failures = (error.underlying as? InvalidModelsError)?.failures ?? []
      for failure in failures { print(failure.property ?? "", failure.message) }
    }
    #expect(printed == ["text: a todo has a text"] && todo.needsSave)
  }

  @Test func `deleting a list deletes its todos`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let list = TodoList(in: context)
    list.name = "Home"
    let todo = Todo(in: context)
    todo.text = "Buy milk"
    todo.list = list
    try context.save()
    #expect(list.todos == [todo])
    try list.delete()
    #expect(try todo.isDeleted && database.snapshot().count == 0)
  }

  @Test func `indexes of properties are used and keep values unique`() throws {
    let database = try Database.inMemory(schema: schema)
    let context = database.makeContext()
    let ann = User(in: context)
    (ann.email, ann.joined, ann.groups) = ("ann@example.org", Date(), ["staff", "chess"])
    try context.save()
    let players = Query<User>().filter { $0.groups.contains("chess") }
    #expect(try context.find(players) == [ann])
    let other = User(in: context)
    other.email = "ann@example.org"
    #expect(throws: DatabaseError.self) { try other.save() }
    let names = try database.indexes().map(\.name)
    #expect(names.contains("model:Todo.list+due") && names.contains("model:User.email"))
  }
}
