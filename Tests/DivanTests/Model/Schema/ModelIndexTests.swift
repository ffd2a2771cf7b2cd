import Divan
import Foundation
import ProofKit
import Testing

/// Tests of indexes that model classes declare.
struct ModelIndexTests {
  class Task: Model {
    @Persisted var title: String
    @Persisted(key: "due_date", index: .value) var due: Date?
    @Persisted(index: .eachElement) var tags: [String]
    @Persisted(index: .value) var rank = 3
    @Persisted(index: .value) var list: Board?
    @Persisted var done = false
    override class var documentType: String? { "task" }
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Task.self, on: { $0.list }, { $0.due }, where: { $0.done == false })]
    }
  }

  final class Errand: Task {
    @Persisted(index: .unique) var number: Int?
    override class var documentType: String? { "errand" }
  }

  class Board: Model {
    @Persisted(index: .unique) var name: String
    override class var documentType: String? { "board" }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext(try ModelRegistry(Task.self, Errand.self, Board.self))
  }

  private func tasks(_ count: Int) throws {
    let boards = (0..<5).map { number in
      let board = Board(in: context, id: "board-\(number)")
      board.name = "Board \(number)"
      return board
    }
    for number in 0..<count {
      let task = Task(in: context, id: "t\(10_000 + number)")
      task.title = "Task \(number)"
      task.due = number % 3 == 0 ? nil : Date(timeIntervalSince1970: Double(number * 7 % 50) * 1000)
      task.tags = number % 4 == 0 ? ["home", "x\(number % 9)"] : []
      task.rank = number % 10
      task.list = boards[number % 5]
      task.done = number % 2 == 0
    }
    try context.save()
  }

  @Test func `declared indexes cover the documents of a class and are named for its type`()
    throws
  {
    try database.addIndexes(for: Task.self, Board.self)
    let indexes = try database.indexes()
    #expect(
      indexes.map(\.name) == [
        "model:board.name", "model:task.due_date", "model:task.list", "model:task.list+due_date",
        "model:task.rank", "model:task.tags",
      ])
    let isTask = IndexCondition.equal("type", "task")
    #expect(
      indexes[0]
        == DocumentIndex(
          "model:board.name", on: "name", isUnique: true, where: [.equal("type", "board")]))
    #expect(
      indexes[3]
        == DocumentIndex(
          "model:task.list+due_date", on: "list", "due_date",
          where: [isTask, .equal("done", false)]))
    #expect(indexes[5].eachElement && indexes[5].conditions == [isTask])
    // Adding them again costs nothing.
    try database.addIndexes(for: Task.self, Board.self)
    #expect(try database.indexes() == indexes)
  }

  @Test func `queries for a class use its declared indexes`() throws {
    try database.addIndexes(for: Task.self, Errand.self, Board.self)
    try tasks(120)
    let context = database.makeContext(try ModelRegistry(Task.self, Errand.self, Board.self))
    let board = try #require(try context.model(Board.self, id: "board-1"))
    let late = Query<Task>().filter { $0.list == board && $0.done == false && $0.due != nil }
      .sorted(by: \.due).limit(4)
    let explanation = try context.explain(late)
    #expect(explanation.indexes == ["model:task.list+due_date"], "\(explanation)")
    #expect(explanation.order == "as in the index" && explanation.documentsRead < 12)
    let dues = try context.find(late).map(\.due)
    #expect(dues.count == 4 && dues == dues.sorted { ($0 ?? .distantPast) < ($1 ?? .distantPast) })
    let home = Query<Task>().filter { $0.tags.contains("x3") }
    let tagged = try context.explain(home)
    #expect(tagged.indexes == ["model:task.tags"] && tagged.documentsRead == 0, "\(tagged)")
    #expect(try context.count(Query<Task>().filter { $0.rank == 7 }) == 12)
  }

  @Test func `a query for a class and its subclasses uses one common index`() throws {
    try database.addIndexes(for: Task.self, Errand.self)
    try tasks(100)
    let errand = Errand(in: context, id: "e")
    errand.rank = 7
    try errand.save()
    let found = try context.explain(Query<Task>().filter { $0.rank == 7 })
    #expect(found.indexes == ["model:task.rank"], "\(found)")
    #expect(found.results == 11 && found.documentsRead == 0)
  }

  @Test func `saving a duplicate of a unique value throws and leaves the models unsaved`() throws {
    let first = Board(in: context, id: "first")
    first.name = "Home"
    try context.save()
    #expect(try database.indexes().map(\.name) == ["model:board.name"])
    let (second, third) = (Board(in: context, id: "second"), Board(in: context, id: "third"))
    (second.name, third.name) = ("Home", "Work")
    let error = #expect(throws: DatabaseError.self) { try context.save() }
    #expect(error?.code == .notUnique)
    #expect(
      error?.message.contains("\"first\"") == true && error?.message.contains("\"second\"") == true)
    #expect(error?.message.contains("model:board.name") == true)
    #expect(context.unsavedModels == [second, third])
    #expect(try !database.snapshot().exists("third"))
    second.name = "Garden"
    try context.save()
    #expect(try database.snapshot().exists("second") && context.unsavedModels.isEmpty)
    // A document of another class may have the same value.
    try database.write { _ = try $0.put(Document(id: "x", ["type": "other", "name": "Home"])) }
  }

  @Test func `nil is never a duplicate, and two models can swap their unique values`() throws {
    try database.addIndexes(for: Errand.self)
    for number in 0..<3 { _ = Errand(in: context, id: "e\(number)") }
    try context.save()
    let (a, b) = (Errand(in: context), Errand(in: context))
    (a.number, b.number) = (1, 1)
    #expect(throws: DatabaseError.self) { try context.save() }
    b.number = 2
    try context.save()
    // Both numbers can change in one save.
    (a.number, b.number) = (2, 1)
    try context.save()
  }

  class Plain: Model {
    @Persisted(index: .value) var size: Int
    override class var documentType: String? { nil }
  }

  @Test func `the indexes of a class without a document type cover all documents`() throws {
    try database.addIndexes(for: Plain.self)
    #expect(try database.indexes() == [DocumentIndex("model:size", on: "size")])
  }

  class Early: Model {
    @Persisted(index: .value) var code: String
    override class var documentType: String? { "declared" }
  }

  class Late: Model {
    @Persisted(index: .unique) var code: String
    override class var documentType: String? { "declared" }
  }

  @Test func `an index whose declaration changed is rebuilt`() throws {
    try database.addIndexes(for: Early.self)
    #expect(try database.indexes().map(\.isUnique) == [false])
    try database.addIndexes(for: Late.self)
    #expect(try database.indexes().map(\.isUnique) == [true])
    // If both are passed at once, it is ambiguous which declaration is meant.
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndexes(for: Early.self, Late.self)
    }
    #expect(
      error?.code == .invalidModelClass && error?.message.contains("model:declared.code") == true)
  }

  class Owned: Model {
    @Persisted(index: .unique) var name: String
    override class var documentType: String? { nil }
  }

  class Labelled: Model {
    @Persisted(index: .value) var name: String
    override class var documentType: String? { nil }
  }

  @Test func `saving a class does not replace an index that another class declares`() throws {
    let unique = DocumentIndex("model:name", on: "name", isUnique: true)
    let first = database.makeContext()
    let owned = Owned(in: first, id: "a")
    owned.name = "A"
    try owned.save()
    #expect(try database.indexes() == [unique])
    let context = database.makeContext()
    let reported = errors(of: context)
    for name in ["B", "C"] {
      let labelled = Labelled(in: context, id: name)
      labelled.name = name
      try labelled.save()
    }
    #expect(reported.all == [.invalidModelClass])
    #expect(try database.indexes() == [unique])
    // An explicit call replaces the index.
    try database.addIndexes(for: Labelled.self)
    #expect(try database.indexes() == [DocumentIndex("model:name", on: "name")])
  }

  @Test func `duplicates prevent the build of a unique index, but models can be saved`() throws {
    try database.write { transaction in
      for id in ["a", "b"] {
        _ = try transaction.put(Document(id: id, ["type": "board", "name": "Home"]))
      }
    }
    let error = #expect(throws: DatabaseError.self) { try database.addIndexes(for: Board.self) }
    #expect(error?.code == .notUnique)
    var reported: [DatabaseError.Code] = []
    context.errorHandler = { if let error = $0 as? DatabaseError { reported.append(error.code) } }
    let board = Board(in: context, id: "c")
    board.name = "Garden"
    try context.save()
    board.name = "Work"
    try context.save()
    #expect(reported == [.notUnique])
  }

  /// Regression: found by reading; a context tried again after two kinds of errors only.
  @Test func `an index that could not be built while suspended is built by a later save`() throws {
    let reported = errors(of: context)
    let board = Board(in: context, id: "a")
    board.name = "Home"
    try database.suspend()
    for _ in 0..<2 { #expect(code { try context.save() } == .suspended) }
    #expect(reported.all == [.suspended])
    try database.resume()
    try context.save()
    #expect(try database.indexes().map(\.name) == ["model:board.name"])
    #expect(reported.all == [.suspended])
  }

  class Wrong: Model {
    @Persisted var title: String
    @Persisted var list: Board?
    @Persisted(index: .value) var rank: Int
    var shout: String { title.uppercased() }
    override class var documentType: String? { "wrong" }
  }

  final class OnComputed: Wrong {
    override class var indexes: [ModelIndex] { [ModelIndex(of: Wrong.self, on: { $0.shout })] }
  }
  final class OnReferred: Wrong {
    override class var indexes: [ModelIndex] { [ModelIndex(of: Wrong.self, on: { $0.list.name })] }
  }
  final class OnID: Wrong {
    override class var indexes: [ModelIndex] { [ModelIndex(of: Wrong.self, on: { $0.id })] }
  }
  final class WithPattern: Wrong {
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Wrong.self, on: { $0.title }, where: { $0.title.hasSuffix("x") })]
    }
  }
  final class Twice: Wrong {
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Wrong.self, on: { $0.title }, named: "rank")]
    }
  }

  @Test(arguments: [OnComputed.self, OnReferred.self, OnID.self, WithPattern.self, Twice.self])
  func `an invalid index declaration throws with its class and creates no index`(
    type: Wrong.Type
  ) throws {
    let error = #expect(throws: DatabaseError.self) { try database.addIndexes(for: type) }
    let isName = type == Twice.self
    #expect(error?.code == (isName ? .invalidModelClass : .invalidIndex))
    #expect(isName || error?.message.contains("\(type)") == true, "\(error?.message ?? "")")
    #expect(try database.indexes().isEmpty)
  }

  @Test func `building indexes reports progress and can be cancelled`() throws {
    try tasks(10)
    for index in try database.indexes() { try database.removeIndex(named: index.name) }
    var shares: [Double] = []
    try database.addIndexes(for: Task.self) { share in
      shares.append(share)
    }
    #expect(shares == shares.sorted() && shares.last == 1 && shares.count >= 5)
    try database.removeIndex(named: "model:task.rank")
    #expect(throws: CancellationError.self) {
      try database.addIndexes(for: Task.self) { _ in throw CancellationError() }
    }
    #expect(try !database.indexes().contains { $0.name == "model:task.rank" })
  }
}
