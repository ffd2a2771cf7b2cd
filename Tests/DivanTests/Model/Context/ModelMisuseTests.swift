import ProofKit
import Testing

@testable import Divan

/// Tests that incorrect use of models is reported and loses nothing.
///
/// Programs that the compiler refuses, and classes without metadata of their fields, are in
/// `ModelBoundaryTests`; damaged and closed databases in `ModelDamageTests`; finished
/// transactions in `ModelScopeTests`.
struct ModelMisuseTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    try database.put("t", #"{"text": "x"}"#)
    try database.put("l", #"{"title": "L", "first": "t"}"#)
    context = database.makeContext()
  }

  // MARK: Objects and documents

  @Test func `a second object for one document cannot be inserted or saved`() throws {
    let todo = try #require(try context.model(Todo.self, id: "t"))
    #expect(code { try context.insert(try todo.detachedCopy()) } == .alreadyExists)
    let second = Todo(in: context, id: "t")
    let third = try context.insert(Todo.self, document: Document(id: "t"))
    #expect(code { try second.save() } == .conflict && second.isNew)
    #expect(code { try third.save() } == .conflict && third.isNew)
    #expect(try context.model(Todo.self, id: "t") === todo)
    #expect(try database.json("t") == #"{"text":"x"}"#)
  }

  private final class Board: Model {
    @Persisted var todos: [Todo]
    override class var documentType: String? { nil }
  }

  /// Regression: found by reading; the copy became a second model of the document.
  @Test func `a reference to a copy is to the model that the context has of the document`() throws {
    let todo = try #require(try context.model(Todo.self, id: "t"))
    let (list, board) = (TodoList(in: context), Board(in: context))
    let copy = try todo.detachedCopy()
    list.first = copy
    board.todos.append(copy)
    #expect(list.first === todo && board.todos == [todo] && copy.context == nil)
    let (otherList, otherBoard) = (TodoList(), Board())
    otherList.first = copy
    otherBoard.todos = [copy]
    try context.insert(otherList)
    try context.insert(otherBoard)
    #expect(otherList.first === todo && otherBoard.todos == [todo] && copy.context == nil)
  }

  /// Regression: found by reading; they were lost without notice.
  @Test func `changes of a copy are reported if a reference to it is to another model`() throws {
    let reported = errors(of: context)
    let todo = try #require(try context.model(Todo.self, id: "t"))
    let copy = try todo.detachedCopy()
    let (list, other) = (TodoList(in: context), TodoList())
    list.first = copy
    #expect(reported.all.isEmpty)
    copy.text = "y"
    list.first = copy
    let count = reported.all.count
    #expect(count > 0)
    other.first = copy
    try context.insert(other)
    #expect(reported.all.count > count && Set(reported.all) == [.alreadyExists])
    #expect(list.first === todo && other.first === todo && todo.text == "x" && copy.text == "y")
  }

  /// Regression: found by reading; such a copy was never updated.
  @Test func `a copy that enters a context by a reference takes over external changes`() throws {
    let todo = try #require(try database.makeContext().model(Todo.self, id: "t"))
    let copies = [try todo.detachedCopy(), try todo.detachedCopy()]
    try database.put("t", #"{"text": "y"}"#)
    let contexts = [database.makeContext(), database.makeContext()]
    TodoList(in: contexts[0]).first = copies[0]
    let list = TodoList()
    list.first = copies[1]
    try contexts[1].insert(list)
    for (copy, context) in zip(copies, contexts) {
      #expect(copy.text == "y" && copy.context === context)
      #expect(try context.model(Todo.self, id: "t") === copy)
    }
  }

  @Test func `two new models with one ID conflict, and the first can be saved alone`() throws {
    let (first, second) = (Todo(in: context, id: "new"), Todo(in: context, id: "new"))
    #expect(code { try context.save() } == .conflict)
    #expect(first.isNew && second.isNew && (try? database.snapshot().exists("new")) == false)
    try first.save()
    #expect(try context.model(Todo.self, id: "new") === first)
    #expect(code { try second.save() } == .conflict)
  }

  @Test func `a document whose model has another class is refused and skipped by references`()
    throws
  {
    let reported = errors(of: context)
    let other = try #require(try context.model(Person.self, id: "t"))
    #expect(code { _ = try context.model(Todo.self, id: "t") } == .modelClassMismatch)
    let list = try #require(try context.model(TodoList.self, id: "l"))
    #expect(list.first == nil)
    list.title = "M"
    try list.save()
    #expect(try database.snapshot().document("l")?["first"] == "t" && !other.isDeleted)
    #expect(reported.all.isEmpty)
  }

  @Test func `a reference to a document of an unregistered type has the declared class`()
    throws
  {
    try database.put("u", #"{"type": "unheard-of", "text": "u"}"#)
    try database.put("l", #"{"first": "u"}"#)
    let context = database.makeContext(try ModelRegistry(Person.self))
    #expect(try context.model(TodoList.self, id: "l")?.first?.text == "u")
  }

  @Test func `a reference to a document of another registered class is nil and reported`()
    throws
  {
    try database.put("p", #"{"type": "person"}"#)
    try database.put("l", #"{"first": "p"}"#)
    let context = database.makeContext(try ModelRegistry(Person.self))
    let reported = errors(of: context)
    let list = try #require(try context.model(TodoList.self, id: "l"))
    #expect(list.first == nil && reported.all == [.modelClassMismatch])
  }

  private final class Nameless: Model {
    @Persisted var text: String
    override class func makeDocumentID() -> String? { "" }
    override class var documentType: String? { nil }
  }

  @Test func `the database makes the ID if a class returns an empty one`() throws {
    let model = Nameless(in: context)
    try model.save()
    #expect(try !model.id.isEmpty && database.snapshot().exists(model.id))
    model.text = "x"
    try model.save()
    #expect(try database.snapshot().document(model.id)?["text"] == "x")
  }

  @Test func `a model created from a document has its registered class or is refused`()
    throws
  {
    let context = database.makeContext(try ModelRegistry(Person.self))
    let document = Document(id: "p", ["type": "person"])
    #expect(code { _ = try context.insert(Todo.self, document: document) } == .modelClassMismatch)
    #expect(try context.insert(Model.self, document: document) is Person)
    #expect(context.unsavedModels.map(\.id) == ["p"])
  }

  // MARK: Contexts

  private final class Link: Model {
    @Persisted var next: Link?
    override class var documentType: String? { nil }
  }

  @Test func `inserting a model inserts the long chain of models that it refers to`() throws {
    var first: Link?
    for _ in 0..<5000 {
      let link = Link()
      link.next = first
      first = link
    }
    try context.insert(try #require(first))
    first = nil
    #expect(context.unsavedModels.count == 5000)
    #expect(context.unsavedModels.allSatisfy { $0.context === context })
  }

  @Test func `a model without a context cannot be saved or deleted and stays unchanged`() throws {
    let todo = Todo()
    todo.text = "y"
    #expect(code { try todo.save() } == .notInContext)
    #expect(code { try todo.delete() } == .notInContext)
    #expect(code { try context.saveModels([todo]) } == .notInContext)
    #expect(todo.isNew && todo.text == "y")
  }

  @Test func `a model of another context is not saved, and a reference to it uses its ID`()
    throws
  {
    let other = database.makeContext()
    let todo = try #require(try other.model(Todo.self, id: "t"))
    todo.text = "y"
    #expect(code { try context.saveModels([todo]) } == .notInContext)
    #expect(code { try context.insert(todo) } == .notInContext)
    let list = TodoList(in: context)
    list.first = todo
    #expect(list.first !== todo && list.first?.id == "t" && list.first?.text == "x")
    // Regression: found by reading; a list contained the other context's model.
    let board = Board(in: context)
    board.todos = [todo]
    board.todos.append(todo)
    let own = try #require(list.first)
    #expect(board.todos == [own, own])
    #expect(todo.needsSave && todo.context === other)
  }

  @Test func `a model whose context was released can still be read, saved and deleted`() throws {
    var context: ModelContext? = database.makeContext()
    let list = try #require(try context?.model(TodoList.self, id: "l"))
    context = nil
    #expect(list.context == nil && list.title == "L" && list.first?.text == "x")
    list.title = "M"
    try list.save()
    #expect(try database.snapshot().document("l")?["title"] == "M")
    try list.delete()
    #expect(try !database.snapshot().exists("l"))
  }

  @Test func `saving a model within an open transaction throws`() throws {
    let todo = try #require(try context.model(Todo.self, id: "t"))
    todo.text = "y"
    try database.write { _ in
      #expect(code { try todo.save() } == .nestedWrite)
    }
    #expect(todo.changedProperties == ["text"])
    try todo.save()
  }

  // MARK: Deleted models

  @Test func `a changed model that was deleted cannot be saved but can be deleted again`() throws {
    let todo = try #require(try context.model(Todo.self, id: "t"))
    try todo.delete()
    todo.text = "y"
    #expect(code { try todo.save() } == .notFound)
    try todo.delete()
    #expect(todo.text == "y" && todo.isDeleted && !todo.needsSave)
    #expect(try !database.snapshot().exists("t"))
  }

  private final class SelfDeleting: Model {
    @Persisted var text: String
    override func willSave(_ changedProperties: [String]) { try? delete() }
    override class var documentType: String? { nil }
  }

  @Test func `a model that deletes itself in willSave is not saved`() throws {
    let model = try #require(try context.model(SelfDeleting.self, id: "t"))
    model.text = "y"
    try context.save()
    #expect(model.isDeleted && (try? database.snapshot().exists("t")) == false)
  }
}
