import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of contexts, live queries and feeds of a database that is suspended.
@Suite(.timeLimit(.minutes(30)))
struct SuspendedObserversTests {
  private let fileSystem = MemoryFileSystem()

  private func open(isReadOnly: Bool = false) throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.isReadOnly = isReadOnly
    return try Database(at: "/s.divan", configuration: configuration)
  }

  private func put(_ ids: String..., to database: Database) throws {
    try database.write { transaction in
      for id in ids { try transaction.replace(id, with: ["n": 1, "type": "note"]) }
    }
  }

  final class Note: Model {
    override class var documentType: String? { "note" }
    @Persisted var n = 0
  }

  /// Collects what a sequence gives, as texts, until it ends or fails.
  private func collect<S: AsyncSequence & Sendable>(
    _ sequence: S, _ text: @escaping @Sendable (S.Element) -> String
  ) -> (seen: Recorder<String>, task: Task<Void, Never>) {
    let seen = Recorder<String>()
    let task = Task.detached {
      do {
        for try await element in sequence { seen.append(text(element)) }
      } catch {
        seen.append("\(error)")
      }
    }
    return (seen, task)
  }

  @Test @MainActor func `observers wait, and then see the difference to what they have seen`()
    async throws
  {
    let database = try open()
    try put("a", "b", to: database)
    let byID = MapReduceView("ids", version: "1") { document, emit in
      emit(.string(document.id), 1)
    }
    let results = collect(database.liveResults(of: Query<Document>().sorted(by: "n"))) {
      $0.map(\.id).joined()
    }
    let feed = collect(database.changeFeed()) { $0.id }
    let rows = collect(database.liveResults(of: byID)) { $0.compactMap(\.documentID).joined() }
    defer { for task in [results.task, feed.task, rows.task] { task.cancel() } }
    try await wait {
      results.seen.all == ["ab"] && feed.seen.all == ["a", "b"] && rows.seen.all == ["ab"]
    }
    try await database.suspend()
    let other = try open()
    try put("c", to: other)
    try await other.write { try _ = $0.purge("a") }
    try await other.close()
    try await Task.sleep(for: .milliseconds(20))
    #expect(results.seen.all.count == 1 && feed.seen.all.count == 2 && rows.seen.all.count == 1)
    try await database.resume()
    try await wait {
      results.seen.all.count > 1 && feed.seen.all.count > 2 && rows.seen.all.count > 1
    }
    #expect(results.seen.all == ["ab", "bc"])
    #expect(feed.seen.all == ["a", "b", "c"])
    #expect(rows.seen.all == ["ab", "bc"])
  }

  @Test func `a feed of a suspended database ends when it is closed or cancelled`() async throws {
    let database = try open()
    try put("a", to: database)
    try await database.suspend()
    let task = Task {
      var feed = database.changeFeed().makeAsyncIterator()
      return try await feed.next()
    }
    let cancelled = Task {
      var feed = database.changeFeed().makeAsyncIterator()
      return try await feed.next()
    }
    try await Task.sleep(for: .milliseconds(10))
    cancelled.cancel()
    #expect(try await cancelled.value == nil)
    try await database.close()
    let error = await #expect(throws: DatabaseError.self) { _ = try await task.value }
    #expect(error?.code == .closed)
  }

  @Test @MainActor func `a context keeps its unsaved changes, and saves them afterwards`()
    async throws
  {
    let database = try open()
    let context = database.makeContext()
    let note = Note(in: context, id: "a")
    note.n = 1
    try await note.save()
    note.n = 2
    try await database.suspend()
    let error = #expect(throws: DatabaseError.self) { try note.save() }
    #expect(error?.code == .suspended && note.n == 2 && note.isChanged)
    // A context that is made now can be used later.
    let late = database.makeContext()
    #expect(throws: DatabaseError.self) { _ = try late.model(Note.self, id: "a") }
    let follower = database.makeFollowingContext()
    let other = try open()
    try put("b", to: other)
    try await other.close()
    try await database.resume()
    try await note.save()
    #expect(try database.snapshot().document("a")?["n"] == 2)
    #expect(try late.model(Note.self, id: "a")?.n == 2)
    let seen = try follower.model(Note.self, id: "a")
    note.n = 3
    try await note.save()
    try await wait { seen?.n == 3 }
  }

  @Test @MainActor func `an autosaving context is saved at the suspension, and after it`()
    async throws
  {
    let database = try open()
    let context = database.makeFollowingContext(autosavingAfter: .milliseconds(1))
    var errors = 0
    context.errorHandler = { _ in errors += 1 }
    let note = Note(in: context, id: "a")
    note.n = 1
    try await database.suspend()
    let other = try open()
    #expect(try other.snapshot().document("a")?["n"] == 1)
    try await other.close()
    note.n = 2
    try await Task.sleep(for: .milliseconds(20))
    #expect(note.isChanged)
    try await database.resume()
    try await wait { try database.snapshot().document("a")?["n"] == 2 }
    #expect(errors == 0)
    try await database.close()
  }

  @Test @MainActor func `a following context continues, also with purges`() async throws {
    let database = try open()
    try put("a", "b", to: database)
    let context = database.makeFollowingContext()
    let models = try context.models(Note.self).collect()
    try await database.suspend()
    let other = try open()
    try await other.write { transaction in
      try _ = transaction.purge("a")
      try transaction.replace("b", with: ["n": 7, "type": "note"])
    }
    try await other.close()
    try await database.resume()
    try await wait { models[1].n == 7 && models[0].state == .deleted }
    try put("b", to: database)
    try await wait { models[1].n == 1 }
  }

  @MainActor private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it did not happen")
  }
}
