import Foundation
import Testing

@testable import Divan

/// Tests of models in transactions and in snapshots.
struct ModelScopeTests {
  let database: Database

  init() throws {
    database = try Database.inMemory()
    try database.put("t", #"{"text": "x", "done": false, "priority": 1}"#)
  }

  private struct Failure: Error {}

  // MARK: In a transaction

  @Test func `models saved in a transaction become visible when it commits`() throws {
    let before = try database.snapshot()
    try database.write { transaction in
      let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
      #expect(try transaction.models.model(Todo.self, id: "t") === todo)
      #expect(todo.context === transaction.models && todo.context?.database == nil)
      todo.text = "y"
      let list = TodoList(in: transaction.models, id: "l")
      list.first = todo
      try transaction.models.save()
      #expect(!todo.needsSave && !list.isNew)
      #expect(try transaction.document("t")?["text"] == "y")
      #expect(try database.read { try $0.document("t")?["text"] } == "x")
      try transaction.put(Document(id: "log"))
    }
    #expect(try database.read { try $0.document("t")?["text"] } == "y")
    #expect(try database.read { try $0.document("l")?["first"] } == "t")
    #expect(try database.read { try $0.count } == 3)
    #expect(try before.document("t")?["text"] == "x")
  }

  @Test func `rolling back a transaction stores none of its models and leaves them unsaved`() throws
  {
    var kept: Todo?
    #expect(throws: Failure.self) {
      try database.write { transaction in
        let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
        todo.text = "y"
        try todo.save()
        kept = todo
        throw Failure()
      }
    }
    #expect(try database.read { try $0.document("t")?["text"] } == "x")
    #expect(kept?.needsSave == true && kept?.text == "y")
  }

  @Test func `models that are unsaved when a transaction ends are not stored`() throws {
    try database.write { transaction in
      try transaction.models.model(Todo.self, id: "t")?.text = "y"
      _ = Todo(in: transaction.models, id: "new")
    }
    #expect(try database.read { try $0.document("t")?["text"] } == "x")
    #expect(try database.read { try $0.count } == 1)
  }

  @Test func `cursors and inverses in a transaction include its changes`()
    throws
  {
    try database.addIndexes(for: Owner.self)
    try database.write { transaction in
      let context = transaction.models
      let owner = Owner(in: context, id: "o")
      let things = ["b", "a", "c"].map { Thing(in: context, id: $0) }
      for thing in things { thing.owner = owner }
      try context.save()
      try transaction.put(Document(id: "d", ["owner": "o", "type": "thing"]))
      let all = try context.models(Thing.self)
      #expect(try all.collect().map(\.id) == ["a", "b", "c", "d"])
      #expect(owner.things.map(\.id) == ["a", "b", "c", "d"])
      try things[0].delete()
      #expect(owner.things.map(\.id) == ["a", "c", "d"])
      try owner.delete()
      #expect(things[1].owner == nil && !things[1].needsSave)
    }
    #expect(try database.read { try $0.document("a")?["owner"] } == nil)
    #expect(try database.read { try $0.exists("b") } == false)
  }

  final class Owner: Model {
    @Inverse(\Thing.owner, onDelete: .nullify) var things: [Thing]
    override class var documentType: String? { "owner" }
  }

  final class Thing: Model {
    @Persisted var owner: Owner?
    override class var documentType: String? { "thing" }
  }

  @Test func `an inverse without an index includes the changes of the transaction`() throws {
    try database.write { transaction in
      let owner = Owner(in: transaction.models, id: "o")
      Thing(in: transaction.models, id: "a").owner = owner
      try transaction.models.save()
      #expect(owner.things.map(\.id) == ["a"])
      try transaction.put(Document(id: "b", ["owner": "o", "type": "thing"]))
      #expect(owner.things.map(\.id) == ["a", "b"])
    }
    #expect(try database.indexes().isEmpty)
  }

  @Test func `document changes in a transaction merge on saving and appear after a refresh`()
    throws
  {
    try database.write { transaction in
      let todo = try #require(try transaction.models.model(Todo.self, id: "t"))
      #expect(todo.text == "x")
      try transaction.update("t") { $0["text"] = "y" }
      todo.done = true
      try todo.save()
      #expect(todo.text == "y")
      try transaction.update("t") { $0["text"] = "z" }
      #expect(todo.text == "y")
      todo.text = "mine"
      #expect(code { try todo.save() } == .conflict)
      todo.revert()
      #expect(try transaction.models.refresh().changed == [todo])
      #expect(todo.text == "z" && todo.done)
      try transaction.delete("t")
      #expect(try transaction.models.refresh().deleted == [todo])
      #expect(todo.isDeleted)
    }
  }

  @Test func `saving several models in a transaction is atomic`() throws {
    try database.write { transaction in
      let context = transaction.models
      let good = Todo(in: context, id: "good")
      let taken = Todo(in: context, id: "t")
      #expect(code { try context.saveModels([good, taken]) } == .conflict)
      let exists = try transaction.exists("good")
      #expect(!exists)
      #expect(good.isNew)
    }
  }

  @Test func `a further context of a transaction uses its own registry`() throws {
    let registry = try ModelRegistry(Owner.self, Thing.self)
    try database.put("o", #"{"type": "owner"}"#)
    try database.write { transaction in
      let context = transaction.makeContext(registry)
      let owner = try context.model(Model.self, id: "o")
      #expect(owner is Owner)
      #expect(transaction.models !== context)
    }
  }

  @Test func `a transaction's context has no snapshot, and its updates end immediately`()
    async throws
  {
    var updates = try updatesOfATransaction()
    #expect(try await updates?.next() == nil)
  }

  private func updatesOfATransaction() throws -> ModelUpdates.Iterator? {
    var updates: ModelUpdates.Iterator?
    try database.write { transaction in
      #expect(code { _ = try transaction.models.snapshot } == .inTransaction)
      updates = transaction.models.updates.makeAsyncIterator()
    }
    return updates
  }

  @Test func `a model kept after its transaction can be read but not saved or deleted`() throws {
    var todo: Todo?
    var cursor: ModelCursor<Todo>?
    try database.write { transaction in
      todo = try transaction.models.model(Todo.self, id: "t")
      cursor = try transaction.models.models(Todo.self)
    }
    #expect(todo?.text == "x")
    todo?.text = "y"
    #expect(code { try todo?.save() } == .closed)
    #expect(code { try todo?.delete() } == .closed)
    #expect(code { _ = try cursor?.next() } == .closed)
    #expect(try database.read { try $0.document("t")?["text"] } == "x")
  }

  @Test func `a finished transaction retains no models`() throws {
    weak var todo: Todo?
    weak var context: ModelContext?
    try database.write { transaction in
      let made = Todo(in: transaction.models, id: "new")
      try made.save()
      made.text = "y"
      (todo, context) = (made, transaction.models)
    }
    #expect(todo == nil && context == nil)
  }

  // MARK: In a snapshot

  @Test func `a snapshot's models can be changed but not saved or deleted`() throws {
    let snapshot = try database.snapshot()
    try database.put("t", #"{"text": "y"}"#)
    try snapshot.models { context in
      let todo = try #require(try context.model(Todo.self, id: "t"))
      #expect(try context.refresh().isEmpty)
      #expect(todo.text == "x")
      todo.text = "z"
      #expect(code { try todo.save() } == .readOnly)
      #expect(code { try todo.delete() } == .readOnly)
      #expect(todo.text == "z" && todo.needsSave && !todo.isDeleted)
      #expect(code { try Todo(in: context).save() } == .readOnly)
    }
    #expect(try database.read { try $0.document("t")?["text"] } == "y")
  }

  @Test func `models can be loaded from a past version`() throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    try database.put("o", #"{"type": "owner"}"#)
    try database.put("a", #"{"type": "thing", "owner": "o"}"#)
    let sequence = try database.read { $0.sequence }
    try database.put("a", #"{"type": "thing"}"#)
    let things = try database.snapshot(at: sequence).models(ModelRegistry(Owner.self)) { context in
      try context.model(Owner.self, id: "o")?.things.map(\.id)
    }
    #expect(things == ["a"])
  }

  @Test func `a model kept after its snapshot's closure can be read but loads no references`()
    throws
  {
    var list: TodoList?
    var kept: ModelContext?
    var errors: [DatabaseError.Code] = []
    try database.put("l", #"{"title": "L", "first": "t"}"#)
    try database.read { snapshot in
      try snapshot.models { context in
        context.errorHandler = { errors.append(($0 as? DatabaseError)?.code ?? .conflict) }
        list = try context.model(TodoList.self, id: "l")
        kept = context
      }
    }
    #expect(list?.title == "L" && list?.first == nil)
    #expect(errors == [.closed])
    #expect(code { _ = try kept?.model(Todo.self, id: "t") } == .closed)
  }
}
