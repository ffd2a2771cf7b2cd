import DivanLog
import DivanTesting
import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of models while others change, delete and purge the same documents.
struct ModelElsewhereTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  private func todo(_ id: String, _ text: String) throws -> Todo {
    let todo = Todo(in: context, id: id)
    todo.text = text
    try todo.save()
    return todo
  }

  /// Regression test: a cursor made models from its older snapshot that no refresh updated.
  @Test func `a cursor gives what the context knows, also when it has moved on meanwhile`() throws {
    for id in ["a", "b", "c", "d"] { try database.put(id, #"{"text": "old"}"#) }
    try context.refresh()
    var cursor = try context.models(Todo.self)
    let first = try #require(try cursor.next())
    try database.put("c", #"{"text": "new"}"#)
    try database.remove("d")
    first.done = true
    try first.save()
    let rest = try cursor.rest()
    #expect(rest.map(\.id) == ["b", "c"])
    #expect(rest.map(\.text) == ["old", "new"])
  }

  @Test func `a document that was deleted can be made again while the old model is held`() throws {
    let old = try todo("a", "old")
    try old.delete()
    let new = try todo("a", "new")
    #expect(try context.model(Todo.self, "a") === new)
    try database.put("a", #"{"text": "newest"}"#)
    try context.refresh()
    #expect(old.isDeleted && old.text == "old")
    #expect(new.text == "newest")
  }

  /// Regression test: saving another model dropped the change without an error.
  @Test func `a change of what was deleted elsewhere stays until its own saving says so`() throws {
    let (changed, other) = (try todo("a", "x"), try todo("b", "x"))
    changed.text = "mine"
    try database.remove("a")
    other.text = "y"
    try other.save()
    #expect(changed.needsSave && !changed.isDeleted)
    let error = #expect(throws: DatabaseError.self) { try context.saveAllModels() }
    #expect(error?.code == .conflict && error?.documentID == "a")
    let update = try context.refresh()
    #expect(update.deleted.map(\.id) == ["a"])
    #expect(changed.isDeleted && changed.text == "mine")
    try context.saveAllModels()
  }

  @Test func `a document that was purged or has expired is gone at the next refresh`() throws {
    let (purged, changed, stays) = (try todo("a", "x"), try todo("b", "x"), try todo("c", "x"))
    changed.text = "mine"
    try database.write { transaction in
      try transaction.purge("a")
      try transaction.purge("b")
    }
    let update = try context.refresh()
    #expect(Set(update.deleted.map(\.id)) == ["a", "b"])
    #expect(purged.isDeleted && purged.text == "x" && changed.isDeleted && !stays.isDeleted)
    try context.saveAllModels()
    #expect(try context.refresh().isEmpty)
  }

  @Test func `what came with saving is told to observers, and counts as changed elsewhere`() throws
  {
    final class Watched: Model, Observable {
      @Persisted var text: String
      @Persisted var done = false
    }
    let watched = Watched(in: context, id: "w")
    try watched.save()
    try database.put("w", #"{"text": "theirs", "done": false}"#)
    let told = Recorder<Int>()
    withObservationTracking {
      _ = watched.text
    } onChange: {
      told.append(1)
    }
    watched.done = true
    #expect(told.all.isEmpty && watched.timeSinceExternallyChanged == nil)
    try watched.save()
    #expect(told.all == [1] && watched.text == "theirs" && watched.done)
    #expect(watched.timeSinceExternallyChanged != nil)
  }

  private final class Pair: Model {
    @Persisted var todos: [Todo]
  }

  @Test func `IDs that look alike are those of different documents`() throws {
    let (one, other) = ("\u{E9}", "e\u{301}")
    try database.put(one, #"{"text": "one"}"#)
    try database.put(other, #"{"text": "other"}"#)
    try context.refresh()
    let models = try [one, other].map { try #require(try context.model(Todo.self, $0)) }
    #expect(models.map(\.text) == ["one", "other"])
    let both = Pair(in: context, id: "p")
    both.todos = [models[0]]
    try both.save()
    both.todos = [models[1]]
    #expect(both.needsSave)
    try both.save()
    let list = TodoList(in: context, id: "l")
    list.first = models[0]
    try list.save()
    list.first = models[1]
    #expect(list.needsSave)
    try list.save()
    let first = try database.read { try $0.get("l")?["first"]?.stringValue }
    #expect(first.map { Array($0.utf8) } == Array(other.utf8))
  }

  @Test func `one document that cannot be read does not keep others from being taken over`() throws
  {
    let models = try ["a", "b", "c"].map { try todo($0, "x") }
    for id in ["a", "b", "c"] { try database.put(id, #"{"text": "y"}"#) }
    var entry = try database.entry(of: "b")
    entry.locator.offset += 8
    var scratch = ByteWriter()
    database.tamper { $0.index(entry, SharedBytes(utf8: "b"), scratch: &scratch) }
    let error = #expect(throws: DatabaseError.self) { try context.refresh() }
    #expect(error?.code == .damaged)
    #expect(models[2].text == "y" && models[0].text == "y")
  }

  /// Regression test: the context had advanced, so no later refresh read these documents.
  @Test func `what a refresh could not read for a while is taken over by the next one`() throws {
    let disk = SimulatedFileSystem()
    let fixture = CrashFixture(disk, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.reads = .buffered
    }
    let context = database.makeContext()
    let todos = ["a", "b", "c"].map { Todo(in: context, id: $0) }
    try context.saveAllModels()
    for todo in todos { try database.put(todo.id, #"{"text": "y"}"#) }
    disk.fail(.read, with: .inputOutput, isLasting: true)
    let error = #expect(throws: DatabaseError.self) { try context.refresh() }
    #expect(error?.code == .inputOutput)
    disk.stopFailing()
    let update = try context.refresh()
    #expect(Set(update.changed.map(\.id)) == ["a", "b", "c"])
    #expect(todos.allSatisfy { $0.text == "y" })
  }
}
