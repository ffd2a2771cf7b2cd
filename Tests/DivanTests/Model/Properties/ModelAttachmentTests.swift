import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of attachments of models.
///
/// Additions and removals appear immediately, and are stored when the model is saved.
struct ModelAttachmentTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  private func text(_ text: String) -> Document.Attachment {
    Document.Attachment(contentType: "text/plain", Array(text.utf8))
  }

  private func stored(_ id: String) throws -> [String: String] {
    let document = try #require(try database.read { try $0.document(id) })
    return try document.attachments.mapValues { String(decoding: try $0.data(), as: UTF8.self) }
  }

  private func change(_ id: String, _ change: (inout Document) throws -> Void) throws {
    _ = try database.write { try $0.update(id, change) }
  }

  @Test func `attachments of a new model are stored with it`() throws {
    let todo = Todo(in: context)
    todo.attachments["note"] = text("one")
    #expect(todo.needsSave && Set(todo.attachments.keys) == ["note"])
    try todo.save()
    #expect(try stored(todo.id) == ["note": "one"])
    #expect(!todo.needsSave && todo.attachments["note"]?.digest != nil)
  }

  @Test func `added and removed attachments appear immediately and are stored on saving`() throws {
    let todo = Todo(in: context)
    todo.attachments = ["a": text("1"), "b": text("2")]
    try todo.save()
    todo.attachments["a"] = nil
    todo.attachments["c"] = text("3")
    #expect(Set(todo.attachments.keys) == ["b", "c"])
    #expect(try stored(todo.id) == ["a": "1", "b": "2"])
    #expect(todo.isChanged && todo.changedProperties == [])
    todo.text = "changed"
    try todo.save()
    #expect(try stored(todo.id) == ["b": "2", "c": "3"])
    #expect(try database.json(todo.id)?.contains("changed") == true)
  }

  /// Regression: saving a model removed the attachments of its document.
  @Test func `saving other changes keeps the document's attachments`() throws {
    let todo = Todo(in: context)
    try todo.save()
    try change(todo.id) { $0.attachments["note"] = text("elsewhere") }
    todo.text = "changed"
    try todo.save()
    #expect(try stored(todo.id) == ["note": "elsewhere"])
    #expect(Set(todo.attachments.keys) == ["note"])
  }

  @Test func `changes to different attachments merge, changes to the same one are a conflict`()
    throws
  {
    let todo = Todo(in: context)
    todo.attachments = ["a": text("1"), "b": text("2")]
    try todo.save()
    todo.attachments["a"] = text("mine")
    try change(todo.id) { $0.attachments["b"] = text("theirs") }
    try todo.save()
    #expect(try stored(todo.id) == ["a": "mine", "b": "theirs"])
    todo.attachments["a"] = text("mine again")
    try change(todo.id) { $0.attachments["a"] = text("theirs") }
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict && error?.propertyPath == "_attachments.a")
    try context.refresh()
    try todo.save()
    #expect(try stored(todo.id) == ["a": "mine again", "b": "theirs"])
  }

  /// Regression: the later attachment replaced the other one without an error.
  @Test func `adding attachments under one name on both sides is a conflict`() throws {
    let todo = Todo(in: context)
    try todo.save()
    todo.attachments["a"] = text("mine")
    try change(todo.id) { $0.attachments["a"] = text("theirs") }
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict && error?.propertyPath == "_attachments.a")
    #expect(try stored(todo.id) == ["a": "theirs"])
  }

  @Test func `putting an attachment back is no change, and reverting discards changes`() throws {
    let todo = Todo(in: context)
    todo.attachments["a"] = text("1")
    try todo.save()
    let sequence = try database.snapshot().sequence
    todo.attachments["a"] = text("2")
    todo.attachments["a"] = text("1")
    #expect(!todo.needsSave)
    todo.attachments["a"] = nil
    todo.revert()
    #expect(!todo.needsSave && Set(todo.attachments.keys) == ["a"])
    try context.save()
    #expect(try database.snapshot().sequence == sequence)
  }

  /// Regression: found by reading; a deletion compared the properties alone.
  @Test func `deleting a model whose attachments were changed externally is a conflict`() throws {
    let (todo, other) = (Todo(in: context), Todo(in: context))
    other.attachments["a"] = text("1")
    try context.save()
    other.attachments["a"] = text("mine")
    for each in [todo, other] { try change(each.id) { $0.attachments["a"] = text("theirs") } }
    #expect(code { try todo.delete() } == .conflict && !todo.isDeleted)
    // The context moves on, but an attachment with an unsaved change keeps the conflict.
    try Todo(in: context).save()
    #expect(code { try other.delete() } == .conflict && !other.isDeleted)
    try todo.delete()
    try context.refresh()
    try other.delete()
    #expect(todo.isDeleted && other.isDeleted)
  }

  @Test func `external changes to attachments appear after a refresh`() throws {
    let todo = Todo(in: context)
    todo.attachments["a"] = text("1")
    try todo.save()
    #expect(todo.attachments.count == 1)
    try change(todo.id) { $0.attachments["b"] = text("2") }
    #expect(todo.attachments.count == 1)
    try context.refresh()
    #expect(Set(todo.attachments.keys) == ["a", "b"])
  }

  @Test func `reverting a model created from a document restores its attachments`()
    throws
  {
    var document = Document(id: "d", ["text": "x"])
    document.attachments["a"] = text("1")
    let todo = try context.insert(Todo.self, document: document)
    todo.text = "y"
    todo.attachments = ["b": text("2")]
    todo.revert()
    #expect(todo.text == "x" && Set(todo.attachments.keys) == ["a"] && todo.isNew)
    let copy = try todo.detachedCopy()
    copy.attachments = [:]
    copy.revert()
    #expect(Set(copy.attachments.keys) == ["a"])
    try todo.save()
    #expect(try stored("d") == ["a": "1"])
    todo.attachments["a"] = nil
    todo.revert()
    #expect(Set(todo.attachments.keys) == ["a"] && !todo.needsSave)
  }

  @Test func `a model created from a document has its attachments`() throws {
    var document = Document(id: "d", ["text": "x"])
    document.attachments["a"] = text("1")
    let todo = try context.insert(Todo.self, document: document)
    try todo.save()
    #expect(try stored("d") == ["a": "1"])
  }
}
