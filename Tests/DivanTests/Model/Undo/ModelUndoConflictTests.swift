import Testing

@testable import Divan

/// Tests of undoing changes to documents that others have changed since.
///
/// Regression: `undo()` failed each time it was called, and no earlier save could be undone.
struct ModelUndoConflictTests {
  private let database: Database
  private let context: ModelContext
  private let first: Todo
  private let second: Todo

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
    first = Todo(in: context, id: "a")
    second = Todo(in: context, id: "b")
    try context.save()
    context.undoLimit = 10
    first.text = "1"
    try first.save()
    second.text = "1"
    try second.save()
  }

  @Test func `an undo in conflict throws once, and the next undo reverts the save before it`()
    throws
  {
    try database.put("b", #"{"text": "theirs"}"#)
    #expect(code { try context.undo() } == .conflict)
    #expect(context.canUndo)
    #expect(try context.undo())
    #expect(first.text.isEmpty && second.text == "theirs")
    #expect(try !context.undo())
    #expect(!context.canUndo)
    #expect(try context.redo())
    #expect(first.text == "1" && !context.canRedo)
  }

  @Test func `a redo in conflict throws once, and the next redo repeats the save after it`() throws
  {
    try context.undo()
    try context.undo()
    try database.put("a", #"{"text": "theirs"}"#)
    #expect(code { try context.redo() } == .conflict)
    #expect(context.canRedo)
    #expect(try context.redo())
    #expect(second.text == "1" && !context.canRedo)
    #expect(try context.undo())
    #expect(!context.canUndo)
  }

  @Test func `an undo that fails for another reason can be tried again`() throws {
    try database.write { _ in
      #expect(code { try context.undo() } == .nestedWrite)
    }
    #expect(try context.undo())
    #expect(second.text.isEmpty)
  }
}
