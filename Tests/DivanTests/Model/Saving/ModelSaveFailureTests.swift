import Testing

@testable import Divan

/// Tests of contexts that save automatically when some models cannot be saved.
///
/// Regression: one such model delayed all others, for two seconds, then four, and up to a minute.
@MainActor
struct ModelSaveFailureTests {
  private final class Named: Model {
    @Persisted var text: String
    @Persisted var number: Double
    override func validate(_ validation: inout ModelValidation) {
      validation.require(!text.isEmpty, "there is no text", property: "text")
    }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext
  private let start = ContinuousClock.now

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  /// Saves once, as an automatically saving context does, and returns how many models failed.
  private func save() async -> Int {
    var errors = 0
    // No retry is due at the time when the test began, however long it takes.
    await context.core.saveDue(retriesAll: false, after: .zero, at: start) { _ in errors += 1 }
    return errors
  }

  @Test func `an invalid model does not delay the autosave of later changes`() async throws {
    let named = Named(in: context, id: "a")
    #expect(await save() == 1)
    let todo = Todo(in: context, id: "b")
    #expect(await save() == 0)
    #expect(!todo.needsSave)
    todo.text = "again"
    let other = Todo(in: context, id: "c")
    #expect(await save() == 0)
    #expect(!todo.needsSave)
    #expect(!other.needsSave)
    #expect(named.needsSave)
    #expect(await save() == 0)
  }

  @Test func `a corrected model is saved like a changed one`() async throws {
    let named = Named(in: context, id: "a")
    let order = context.core.unsaved.changeCount
    #expect(await save() == 1)
    #expect(context.core.unsaved.changeCount == order)
    named.text = "x"
    // The change wakes the saving task.
    #expect(context.core.unsaved.changeCount > order)
    #expect(await save() == 0)
    #expect(!named.needsSave)
    named.number = .nan
    #expect(await save() == 1)
    #expect(await save() == 0)
    named.number = 3
    #expect(await save() == 0)
    #expect(!named.needsSave)
    named.number = .nan
    #expect(await save() == 1)
    named.revert()
    try named.setValue(1, for: "other")
    #expect(await save() == 0)
    #expect(!named.needsSave)
    #expect(!context.core.autosaving.hasFailures)
  }

  @Test func `a model in conflict does not delay others and is saved once that is settled`()
    async throws
  {
    let todo = Todo(in: context, id: "a")
    try await todo.save()
    todo.text = "mine"
    try database.put("a", #"{"text": "theirs"}"#)
    #expect(await save() == 1)
    let other = Todo(in: context, id: "b")
    #expect(await save() == 0)
    #expect(!other.needsSave)
    #expect(todo.needsSave)
    try context.refresh()
    #expect(await save() == 0)
    #expect(!todo.needsSave)
    #expect(try database.json("a")?.contains(#""text":"mine""#) == true)
  }

  @Test func `autosave retries a failed model by itself and after it is corrected`() async throws {
    let context = database.makeFollowingContext(
      autosavingAfter: .milliseconds(5), isolation: MainActor.shared)
    var errors = 0
    context.errorHandler = { _ in errors += 1 }
    func wait(until condition: () -> Bool) async throws {
      for _ in 0..<12_000 where !condition() { try await Task.sleep(for: .milliseconds(5)) }
      #expect(condition(), "the condition did not hold within a minute")
    }
    let named = Named(in: context, id: "a")
    try await wait { errors == 2 }
    #expect(named.needsSave)
    named.text = "x"
    try await wait { !named.needsSave }
  }
}
