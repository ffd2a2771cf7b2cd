import Divan
import Foundation
import Testing

struct ModelContextTests {
  let database: Database
  let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test(arguments: [true, false])
  func `a new model is distinct from an earlier one with the same ID`(isDeleted: Bool) throws {
    try database.put("t", #"{"text":"x"}"#)
    try context.refresh()
    var old = try context.model(Todo.self, id: "t")
    old?.text = "mine"
    try database.remove("t")
    // Saving another model advances the context, which then knows that `old` is outdated.
    try Todo(in: context).save()
    if isDeleted { try old?.delete() } else { old?.revert() }
    weak let first = old
    old = nil
    #expect(first == nil)
    let new = Todo(in: context, id: "t")
    new.text = "again"
    try context.refresh()
    #expect(new.isNew && new.needsSave && new.text == "again")
    try new.save()
    #expect(try database.snapshot().document("t")?["text"] == "again")
  }

  @Test func `a context has one object for each document while the object is referenced`() throws {
    try database.put("t", #"{"text":"x"}"#)
    try context.refresh()
    var todo = try context.model(Todo.self, id: "t")
    weak let first = todo
    #expect(try context.model(Todo.self, id: "t") === todo)
    #expect(todo?.context === context)
    todo = nil
    #expect(first == nil)
    todo = try context.model(Todo.self, id: "t")
    todo?.text = "y"
    weak let changed = todo
    todo = nil
    #expect(changed != nil)
    #expect(try context.model(Todo.self, id: "t")?.text == "y")
    try context.save()
    #expect(changed == nil)
    #expect(try context.model(Todo.self, id: "none") == nil)
    #expect(Set([Todo(), Todo()]).count == 2)
  }

  @Test func `an unsaved model is released with its context`() throws {
    var context: ModelContext? = database.makeContext()
    weak let todo = context.map { Todo(in: $0) }
    #expect(todo != nil)
    context = nil
    #expect(todo == nil)
    let kept = Todo(in: database.makeContext())
    try kept.save()
    kept.text = "still"
    try kept.save()
    #expect(try database.read { try $0.document(kept.id)?["text"] } == "still")
  }

  @Test func `saving several models is atomic`() throws {
    let good = Todo(in: context, id: "good")
    let bad = Everything(in: context, id: "bad")
    bad.ratio = .infinity
    #expect(code { try context.saveModels([good, bad]) } == .invalidValue)
    #expect(good.isNew && bad.isNew && context.unsavedModels.count == 2)
    #expect(try database.read { try $0.count } == 0)
    // A model whose ID is in use, saved after one that was changed.
    try good.save()
    good.text = "x"
    try database.put("taken", "{}")
    let taken = Todo(in: context, id: "taken")
    #expect(code { try context.saveModels([good, taken]) } == .conflict)
    #expect(good.changedProperties == ["text"] && good.needsSave && taken.isNew)
    #expect(try database.json("good")?.contains(#""text":"""#) == true)
    // Invalid IDs.
    #expect(code { try Todo(in: context, id: "_no").save() } == .invalidDocumentID)
    #expect(code { try context.saveModels([good, Todo()]) } == .notInContext)
    #expect(good.needsSave)
  }

  @Test func `a save is one transaction`() throws {
    let todos = (0..<600).map { Todo(in: context, id: "\($0)") }
    try context.saveModels(todos)
    let sequence = try database.read { $0.sequence }
    #expect(sequence == 600)
    for todo in todos { todo.done = true }
    todos[599].due = Date(timeIntervalSince1970: .infinity)
    #expect(code { try context.save() } == .invalidValue)
    #expect(try database.read { $0.sequence } == sequence)
    todos[599].revert()
    try context.save()
    #expect(try database.read { $0.sequence } == 1199)
  }

  @Test func `external changes are merged by property`() throws {
    let todo = Todo(in: context, id: "t")
    todo.text = "a"
    try todo.save()
    try database.write {
      try $0.update("t") {
        $0["text"] = "b"; $0["extra"] = 1
      }
    }
    todo.done = true
    #expect(todo.text == "a")
    try todo.save()
    #expect(todo.text == "b" && todo.done && !todo.needsSave)
    #expect(
      try database.json("t")
        == #"{"done":true,"extra":1,"priority":3,"tags":[],"text":"b"}"#)
  }

  @Test func `changing a property both locally and externally is a conflict`() throws {
    let todo = Todo(in: context, id: "t")
    let other = Todo(in: context, id: "o")
    try context.save()
    try database.write { try $0.update("t") { $0["text"] = "theirs" } }
    todo.text = "mine"
    other.text = "mine"
    #expect(code { try context.saveModels([other, todo]) } == .conflict)
    #expect(todo.changedProperties == ["text"] && other.needsSave)
    // Saving another model does not hide the conflict.
    try other.save()
    #expect(code { try todo.save() } == .conflict)
    // The same change on both sides is not a conflict.
    todo.text = "theirs"
    try todo.save()
    #expect(!todo.needsSave)

    try database.write { try $0.update("t") { $0["text"] = "theirs again" } }
    todo.text = "mine"
    try context.refresh()
    #expect(todo.text == "mine")
    try todo.save()
    #expect(try database.read { try $0.document("t")?["text"] } == "mine")

    try database.write { try $0.update("t") { $0["text"] = "last" } }
    todo.text = "given up"
    todo.revert()
    try context.refresh()
    #expect(todo.text == "last" && !todo.needsSave)
  }

  @Test func `refreshing rereads properties without local changes`() throws {
    let todo = Todo(in: context, id: "t")
    todo.text = "a"
    todo.tags = ["x"]
    try todo.save()
    try database.write {
      try $0.update("t") {
        $0["text"] = "b"; $0["tags"] = nil
      }
    }
    todo.priority = 9
    #expect(todo.text == "a" && todo.tags == ["x"])
    try context.refresh()
    #expect(todo.text == "b" && todo.tags == [] && todo.priority == 9)
    #expect(todo.changedProperties == ["priority"])
  }

  @Test func `reverting restores stored or declared values`() throws {
    let todo = Todo(in: context, id: "t")
    todo.text = "a"
    todo.priority = 8
    todo.revert()
    #expect(todo.text == "" && todo.priority == 3 && todo.isNew && todo.needsSave)
    todo.text = "b"
    let list = TodoList(in: context)
    todo.list = list
    try todo.save()
    todo.text = "c"
    todo.tags.append("x")
    todo.list = nil
    todo.revert()
    #expect(todo.text == "b" && todo.tags == [] && todo.list === list && !todo.needsSave)
  }

  @Test func `a deleted model can still be read`() throws {
    let todo = Todo(in: context, id: "t")
    todo.text = "a"
    try todo.save()
    let loaded = try #require(try database.makeContext().model(Todo.self, id: "t"))
    try todo.delete()
    #expect(todo.isDeleted && !todo.needsSave && todo.text == "a")
    #expect(try database.json("t") == nil)
    #expect(try context.model(Todo.self, id: "t") == nil)
    try todo.delete()
    todo.text = "b"
    #expect(todo.text == "b" && !todo.needsSave)
    #expect(code { try todo.save() } == .notFound)
    // Other contexts notice it at the next refresh, or when the model is saved.
    #expect(!loaded.isDeleted)
    loaded.done = true
    #expect(code { try loaded.save() } == .conflict)
    try #require(loaded.context == nil)
    #expect(loaded.text == "a")

    let new = Todo(in: context)
    try new.delete()
    #expect(context.unsavedModels.isEmpty && new.isDeleted)
  }

  @Test func `deleting an externally changed model is a conflict`() throws {
    let todo = Todo(in: context, id: "t")
    try todo.save()
    try database.write { try $0.update("t") { $0["text"] = "b" } }
    #expect(code { try todo.delete() } == .conflict)
    try context.refresh()
    try todo.delete()
    try database.put("t", #"{"text":"again"}"#)
    try context.refresh()
    #expect(!todo.isDeleted && todo.text == "again")
    try database.write { _ = try $0.delete("t") }
    try context.refresh()
    #expect(todo.isDeleted && todo.text == "again")
  }

  @Test func `references may form cycles and retain no models`() throws {
    weak var released: TodoList?
    do {
      let list = TodoList(in: context, id: "l")
      let todo = Todo(in: context, id: "t")
      list.first = todo
      todo.list = list
      #expect(list.first?.list?.first === todo)
      try context.save()
      released = list
    }
    #expect(released == nil)
    #expect(
      try database.json("l") == #"{"first":"t","title":""}"#)
    let todo = try #require(try context.model(Todo.self, id: "t"))
    #expect(todo.list?.first === todo)
    #expect(!todo.needsSave)
    todo.list = todo.list
    #expect(!todo.needsSave)
    try database.write { _ = try $0.delete("l") }
    try context.refresh()
    #expect(todo.list == nil)
    todo.done = true
    try todo.save()
    #expect(try database.read { try $0.document("t")?["list"] } == "l")
    todo.list = nil
    try todo.save()
    #expect(try database.read { try $0.document("t")?["list"] } == nil)
  }

  @Test func `a reference to an unsaved model is stored`() throws {
    let todo = Todo(in: context)
    let list = TodoList()
    list.title = "Home"
    todo.list = list
    #expect(list.context === context && todo.list === list)
    try todo.save()
    #expect(list.isNew)
    #expect(try database.read { try $0.document(todo.id)?["list"] } == .string(list.id))
    try context.save()
    #expect(!list.isNew)

    let detached = Todo()
    detached.list = TodoList()
    detached.list?.title = "Work"
    let id = detached.list?.id
    #expect(detached.list?.title == "Work")
    try context.insert(detached)
    #expect(context.unsavedModels.count == 2 && detached.list?.id == id)
    try context.save()
    let again = try database.makeContext().model(Todo.self, id: detached.id)
    #expect(again?.context == nil && again?.list?.title == "Work")
  }

  @Test func `a model created from a document keeps all of its properties`() throws {
    guard
      case .object(let source) = try Value(json: #"{"done":null,"text":"x","year":1927,"z":{}}"#)
    else { return }
    let todo = try context.insert(Todo.self, document: Document(id: "t", source))
    #expect(todo.isNew && todo.text == "x" && todo.changedProperties == [])
    todo.tags = ["a"]
    try todo.save()
    #expect(
      try database.json("t") == #"{"done":null,"tags":["a"],"text":"x","year":1927,"z":{}}"#)
    #expect(throws: DatabaseError.self) {
      try context.insert(Todo.self, document: Document(["_x": 1]))
    }
    let unnamed = try context.insert(Todo.self, document: Document(["text": "y"]))
    try unnamed.save()
    #expect(try database.json(unnamed.id) == #"{"text":"y"}"#)
    let person = try context.insert(Person.self, document: Document(["full name": "A"]))
    try person.save()
    #expect(try database.json(person.id) == #"{"full name":"A","type":"person"}"#)
  }

  @Test func `a cursor returns the context's objects in the order of their IDs`() throws {
    for index in 0..<50 { try database.put("t\(index)", #"{"priority":\#(index)}"#) }
    try context.refresh()
    let known = try #require(try context.model(Todo.self, id: "t7"))
    known.priority = 100
    let cursor = try context.models(Todo.self)
    let all = try cursor.collect()
    #expect(all.map(\.id) == (0..<50).map { "t\($0)" }.sorted())
    #expect(all.contains { $0 === known })
    let sum = all.map(\.priority).reduce(0, +)
    #expect(sum == 1225 + 93)
  }

  @Test func `several threads can use a model class for the first time at once`() async throws {
    final class Raced: Model {
      @Persisted(key: "n") var number = 4
      @Persisted(key: "m") var other: String
      override class var documentType: String? { nil }
    }
    let database = database
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let context = database.makeContext()
          let raced = (0..<100).map { _ in Raced(in: context) }
          try? context.save()
          return raced.map(\.number).reduce(0, +)
        }
      }
      for await sum in group { #expect(sum == 400) }
    }
    #expect(try database.snapshot().count == 800)
    var cursor = try database.snapshot().documents()
    #expect(try cursor.next()?["n"] == 4)
  }

  /// A context and its models that belong to an actor, with new models handed over to it.
  ///
  /// The test is that this compiles.
  private actor Keeper {
    let context: ModelContext
    private var todo: Todo?

    init(_ database: Database) { context = database.makeContext() }

    func take(_ todo: sending Todo) throws {
      try context.insert(todo)
      try todo.save()
      self.todo = todo
    }

    var text: String? { todo?.text }
  }

  @Test func `an actor can own a context and receive new models`() async throws {
    let keeper = Keeper(database)
    let todo = Todo()
    todo.text = "sent"
    try await keeper.take(todo)
    #expect(await keeper.text == "sent")
    #expect(try database.snapshot().count == 1)
  }

  @Test
  func `unsaved models are listed in the order in which they became unsaved`()
    throws
  {
    let todos = (0..<100).map { Todo(in: context, id: "t\($0)") }
    var plain = todos
    for step in 0..<250 {
      let todo = todos[step * 37 % 100]
      if todo.needsSave {
        try todo.save()
        plain.removeAll { $0 === todo }
      } else {
        todo.priority += 1
        plain.append(todo)
      }
      if step % 10 == 0 { #expect(context.unsavedModels == plain, "step \(step)") }
    }
    #expect(context.unsavedModels == plain && plain.count == 50)
  }
}
