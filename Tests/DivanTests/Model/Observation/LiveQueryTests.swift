import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of live queries of a context, which return its models.
@MainActor
struct LiveQueryTests {
  private class Note: Model {
    @Persisted var text: String
    @Persisted var count: Int
    @Persisted var isOpen: Bool
    override class var documentType: String? { "note" }
  }

  private final class LongNote: Note {
    override class var documentType: String? { "long" }
  }

  private final class Plain: Model {
    @Persisted var text: String
    override class var isObservable: Bool { false }
  }

  private let database: Database
  private let open = Query<Note>().filter { $0.isOpen == true }.sorted(by: \.count)

  init() throws { database = try Database.inMemory() }

  @discardableResult
  private func note(_ context: ModelContext, _ id: String, _ count: Int) throws -> Note {
    let note = Note(in: context, id: id)
    note.count = count
    note.isOpen = true
    try note.save()
    return note
  }

  private func put(_ id: String, _ count: Int, type: String = "note") throws {
    try database.put(id, #"{"type": "\#(type)", "count": \#(count), "isOpen": true}"#)
  }

  /// Yields to other tasks until a condition holds, for ten seconds at most.
  private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("the condition did not hold within ten seconds")
  }

  /// Returns how often an observer of `reading` is notified during `work`.
  private func notificationCount(reading: @escaping () -> Void, by work: () throws -> Void) rethrows
    -> Int
  {
    let notifications = Recorder<Int>()
    withObservationTracking(reading) { notifications.append(1) }
    try work()
    return notifications.all.count
  }

  @Test func `without an actor a live query is updated by the context's saves and refreshes`()
    throws
  {
    let context = database.makeContext()
    let first = try note(context, "a", 1)
    let live = context.liveQuery(open)
    var changes: [ListDifference] = []
    live.onChange = { changes.append($0) }
    #expect(live.results.map(\.id) == ["a"] && live.results[0] === first && live.error == nil)
    let second = try note(context, "b", 0)
    #expect(live.results.map(\.id) == ["b", "a"] && live.results[0] === second)
    // Unsaved changes make no difference.
    second.count = 5
    first.isOpen = false
    #expect(live.results.map(\.id) == ["b", "a"] && changes.count == 1)
    try context.save()
    #expect(live.results.map(\.id) == ["b"] && changes.count == 2)
    #expect(changes[1].deletions == [1] && changes[1].updates.map(\.from) == [0])
    // External changes appear when the context is refreshed.
    try put("c", 1)
    #expect(live.results.count == 1)
    try context.refresh()
    #expect(live.results.map(\.id) == ["c", "b"] && changes[2].insertions == [0])
    try second.delete()
    #expect(live.results.map(\.id) == ["c"])
    #expect(try context.find(open) == live.results)
    try context.refresh()
    #expect(changes.count == 4)
  }

  @Test func `on an actor a live query updates itself, even after purges`() async throws {
    let context = database.makeFollowingContext(
      autosavingAfter: .milliseconds(5), isolation: MainActor.shared)
    let live = context.liveQuery(open)
    try put("a", 1)
    try await wait { live.results.map(\.id) == ["a"] }
    let note = Note(in: context, id: "b")
    note.isOpen = true
    try await wait { live.results.map(\.id) == ["b", "a"] }
    try await database.write { _ = try $0.purge("a") }
    try await wait { live.results.map(\.id) == ["b"] }
    try await database.close()
    #expect(live.results.count == 1 && live.error == nil)
    withExtendedLifetime(context) {}
  }

  private actor Keeper {
    private var context: ModelContext?
    private var live: LiveQuery<Note>?

    func start(_ database: Database, _ query: Query<Note>) {
      let context = database.makeFollowingContext(isolation: self)
      live = context.liveQuery(query)
      self.context = context
    }

    var ids: [String]? { live?.results.map(\.id) }
  }

  @Test func `a live query works on any actor`() async throws {
    let keeper = Keeper()
    await keeper.start(database, open)
    try put("a", 1)
    for _ in 0..<2000 where await keeper.ids != ["a"] {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(await keeper.ids == ["a"])
  }

  @Test func `observers of live results are notified exactly when these change`() throws {
    let context = database.makeContext()
    let a = try note(context, "a", 1)
    try note(context, "b", 2)
    let live = context.liveQuery(open)
    let read = { _ = live.results }
    #expect(try notificationCount(reading: read, by: { try note(context, "c", 3) }) == 1)
    // None of these changes affects which models are in the result, or their order.
    #expect(
      try notificationCount(reading: read) {
        a.text = "x"
        try a.save()
        try database.put("x", "{}")
        try context.refresh()
        let other = Note(in: context, id: "closed")
        try other.save()
      } == 0)
    #expect(notificationCount(reading: { _ = a.text }, by: { a.text = "y" }) == 1)
    a.count = 9
    #expect(try notificationCount(reading: read, by: { try a.save() }) == 1)
    #expect(live.results.map(\.id) == ["b", "c", "a"])
    #expect(
      try notificationCount(reading: { _ = live.error }, by: { try note(context, "d", 3) }) == 0)
  }

  @Test func `a live query notifies observers of changes to models that are not observable`() throws
  {
    let context = database.makeContext()
    let plain = Plain(in: context)
    try plain.save()
    let live = context.liveQuery(Query<Plain>())
    plain.text = "x"
    #expect(try notificationCount(reading: { _ = live.results }, by: { try plain.save() }) == 1)
    try context.refresh()
    #expect(live.results.count == 1 && live.results[0] === plain)
  }

  @Test func `a live query agrees with a new query after many changes at once`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let context = database.makeContext()
    let lives = [open, open.limit(5), open.offset(2).limit(7)].map { ($0, context.liveQuery($0)) }
    var shown = lives.map { _ in [String]() }
    for round in 0..<25 {
      try database.write { transaction in
        for _ in 0..<[1, 3, 30].randomElement(using: &random)! {
          let id = "n\(Int.random(in: 0..<40, using: &random))"
          let properties: Value.Object = [
            "type": "note", "count": .int(Int64.random(in: 0..<20, using: &random)),
            "isOpen": .bool(Int.random(in: 0..<4, using: &random) > 0),
          ]
          _ = try transaction.replace(id, with: properties)
        }
      }
      for (index, (_, live)) in lives.enumerated() {
        let old = shown[index]
        live.onChange = { change in
          let new = live.results.map(\.id)
          #expect(TableView.show(old, new, change) == new, "seed \(seed), round \(round)")
        }
      }
      try context.refresh()
      for (index, (query, live)) in lives.enumerated() {
        live.onChange = nil
        #expect(live.results == (try context.find(query)), "seed \(seed), round \(round)")
        shown[index] = live.results.map(\.id)
      }
    }
  }

  @Test func `a live query includes subclasses and documents that change their class`() throws {
    try put("a", 1)
    try put("b", 2, type: "long")
    let context = database.makeContext(try ModelRegistry(Note.self, LongNote.self))
    let live = context.liveQuery(open)
    #expect(live.results.map(\.id) == ["a", "b"] && live.results[1] is LongNote)
    try database.remove("a")
    try put("a", 3, type: "long")
    try context.refresh()
    #expect(live.results.map(\.id) == ["b", "a"] && live.results.allSatisfy { !$0.isDeleted })
    #expect(live.results == (try context.find(open)))
  }

  @Test func `a live query that cannot be answered reports its error`() throws {
    let context = database.makeContext()
    var query = open
    query.core.filter = .refused(DatabaseError(.invalidQuery, "no"))
    let live = context.liveQuery(query)
    #expect(live.results.isEmpty && (live.error as? DatabaseError)?.code == .invalidQuery)
    try database.write { transaction in
      let live = transaction.models.liveQuery(open)
      #expect((live.error as? DatabaseError)?.code == .inTransaction)
    }
  }

  @Test func `a change handler may save models and read the results again`() throws {
    let context = database.makeContext()
    let live = context.liveQuery(open)
    var counts: [Int] = []
    live.onChange = { _ in
      counts.append(live.results.count)
      if counts.count < 3 { _ = try? note(context, "n\(counts.count)", counts.count) }
    }
    try note(context, "a", 0)
    #expect(counts == [1, 2, 3] && live.results.map(\.id) == ["a", "n1", "n2"])
    live.onChange = nil
  }

  @Test func `saves within a change handler appear after it and are reported next`() throws {
    let context = database.makeContext()
    let live = context.liveQuery(open)
    var shown: [String] = []
    live.onChange = { change in
      if shown.isEmpty {
        _ = try? note(context, "b", 0)
        #expect(live.results.map(\.id) == ["a"])
      }
      let new = live.results.map(\.id)
      shown = TableView.show(shown, new, change)
      #expect(shown == new)
    }
    try note(context, "a", 1)
    #expect(shown == ["b", "a"] && live.results.map(\.id) == shown)
    live.onChange = nil
  }

  @Test func `changes are reported completely after an update that failed`() throws {
    func write(_ id: String, _ count: Int, text: String) throws {
      try database.put(
        id, #"{"type": "note", "count": \#(count), "isOpen": true, "text": \#(text)}"#)
    }
    try put("a", 1)
    try put("c", 2)
    let context = database.makeContext()
    context.isStrict = true
    let live = context.liveQuery(open)
    let models = live.results
    var changes: [ListDifference] = []
    live.onChange = { changes.append($0) }
    try write("a", 1, text: #""x""#)
    try write("b", 0, text: "[]")
    try context.refresh()
    #expect(live.error != nil && changes.isEmpty && live.results == models)
    try write("b", 0, text: #""y""#)
    try write("c", 2, text: #""z""#)
    try context.refresh()
    #expect(live.error == nil && live.results.map(\.id) == ["b", "a", "c"])
    #expect(changes.map(\.insertions) == [[0]] && changes.first?.updates.map(\.to) == [1, 2])
    // Changes that were already reported are not reported again.
    try write("a", 1, text: #""w""#)
    try context.refresh()
    #expect(changes.count == 2 && changes.last?.updates.map(\.to) == [1])
  }

  @Test func `a live query is retained by its owner only and does not retain its context`() throws {
    var context: ModelContext? = database.makeContext()
    weak let dropped = context
    var live = context?.liveQuery(open)
    weak let query = live
    try note(try #require(context), "a", 1)
    #expect(live?.results.count == 1)
    weak let model = live?.results.first
    #expect(model != nil && context?.core.liveQueries.count == 1)
    live = nil
    #expect(query == nil && model == nil && context?.core.liveQueries.isEmpty == true)
    live = context?.liveQuery(open)
    context = nil
    #expect(dropped == nil && live?.results.count == 1)
  }
}
