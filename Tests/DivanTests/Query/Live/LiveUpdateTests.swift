import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of live queries as asynchronous sequences of results.
@Suite(.timeLimit(.minutes(20)))
struct LiveUpdateTests {
  private let database: Database
  private let open = Query<Document>().filter { $0["done"] == false }.sorted(by: "n")

  init() throws { database = try Database.inMemory() }

  private func put(_ id: String, _ number: Int64, done: Bool = false) throws {
    try database.write { transaction in
      _ = try transaction.replace(id, with: ["n": .int(number), "done": .bool(done)])
    }
  }

  private func ids<Row>(_ result: LiveResult<Row>?) -> [String]? {
    result.map { result in result.indices.map { result.documentID(at: $0) } }
  }

  private static func last<Row>(_ updates: LiveUpdates<Row>) async throws -> Int {
    var count = 0
    for try await _ in updates { count += 1 }
    return count
  }

  @Test func `the first result comes immediately, later ones only when the result has changed`()
    async throws
  {
    try put("a", 1)
    try put("b", 2)
    var results = database.liveResults(of: open).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.isFirst && first.changes.insertions == [0, 1] && first.map(\.id) == ["a", "b"])
    // None of these changes concerns the query.
    try put("x", 0, done: true)
    try await database.write { try $0.putLocal("local", [:]) }
    try await database.write { _ = try $0.delete("x") }
    try put("c", 0)
    let second = try #require(try await results.next())
    #expect(!second.isFirst && ids(second) == ["c", "a", "b"] && second[0]["n"] == 0)
    #expect(second.changes.insertions == [0] && second.changes.updates.isEmpty)
    #expect(second.sequence == (try database.snapshot().sequence) && first.sequence == 2)
    // A new revision is a change, even with the same properties.
    try put("a", 1)
    let third = try #require(try await results.next())
    #expect(third.changes.updates.map(\.to) == [1] && third.changes.moves.isEmpty)
    // A retained result does not change.
    #expect(first.map(\.id) == ["a", "b"] && first.count == 2 && first.last?["n"] == 2)
  }

  @Test func `a result is printed in one line, with what has changed`() async throws {
    try put("a", 1)
    try put("b", 2)
    var results = database.liveResults(of: open).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.description == "2 elements at 2: 2 inserted, 0 deleted, 0 moved, 0 updated")
    try put("a", 3)
    let second = try #require(try await results.next())
    #expect(second.description == "2 elements at 3: 0 inserted, 0 deleted, 1 moved, 1 updated")
  }

  @Test func `changes that cancel each other out are not reported`() async throws {
    try put("a", 1)
    var results = database.liveResults(of: open).makeAsyncIterator()
    _ = try await results.next()
    try put("b", 2)
    try await database.write { _ = try $0.delete("b") }
    try put("x", 0, done: true)
    try put("c", 3)
    let next = try #require(try await results.next())
    #expect(
      ids(next) == ["a", "c"] && next.changes.insertions == [1] && next.changes.deletions == [])
  }

  @Test func `a slow reader gets one result for all missed changes`() async throws {
    try put("a", 1)
    var results = database.liveResults(of: open).makeAsyncIterator()
    let first = try #require(try await results.next())
    for number in 2..<100 { try put("n\(number)", Int64(number)) }
    try put("a", 200)
    let second = try #require(try await results.next())
    #expect(second.count == 99 && second.changes.insertions.count == 98)
    let (old, new) = (first.map { [$0] }, second.map { [$0] })
    #expect(TableView.show(old, new, second.changes) == new)
    let database = database
    let task = Task { try await Self.last(database.liveResults(of: Query<Document>().limit(0))) }
    while database.store.commits.changesAndPurges.waiterCount == 0 { await Task.yield() }
    // If there were another result, the task would not be waiting.
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test func `purged documents leave the result, and one stored again is an update`() async throws {
    for (number, id) in ["a", "b", "c", "d"].enumerated() { try put(id, Int64(number)) }
    var results = database.liveResults(of: open.limit(3)).makeAsyncIterator()
    #expect(ids(try await results.next()) == ["a", "b", "c"])
    try await database.write { _ = try $0.purge("b") }
    let second = try await results.next()
    #expect(ids(second) == ["a", "c", "d"] && second?.changes.deletions == [1])
    // A document that is purged and stored again counts as another one.
    try await database.write { transaction in
      try transaction.purge("a")
      try transaction.purge("c")
      try transaction.put(Document(id: "c", ["n": 9, "done": false]))
    }
    let third = try await results.next()
    #expect(ids(third) == ["d", "c"] && third?.changes.updates.map(\.to) == [1])
  }

  @Test func `results contain the winning revision of a conflict`() async throws {
    let base = try await database.write {
      try $0.put(Document(id: "a", ["n": 1, "done": false, "text": "base"]))
    }
    var results = database.liveResults(of: open).makeAsyncIterator()
    _ = try await results.next()
    for text in ["x", "y"] {
      var branch = base
      branch["text"] = .string(text)
      let stored = branch
      try await database.write { _ = try $0.put(stored, onConflict: .branch) }
    }
    let conflict = try #require(try await results.next())
    #expect(conflict.map(\.revision) == [try database.snapshot().document("a")?.revision])
    // A losing branch does not change the result.
    let loser = try #require(try database.snapshot().branches(of: "a").last?.revision)
    try await database.write { _ = try $0.purge("a", revision: loser) }
    try put("b", 2)
    let next = try #require(try await results.next())
    #expect(next.changes.insertions == [1] && next.changes.updates.isEmpty)
  }

  private struct Chore: DocumentCodable, Sendable, Equatable {
    var n: Int
    var done: Bool
    static let documentType = "chore"
  }

  @Test func `an undecodable value throws, and results continue once it can be decoded`()
    async throws
  {
    func put(_ id: String, _ n: Value) async throws {
      try await database.write {
        _ = try $0.replace(id, with: ["type": "chore", "n": n, "done": false])
      }
    }
    try await put("a", 1)
    // This document is not a chore, so it causes no error.
    try self.put("other", 5)
    let query = Query<Chore>().filter { $0.done == false }
    var results = database.liveResults(of: query).makeAsyncIterator()
    #expect(try await results.next().map { Array($0) } == [Chore(n: 1, done: false)])
    try await put("b", "none")
    await #expect {
      _ = try await results.next()
    } throws: {
      ($0 as? DatabaseError)?.code == .mismatchedType
    }
    try await put("b", 2)
    let next = try #require(try await results.next())
    #expect(next.map(\.n) == [1, 2] && next.changes.insertions == [1] && !next.isFirst)
  }

  private final class Note: Model {
    @Persisted var text: String
    override class var documentType: String? { "note" }
  }

  @Test func `a live query for models returns their IDs`() async throws {
    let context = database.makeContext()
    let note = Note(in: context, id: "a")
    note.text = "x"
    try await note.save()
    try put("other", 1)
    let query = Query<Note>().sorted(by: \.text)
    var results = database.liveResults(of: query).makeAsyncIterator()
    #expect(try await results.next().map { Array($0) } == [ModelID<Note>("a")])
    try await database.write { transaction in
      _ = try transaction.put(Document(id: "b", ["type": "note", "text": "a"]))
    }
    #expect(try await results.next().map { Array($0) } == ["b", "a"].map(ModelID<Note>.init))
  }

  @Test func `a live query with an invalid filter throws`() async throws {
    var query = Query<Document>()
    query.core.filter = .refused(DatabaseError(.invalidQuery, "no"))
    var results = database.liveResults(of: query).makeAsyncIterator()
    await #expect {
      _ = try await results.next()
    } throws: {
      ($0 as? DatabaseError)?.code == .invalidQuery
    }
  }

  @Test func `cancelling a task ends its wait for results`() async throws {
    let (database, query) = (database, open)
    let tasks = (0..<5).map { _ in Task { try await Self.last(database.liveResults(of: query)) } }
    while database.store.commits.changesAndPurges.waiterCount < 5 { await Task.yield() }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(try await task.value == 1) }
    #expect(database.store.commits.changesAndPurges.waiterCount == 0)
  }

  @Test func `a live query keeps its database open until its task is cancelled`()
    async throws
  {
    weak var store: Store?
    var tasks: [Task<Int, any Error>] = []
    let query = open
    do {
      let database = try Database.inMemory()
      store = database.store
      let updates = database.liveResults(of: query)
      tasks = (0..<2).map { _ in Task { try await Self.last(updates) } }
      while database.store.commits.changesAndPurges.waiterCount < 2 { await Task.yield() }
    }
    #expect(store != nil)
    for task in tasks {
      task.cancel()
      _ = try await task.value
    }
    tasks = []
    for _ in 0..<60_000 where store != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(store == nil)
  }

  @Test(arguments: 1...3)
  func `a live query misses no change while others write`(seed: UInt64) async throws {
    let (database, query) = (
      database, Query<Document>().filter { $0["n"] < 20 }.sorted(by: "n").limit(9)
    )
    let observer = Task {
      var shown: [Document] = []
      var count = 0
      for try await result in database.liveResults(of: query) {
        let new = Array(result)
        var list = shown
        result.changes.apply(to: &list, from: new)
        #expect(list == new, "seed \(seed)")
        #expect(TableView.show(shown, new, result.changes) == new, "seed \(seed)")
        #expect(!result.changes.isEmpty || result.isFirst)
        shown = new
        count += 1
        if new.first?.id == "end" { break }
      }
      return (shown, count)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          var random = SeededGenerator(seed: seed &* 10 &+ UInt64(writer))
          for _ in 0..<60 {
            let (id, number) = ("\(random.below(25))", Int64(random.below(30)))
            let kind = random.below(8)
            try await database.write(durability: .none) { transaction in
              switch kind {
              case 0: _ = try transaction.delete(id)
              case 1: _ = try transaction.purge(id)
              default: _ = try transaction.replace(id, with: ["n": .int(number)])
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try await database.write { _ = try $0.put(Document(id: "end", ["n": -1])) }
    let (shown, count) = try await observer.value
    #expect(shown == (try database.snapshot().find(query)) && count <= 182, "seed \(seed)")
  }
}
