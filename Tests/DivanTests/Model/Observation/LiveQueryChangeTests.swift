import DivanTesting
import Observation
import ProofKit
import Testing

@testable import Divan

/// Tests of live queries whose query is set.
@MainActor
struct LiveQueryChangeTests {
  private class Note: Model {
    @Persisted var text: String
    @Persisted var count: Int
  }

  private let database: Database
  private let context: ModelContext
  private let all = Query<Note>().sorted(by: \.count)

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for (number, id) in ["a", "b", "c", "d"].enumerated() {
        _ = try transaction.replace(id, with: ["type": "Note", "count": .int(Int64(number))])
      }
    }
    context = database.makeContext()
  }

  @Test func `another query shows its results at once, and reports the differences`() throws {
    let live = context.liveQuery(all.limit(2))
    var changes: [ListDifference] = []
    live.onChange = { changes.append($0) }
    let b = live.results[1]
    live.query = all.offset(1)
    #expect(live.results.map(\.id) == ["b", "c", "d"] && live.results[0] === b)
    #expect(changes.count == 1 && changes[0].deletions == [0] && changes[0].insertions == [1, 2])
    // An equal query changes nothing.
    live.query = Query<Note>().sorted(by: \.count).offset(1)
    #expect(changes.count == 1)
    // From here on the new query follows the context.
    try database.write { _ = try $0.delete("c") }
    try context.refresh()
    #expect(live.results.map(\.id) == ["b", "d"] && changes[1].deletions == [1])
    live.query = Query<Note>().sorted(by: \.count, .descending)
    #expect(live.results.map(\.id) == ["d", "b", "a"])
    #expect(try live.results == context.find(live.query))
  }

  @Test func `a query that fails leaves the results, until another one is set`() throws {
    let live = context.liveQuery(all.limit(1))
    let notifications = Recorder<Int>()
    withObservationTracking {
      _ = (live.query, live.error != nil)
    } onChange: {
      notifications.append(1)
    }
    live.query = all.filter { $0.text.like(String(repeating: "*a", count: 5000)) }
    #expect(notifications.all.count == 1)
    #expect((live.error as? DatabaseError)?.code == .invalidQuery)
    #expect(live.results.map(\.id) == ["a"])
    try database.write { _ = try $0.put(Document([:])) }
    try context.refresh()
    #expect(live.error != nil && live.results.map(\.id) == ["a"])
    live.query = all.limit(2)
    #expect(live.error == nil && live.results.map(\.id) == ["a", "b"])
  }

  @Test func `a query that is set while observers are notified is shown after that`() throws {
    let live = context.liveQuery(all.limit(1))
    var counts: [Int] = []
    live.onChange = { _ in
      counts.append(live.results.count)
      if live.results.count == 3 { live.query = all.limit(2) }
    }
    live.query = all.limit(3)
    #expect(live.results.map(\.id) == ["a", "b"] && counts == [3, 2])
    // The same within a notification of an observer, before `onChange` is called.
    live.onChange = nil
    live.updating = { change in
      change()
      if live.results.count == 4 { live.query = all.offset(3) }
    }
    live.query = all
    #expect(live.results.map(\.id) == ["d"])
    live.updating = { $0() }
    try database.write { _ = try $0.delete("a") }
    try context.refresh()
    #expect(live.results.isEmpty && live.error == nil)
  }

  @Test func `random queries, one after another, show what the context finds`() throws {
    var generator = SeededGenerator(seed: 11)
    let live = context.liveQuery(all)
    for step in 0..<200 {
      let limit = Int(generator.next() % 5)
      let bound = Int(generator.next() % 5)
      live.query = all.filter { $0.count >= bound }.offset(Int(generator.next() % 2)).limit(limit)
      let id = "n\(generator.next() % 8)"
      try database.write { transaction in
        _ = try transaction.replace(
          id, with: ["type": "Note", "count": .int(Int64(generator.next() % 6))])
      }
      if step % 2 == 0 { try context.refresh() }
      #expect(try live.results == context.find(live.query), "seed 11, step \(step)")
    }
  }
}
