import Observation
import ProofKit
import Testing

@testable import Divan

/// Tests of what `@Live` does without SwiftUI: following a context, changing the query, errors.
@MainActor
struct LiveModelsTests {
  private class Note: Model {
    @Persisted var text: String
    @Persisted var count: Int
  }

  private let database: Database
  private let all = Query<Note>().sorted(by: \.count)

  init() throws { database = try Database.inMemory() }

  private func put(_ ids: String..., in database: Database? = nil, count: Int = 1) throws {
    try (database ?? self.database).write { transaction in
      for id in ids {
        _ = try transaction.replace(id, with: ["type": "Note", "count": .int(Int64(count))])
      }
    }
  }

  /// Yields to other tasks until a condition holds, for ten seconds at most.
  private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("the condition did not hold within ten seconds")
  }

  /// Updates the view, which declares a query, as SwiftUI does before it calls `body`.
  private func update(
    _ models: LiveModels<Note>, _ context: ModelContext?, _ query: Query<Note>? = nil,
    updating: @escaping (() -> Void) -> Void = { $0() }
  ) -> [String] {
    models.follow(context, showing: query ?? all, updating: updating)
    return models.results.map(\.id)
  }

  @Test func `a view shows the models of its context, and follows it`() async throws {
    try put("a")
    let models = LiveModels(all)
    #expect(models.results.isEmpty && models.error == nil)
    #expect(update(models, database.mainContext) == ["a"])
    try put("b", count: 0)
    try await wait { models.results.map(\.id) == ["b", "a"] }
    #expect(models.error == nil && !models.isLoading)
    try await database.close()
  }

  @Test func `a view that is updated without a change keeps its live query`() throws {
    try put("a")
    let context = database.makeContext()
    let models = LiveModels(all)
    #expect(update(models, context) == ["a"])
    let count = context.core.liveQueries.count
    let statistics = models.results.map(ObjectIdentifier.init)
    for _ in 0..<5 { #expect(update(models, context) == ["a"]) }
    #expect(context.core.liveQueries.count == count && count == 1)
    #expect(models.results.map(ObjectIdentifier.init) == statistics)
  }

  @Test func `another context in the environment is shown instead of the one before`() throws {
    let other = try Database.inMemory()
    try put("a")
    try put("x", "y", in: other)
    let models = LiveModels(all)
    let (first, second) = (database.makeContext(), other.makeContext())
    #expect(update(models, first) == ["a"])
    models.query = all.limit(1)
    #expect(update(models, second) == ["x"])
    #expect(first.core.liveQueries.allSatisfy { $0.query == nil })
    // A context that is no longer shown makes no difference.
    try put("b")
    try first.refresh()
    #expect(models.results.map(\.id) == ["x"])
    #expect(update(models, nil).isEmpty)
    #expect((models.error as? DatabaseError)?.code == .notInContext)
    #expect(update(models, first) == ["a"] && models.error == nil)
  }

  @Test func `a query that is set stays until the view declares another one`() throws {
    try put("a", "b")
    try put("c", count: 5)
    let context = database.makeContext()
    let models = LiveModels(all)
    #expect(update(models, context) == ["a", "b", "c"])
    models.query = all.filter { $0.count > 2 }
    #expect(models.results.map(\.id) == ["c"])
    #expect(update(models, context) == ["c"])
    // The same declaration, built again.
    #expect(update(models, context, Query<Note>().sorted(by: \.count)) == ["c"])
    #expect(update(models, context, all.filter { $0.count < 2 }) == ["a", "b"])
    #expect(models.query == all.filter { $0.count < 2 })
    #expect(context.core.liveQueries.filter { $0.query != nil }.count == 1)
  }

  @Test func `changes are made with the animation of the view, and updates of the view are not`()
    throws
  {
    try put("a")
    let context = database.makeContext()
    let models = LiveModels(all)
    var animated = 0
    func animate(_ change: () -> Void) {
      animated += 1
      change()
    }
    #expect(update(models, context, updating: animate) == ["a"] && animated == 0)
    try put("b")
    try context.refresh()
    #expect(models.results.count == 2 && animated == 1)
    // Nothing that the view shows changes.
    try database.write { _ = try $0.put(Document(id: "x", [:])) }
    try context.refresh()
    #expect(animated == 1)
    models.query = all.limit(1)
    #expect(models.results.count == 1 && animated == 2)
    #expect(update(models, context, all.limit(2), updating: animate).count == 2 && animated == 2)
    try put("0", count: 0)
    try context.refresh()
    #expect(models.results.map(\.id) == ["0", "a"] && animated == 3)
  }

  @Test func `observers are notified of results, the query and errors`() throws {
    let context = database.makeContext()
    let models = LiveModels(all)
    _ = update(models, context)
    func count(_ read: @escaping () -> Void, _ work: () throws -> Void) rethrows -> Int {
      let notifications = Recorder<Int>()
      withObservationTracking(read) { notifications.append(1) }
      try work()
      return notifications.all.count
    }
    try #expect(
      count({ _ = models.results }) {
        try put("a")
        try context.refresh()
      } == 1)
    #expect(count({ _ = models.query }) { models.query = all.limit(3) } == 1)
    #expect(count({ _ = models.query }) { models.query = all.limit(3) } == 0)
    let refused = all.filter { $0.text.like(String(repeating: "*a", count: 5000)) }
    #expect(count({ _ = models.error }) { models.query = refused } == 1)
    #expect((models.error as? DatabaseError)?.code == .invalidQuery)
    #expect(models.results.map(\.id) == ["a"])
    #expect(count({ _ = models.error }) { models.query = all } == 1)
    #expect(models.error == nil)
    #expect(count({ _ = models.results }) { _ = update(models, nil) } == 1)
  }

  @Test func `a query is executed in the background`() async throws {
    try put("a", "b")
    let context = database.mainContext
    let models = LiveModels(all, loadsInBackground: true)
    #expect(update(models, context).isEmpty && models.isLoading)
    try await wait { !models.isLoading }
    #expect(models.results.map(\.id) == ["a", "b"] && models.error == nil)
    let first = models.results[0]
    // The results stay until those of the next query are there.
    models.query = all.limit(1)
    #expect(models.results.count == 2 && models.isLoading)
    try put("0", count: 0)
    try await wait { !models.isLoading && models.results.map(\.id) == ["0"] }
    models.query = all
    try await wait { models.results.map(\.id) == ["0", "a", "b"] }
    #expect(models.results[1] === first)
    try await database.close()
  }

  @Test func `the last of several queries in the background is shown`() async throws {
    try put("a", "b", "c")
    let context = database.mainContext
    let models = LiveModels(all, loadsInBackground: true)
    _ = update(models, context)
    for limit in [3, 1, 2] { models.query = all.limit(limit) }
    try await wait { !models.isLoading }
    #expect(models.results.map(\.id) == ["a", "b"])
    // An invalid query is reported, and the results stay.
    models.query = all.filter { $0.text.like(String(repeating: "*a", count: 5000)) }
    try await wait { !models.isLoading }
    #expect((models.error as? DatabaseError)?.code == .invalidQuery)
    #expect(models.results.map(\.id) == ["a", "b"])
    models.query = all
    try await wait { models.results.count == 3 }
    #expect(models.error == nil)
    try await database.close()
  }

  @Test func `an invalid first query in the background is reported, and can be replaced`()
    async throws
  {
    try put("a")
    let context = database.mainContext
    let refused = all.filter { $0.text.like(String(repeating: "*a", count: 5000)) }
    let models = LiveModels(refused, loadsInBackground: true)
    #expect(update(models, context, refused).isEmpty)
    try await wait { models.error != nil && !models.isLoading }
    models.query = all
    try await wait { models.results.map(\.id) == ["a"] }
    #expect(models.error == nil)
    try await database.close()
  }

  @Test func `a view that is removed ends its live query and its work in the background`()
    async throws
  {
    try put("a")
    let context = database.mainContext
    var models: LiveModels? = LiveModels(all, loadsInBackground: true)
    weak let released = models
    models?.follow(context, showing: all) { $0() }
    models = nil
    try await wait { released == nil }
    try await Task.sleep(for: .milliseconds(20))
    #expect(context.core.liveQueries.allSatisfy { $0.query == nil })
    try await database.close()
  }

  @Test func `a closed database is an error of the view`() throws {
    try database.close()
    let models = LiveModels(all)
    #expect(update(models, database.mainContext).isEmpty)
    #expect((models.error as? DatabaseError)?.code == .closed)
    let inBackground = LiveModels(all, loadsInBackground: true)
    #expect(update(inBackground, database.mainContext).isEmpty && !inBackground.isLoading)
    #expect((inBackground.error as? DatabaseError)?.code == .closed)
  }

  @Test func `the context of a view without a database says what is missing`() throws {
    let context = ModelContext.missing()
    let error = #expect(throws: DatabaseError.self) { try context.find(all) }
    #expect(error?.code == .notInContext && error?.hint?.contains("divan(database)") == true)
    let note = Note(in: context)
    note.text = "lost"
    #expect(throws: DatabaseError.self) { try note.save() }
    #expect(context.liveQuery(all).error != nil)
  }
}
