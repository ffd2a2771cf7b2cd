import Testing

@testable import Divan

/// Tests of contexts that save automatically and report the errors.
@MainActor
struct ModelAutosaveTests {
  private final class Strict: Model {
    @Persisted var text: String
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

  /// Yields to other tasks until a condition holds, for ten seconds at most.
  private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("the condition did not hold within ten seconds")
  }

  @Test func `autosave saves changed models after its delay`() async throws {
    let context = context
    let saving = Task { await context.autosave(after: .milliseconds(20)) { Issue.record($0) } }
    let todo = Todo(in: context, id: "a")
    #expect(try database.json("a") == nil)
    try await wait { !todo.needsSave }
    todo.text = "x"
    try await wait { !todo.needsSave }
    #expect(try database.json("a")?.contains(#""text":"x""#) == true)
    saving.cancel()
    await saving.value
  }

  @Test func `autosave reports a model that cannot be saved and retries it`() async throws {
    let context = context
    var errors: [DatabaseError.Code] = []
    let strict = Strict(in: context, id: "a")
    let saving = Task {
      await context.autosave(after: .milliseconds(5)) { error in
        errors.append((error as? DatabaseError)?.code ?? .inputOutput)
      }
    }
    try await wait { errors.count > 1 }
    #expect(errors.allSatisfy { $0 == .invalidModel } && strict.needsSave)
    strict.text = "x"
    try await wait { !strict.needsSave }
    saving.cancel()
    await saving.value
    #expect(try database.json("a") == #"{"text":"x"}"#)
  }

  @Test func `a model that cannot be saved does not prevent the autosave of others`() async throws {
    let context = context
    var errors = 0
    let strict = Strict(in: context, id: "a")
    let todo = Todo(in: context, id: "b")
    let saving = Task { await context.autosave(after: .zero) { _ in errors += 1 } }
    try await wait { !todo.needsSave }
    #expect(strict.needsSave && errors == 1)
    saving.cancel()
    await saving.value
    #expect(errors == 2)
  }

  @Test func `cancelling the autosave task saves unsaved models immediately`() async throws {
    let context = context
    let saving = Task { await context.autosave(after: .seconds(1000)) { Issue.record($0) } }
    let todo = Todo(in: context, id: "a")
    try await Task.sleep(for: .milliseconds(5))
    #expect(todo.needsSave)
    saving.cancel()
    await saving.value
    #expect(!todo.needsSave)
  }

  @Test func `autosave of a closed database reports one error and ends`() async throws {
    let context = context
    var errors: [DatabaseError.Code] = []
    let saving = Task {
      await context.autosave(after: .milliseconds(1)) { error in
        errors.append((error as? DatabaseError)?.code ?? .inputOutput)
      }
    }
    try await database.close()
    let todo = Todo(in: context, id: "a")
    await saving.value
    #expect(errors == [.closed] && todo.needsSave)
  }
}

/// Tests of properties that were changed both locally and externally.
struct ModelConflictTests {
  private let database: Database
  private let context: ModelContext
  private let todo: Todo

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
    todo = Todo(in: context, id: "t")
    todo.text = "base"
    try todo.save()
  }

  private func conflict(local: String, external: String) throws {
    todo.text = local
    try database.put("t", #"{"done": false, "text": "\#(external)", "priority": 9}"#)
  }

  @Test func `without a handler a conflict throws and everything stays unsaved`() throws {
    try conflict(local: "mine", external: "theirs")
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict && error?.propertyPath == "text")
    #expect(todo.needsSave && todo.text == "mine")
  }

  @Test func `a conflict handler gets the base and both sides and can refuse`() throws {
    try conflict(local: "mine", external: "theirs")
    var shown: [Value?] = []
    context.conflictHandler = { conflict in
      shown = [conflict.base, conflict.mine, conflict.theirs]
      return .reject
    }
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict)
    #expect(shown == ["base", "mine", "theirs"])
  }

  @Test(arguments: [
    (ModelConflict.Resolution.mine, "mine"), (.theirs, "theirs"), (.value("both"), "both"),
    (.value(nil), ""),
  ])
  func `a conflict handler can choose either side or another value`(
    resolution: ModelConflict.Resolution, text: String
  ) throws {
    try conflict(local: "mine", external: "theirs")
    context.conflictHandler = { _ in resolution }
    try todo.save()
    #expect(todo.text == text && todo.priority == 9 && !todo.needsSave)
    let stored = try database.read { try $0.document("t") }
    #expect(stored?["text"] == (text.isEmpty ? nil : .string(text)))
  }

  @Test func `equal changes and changes to different properties are no conflict`() throws {
    context.conflictHandler = { conflict in
      Issue.record("\(conflict.key)")
      return .reject
    }
    try conflict(local: "same", external: "same")
    todo.done = true
    try todo.save()
    #expect(todo.priority == 9 && todo.text == "same")
  }
}
