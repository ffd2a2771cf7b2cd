import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of live views as asynchronous sequences of results.
@Suite(.timeLimit(.minutes(20)))
struct LiveViewTests {
  private let database: Database
  private let byYear = MapReduceView("by year", version: "1", reduction: .count) { film, emit in
    emit(film["year"], film["title"])
  }

  init() throws { database = try Database.inMemory() }

  private func put(_ id: String, _ year: Value?, _ title: Value = "x") throws {
    try database.write { transaction in
      var film: Value.Object = ["title": title]
      film["year"] = year
      _ = try transaction.replace(id, with: film)
    }
  }

  private func show(_ rows: ViewRows?) -> [String]? {
    rows?.map { "\($0.sourceID ?? "-") \($0.key.json) \($0.value.json)" }
  }

  private static func last(_ updates: LiveView) async throws -> Int {
    var count = 0
    for try await _ in updates { count += 1 }
    return count
  }

  @Test func `the first rows come immediately, later ones only when the rows have changed`()
    async throws
  {
    try put("a", 1927)
    try put("b", 1931)
    let twenties = ViewQuery.keys(in: 1920..<1930).unreduced()
    var results = database.liveResults(of: byYear, twenties).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(show(first) == [#"a 1927 "x""#])
    // None of these changes concerns the query.
    try put("b", 1932)
    try put("c", nil)
    try await database.write { try $0.putLocal("local", [:]) }
    // A new revision with the same row does not either.
    try put("a", 1927)
    try put("d", 1922, "y")
    let second = try #require(try await results.next())
    #expect(show(second) == [#"d 1922 "y""#, #"a 1927 "x""#])
    #expect(second.snapshot.sequence == (try database.snapshot().sequence))
    // A changed value, a changed key, and a row that is removed.
    try put("a", 1927, "z")
    #expect(show(try await results.next()) == [#"d 1922 "y""#, #"a 1927 "z""#])
    try put("a", 1921, "z")
    #expect(show(try await results.next()) == [#"a 1921 "z""#, #"d 1922 "y""#])
    try await database.write { _ = try $0.delete("d") }
    #expect(show(try await results.next()) == [#"a 1921 "z""#])
    // A retained result does not change.
    #expect(show(first) == [#"a 1927 "x""#])
    #expect(try first.documents().first??["title"] == "x")
  }

  @Test func `a key that changes from an integer to an equal double is reported`() async throws {
    try put("a", 1927)
    var results = database.liveResults(of: byYear, .all.unreduced()).makeAsyncIterator()
    #expect(show(try await results.next()) == [#"a 1927 "x""#])
    try put("a", 1927.0)
    #expect(show(try await results.next()) == [#"a 1927.0 "x""#])
  }

  @Test func `rows that change and change back are not reported`()
    async throws
  {
    try put("a", 1927)
    var results = database.liveResults(of: byYear, .all.unreduced()).makeAsyncIterator()
    _ = try await results.next()
    try put("b", 1931)
    try await database.write { _ = try $0.delete("b") }
    let view = byYear
    let database = database
    let task = Task { () -> [String] in
      var results = database.liveResults(of: view, .all.unreduced()).makeAsyncIterator()
      _ = try await results.next()
      return try await results.next()?.map(\.key.json) ?? []
    }
    while database.store.commits.changesAndPurges.waiterCount == 0 { await Task.yield() }
    try put("a", 1927)
    try put("x", nil)
    try put("c", 1933)
    #expect(try await task.value == ["1927", "1933"])
    #expect(show(try await results.next()) == [#"a 1927 "x""#, #"c 1933 "x""#])
  }

  @Test func `live reductions are updated with and without groups`() async throws {
    var count = database.liveResults(of: byYear).makeAsyncIterator()
    var perYear = database.liveResults(of: byYear, .all.grouped()).makeAsyncIterator()
    #expect(try await count.next()?.value == nil)
    #expect(show(try await perYear.next()) == [])
    try put("a", 1927)
    try put("b", 1927)
    #expect(try await count.next()?.value == 2)
    #expect(show(try await perYear.next()) == ["- 1927 2"])
    // Another title with the same count, then another year.
    try put("b", 1927, "y")
    try put("b", 1931)
    #expect(show(try await perYear.next()) == ["- 1927 1", "- 1931 1"])
    try put("c", 1931)
    #expect(try await count.next()?.value == 3)
  }

  @Test func `live views support limits, descending order and lists of keys`() async throws {
    for year in 1920..<1930 { try put("f\(year)", .int(Int64(year))) }
    let last = ViewQuery.all.unreduced().reversed().limit(2)
    var results = database.liveResults(of: byYear, last).makeAsyncIterator()
    #expect(try await results.next()?.map(\.key) == [1929, 1928])
    try put("f1920", 1950)
    #expect(try await results.next()?.map(\.key) == [1950, 1929])
    var listed = database.liveResults(of: byYear, .keys([1950, 1921]).unreduced())
      .makeAsyncIterator()
    #expect(try await listed.next()?.map(\.sourceID) == ["f1920", "f1921"])
    try await database.write { _ = try $0.delete("f1920") }
    #expect(try await listed.next()?.map(\.sourceID) == ["f1921"])
  }

  @Test func `a slow reader gets one result for all missed changes`() async throws {
    try put("a", 1)
    var results = database.liveResults(of: byYear, .all.unreduced()).makeAsyncIterator()
    let first = try #require(try await results.next())
    for number in 2..<100 { try put("n\(number)", .int(Int64(number))) }
    let second = try #require(try await results.next())
    #expect(second.count == 99)
    let changes = ListDifference(
      from: Array(first), to: Array(second), id: { $0.sourceID }, isEqual: ==)
    #expect(changes.insertions.count == 98 && changes.deletions.isEmpty)
    let (database, view) = (database, byYear)
    let task = Task { try await Self.last(database.liveResults(of: view)) }
    while database.store.commits.changesAndPurges.waiterCount == 0 { await Task.yield() }
    // If there were another result, the task would not be waiting.
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test func `purging a document removes its rows from a live view`() async throws {
    for (id, year) in [("a", 1), ("b", 2), ("c", 3)] { try put(id, .int(Int64(year))) }
    var results = database.liveResults(of: byYear, .all.unreduced()).makeAsyncIterator()
    #expect(try await results.next()?.count == 3)
    try await database.write { _ = try $0.purge("b") }
    #expect(try await results.next()?.map(\.sourceID) == ["a", "c"])
  }

  @Test func `rows come from the winning revision of a conflict`() async throws {
    try put("a", 1, "base")
    let base = try #require(try database.snapshot().document("a"))
    var results = database.liveResults(of: byYear, .all.unreduced()).makeAsyncIterator()
    _ = try await results.next()
    for text in ["x", "y"] {
      var branch = base
      branch["title"] = .string(text)
      let stored = branch
      try await database.write { _ = try $0.put(stored, onConflict: .branch) }
    }
    let winner = try #require(try database.snapshot().document("a")?["title"])
    #expect(try await results.next()?.map(\.value) == [winner])
  }

  @Test func `a failing map function throws, and rows continue once it succeeds`() async throws {
    struct Stop: Error {}
    let view = MapReduceView("strict", version: "1") { document, emit in
      if document["title"] == "bad" { throw Stop() }
      emit(document["year"])
    }
    try put("a", 1)
    var results = database.liveResults(of: view).makeAsyncIterator()
    #expect(try await results.next()?.count == 1)
    try put("b", 2, "bad")
    await #expect {
      _ = try await results.next()
    } throws: {
      ($0 as? DatabaseError)?.code == .viewFailed && ($0 as? DatabaseError)?.documentID == "b"
    }
    try put("b", 2)
    #expect(try await results.next()?.map(\.sourceID) == ["a", "b"])
  }

  @Test func `grouping a live view without a reduction throws`() async throws {
    let plain = MapReduceView("plain", version: "1") { document, emit in emit(document["year"]) }
    var results = database.liveResults(of: plain, .all.grouped()).makeAsyncIterator()
    await #expect {
      _ = try await results.next()
    } throws: {
      ($0 as? DatabaseError)?.code == .invalidQuery
    }
  }

  @Test func `cancelling a task ends its wait for rows`() async throws {
    let (database, view) = (database, byYear)
    let tasks = (0..<5).map { _ in Task { try await Self.last(database.liveResults(of: view)) } }
    while database.store.commits.changesAndPurges.waiterCount < 5 { await Task.yield() }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(try await task.value == 1) }
    #expect(database.store.commits.changesAndPurges.waiterCount == 0)
  }

  @Test func `closing the database ends a wait for rows with an error`() async throws {
    let (database, view) = (database, byYear)
    let task = Task { try await Self.last(database.liveResults(of: view)) }
    while database.store.commits.changesAndPurges.waiterCount == 0 { await Task.yield() }
    try await database.close()
    await #expect {
      _ = try await task.value
    } throws: {
      ($0 as? DatabaseError)?.code == .closed
    }
  }

  @Test func `a task cancelled during mapping ends without an error`()
    async throws
  {
    let database = database
    try await database.write { transaction in
      for number in 0..<64 { try transaction.put(Document(id: "n\(number)", ["year": 1])) }
    }
    let (calls, mayContinue) = (Recorder<Int>(), Recorder<Bool>())
    let slow = MapReduceView("slow", version: "1") { document, emit in
      calls.append(1)
      while mayContinue.all.isEmpty { Thread.sleep(forTimeInterval: 0.001) }
      emit(document["year"])
    }
    let task = Task { () -> Bool in
      var results = database.liveResults(of: slow).makeAsyncIterator()
      return try await results.next() == nil
    }
    while calls.all.isEmpty { await Task.yield() }
    task.cancel()
    mayContinue.append(true)
    #expect(try await task.value)
    #expect(calls.all.count < 64)
  }

  @Test func `a live view keeps its database open until its task is cancelled`()
    async throws
  {
    weak var store: Store?
    var tasks: [Task<Int, any Error>] = []
    let view = byYear
    do {
      let database = try Database.inMemory()
      store = database.store
      let updates = database.liveResults(of: view)
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
  func `a live view misses no change while others write`(seed: UInt64) async throws {
    let (database, view) = (database, byYear)
    let query = ViewQuery.keys(in: 0..<20).unreduced().limit(9)
    let observer = Task {
      var last: [ViewRow]?
      for try await rows in database.liveResults(of: view, query) {
        let new = Array(rows)
        #expect(new != last, "seed \(seed)")
        let expected = Array(try rows.snapshot.rows(of: view, query))
        #expect(new == expected, "seed \(seed)")
        last = new
        if try rows.snapshot.document("end") != nil { break }
      }
      return last ?? []
    }
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      try put(
        "n\(Int.random(in: 0..<30, using: &random))", .int(Int64.random(in: 0..<30, using: &random))
      )
      await Task.yield()
    }
    try put("end", 0)
    let last = try await observer.value
    let newest = Array(try await database.rows(of: view, query))
    #expect(last == newest, "seed \(seed)")
  }
}
