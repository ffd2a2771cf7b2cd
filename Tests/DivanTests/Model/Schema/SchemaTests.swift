import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of opening a database with a schema, and of the document types that classes have by
/// default.
struct SchemaTests {
  class Item: Model {
    @Persisted(index: .value) var title: String
  }

  final class Book: Item {
    @Persisted var pages: Int
  }

  final class Shelf: Model {
    @Persisted var name: String
    @Persisted var books: [Book]
  }

  /// Was called `Book` in earlier versions, and `Volume` before that.
  final class Tome: Model {
    @Persisted(index: .value) var title: String
    override class var earlierDocumentTypes: [String] { ["Book", "Volume"] }
  }

  final class Untyped: Model {
    @Persisted var title: String
    override class var documentType: String? { nil }
  }

  struct Recipe: DocumentCodable {
    var title: String
  }

  struct OtherBook: DocumentCodable {
    static let documentType = "Book"
    var title: String
  }

  private let byName = DocumentIndex("names", on: "name")
  private let fileSystem = MemoryFileSystem()

  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    return configuration
  }

  // MARK: Document types

  @Test func `a class stores its name as its type, and its queries concern only its documents`()
    throws
  {
    let database = try Database.inMemory()
    let context = database.makeContext()
    for number in 0..<3 {
      let shelf = Shelf(in: context)
      shelf.name = "shelf \(number)"
      Item(in: context).title = "item \(number)"
    }
    try context.save()
    try database.put("raw", #"{"title": "of no class"}"#)
    #expect(try context.find(Query<Shelf>()).count == 3)
    try context.refresh()
    #expect(try context.count(Query<Item>()) == 3)
    #expect(try context.delete(Query<Item>()) == 3)
    #expect(try database.snapshot().count == 4)
    let stored = try database.snapshot().find(Query<Document>().filter { $0["type"] == "Shelf" })
    #expect(stored.count == 3)
  }

  @Test func `a class that returns nil as its type concerns all documents`() throws {
    let database = try Database.inMemory()
    let context = database.makeContext()
    Item(in: context).title = "a"
    Untyped(in: context).title = "b"
    try context.save()
    #expect(try database.makeContext().count(Query<Untyped>()) == 2)
    let types = try database.snapshot().find(Query<Document>()).map { $0["type"] }
    #expect(Set(types) == ["Item", nil])
  }

  @Test func `documents of a renamed class are found by the earlier types, and keep them`() throws {
    let database = try Database(
      at: "/a.divan", schema: Schema(Tome.self), configuration: configuration)
    try database.put("1", #"{"type": "Book", "title": "a"}"#)
    try database.put("2", #"{"type": "Volume", "title": "b"}"#)
    try database.put("3", #"{"type": "Item", "title": "c"}"#)
    let context = database.makeContext()
    let tome = Tome(in: context, id: "4")
    tome.title = "d"
    try tome.save()
    let found = try context.find(Query<Tome>().sorted(by: \.title))
    #expect(found.map(\.title) == ["a", "b", "d"])
    found[0].title = "A"
    try context.save()
    #expect(try database.json("1") == #"{"title":"A","type":"Book"}"#)
    #expect(try database.json("4") == #"{"title":"d","type":"Tome"}"#)
    #expect(try database.snapshot().count(by: "model:Tome.title") == 3)
    let plan = try database.snapshot().explain(Query<Tome>().filter { $0.title == "b" })
    #expect(plan.indexes == ["model:Tome.title"])
    #expect(try context.model(Item.self, id: "3") != nil)
  }

  @Test func `a subclass has none of its superclass's documents of earlier types`() throws {
    class Task: Model {
      @Persisted var title: String
      override class var earlierDocumentTypes: [String] { ["Todo"] }
    }
    final class UrgentTask: Task {}
    let database = try Database.inMemory(schema: Schema(Task.self, UrgentTask.self))
    try database.put("1", #"{"type": "Todo", "title": "a"}"#)
    try database.put("2", #"{"type": "UrgentTask", "title": "b"}"#)
    let context = database.makeContext()
    #expect(try context.find(Query<UrgentTask>()).map(\.title) == ["b"])
    #expect(try context.find(Query<Task>().sorted(by: \.title)).map(\.title) == ["a", "b"])
    #expect(try database.snapshot().count(Query<UrgentTask>()) == 1)
    #expect(try context.delete(Query<UrgentTask>()) == 1)
  }

  @Test func `queries of a class use its indexes in a context that does not know the class`() throws
  {
    for schema in [Schema(), Schema(Shelf.self)] {
      let database = try Database.inMemory(schema: schema)
      try database.addIndexes(for: Tome.self)
      try database.put("1", #"{"type": "Book", "title": "a"}"#)
      let context = database.makeContext()
      let plan = try context.explain(Query<Tome>().filter { $0.title == "a" })
      #expect(plan.indexes == ["model:Tome.title"])
      #expect(try context.count(Query<Tome>()) == 1)
    }
  }

  // MARK: Opening

  @Test func `opening with a schema migrates, builds indexes, and registers the classes`() throws {
    let path = "/new/folders/a.divan"
    let migrations = [
      Migration(id: "1") { _ = try $0.replace("m", with: ["type": "Book", "title": "by 1"]) }
    ]
    let schema = Schema(
      Item.self, Book.self, Shelf.self, documents: [Recipe.self], indexes: [byName],
      migrations: migrations)
    for _ in 0..<2 {
      let database = try Database(at: path, schema: schema, configuration: configuration)
      let names = try database.indexes().map(\.name)
      #expect(names == ["model:Book.title", "model:Item.title", "names"])
      let context = database.makeContext()
      let items = try context.find(Query<Item>())
      #expect(items.map(\.title) == ["by 1"] && items.first is Book)
      #expect(try database.snapshot().count == 1)
      try database.write { transaction in
        let found = try transaction.models.find(Query<Item>())
        #expect(found.first is Book)
      }
      try database.close()
    }
    let sequence = try Database(at: path, configuration: configuration).snapshot().sequence
    #expect(sequence == 1)
  }

  @Test func `opening for a schema writes nothing if there is nothing to do`() throws {
    let schema = Schema(
      Item.self, Shelf.self, indexes: [byName], migrations: [Migration(id: "1") { _ in }])
    let path = "/a.divan"
    try Database(at: path, schema: schema, configuration: configuration).close()
    let database = try Database(at: path, configuration: configuration)
    let commit = try database.statistics.commit
    try database.close()
    let again = try Database(at: path, schema: schema, configuration: configuration)
    #expect(try again.statistics.commit == commit)
  }

  @Test func `an index whose definition changed is built again when the database is opened`() throws
  {
    func open(_ index: DocumentIndex) throws -> Database {
      try Database(at: "/a.divan", schema: Schema(indexes: [index]), configuration: configuration)
    }
    var database = try open(DocumentIndex("names", on: "name"))
    try database.put("1", #"{"name": "a", "made": {"city": "b"}}"#)
    try database.put("2", #"{"name": "a", "made": {"city": "c"}}"#)
    try database.close()
    database = try open(DocumentIndex("names", on: "made.city"))
    #expect(try database.indexes() == [DocumentIndex("names", on: "made.city")])
    #expect(try database.snapshot().count(by: "names", .equal(to: "b")) == 1)
    try database.close()
    let error = #expect(throws: DatabaseError.self) {
      try open(DocumentIndex("names", on: "name", isUnique: true))
    }
    #expect(error?.code == .notUnique)
    // The index that was there is there again.
    database = try Database(at: "/a.divan", configuration: configuration)
    #expect(try database.snapshot().count(by: "names", .equal(to: "b")) == 1)
  }

  @Test func `a read-only database knows its schema and changes nothing`() throws {
    let path = "/a.divan"
    let database = try Database(at: path, configuration: configuration)
    try database.put("1", #"{"type": "Book", "title": "a"}"#)
    var reading = configuration
    reading.isReadOnly = true
    let schema = Schema(Item.self, Book.self, indexes: [byName])
    let reader = try Database(at: path, schema: schema, configuration: reading)
    #expect(try reader.indexes() == [])
    #expect(try reader.makeContext().find(Query<Item>()).first is Book)
  }

  @Test func `two kinds of documents with the same type are refused before anything is made`()
    throws
  {
    for schema in [Schema(Book.self, Tome.self), Schema(Book.self, documents: [OtherBook.self])] {
      let error = #expect(throws: DatabaseError.self) {
        try Database(at: "/a.divan", schema: schema, configuration: configuration)
      }
      #expect(error?.code == .invalidModelClass)
      #expect(error?.message.contains("both have the document type \"Book\"") == true)
    }
    #expect(try !fileSystem.exists("/a.divan"))
  }

  @Test func `a failed migration closes the store and keeps the migrations before it`() throws {
    struct Stop: Error {}
    var migrations = [
      Migration(id: "1") { _ = try $0.replace("m", with: ["n": 1]) },
      Migration(id: "2") { _ in throw Stop() },
    ]
    #expect(throws: Stop.self) {
      try Database(
        at: "/a.divan", schema: Schema(migrations: migrations), configuration: configuration)
    }
    migrations[1] = Migration(id: "2") { _ = try $0.replace("m", with: ["n": 2]) }
    let database = try Database(
      at: "/a.divan", schema: Schema(migrations: migrations), configuration: configuration)
    #expect(try database.snapshot().document("m")?["n"] == 2)
  }

  @Test func `a store is opened asynchronously with progress, and opening can be cancelled`()
    async throws
  {
    let filled = try Database(at: "/a.divan", configuration: configuration)
    try await filled.write { transaction in
      for number in 0..<5000 { _ = try transaction.replace("\(number)", with: ["name": "x"]) }
    }
    try await filled.close()
    let shares = Recorder<Double>()
    let schema = Schema(Item.self, indexes: [byName])
    await #expect(throws: CancellationError.self) {
      _ = try await Database.open(at: "/a.divan", schema: schema, configuration: configuration) {
        if $0 > 0.8 { throw CancellationError() }
      }
    }
    let database = try await Database.open(
      at: "/a.divan", schema: schema, configuration: configuration
    ) { shares.append($0) }
    #expect(shares.all.first == 0 && shares.all.last == 1 && shares.all == shares.all.sorted())
    #expect(try database.snapshot().count(by: "names") == 5000)
    try await database.close()
    let cancelled = Task { [configuration] in
      while !Task.isCancelled { await Task.yield() }
      _ = try await Database.open(at: "/b.divan", configuration: configuration)
    }
    cancelled.cancel()
    let error = await #expect(throws: DatabaseError.self) { try await cancelled.value }
    #expect(error?.code == .cancelled)
    #expect(try !fileSystem.exists("/b.divan"))
  }

  @Test func `a store is opened at a file URL, and no other`() throws {
    let directory = try TemporaryDirectory()
    let url = URL(filePath: directory.path).appending(path: "new folder/a b.divan")
    let database = try Database(url: url, schema: Schema(Item.self))
    #expect(database.path == directory.path + "/new folder/a b.divan")
    let error = #expect(throws: DatabaseError.self) {
      try Database(url: #require(URL(string: "https://example.com/a.divan")))
    }
    #expect(error?.code == .notAStore)
  }
}
