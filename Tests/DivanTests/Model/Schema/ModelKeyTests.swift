import Foundation
import Testing

@testable import Divan

/// Tests of access to properties by key, of IDs that the class makes, and of tombstones.
struct ModelKeyTests {
  private final class Numbered: Model {
    @Persisted var text: String
    override class func makeDocumentID() -> String? { "numbered:\(UUID().uuidString.count)" }
    override class var documentType: String? { nil }
  }

  private final class Buried: Model {
    @Persisted var text: String
    override var tombstoneProperties: Value.Object { ["was": .string(text)] }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test func `a new model's document type can be read and set by its key`() throws {
    let person = Person(in: context)
    #expect(try person.value(for: "type") == "person")
    try person.setValue("guest", for: "type")
    #expect(try person.value(for: "type") == "guest")
    try person.save()
    #expect(try person.value(for: "type") == "guest")
    person.name = "Ann"
    #expect(
      try person.value(for: "type") == "guest" && person.propertiesToSave()["type"] == "guest")
  }

  @Test func `a declared property is read and set by its key`() throws {
    let todo = Todo(in: context)
    #expect(try todo.value(for: "priority") == 3)
    #expect(try todo.value(for: "due_date") == nil)
    try todo.setValue("2024-02-29T00:00:00.000Z", for: "due_date")
    #expect(todo.due == Date(timeIntervalSince1970: 1_709_164_800))
    #expect(try todo.value(for: "due_date") == "2024-02-29T00:00:00.000Z")
    try todo.setValue(["a", "b"], for: "tags")
    #expect(todo.tags == ["a", "b"] && todo.changedProperties == ["due", "tags"])
    try todo.setValue(nil, for: "due_date")
    #expect(todo.due == nil)
    try todo.setValue(9, for: "priority")
    try todo.setValue(nil, for: "priority")
    #expect(todo.priority == 3)
    let list = TodoList(in: context, id: "list")
    try todo.setValue("list", for: "list")
    #expect(todo.list === list)
    try todo.setValue(.null, for: "list")
    #expect(todo.list == nil)
  }

  @Test func `setting a value of another type by key is refused`() throws {
    let todo = Todo(in: context)
    for (key, value) in [
      ("text", 1), ("priority", "high"), ("tags", [1]), ("list", 5), ("due_date", "soon"),
    ] as [(String, Value)] {
      let error = #expect(throws: DatabaseError.self) { try todo.setValue(value, for: key) }
      #expect(error?.code == .mismatchedType && error?.propertyPath == key)
    }
    #expect(todo.changedProperties == [])
  }

  @Test func `undeclared properties are read, set and saved by their keys`()
    throws
  {
    try database.put("t", #"{"text": "x", "colour": "red", "size": 3}"#)
    try context.refresh()
    let todo = try #require(try context.model(Todo.self, id: "t"))
    #expect(try todo.value(for: "colour") == "red" && todo.value(for: "nothing") == nil)
    try todo.setValue("blue", for: "colour")
    try todo.setValue(nil, for: "size")
    try todo.setValue([1, 2], for: "more")
    #expect(todo.changedProperties == ["colour", "more", "size"])
    #expect(try todo.value(for: "size") == nil)
    #expect(try todo.propertiesToSave() == ["text": "x", "colour": "blue", "more": [1, 2]])
    try todo.save()
    #expect(try database.json("t") == #"{"colour":"blue","more":[1,2],"text":"x"}"#)
    #expect(!todo.needsSave && todo.changedProperties == [])
    try todo.setValue("green", for: "colour")
    try todo.setValue("blue", for: "colour")
    #expect(!todo.needsSave && context.unsavedModels == [])
    try todo.setValue("green", for: "colour")
    todo.revert()
    #expect(try todo.value(for: "colour") == "blue")
  }

  @Test func `a new model is stored with undeclared properties that were set by key`() throws {
    let todo = Todo(in: context, id: "t")
    try todo.setValue(true, for: "extra")
    #expect(try todo.propertiesToSave()["extra"] == true)
    #expect(try todo.propertiesToSave()["priority"] == 3)
    try todo.save()
    #expect(
      try database.json("t") == #"{"done":false,"extra":true,"priority":3,"tags":[],"text":""}"#)
  }

  @Test func `changing an undeclared property on both sides is a conflict`() throws {
    try database.put("t", #"{"colour": "red"}"#)
    try context.refresh()
    let todo = try #require(try context.model(Todo.self, id: "t"))
    try todo.setValue("blue", for: "colour")
    try database.put("t", #"{"colour": "green"}"#)
    let error = #expect(throws: DatabaseError.self) { try todo.save() }
    #expect(error?.code == .conflict && error?.propertyPath == "colour")
    try context.refresh()
    #expect(try todo.value(for: "colour") == "blue")
    try todo.save()
    #expect(try database.json("t") == #"{"colour":"blue"}"#)
  }

  @Test func `setting a value that cannot be stored is refused immediately`() throws {
    let todo = Todo(in: context)
    for (key, value) in [("_id", "x"), ("ratio", .double(.infinity))] as [(String, Value)] {
      let error = #expect(throws: DatabaseError.self) { try todo.setValue(value, for: key) }
      #expect(error?.code == .invalidValue)
    }
  }

  @Test func `a class can make the IDs of its documents`() throws {
    let numbered = Numbered(in: context)
    #expect(numbered.id == "numbered:36")
    #expect(Numbered(in: context, id: "own").id == "own")
    try numbered.save()
    #expect(try database.json("numbered:36") == #"{"text":""}"#)
  }

  @Test func `a tombstone has the properties that the class provides`() throws {
    let buried = Buried(in: context, id: "b")
    buried.text = "gone"
    try buried.save()
    try buried.delete()
    #expect(buried.isDeleted && buried.text == "gone")
    let tombstone = try #require(try database.read { try $0.tombstone("b") })
    #expect(tombstone.properties == ["was": "gone"])
    #expect(try database.json("b") == nil)
    #expect(try context.model(Buried.self, id: "b") == nil)
  }
}
