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

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  /// Saves once, as an automatically saving context does, and returns how many models failed.
  private func save() -> Int {
    var errors = 0
    // Failed models are retried only after a thousand seconds, much longer than this test takes.
    context.core.saveDue(retriesAll: false, after: .seconds(1000)) { _ in errors += 1 }
    return errors
  }

  @Test func `an invalid model does not delay the autosave of later changes`() throws {
    let named = Named(in: context, id: "a")
    #expect(save() == 1)
    let todo = Todo(in: context, id: "b")
    #expect(save() == 0 && !todo.needsSave)
    todo.text = "again"
    let other = Todo(in: context, id: "c")
    #expect(save() == 0 && !todo.needsSave && !other.needsSave)
    #expect(named.needsSave && save() == 0)
  }

  @Test func `a corrected model is saved like a changed one`() throws {
    let named = Named(in: context, id: "a")
    let order = context.core.lastOrder
    #expect(save() == 1 && context.core.lastOrder == order)
    named.text = "x"
    // The change wakes the saving task.
    #expect(context.core.lastOrder > order)
    #expect(save() == 0 && !named.needsSave)
    named.number = .nan
    #expect(save() == 1 && save() == 0)
    named.number = 3
    #expect(save() == 0 && !named.needsSave)
    named.number = .nan
    #expect(save() == 1)
    named.revert()
    try named.setValue(1, for: "other")
    #expect(save() == 0 && !named.needsSave && context.core.saveFailures.isEmpty)
  }

  @Test func `a model in conflict does not delay others and is saved once that is settled`()
    throws
  {
    let todo = Todo(in: context, id: "a")
    try todo.save()
    todo.text = "mine"
    try database.put("a", #"{"text": "theirs"}"#)
    #expect(save() == 1)
    let other = Todo(in: context, id: "b")
    #expect(save() == 0 && !other.needsSave && todo.needsSave)
    try context.refresh()
    #expect(save() == 0 && !todo.needsSave)
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
