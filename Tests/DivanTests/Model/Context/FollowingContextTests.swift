import Testing

@testable import Divan

/// Tests of contexts that observe changes on their actor, and of values sent between actors.
@MainActor
struct FollowingContextTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func makeContext(autosavingAfter delay: Duration? = .milliseconds(10)) -> ModelContext {
    database.makeFollowingContext(autosavingAfter: delay, isolation: MainActor.shared)
  }

  /// Yields to other tasks until a condition holds, for ten seconds at most.
  private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("the condition did not hold within ten seconds")
  }

  @Test func `external changes arrive and local ones are saved automatically`() async throws {
    let context = makeContext()
    let todo = Todo(in: context, id: "a")
    try await wait { !todo.needsSave }
    try database.put("a", #"{"text":"elsewhere"}"#)
    try await wait { todo.text == "elsewhere" }
    todo.done = true
    try await wait { !todo.needsSave }
    #expect(try database.json("a")?.contains("true") == true)
    try database.remove("a")
    try await wait { todo.isDeleted }
  }

  @Test func `a property changed on both sides stays a conflict after the model was updated`()
    async throws
  {
    try database.put("a", #"{"priority":1,"text":"first"}"#)
    let context = makeContext(autosavingAfter: nil)
    let todo = try #require(try context.model(Todo.self, id: "a"))
    todo.text = "mine"
    try database.put("a", #"{"priority":2,"text":"theirs"}"#)
    try await wait { todo.priority == 2 }
    #expect(todo.text == "mine")
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict && error?.propertyPath == "text")
    var reported: [ModelConflict] = []
    context.conflictHandler = { conflict in
      reported.append(conflict)
      return .mine
    }
    try await todo.save()
    #expect(reported.map(\.base) == ["first"] && reported.map(\.theirs) == ["theirs"])
    #expect(try database.json("a") == #"{"priority":2,"text":"mine"}"#)
    // The conflict is settled once the model is saved.
    todo.text = "again"
    try await todo.save()
    #expect(reported.count == 1)
  }

  @Test func `a refresh settles conflicts for local changes, even after automatic updates`()
    async throws
  {
    try database.put("a", #"{"priority":1,"text":"first"}"#)
    let context = makeContext(autosavingAfter: nil)
    let todo = try #require(try context.model(Todo.self, id: "a"))
    todo.text = "mine"
    try database.put("a", #"{"priority":2,"text":"theirs"}"#)
    try await wait { todo.priority == 2 }
    try context.refresh()
    try await todo.save()
    #expect(try database.json("a") == #"{"priority":2,"text":"mine"}"#)
  }

  @Test func `a released context saves its unsaved models before it is deallocated`() async throws {
    var context: ModelContext? = makeContext()
    weak let dropped = context
    do {
      let todo = Todo(in: try #require(context), id: "a")
      todo.text = "kept"
    }
    context = nil
    try await wait { try database.json("a")?.contains("kept") == true }
    try await wait { dropped == nil }
  }

  /// Regression: the context was deallocated during a change of its own state, and trapped.
  @Test(arguments: 0..<3)
  func `a released context ends with its last unsaved model`(_ way: Int) throws {
    var context: ModelContext? = makeContext(autosavingAfter: .seconds(600))
    weak let dropped = context
    let todo = Todo(in: try #require(context), id: "a")
    try todo.save()
    todo.text = "changed"
    context = nil
    // Nothing is awaited, so the task that autosaves does not retain the context.
    #expect(dropped != nil)
    switch way {
    case 0: todo.revert()
    case 1: try todo.save()
    default: try todo.delete()
    }
    #expect(dropped == nil)
  }

  private final class Counted: Model {
    @Persisted var saves = 0
    override func didSave() { if saves == 0 { saves = 1 } }
    override class var documentType: String? { nil }
  }

  /// Regression: found by reading; the save ended the context before it called the hook.
  @Test func `a released context saves what didSave changes in its last unsaved model`()
    async throws
  {
    var context: ModelContext? = makeContext()
    let counted = Counted(in: try #require(context), id: "a")
    context = nil
    func saveWaiting() throws { try counted.save() }
    try saveWaiting()
    #expect(counted.saves == 1 && counted.needsSave)
    try await wait { !counted.needsSave }
    #expect(try database.json("a") == #"{"saves":1}"#)
  }

  @Test func `closing the database ends automatic saving with one error`() async throws {
    let context = makeContext()
    var errors: [DatabaseError.Code?] = []
    context.errorHandler = { errors.append(($0 as? DatabaseError)?.code) }
    let todo = Todo(in: context, id: "a")
    try await database.close(discardsUnsavedModels: true)
    try await wait { !errors.isEmpty }
    #expect(errors == [.closed])
    #expect(todo.needsSave)
  }

  @Test
  func `a released context with unsaved models is deallocated when its database closes`()
    async throws
  {
    var context: ModelContext? = makeContext()
    weak let dropped = context
    var errors: [DatabaseError.Code?] = []
    context?.errorHandler = { errors.append(($0 as? DatabaseError)?.code) }
    let updates = try #require(context?.updates)
    let reading = Task { for try await _ in updates {} }
    let live = try #require(context?.liveQuery(Query<Todo>()))
    // The reading task waits for the next change.
    try await Task.sleep(for: .milliseconds(5))
    do {
      let todo = Todo(in: try #require(context), id: "a")
      todo.text = "lost"
    }
    context = nil
    #expect(dropped != nil)
    try await database.close(discardsUnsavedModels: true)
    try await wait { dropped == nil }
    #expect(errors == [.closed])
    _ = await reading.result
    #expect(live.results.isEmpty)
  }

  @Test func `a context saves nothing by itself unless that was requested`() async throws {
    let context = database.makeFollowingContext()
    let main = database.mainContext
    let todos = [Todo(in: context, id: "a"), Todo(in: main, id: "b")]
    try database.put("c", #"{"text":"elsewhere"}"#)
    try await wait { try context.snapshot.exists("c") && main.snapshot.exists("c") }
    // Each has the task that follows, and none that saves after some delay.
    #expect([context, main].allSatisfy { $0.core.tasks.count == 1 && !$0.core.autosaving.isOn })
    #expect(todos.allSatisfy { $0.needsSave })
    #expect(try database.snapshot().count == 1)
  }

  @Test func `the main context is shared, and ends with the database`() async throws {
    weak var dropped: ModelContext?
    let todo = Todo(in: database.mainContext, id: "a")
    todo.text = "Buy milk"
    #expect(database.mainContext.unsavedModels == [todo])
    #expect(database.mainContext === database.mainContext)
    try await todo.save()
    dropped = database.mainContext
    try await database.close()
    try await wait { dropped == nil }
    let after = database.mainContext
    let error = #expect(throws: DatabaseError.self) { try after.model(Todo.self, id: "a") }
    #expect(error?.code == .closed && after !== database.mainContext)
  }

  private actor Keeper {
    var context: ModelContext?
    func start(_ database: Database) -> String {
      let context = database.makeFollowingContext(
        autosavingAfter: .milliseconds(5), isolation: self)
      self.context = context
      return Todo(in: context).id
    }
  }

  @Test func `an actor that owns its context is deallocated once it is released`() async throws {
    var keeper: Keeper? = Keeper()
    weak let dropped = keeper
    let id = try #require(await keeper?.start(database))
    keeper = nil
    // Unsaved changes are saved before the actor is released.
    try await wait { dropped == nil }
    #expect(try database.json(id) != nil)
  }

  @Test func `deleting a model with an unsettled conflict throws`() async throws {
    try database.put("a", #"{"text":"first"}"#)
    let context = makeContext(autosavingAfter: nil)
    let todo = try #require(try context.model(Todo.self, id: "a"))
    todo.text = "mine"
    try database.put("a", #"{"priority":2,"text":"theirs"}"#)
    try await wait { todo.priority == 2 }
    let error = #expect(throws: DatabaseError.self) { try todo.delete() }
    #expect(error?.code == .conflict)
    try context.refresh()
    try await todo.delete()
    #expect(try database.json("a") == nil)
  }

  // MARK: Sending between actors

  @Test func `a detached copy has the conflicts of its model`() async throws {
    try database.put("a", #"{"text":"first"}"#)
    let context = makeContext(autosavingAfter: nil)
    let todo = try #require(try context.model(Todo.self, id: "a"))
    todo.text = "mine"
    try database.put("a", #"{"priority":2,"text":"theirs"}"#)
    try await wait { todo.priority == 2 }
    let other = database.makeContext()
    try other.insert(todo.detachedCopy())
    let error = #expect(throws: DatabaseError.self) { try other.save() }
    #expect(error?.code == .conflict)
  }

  @Test
  func `an outdated detached copy is updated on insertion and settled by a refresh`()
    throws
  {
    try database.put("a", #"{"priority":1,"text":"first"}"#)
    let todo = try #require(try database.makeContext().model(Todo.self, id: "a"))
    let clean = try todo.detachedCopy()
    todo.text = "mine"
    let changed = try todo.detachedCopy()
    try database.put("a", #"{"priority":2,"text":"theirs"}"#)
    do {
      let context = database.makeContext()
      try context.insert(clean)
      #expect(clean.priority == 2 && clean.text == "theirs" && !clean.needsSave)
    }
    let context = database.makeContext()
    try context.insert(changed)
    #expect(changed.priority == 2 && changed.text == "mine")
    #expect(throws: DatabaseError.self) { try changed.save() }
    try context.refresh()
    try changed.save()
    #expect(try database.json("a") == #"{"priority":2,"text":"mine"}"#)
    // A detached copy whose document was deleted counts as deleted.
    let last = try changed.detachedCopy()
    try database.remove("a")
    try database.makeContext().insert(last)
    #expect(last.isDeleted)
  }

  @Test func `a model's ID can be sent to another actor and finds the model there`() async throws {
    let context = database.makeContext()
    let todo = Todo(in: context)
    todo.text = "x"
    try await todo.save()
    let id: ModelID<Todo> = todo.modelID
    let database = database
    let text = try await Task.detached { try database.makeContext().model(id)?.text }.value
    #expect(text == "x")
    #expect(id == ModelID(todo.id) && id.description == "Todo \(todo.id)")
    #expect(try context.model(ModelID<Todo>("none")) == nil)
  }

  @Test func `a detached copy keeps its changes on another actor and merges them on saving`()
    async throws
  {
    try database.put("a", #"{"extra":1,"priority":1,"tags":["old"],"text":"first"}"#)
    let context = database.makeContext()
    let todo = try #require(try context.model(Todo.self, id: "a"))
    todo.text = "mine"
    try todo.setValue(2, for: "extra")
    let copy = try todo.detachedCopy()
    let database = database
    let read = try await Task.detached {
      #expect(copy.context == nil && !copy.isNew && copy.changedProperties == ["text", "extra"])
      try database.put("a", #"{"extra":1,"priority":9,"tags":["old"],"text":"first"}"#)
      let context = database.makeContext()
      try context.insert(copy)
      try context.save()
      return (copy.text, copy.tags)
    }.value
    #expect(read.0 == "mine" && read.1 == ["old"])
    #expect(
      try database.json("a") == #"{"extra":2,"priority":9,"tags":["old"],"text":"mine"}"#)
    // Nothing was saved in this context.
    #expect(todo.needsSave)
    #expect(throws: DatabaseError.self) { try context.insert(todo.detachedCopy()) }
  }

  @Test func `a detached copy of a new model is new`() throws {
    let context = database.makeContext()
    let todo = UrgentTodo(in: context, id: "a")
    todo.text = "x"
    let copy = try (todo as Todo).detachedCopy()
    #expect(copy.isNew && copy is UrgentTodo && copy.id == "a" && copy.text == "x")
    let other = database.makeContext()
    try other.insert(copy)
    try other.save()
    #expect(try database.json("a")?.contains(#""text":"x""#) == true)
  }

  @Test func `a model cannot be inserted into another context`() throws {
    let context = database.makeContext()
    let todo = Todo(in: context)
    try context.insert(todo)
    let error = #expect(throws: DatabaseError.self) { try database.makeContext().insert(todo) }
    #expect(error?.code == .notInContext)
    #expect(todo.context === context)
  }
}
