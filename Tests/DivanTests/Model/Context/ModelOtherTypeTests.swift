import ProofKit
import Testing

@testable import Divan

private class Animal: Model {
  @Persisted var name: String
  override class var documentType: String? { nil }
}
private final class Cat: Animal {
  override class var documentType: String? { "cat" }
}
private final class Dog: Animal {
  override class var documentType: String? { "dog" }
}

/// Tests of documents that change to another class while models of the old class are in use.
///
/// Regression: the context's old model blocked the new one while it was referenced. Every fetch
/// that found the document failed as a whole, and a live query was never updated again.
struct ModelOtherTypeTests {
  private let database: Database

  init() throws {
    database = try Database.inMemory()
    try database.put("a", #"{"type": "cat", "name": "x"}"#)
    try database.put("b", #"{"type": "dog", "name": "y"}"#)
  }

  private func makeContext(_ isRegistered: Bool) throws -> ModelContext {
    isRegistered
      ? database.makeContext(try ModelRegistry(Cat.self, Dog.self)) : database.makeContext()
  }

  private func change() throws { try database.put("a", #"{"type": "dog", "name": "z"}"#) }

  @Test(arguments: [true, false])
  func `a model whose document changes class is deleted, and the new class gets its own`(
    isRegistered: Bool
  ) throws {
    let context = try makeContext(isRegistered)
    let cat = try #require(try context.model(Cat.self, id: "a"))
    try change()
    let update = try context.refresh()
    #expect(update.deleted.map(\.id) == ["a"] && update.changed.isEmpty)
    #expect(cat.isDeleted && !cat.needsSave && cat.name == "x")
    #expect(try context.find(Query<Dog>()).map(\.name) == ["z", "y"])
    #expect(try context.find(Query<Cat>()).isEmpty)
    #expect(try context.models(Dog.self).map(\.id) == ["a", "b"])
    let dog = try #require(try context.model(Dog.self, id: "a"))
    #expect(dog !== cat)
    dog.name = "again"
    try dog.save()
    #expect(try database.json("a") == #"{"name":"again","type":"dog"}"#)
  }

  @Test(arguments: [true, false])
  func `live queries of the old and the new class are both updated`(isRegistered: Bool) throws {
    let context = try makeContext(isRegistered)
    let (cats, dogs) = (context.liveQuery(Query<Cat>()), context.liveQuery(Query<Dog>()))
    let cat = try #require(cats.results.first)
    try change()
    try context.refresh()
    #expect(cats.results.isEmpty && dogs.results.map(\.name) == ["z", "y"])
    #expect(cats.error == nil && dogs.error == nil)
    try database.put("c", #"{"type": "dog", "name": "new"}"#)
    try context.refresh()
    #expect(dogs.results.map(\.name) == ["z", "y", "new"])
    try database.put("a", #"{"type": "cat", "name": "back"}"#)
    try context.refresh()
    #expect(cats.results.map(\.name) == ["back"] && dogs.results.map(\.name) == ["y", "new"])
    #expect(cats.results.first !== cat && cat.isDeleted)
  }

  @Test(arguments: [true, false])
  func `unsaved changes of the old model are reported and never saved`(isRegistered: Bool) throws {
    let context = try makeContext(isRegistered)
    let reported = errors(of: context)
    let cat = try #require(try context.model(Cat.self, id: "a"))
    cat.name = "mine"
    try change()
    // The context has not advanced yet.
    #expect(code { try cat.save() } == .conflict)
    try context.refresh()
    #expect(reported.all == [.modelClassMismatch] && cat.isDeleted)
    #expect(try context.find(Query<Dog>()).map(\.name) == ["z", "y"])
    #expect(context.unsavedModels.isEmpty)
    #expect(try database.json("a") == #"{"name":"z","type":"dog"}"#)
  }

  @Test func `a model of a class that its document never had is kept`() throws {
    let context = database.makeContext()
    let cat = try #require(try context.model(Cat.self, id: "b"))
    try database.put("b", #"{"type": "dog", "name": "other"}"#)
    try context.refresh()
    #expect(!cat.isDeleted && cat.name == "other")
  }

  @Test func `a document put with another type in a transaction becomes a model of that class`()
    throws
  {
    try database.write { transaction in
      let context = transaction.models
      let cat = try #require(try context.model(Cat.self, id: "a"))
      _ = try transaction.replace("a", with: ["type": "dog", "name": "z"])
      #expect(try context.find(Query<Dog>()).map(\.name) == ["z", "y"])
      #expect(cat.isDeleted)
    }
  }
}

extension ModelCursor {
  fileprivate func map<R>(_ body: (M) -> R) throws -> [R] {
    let cursor = self
    return try cursor.collect().map(body)
  }
}
