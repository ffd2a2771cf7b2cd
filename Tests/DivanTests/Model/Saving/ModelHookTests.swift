import Testing

@testable import Divan

/// Tests of the hooks of models, and of what models may do in them.
struct ModelHookTests {
  /// A model that records the hooks called on it and runs a closure in each.
  private final class Noting: Model {
    @Persisted var text: String
    @Persisted var stamp: Int
    @Persisted var other: Noting?
    var notes: [String] = []
    var whenSaved: (Noting) throws -> Void = { _ in }
    var whenLoaded: (Noting) -> Void = { _ in }
    var whenValidated: () throws -> Void = {}
    var problems: [(message: String, property: String?)] = []
    var error: (any Error)?

    override func didEnterContext() { notes.append("awake") }
    override func didLoad() {
      notes.append("loaded \(text)")
      whenLoaded(self)
    }

    override func willSave(_ changedProperties: [String]) {
      notes.append("will save \(changedProperties.joined(separator: " "))")
      do { try whenSaved(self) } catch { self.error = error }
    }

    override func didSave() { notes.append("saved") }

    override func validate(_ validation: inout ModelValidation) {
      notes.append("validated")
      do { try whenValidated() } catch { self.error = error }
      for problem in problems { validation.fail(problem.message, property: problem.property) }
    }

    func takeNotes() -> [String] {
      defer { notes = [] }
      return notes
    }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test func `didEnterContext runs once, when a new model is in a context`() throws {
    #expect(Noting(in: context, id: "a").notes == ["awake"])
    let detached = Noting()
    #expect(detached.notes == [])
    try context.insert(detached)
    try context.insert(detached)
    #expect(detached.notes == ["awake"])
  }

  @Test func `didLoad and then didEnterContext run for a model of a document`() throws {
    try database.put("a", #"{"text": "x"}"#)
    try context.refresh()
    #expect(try context.model(Noting.self, id: "a")?.notes == ["loaded x", "awake"])
  }

  @Test func `didLoad runs when a model takes over external changes`() throws {
    try database.put("a", #"{"text": "x"}"#)
    try context.refresh()
    let a = try #require(try context.model(Noting.self, id: "a"))
    _ = a.takeNotes()
    try database.put("a", #"{"text": "y"}"#)
    try context.refresh()
    #expect(a.takeNotes() == ["loaded y"])
    a.stamp = 1
    try database.put("a", #"{"text": "z"}"#)
    try a.save()
    #expect(a.takeNotes() == ["will save stamp", "validated", "loaded z", "saved"])
    try context.refresh()
    #expect(a.takeNotes() == [])
  }

  @Test func `willSave gets the changed properties and may change more before didSave`() throws {
    let a = Noting(in: context, id: "a")
    a.text = "x"
    a.whenSaved = { $0.stamp += 1 }
    _ = a.takeNotes()
    try a.save()
    #expect(a.takeNotes() == ["will save text", "validated", "saved"])
    #expect(try database.json("a") == #"{"stamp":1,"text":"x"}"#)
    #expect(!a.needsSave)
    try a.save()
    #expect(a.takeNotes() == [])
  }

  @Test func `a model that reverts itself in willSave is not saved`() throws {
    let a = Noting(in: context, id: "a")
    try a.save()
    a.text = "x"
    a.whenSaved = { $0.revert() }
    _ = a.takeNotes()
    try a.save()
    #expect(a.takeNotes() == ["will save text"])
    #expect(try database.json("a") == #"{"stamp":0,"text":""}"#)
  }

  @Test func `models changed or created in willSave are saved with all others`() throws {
    let a = Noting(in: context, id: "a")
    let b = Noting(in: context, id: "b")
    try context.save()
    a.text = "x"
    a.whenSaved = { [context] a in
      b.text = "from a"
      a.other = Noting(in: context, id: "c")
    }
    try context.save()
    #expect(try database.json("b") == #"{"stamp":0,"text":"from a"}"#)
    #expect(try database.json("a") == #"{"other":"c","stamp":0,"text":"x"}"#)
    #expect(try database.json("c") != nil)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `saving one model leaves the changes of its willSave to others unsaved`() throws {
    let a = Noting(in: context, id: "a")
    let b = Noting(in: context, id: "b")
    try context.save()
    a.text = "x"
    a.whenSaved = { _ in b.text = "from a" }
    try a.save()
    #expect(context.unsavedModels == [b])
  }

  @Test func `saving in willSave throws, and the outer save succeeds`()
    throws
  {
    let a = Noting(in: context, id: "a")
    a.whenSaved = { try $0.save() }
    try a.save()
    #expect((a.error as? DatabaseError)?.code == .nestedWrite)
    #expect(try database.json("a") != nil)
  }

  @Test func `one error has all validation failures of all models, and nothing is saved`()
    throws
  {
    let models = ["a", "b", "c"].map { Noting(in: context, id: $0) }
    models[0].problems = [("it is empty", "text"), ("it is too early", nil)]
    models[2].problems = [("it is empty", "text")]
    let error = #expect(throws: DatabaseError.self) { try context.save() }
    #expect(error?.code == .invalidModel)
    let failures = (error?.underlying as? InvalidModelsError)?.failures ?? []
    #expect(
      failures.map(\.description) == [
        "Noting.text (a): it is empty", "Noting (a): it is too early",
        "Noting.text (c): it is empty",
      ])
    #expect(error?.message.contains("it is too early") == true)
    // Each reason once, although the message and the underlying error have it.
    #expect(error?.description.split(separator: "it is too early").count == 2)
    #expect(try database.snapshot().count == 0)
    #expect(context.unsavedModels == models)
    #expect(models.allSatisfy { !$0.notes.contains("saved") })
    for model in models { model.problems = [] }
    try context.save()
    #expect(try database.snapshot().count == 3)
  }

  @Test func `validation fails only for a condition that is false`() throws {
    var validation = ModelValidation(Noting(in: context, id: "a"))
    validation.require(true, "never")
    #expect(validation.failures.isEmpty)
    validation.require(false, "always", property: "text")
    #expect(validation.failures.map(\.message) == ["always"])
  }

  @Test func `a model that another one deletes during validation is not saved`() throws {
    let (a, b) = (Noting(in: context, id: "a"), Noting(in: context, id: "b"))
    try context.save()
    (a.text, b.text) = ("x", "y")
    a.whenValidated = { try b.delete() }
    try context.save()
    #expect(a.error == nil && b.isDeleted && context.unsavedModels.isEmpty)
    #expect(try database.snapshot().document("a")?["text"] == "x")
    #expect(try !database.snapshot().exists("b"))
  }

  @Test func `hooks and deletions run in the order of IDs`() throws {
    let ids = (10..<30).map { "m\($0)" }
    struct Stop: Error {}
    try database.write { transaction in
      for id in ids { _ = try transaction.put(Document(id: id)) }
    }
    try database.write { transaction in
      let context = transaction.models
      let models = try ids.map { try #require(try context.model(Noting.self, id: $0)) }
      var order: [String] = []
      for model in models { model.whenLoaded = { order.append($0.id) } }
      #expect(throws: Stop.self) {
        try transaction.savepoint {
          for id in ids.reversed() { _ = try transaction.replace(id, with: ["text": "x"]) }
          try context.refresh()
          #expect(order == ids)
          order = []
          throw Stop()
        }
      }
      #expect(order == ids)
    }
    try context.refresh()
    let models = try ids.map { try #require(try context.model(Noting.self, id: $0)) }
    try database.write { transaction in
      for id in ids { try transaction.purge(id) }
    }
    #expect(try context.core.refresh(settlesConflicts: true).deleted.map(\.id) == ids)
    #expect(models.filter { $0.isDeleted } == models)
  }
}
