import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of models with unreadable parts.
///
/// An unreadable property reads as its declared value and is reported to the handler. Loading the
/// model throws the error, and saving never overwrites the stored value.
struct ModelDamageTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    try database.put("t", #"{"text": "x", "priority": 1}"#)
    try database.put("l", #"{"title": "L", "first": "t"}"#)
    try database.put("p", #"{"todos": ["t"]}"#)
    context = database.makeContext()
  }

  private final class Pair: Model {
    @Persisted var todos: [Todo]
    @Persisted var note = ""
    override class var documentType: String? { nil }
  }

  /// Makes the document's index entry point to bytes that are not the document.
  private func damage(_ id: String) throws {
    var entry = try database.entry(of: id)
    entry.locator.offset += 8
    var scratch = ByteWriter()
    database.tamper { $0.index(entry, SharedBytes(utf8: id), scratch: &scratch) }
  }

  @Test func `loading a damaged document throws, and references to it read as nil and are kept`()
    throws
  {
    try damage("t")
    let context = database.makeContext()
    let reported = errors(of: context)
    #expect(code { _ = try context.model(Todo.self, id: "t") } == .damaged)
    let list = try #require(try context.model(TodoList.self, id: "l"))
    let pair = try #require(try context.model(Pair.self, id: "p"))
    #expect(list.first == nil && pair.todos.isEmpty)
    #expect(reported.all == [.damaged, .damaged])
    list.title = "M"
    pair.note = "n"
    try context.save()
    #expect(try database.snapshot().document("l")?["first"] == "t")
    #expect(try database.snapshot().document("p")?["todos"] == ["t"])
  }

  @Test func `a cursor throws for a damaged document and continues after it`() throws {
    try damage("p")
    var all = try database.makeContext().models(Model.self)
    #expect(try all.next()?.id == "l")
    #expect(code { _ = try all.next() } == .damaged)
    #expect(try all.collect().map(\.id) == ["t"])
  }

  @Test func `an unreadable property reads as declared and is never overwritten`()
    throws
  {
    let reported = errors(of: context)
    let todo = try #require(try context.model(Todo.self, id: "t"))
    let whole = try #require(todo.storedProperties?.bytes.array)
    todo.attach(EncodedValue(SharedBytes(copying: Array(whole.dropLast(2)))), state: .stored)
    // The properties before the damage are intact.
    #expect(todo.text == "" && todo.priority == 1 && !todo.needsSave)
    #expect(reported.all == [.damaged])
    #expect(code { try todo.load() } == .damaged)
    #expect(code { _ = try todo.value(for: "text") } == .damaged)
    todo.done = true
    #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(todo.changedProperties == ["done"])
    #expect(try database.snapshot().document("t")?["text"] == "x")
    #expect(try database.snapshot().document("t")?["done"] == nil)
  }

  @Test func `after its database is closed a model keeps its values and unsaved changes`() throws {
    let reported = errors(of: context)
    let list = try #require(try context.model(TodoList.self, id: "l"))
    list.title = "M"
    try database.close()
    #expect(list.title == "M" && list.first == nil && list.attachments.isEmpty)
    #expect(reported.all == [.closed, .closed])
    #expect(code { try list.save() } == .closed)
    #expect(code { try list.delete() } == .closed)
    #expect(code { try context.save() } == .closed)
    #expect(code { try context.refresh() } == .closed)
    #expect(code { _ = try context.model(Todo.self, id: "t") } == .closed)
    #expect(list.needsSave && !list.isDeleted)
    list.revert()
    #expect(list.title == "L" && !list.needsSave)
    try list.load()
    let late = database.makeContext()
    #expect(code { _ = try late.model(Todo.self, id: "t") } == .closed)
    #expect(code { try Todo(in: late).save() } == .closed)
  }

  @Test func `a reference is read again once a read error is gone`() throws {
    let disk = SimulatedFileSystem()
    let fixture = CrashFixture(disk, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    try database.put("t", #"{"text": "x"}"#)
    try database.put("l", #"{"first": "t"}"#)
    let context = database.makeContext()
    let reported = errors(of: context)
    let list = try #require(try context.model(TodoList.self, id: "l"))
    disk.fail(.read, with: .inputOutput, isLasting: true)
    #expect(list.first == nil && reported.all == [.inputOutput])
    #expect(code { _ = try context.model(Todo.self, id: "t") } == .inputOutput)
    disk.stopFailing()
    #expect(list.first?.text == "x" && !list.needsSave)
  }

  // MARK: Indexes

  private final class Sized: Model {
    @Persisted(index: .value) var size: Int
    override class var documentType: String? { nil }
  }

  private final class Owner: Model {
    @Persisted var name: String
    @Inverse(\Thing.owner) var things: [Thing]
    override class var documentType: String? { nil }
  }

  private final class Thing: Model {
    @Persisted var owner: Owner?
    override class var documentType: String? { nil }
  }

  /// Regression: found by reading; each save read all documents again.
  @Test(arguments: ["declared", "for an inverse"])
  func `a save does not try again to build an index for which a document cannot be read`(
    index: String
  ) throws {
    let disk = SimulatedFileSystem()
    let fixture = CrashFixture(disk, CrashWriter(seed: 1))
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    try database.put("t", #"{"text": "x"}"#)
    let context = database.makeContext()
    let reported = errors(of: context)
    disk.fail(.read, with: .inputOutput, isLasting: true)
    /// Saves a new model; returns the number of commits.
    func save() throws -> UInt64 {
      let before = try database.store.view().state.commit
      if index == "declared" {
        _ = Sized(in: context)
      } else {
        // It looks for the index.
        #expect(Owner(in: context).things.isEmpty)
      }
      try context.save()
      return try database.store.view().state.commit - before
    }
    // The definition of the index, its removal, and the model.
    #expect(try save() == 3)
    #expect(reported.all.contains(.inputOutput))
    #expect(try save() == 1)
    #expect(try save() == 1)
    disk.stopFailing()
    #expect(try database.indexes() == [])
  }
}
