import Divan
import Foundation
import Observation
import ProofKit
import TestSupport
import Testing

/// Tests of what a review of the API called traps: code that looked right and did something else.
///
/// Each test has the number of its trap, F1 to F14.
struct TrapTests {
  private final class Todo: Model {
    @Persisted var text = ""
    @Persisted var isDone = false
  }

  private final class Person: Model {
    @Persisted var name = ""
  }

  private final class Page: Model {
    @Persisted var text = ""
    override class var documentType: String? { nil }
  }

  private struct Book: DocumentCodable {
    @DocumentID var id: String?
    var title: String
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test func `F1: a query of a class never means documents of another class`() throws {
    let todo = Todo(in: context, id: "todo")
    _ = Person(in: context, id: "person")
    try context.save()
    #expect(try context.find(Query<Todo>()) == [todo])
    #expect(try context.count(Query<Todo>()) == 1)
    #expect(try context.update(Query<Todo>()) { $0.isDone = true } == 1)
    #expect(try context.delete(Query<Todo>()) == 1)
    #expect(try database.read { try $0.exists("person") })
  }

  @Test func `F1: a class without a type deletes by a query only if that is asked for`()
    async throws
  {
    _ = Person(in: context, id: "person")
    try await context.save()
    #expect(code { try context.delete(Query<Page>()) } == .invalidModelClass)
    await #expect(throws: DatabaseError.self) { try await context.delete(Query<Page>()) }
    #expect(code { try context.delete(Query<Model>()) } == .invalidModelClass)
    #expect(try database.snapshot().exists("person"))
    #expect(try await context.delete(Query<Page>(), includingOtherClasses: true) == 1)
    #expect(try database.snapshot().count == 0)
  }

  @Test func `F2: a query of a Codable type means only documents of its type`() throws {
    try database.write { transaction in
      try transaction.put(Book(title: "Momo"))
      try transaction.put(Document(id: "other", ["title": "Not a book", "type": "Film"]))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.find(Query<Book>()).map(\.title) == ["Momo"])
    #expect(try snapshot.count(Query<Book>()) == 1)
    #expect(try database.write { try $0.delete(Query<Book>()) } == 1)
    #expect(try database.read { try $0.exists("other") })
  }

  @MainActor
  @Test func `F3: a context saves by itself only if that is asked for`() async throws {
    let following = database.makeFollowingContext()
    let saving = database.makeFollowingContext(autosavingAfter: .milliseconds(1))
    _ = Todo(in: following, id: "kept in memory")
    _ = Todo(in: saving, id: "saved")
    while try !database.snapshot().exists("saved") { try await Task.sleep(for: .milliseconds(1)) }
    #expect(try !database.snapshot().exists("kept in memory"))
    #expect(following.unsavedModels.count == 1)
  }

  @Test func `F4: an index is on a path or on several properties, by how it is written`() throws {
    try database.write { transaction in
      try transaction.put(Document(id: "nested", ["a": ["b": 1]]))
      try transaction.put(Document(id: "flat", ["a": 1, "b": 2]))
    }
    try database.addIndex(DocumentIndex("path", on: "a.b"))
    try database.addIndex(DocumentIndex("both", on: "a", "b"))
    let snapshot = try database.snapshot()
    #expect(try snapshot.documents(by: "path", 1...1).collect().map(\.id) == ["nested"])
    let both = Query<Document>().filter { $0["a"] == 1 && $0["b"] == 2 }
    #expect(try snapshot.find(both).map(\.id) == ["flat"])
    #expect(try snapshot.explain(both).description.contains("both"))
  }

  @Test func `F5: a model is observable without being told so`() {
    let todo = Todo()
    let changes = Recorder<String>()
    withObservationTracking {
      _ = todo.text
    } onChange: {
      changes.append("text")
    }
    todo.text = "Buy milk"
    #expect(changes.all == ["text"])
  }

  @Test func `F6: a context saves without blocking, and with a durability of its own`() async throws
  {
    context.durability = .relaxed(maxDelay: .seconds(60))
    _ = Todo(in: context, id: "todo")
    try await context.save()
    #expect(try await database.read { try $0.exists("todo") })
  }

  /// Chosen: giving up a context is how changes are discarded, so it reports nothing.
  ///
  /// Nothing else tells an abandoned form from a mistake. The comment on `ModelContext` says so.
  @Test func `F7: unsaved models end with their context`() throws {
    weak let todo: Todo?
    do {
      let context = database.makeContext()
      let made = Todo(in: context, id: "todo")
      todo = made
      #expect(todo != nil && context.unsavedModels.count == 1)
    }
    #expect(todo == nil)
    #expect(try !database.read { try $0.exists("todo") })
  }

  @Test func `F8: like has wildcards, and equals compares the whole text`() throws {
    for text in ["Milk", "milkshake"] { Todo(in: context, id: text).text = text }
    try context.save()
    func ids(_ query: Query<Todo>) throws -> [String] { try context.find(query).map(\.id).sorted() }
    #expect(
      try ids(Query<Todo>().filter { $0.text.like("milk*", ignoring: .letterCase) }) == [
        "Milk", "milkshake",
      ])
    #expect(
      try ids(Query<Todo>().filter { $0.text.like("milk", ignoring: .letterCase) }) == ["Milk"])
    #expect(
      try ids(Query<Todo>().filter { $0.text.equals("milk", ignoring: .letterCase) }) == ["Milk"])
    #expect(try ids(Query<Todo>().filter { $0.text.equals("milk*", ignoring: .letterCase) }) == [])
  }

  @Test func `F9: a Boolean property is a filter`() throws {
    Todo(in: context, id: "done").isDone = true
    Todo(in: context, id: "open").text = "milk"
    try context.save()
    #expect(try context.find(Query<Todo>().filter { $0.isDone }).map(\.id) == ["done"])
    #expect(try context.find(Query<Todo>().filter { !$0.isDone }).map(\.id) == ["open"])
    #expect(try context.count(Query<Todo>().filter { $0.isDone && $0.text == "milk" }) == 0)
  }

  @Test func `F10: a document without a conflict has one branch and no conflict`() throws {
    let document = try database.write { try $0.put(Document(id: "a", ["n": 1])) }
    let snapshot = try database.snapshot()
    #expect(try snapshot.branches(of: "a").map(\.revision) == [document.revision])
    #expect(try !snapshot.hasConflict("a"))
  }

  @Test func `F11: overwriting keeps attachments, and replacing removes them`() throws {
    var document = Document(id: "a", ["n": 1])
    document.attachments["photo"] = Document.Attachment(contentType: "image/png", [1, 2, 3])
    try database.write { transaction in
      try transaction.put(document)
      try transaction.put(Document(id: "a", ["n": 2]), onConflict: .overwrite)
    }
    #expect(try database.read { try $0.document("a")?.attachments["photo"]?.length } == 3)
    _ = try database.write { try $0.replace("a", with: ["n": 3]) }
    #expect(try database.read { try $0.document("a")?.attachments.isEmpty } == true)
  }

  @Test func `F12: progress only reports, and throwing from it or cancelling the task stops`()
    async throws
  {
    struct Stop: Error {}
    let database = self.database
    try await database.write { transaction in
      for number in 0..<500 { _ = try transaction.replace("\(number)", with: ["n": 1]) }
    }
    let shares = Recorder<Double>()
    #expect(try await database.check { shares.append($0) }.isSound)
    #expect(shares.all.contains(1))
    await #expect(throws: Stop.self) { try await database.check { _ in throw Stop() } }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.check { _ in }
    }
    task.cancel()
    let result = await task.result
    #expect(code { _ = try result.get() } == .cancelled)
  }

  @Test func `F13: a text in a string is without quotes`() {
    let document = Document(id: "a", ["title": "Metropolis"])
    #expect("\(document["title"] ?? "none")" == "Metropolis")
    #expect(document["title"]?.json == "\"Metropolis\"")
  }

  /// Chosen: the types are not nested, and the module's name tells them apart.
  @Test func `F14: the module's name tells a type from others of the same name`() throws {
    enum Database {}
    #expect(Divan.Database.self != Database.self)
    let opened: Divan.Database = database
    #expect(try opened.snapshot().count == 0)
  }
}
