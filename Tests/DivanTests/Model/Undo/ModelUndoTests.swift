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
  override class var documentType: String? { nil }
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
    try context.save()
    return note
  }

  private func stored(_ id: String) throws -> Value.Object? {
    try database.snapshot().document(id)?.properties
  }

  @Test func `models that were saved together are undone and redone together`() throws {
    let (a, b) = (try note("a"), try note("b"))
    a.text = "second"
    b.text = "second"
    try context.save()
    #expect(try context.undo())
    #expect(a.text == "first" && b.text == "first" && !a.needsSave)
    #expect(try stored("a")?["text"] == "first" && stored("b")?["text"] == "first")
    #expect(context.canRedo)
    #expect(try context.redo())
    #expect(a.text == "second" && b.text == "second" && !context.canRedo)
    #expect(try !context.redo())
  }

  @Test func `undoing the creation of a document deletes it, and redo restores it`() throws {
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

  @Test func `undoing a deletion restores the references that it removed`() throws {
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

  @Test
  func `undo keeps external changes of other properties and conflicts with those of the same`()
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

  @Test func `a save in a hook during undo can be undone itself`()
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

  @Test func `redoing a deletion leaves the same tombstone`() throws {
    let a = try note("a")
    try a.delete()
    try context.undo()
    try context.redo()
    #expect(try database.snapshot().tombstone("a")?.properties == ["was": "first"])
  }

  @Test func `redoing the deletion of a released model leaves the same tombstone`()
    throws
  {
    try note("a").delete()
    try context.undo()
    try context.redo()
    #expect(try database.snapshot().tombstone("a")?.properties == ["was": "first"])
  }

  @Test func `undo restores attachments`() throws {
    let a = try note("a")
    a.attachments["x"] = Document.Attachment(contentType: "text/plain", Data([1, 2]))
    try a.save()
    a.attachments["x"] = nil
    try a.save()
    try context.undo()
    #expect(try a.attachments["x"]?.data() == Data([1, 2]))
    try context.undo()
    #expect(a.attachments.isEmpty)
    #expect(try stored("a")?["text"] == "first")
  }

  @Test func `undoLimit limits the saves that can be undone, and a new save ends redo`()
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

  @Test func `undo keeps unsaved changes of other properties`() throws {
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
