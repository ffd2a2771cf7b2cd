import DivanLog
import Testing

@testable import Divan

/// Tests of closing a database whose contexts save automatically.
///
/// Regression: unsaved changes were dropped. Only the context's error handler was notified, after
/// the database was closed.
@MainActor
struct ModelClosingTests {
  private final class Named: Model {
    @Persisted var text: String
    override func validate(_ validation: inout ModelValidation) {
      validation.require(!text.isEmpty, "there is no text", property: "text")
    }
    override class var documentType: String? { nil }
  }

  /// A context that belongs to another actor.
  private actor Keeper {
    private let database: Database
    private lazy var context = database.makeFollowingContext(
      autosavingAfter: .seconds(1000), isolation: self)
    private var todo: Todo?

    init(_ database: Database) { self.database = database }

    func add(_ id: String) { todo = Todo(in: context, id: id) }
    func save() throws { try context.save() }
    func close() throws { try database.close() }
  }

  private let fileSystem = MemoryFileSystem()
  private let database: Database

  init() throws {
    database = try ModelClosingTests.open(fileSystem)
  }

  private static func open(_ fileSystem: MemoryFileSystem) throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    return try Database(at: "/store.divan", configuration: configuration)
  }

  private func reopen() throws -> Database { try ModelClosingTests.open(fileSystem) }

  private func makeContext() -> ModelContext {
    database.makeFollowingContext(autosavingAfter: .seconds(1000), isolation: MainActor.shared)
  }

  @Test func `closing asynchronously saves as closing does, and refuses where it does`()
    async throws
  {
    let keeper = Keeper(database)
    await keeper.add("b")
    let context = makeContext()
    let todo = Todo(in: context, id: "a")
    let error = await #expect(throws: DatabaseError.self) { try await database.close() }
    #expect(error?.code == .unsavedModels && !todo.needsSave)
    todo.text = "x"
    try await keeper.save()
    try await database.close()
    #expect(!todo.needsSave)
    #expect(try reopen().json("a")?.contains(#""text":"x""#) == true)
    #expect(try reopen().json("b") != nil)
  }

  /// Regression: saving threw `cancelled`, so a program that was told to end could not close.
  @Test func `a cancelled task closes the database, and saves what is unsaved`() async throws {
    let context = makeContext()
    Todo(in: context, id: "a").text = "x"
    let closing = Task {
      while !Task.isCancelled { await Task.yield() }
      try await database.close()
    }
    closing.cancel()
    try await closing.value
    #expect(try reopen().json("a")?.contains(#""text":"x""#) == true)
  }

  @Test func `closing saves the unsaved models of contexts on the same actor`() throws {
    let context = makeContext()
    let todo = Todo(in: context, id: "a")
    todo.text = "x"
    try database.close()
    #expect(!todo.needsSave)
    #expect(try reopen().json("a")?.contains(#""text":"x""#) == true)
  }

  @Test func `closing saves the unsaved models of a released context`() throws {
    func makeTodo() { Todo(in: makeContext(), id: "a").text = "x" }
    makeTodo()
    try database.close()
    #expect(try reopen().json("a")?.contains(#""text":"x""#) == true)
  }

  @Test func `closing saves models that a running autosave has not saved yet`() async throws {
    let context = database.makeContext()
    let saving = Task { await context.autosave(after: .seconds(1000)) { Issue.record($0) } }
    try await Task.sleep(for: .milliseconds(20))
    let todo = Todo(in: context, id: "a")
    try await database.close()
    #expect(!todo.needsSave)
    #expect(try reopen().json("a") != nil)
    saving.cancel()
    await saving.value
  }

  @Test func `a model that cannot be saved keeps the database open`() throws {
    let context = makeContext()
    let named = Named(in: context, id: "a")
    let todo = Todo(in: context, id: "b")
    #expect(code { try database.close() } == .invalidModel)
    #expect(named.needsSave && !todo.needsSave)
    try database.put("c", "{}")
    named.text = "x"
    try database.close()
    #expect(code { try database.put("c", "{}") } == .closed)
    let reopened = try reopen()
    #expect(try reopened.json("a") == #"{"text":"x"}"#)
    #expect(try reopened.json("b") != nil)
  }

  @Test func `unsaved models on another actor keep the database open`() async throws {
    let keeper = Keeper(database)
    await keeper.add("a")
    #expect(code { try database.close() } == .unsavedModels)
    try database.put("b", "{}")
    try await keeper.save()
    try await database.close()
    #expect(try reopen().json("a") != nil)
  }

  @Test func `closing on the actor of a context saves its models`() async throws {
    let keeper = Keeper(database)
    await keeper.add("a")
    try await keeper.close()
    #expect(try reopen().json("a") != nil)
  }

  @Test func `unsaved models of a context without autosave do not keep the database open`() throws {
    let context = database.makeContext()
    let todo = Todo(in: context, id: "a")
    try database.close()
    #expect(todo.needsSave)
  }
}
