import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of the change feed of a database.
@Suite(.timeLimit(.minutes(20)))
struct ChangeFeedTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func put(_ ids: String...) throws {
    try database.write { transaction in
      for id in ids { try transaction.replace(id, with: ["n": 1]) }
    }
  }

  /// Returns the IDs of the next changes.
  private func ids(
    _ count: Int, of iterator: inout ChangeFeed.Iterator
  ) async throws -> [String] {
    var ids: [String] = []
    while ids.count < count, let change = try await iterator.next() { ids.append(change.id) }
    return ids
  }

  private static func first(of database: Database) async throws -> Change? {
    try await first(of: database.changeFeed())
  }

  private static func first(of feed: ChangeFeed) async throws -> Change? {
    var iterator = feed.makeAsyncIterator()
    return try await iterator.next()
  }

  @Test func `a feed begins with existing changes and continues with new ones`() async throws {
    try put("a", "b", "c")
    try put("b")
    var feed = database.changeFeed().makeAsyncIterator()
    #expect(try await ids(3, of: &feed) == ["a", "c", "b"])
    try put("d")
    try put("a")
    #expect(try await ids(2, of: &feed) == ["d", "a"])
    // Changes up to the given position are not read again.
    var later = database.changeFeed(since: 5).makeAsyncIterator()
    #expect(try await ids(1, of: &later) == ["a"])
  }

  @Test func `a feed waits for the next change and returns it`() async throws {
    let database = database
    let task = Task {
      var found: [String] = []
      for try await change in database.changeFeed() {
        found.append(change.id)
        if found.count == 3 { break }
      }
      return found
    }
    for id in ["a", "b", "c"] {
      try await Task.sleep(for: .milliseconds(30))
      // Neither of these is a change.
      try await database.write { try $0.putLocal("local", [:]) }
      try await database.write { _ = try $0.put(Document(id: id)) }
    }
    #expect(try await task.value == ["a", "b", "c"])
  }

  @Test func `a change has the deletion, conflict and origin of its document`()
    async throws
  {
    let winner = try RevisionID(parsing: "1-\(String(repeating: "2", count: 32))")
    let loser = try RevisionID(parsing: "1-\(String(repeating: "1", count: 32))")
    try put("plain", "gone")
    try await database.write { transaction in
      try transaction.delete("gone")
      try transaction.insert(Document(id: "x", ["n": 2]), history: [winner], origin: "peer")
    }
    var feed = database.changeFeed().makeAsyncIterator()
    var changes: [Change] = []
    for _ in 0..<3 { changes.append(try #require(try await feed.next())) }
    #expect(changes.map(\.id) == ["plain", "gone", "x"])
    #expect(changes.map(\.isDeleted) == [false, true, false])
    #expect(changes.map(\.hasConflicts) == [false, false, false])
    #expect(changes.map(\.origin) == [nil, nil, "peer"])
    // A losing branch is a change as well, reported with the winning revision.
    try await database.write { transaction in
      try transaction.insert(Document(id: "x", ["n": 1]), history: [loser])
    }
    let conflict = try #require(try await feed.next())
    #expect(conflict.hasConflicts && conflict.revision == winner && conflict.document["n"] == 2)
    try await database.write { _ = try $0.purge("x", revision: loser) }
    let resolved = try #require(try await feed.next())
    #expect(resolved.id == "x" && !resolved.hasConflicts && resolved.sequence > conflict.sequence)
  }

  @Test func `a filter selects changes, and an error that it throws does not end the feed`()
    async throws
  {
    struct Own: Error {}
    try await database.write { transaction in
      for number in 0..<10_000 { try transaction.put(Document(id: "\(number)")) }
    }
    let feed = database.changeFeed { change in
      if change.id == "5000" { throw Own() }
      return change.id.hasSuffix("999")
    }
    var iterator = feed.makeAsyncIterator()
    #expect(try await ids(5, of: &iterator) == ["999", "1999", "2999", "3999", "4999"])
    await #expect(throws: Own.self) { _ = try await iterator.next() }
    #expect(try await ids(5, of: &iterator) == ["5999", "6999", "7999", "8999", "9999"])
  }

  @Test func `a feed continues from a saved position, in its own store only`() async throws {
    try put("a", "b")
    var feed = database.changeFeed().makeAsyncIterator()
    let change = try #require(try await feed.next())
    let text = "\(database.feedPosition(after: change))"
    #expect(text == "1-\(database.storeID)")
    let position = try #require(FeedPosition(text))
    var later = try database.changeFeed(since: position).makeAsyncIterator()
    #expect(try await ids(1, of: &later) == ["b"])
    let end = try database.snapshot().feedPosition
    try put("c")
    var last = try database.changeFeed(since: end).makeAsyncIterator()
    #expect(try await ids(1, of: &last) == ["c"])

    // A position of another store, and one from before an older copy of the files replaced this
    // store.
    let other = try Database.inMemory()
    let beyond = try #require(FeedPosition("99-\(database.storeID)"))
    for (database, position) in [(other, position), (database, beyond)] {
      #expect {
        _ = try database.changeFeed(since: position)
      } throws: {
        ($0 as? DatabaseError)?.code == .feedPositionMismatch
      }
    }
    for text in ["", "1", "1-", "-1-a", "01-a", "+1-a", " 1-a", "99999999999999999999-a", "a-1"] {
      #expect(FeedPosition(text) == nil, "\(text)")
    }
  }

  @Test func `a waiting feed ends at once when its task is cancelled`() async throws {
    let store = database.store
    let database = database
    let tasks = (0..<10).map { _ in
      Task { try await Self.first(of: database)?.id }
    }
    while store.commits.changes.waiterCount < 10 { await Task.yield() }
    for task in tasks.dropLast() { task.cancel() }
    for task in tasks.dropLast() { #expect(try await task.value == nil) }
    #expect(store.commits.changes.waiterCount == 1)
    try put("a")
    #expect(try await tasks[9].value == "a")
    #expect(store.commits.changes.waiterCount == 0)
  }

  @Test func `a feed in a cancelled task returns no change`() async throws {
    try put("a")
    let database = database
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await Self.first(of: database)
    }
    task.cancel()
    #expect(try await task.value == nil)
  }

  @Test func `a waiting feed throws closed when the database is closed`() async throws {
    let database = database
    let task = Task { try await Self.first(of: database) }
    while database.store.commits.changes.waiterCount == 0 { await Task.yield() }
    try await database.close()
    await #expect {
      _ = try await task.value
    } throws: {
      ($0 as? DatabaseError)?.code == .closed
    }
    await #expect(throws: DatabaseError.self) {
      var feed = database.changeFeed().makeAsyncIterator()
      _ = try await feed.next()
    }
  }

  @Test func `a waiting feed keeps its database open until its task is cancelled`()
    async throws
  {
    weak var store: Store?
    var task: Task<Change?, any Error>?
    do {
      let database = try Database.inMemory()
      store = database.store
      let feed = database.changeFeed()
      task = Task { try await Self.first(of: feed) }
      while database.store.commits.changes.waiterCount == 0 { await Task.yield() }
    }
    #expect(store != nil)
    task?.cancel()
    let change = try await task?.value ?? nil
    #expect(change == nil)
    task = nil
    for _ in 0..<60_000 where store != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(store == nil)
  }

  @Test func `a feed returns a change only after it is durable`() async throws {
    let disk = SimulatedFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    let database = try Database(at: "/s.divan", configuration: configuration)
    try await database.write { _ = try $0.put(Document(id: "a")) }
    var feed = database.changeFeed().makeAsyncIterator()
    #expect(try await feed.next()?.id == "a")
    let seen = Recorder<UInt64>()
    disk.observeChangingCalls { [unowned database] _ in
      seen.append(database.store.commits.visible?.state.lastSequence ?? 0)
    }
    try await database.write { _ = try $0.put(Document(id: "b")) }
    disk.observeChangingCalls(nil)
    #expect(!seen.all.isEmpty && seen.all.allSatisfy { $0 == 1 })
    #expect(try await feed.next()?.id == "b")
  }

  @Test func `a feed throws at an unreadable change and continues after it`() async throws {
    let disk = SimulatedFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    let text = String(repeating: "b", count: 50)
    do {
      let database = try Database(at: "/s.divan", configuration: configuration)
      for id in ["a", "b", "c"] {
        try await database.write {
          _ = try $0.put(Document(id: id, ["text": .string(id == "b" ? text : "")]))
        }
      }
      try database.writeCheckpoint()
      try await database.close()
    }
    let name = try #require(try disk.list("/s.divan").first { $0.hasSuffix(".segment") })
    let bytes = try disk.contents(of: "/s.divan/\(name)", limit: 1 << 20).array
    let offset = try #require(
      bytes.indices.dropLast(50).last { bytes[$0..<$0 + 50].elementsEqual(text.utf8) })
    try disk.corrupt("/s.divan/\(name)", atOffset: offset, mask: 1)
    let database = try Database(at: "/s.divan", configuration: configuration)
    var feed = database.changeFeed().makeAsyncIterator()
    #expect(try await feed.next()?.id == "a")
    await #expect {
      _ = try await feed.next()
    } throws: {
      ($0 as? DatabaseError)?.code == .damaged
    }
    #expect(try await feed.next()?.id == "c")
  }
}
