import DivanLog
import DivanTesting
import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of models whose documents are changed, deleted and purged externally.
struct ExternalChangeTests {
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

  /// Regression: a cursor created models from its older snapshot that no refresh updated.
  @Test func `a cursor returns the state of its context even if the context advanced meanwhile`()
    throws
  {
    for id in ["a", "b", "c", "d"] { try database.put(id, #"{"text": "old"}"#) }
    try context.refresh()
    var cursor = try context.models(Todo.self)
    let first = try #require(try cursor.next())
    try database.put("c", #"{"text": "new"}"#)
    try database.remove("d")
    first.done = true
    try first.save()
    let rest = try cursor.collect()
    #expect(rest.map(\.id) == ["b", "c"])
    #expect(rest.map(\.text) == ["old", "new"])
  }

  @Test func `a deleted document can be created again while its old model is referenced`() throws {
    let old = try todo("a", "old")
    try old.delete()
    let new = try todo("a", "new")
    #expect(try context.model(Todo.self, id: "a") === new)
    try database.put("a", #"{"text": "newest"}"#)
    try context.refresh()
    #expect(old.isDeleted && old.text == "old")
    #expect(new.text == "newest")
  }

  /// Regression: saving another model dropped the change without an error.
  @Test func `saving another model keeps the changes of an externally deleted one`() throws {
    let (changed, other) = (try todo("a", "x"), try todo("b", "x"))
    changed.text = "mine"
    try database.remove("a")
    other.text = "y"
    try other.save()
    #expect(changed.needsSave && !changed.isDeleted)
    let error = #expect(throws: DatabaseError.self) { try context.save() }
    #expect(error?.code == .conflict && error?.documentID == "a")
    let update = try context.refresh()
    #expect(update.deleted.map(\.id) == ["a"])
    #expect(changed.isDeleted && changed.text == "mine")
    try context.save()
  }

  /// Regression: found by reading; the conflict of the change outlived it.
  @Test func `an undeclared change that was taken back is no conflict for a deletion`() throws {
    let (deleted, saved) = (try todo("a", "x"), try todo("b", "x"))
    for each in [deleted, saved] {
      try each.setValue(1, for: "extra")
      try database.update(each.id) { $0["extra"] = 2 }
    }
    saved.done = true
    // The context moves on, and both models take over the external changes.
    try Todo(in: context).save()
    #expect(code { try deleted.delete() } == .conflict)
    for each in [deleted, saved] { try each.setValue(2, for: "extra") }
    #expect(!deleted.needsSave && saved.changedProperties == ["done"])
    try deleted.delete()
    try saved.delete()
    #expect(deleted.isDeleted && saved.isDeleted)
  }

  @Test func `the models of purged documents are deleted at the next refresh`() throws {
    let (purged, changed, stays) = (try todo("a", "x"), try todo("b", "x"), try todo("c", "x"))
    changed.text = "mine"
    try database.write { transaction in
      try transaction.purge("a")
      try transaction.purge("b")
    }
    let update = try context.refresh()
    #expect(Set(update.deleted.map(\.id)) == ["a", "b"])
    #expect(purged.isDeleted && purged.text == "x" && changed.isDeleted && !stays.isDeleted)
    try context.save()
    #expect(try context.refresh().isEmpty)
  }

  @Test func `changes merged in by a save notify observers and count as external`() throws {
    final class Observed: Model {
      @Persisted var text: String
      @Persisted var done = false
      override class var documentType: String? { nil }
    }
    let observed = Observed(in: context, id: "w")
    try observed.save()
    try database.put("w", #"{"text": "theirs", "done": false}"#)
    let notifications = Recorder<Int>()
    withObservationTracking {
      _ = observed.text
    } onChange: {
      notifications.append(1)
    }
    observed.done = true
    #expect(notifications.all.isEmpty && observed.timeSinceExternalChange == nil)
    try observed.save()
    #expect(notifications.all == [1] && observed.text == "theirs" && observed.done)
    #expect(observed.timeSinceExternalChange != nil)
  }

  private final class Pair: Model {
    @Persisted var todos: [Todo]
    override class var documentType: String? { nil }
  }

  @Test func `models with canonically equal IDs are distinct`() throws {
    let (one, other) = ("\u{E9}", "e\u{301}")
    try database.put(one, #"{"text": "one"}"#)
    try database.put(other, #"{"text": "other"}"#)
    try context.refresh()
    let models = try [one, other].map { try #require(try context.model(Todo.self, id: $0)) }
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
    let first = try database.read { try $0.document("l")?["first"]?.stringValue }
    #expect(first.map { Array($0.utf8) } == Array(other.utf8))
  }

  @Test func `a refresh that meets a damaged document updates the other models`() throws {
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

  /// Regression: the context had advanced, so no later refresh read these documents.
  @Test func `a refresh updates the models that a failed one could not read`() throws {
    let disk = SimulatedFileSystem()
    let fixture = CrashFixture(disk, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    let context = database.makeContext()
    let todos = ["a", "b", "c"].map { Todo(in: context, id: $0) }
    try context.save()
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
