import Divan
import Foundation
import Testing

private final class Note: Model {
  @Persisted var text: String
  @Persisted var stars: Int
  @Persisted var parent: Note?
  @Inverse(\Note.parent, onDelete: .nullify) var children: [Note]
  var didLoadHook: () -> Void = {}

  override var tombstoneProperties: Value.Object { ["was": .string(text)] }
  override func didLoad() { didLoadHook() }
}

/// Tests of undoing and redoing the saves of a context.
struct ModelUndoTests {
  let database: Database
  let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
    context.undoLimit = 5
  }

  private func note(_ id: String, _ text: String = "first") throws -> Note {
    let note = Note(in: context, id: id)
    note.text = text
    try context.saveAllModels()
    return note
  }

  private func stored(_ id: String) throws -> Value.Object? {
    try database.snapshot().get(id)?.properties
  }

  @Test func `what was saved together is taken back together, and made again`() throws {
    let (a, b) = (try note("a"), try note("b"))
    a.text = "second"
    b.text = "second"
    try context.saveAllModels()
    #expect(try context.undo())
    #expect(a.text == "first" && b.text == "first" && !a.needsSave)
    #expect(try stored("a")?["text"] == "first" && stored("b")?["text"] == "first")
    #expect(context.canRedo)
    #expect(try context.redo())
    #expect(a.text == "second" && b.text == "second" && !context.canRedo)
    #expect(try !context.redo())
  }

  @Test func `a new document is deleted, and is there again when it is made again`() throws {
    let a = try note("a")
    #expect(try context.undo())
    #expect(a.isDeleted)
    #expect(try stored("a") == nil && !context.undo())
    #expect(try context.redo())
    #expect(!a.isDeleted && a.text == "first" && context.canUndo)
    a.text = "again"
    try a.save()
    #expect(try stored("a")?["text"] == "again")
  }

  @Test func `a deletion is taken back with what went with it`() throws {
    let (a, b) = (try note("a"), try note("b"))
    b.parent = a
    b.stars = 3
    try b.save()
    try a.delete()
    #expect(try stored("a") == nil && stored("b")?["parent"] == nil)
    try context.undo()
    #expect(!a.isDeleted && b.parent === a && a.children == [b])
    #expect(try stored("b")?["parent"] == "a" && stored("b")?["stars"] == 3)
    try context.redo()
    #expect(a.isDeleted && b.parent == nil)
  }

  @Test func `what others changed beside it stays, and what they changed of it is a conflict`()
    throws
  {
    let a = try note("a")
    a.text = "second"
    try a.save()
    try database.update("a") { $0["stars"] = 9 }
    try context.undo()
    #expect(a.text == "first" && a.stars == 9)
    try context.redo()
    try database.update("a") { $0["text"] = "theirs" }
    let error = #expect(throws: DatabaseError.self) { try context.undo() }
    #expect(error?.code == .conflict && error?.propertyPath == "text" && error?.documentID == "a")
    #expect(try context.canUndo && stored("a")?["text"] == "theirs")
    // The next undo is the save before. A document that others have changed since is not deleted.
    #expect(throws: DatabaseError.self) { try context.undo() }
    #expect(try stored("a")?["stars"] == 9 && !context.canUndo)
  }

  @Test func `a hook that saves while something is taken back is one more thing that can be`()
    throws
  {
    let (a, b) = (try note("a"), try note("b"))
    a.text = "second"
    try a.save()
    a.didLoadHook = {
      a.didLoadHook = {}
      b.stars = 1
      do { try b.save() } catch { Issue.record(error) }
    }
    try context.undo()
    #expect(a.text == "first" && b.stars == 1 && !context.canRedo)
    try context.undo()
    #expect(a.text == "first" && b.stars == 0)
  }

  @Test func `a deletion that is made again leaves the same tombstone`() throws {
    let a = try note("a")
    try a.delete()
    try context.undo()
    try context.redo()
    #expect(try database.snapshot().tombstone("a")?.properties == ["was": "first"])
  }

  @Test func `a deletion of a model that nobody holds any more is made again with its tombstone`()
    throws
  {
    try note("a").delete()
    try context.undo()
    try context.redo()
    #expect(try database.snapshot().tombstone("a")?.properties == ["was": "first"])
  }

  @Test func `attachments come back`() throws {
    let a = try note("a")
    a.attachments["x"] = Document.Attachment(contentType: "text/plain", Data([1, 2]))
    try a.save()
    a.attachments["x"] = nil
    try a.save()
    try context.undo()
    #expect(try a.attachments["x"]?.content() == Data([1, 2]))
    try context.undo()
    #expect(a.attachments.isEmpty)
    #expect(try stored("a")?["text"] == "first")
  }

  @Test func `only so many saves are remembered, and something new ends what can be made again`()
    throws
  {
    let a = try note("a")
    for number in 1...8 {
      a.stars = number
      try a.save()
    }
    context.undoLimit = 3
    var count = 0
    while try context.undo() { count += 1 }
    #expect(count == 3 && a.stars == 5)
    a.stars = 100
    try a.save()
    #expect(try !context.redo())
    try context.undo()
    #expect(a.stars == 5)
    context.undoLimit = 0
    #expect(!context.canUndo && !context.canRedo)
    a.stars = 7
    try a.save()
    #expect(!context.canUndo)
  }

  @Test func `what is not saved stays beside what is taken back`() throws {
    let a = try note("a")
    a.text = "second"
    try a.save()
    a.stars = 4
    try context.undo()
    #expect(a.text == "first" && a.stars == 4 && a.changedProperties == ["stars"])
    try a.save()
    #expect(try stored("a") == ["text": "first", "stars": 4])
  }
}
