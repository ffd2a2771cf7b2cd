import DivanLog
import DivanTesting
import Dispatch
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of transactions and snapshots, and of the writer lock.
struct TransactionTests {
  private func store() throws -> Database {
    // Only the writers of the tests use the writer lock.
    var configuration = Configuration()
    configuration.maintenance = .manual
    let database = try Database.inMemory(configuration: configuration)
    for id in ["a", "b", "c"] {
      try database.write { try $0.replace(id, with: ["id": .string(id)]) }
    }
    return database
  }

  @Test func `every read within a transaction includes its own changes`() throws {
    let database = try store()
    try database.write { transaction in
      #expect(transaction.count == 3)
      try transaction.delete("b")
      try transaction.replace("d", with: ["id": "d"])
      #expect(transaction.count == 3)
      #expect(try transaction.documents(["d", "b", "a"]).map { $0?["id"] } == ["d", nil, "a"])
      #expect(try transaction.exists("d"))
      #expect(try !transaction.exists("b"))
      #expect(try !transaction.exists("never"))
      #expect(try !transaction.exists(""))
      let cursor = try transaction.documents("b"..., descending: true)
      try transaction.replace("e", with: [:])
      #expect(try cursor.collect().map(\.id) == ["d", "c"])
    }
  }

  @Test func `a document without an ID gets one`() throws {
    let database = try store()
    let stored = try database.write { try $0.put(Document(["title": "new"])) }
    #expect(!stored.id.isEmpty)
    #expect(try database.snapshot().document(stored.id)?["title"] == "new")
    #expect(database.path == "/memory.divan")
    #expect(database.newDocumentID() != stored.id)
  }

  @Test func `writing a document that was read before another change is a conflict`() throws {
    let database = try store()
    let read = try #require(try database.snapshot().document("a"))
    try database.write { try $0.replace("a", with: ["n": 2]) }
    #expect(code { try database.write { _ = try $0.put(read) } } == .conflict)
    #expect(code { try database.write { _ = try $0.delete(read) } } == .conflict)
    #expect(code { try database.write { _ = try $0.put(Document(id: "a", [:])) } } == .conflict)
    #expect(try database.snapshot().document("a")?["n"] == 2)
    // The document belongs to another store, or no longer exists: there is nothing to change.
    let other = try Database.inMemory()
    #expect(code { try other.write { _ = try $0.put(read) } } == .conflict)
    #expect(code { try other.write { _ = try $0.delete(read) } } == .notFound)
    let newest = try #require(try database.snapshot().document("a"))
    try database.write { try $0.delete(newest) }
    #expect(code { try database.write { _ = try $0.delete(newest) } } == .notFound)
  }

  @Test func `ranges of IDs include and exclude their bounds as declared`() throws {
    let database = try store()
    try database.write { try $0.delete("b") }
    try database.write { try $0.replace("cc", with: [:]) }
    let snapshot = try database.snapshot()
    func ids(_ range: some IDRangeExpression) throws -> [String] {
      let ids = snapshot.ids(range)
      return try ids.collect()
    }
    #expect(try ids(.all) == ["a", "c", "cc"])
    #expect(try ids(.prefix("c")) == ["c", "cc"])
    #expect(try ids(.prefix("")) == ["a", "c", "cc"])
    #expect(try ids("b"...) == ["c", "cc"])
    #expect(try ids("a"..<"c") == ["a"])
    #expect(try ids("a"..."c") == ["a", "c"])
    #expect(try ids(.after("a")) == ["c", "cc"])
    #expect(try ids(..<"c") == ["a"])
  }

  @Test func `a snapshot has the revisions of deleted documents, too`() throws {
    let database = try store()
    try database.write { try $0.delete("b") }
    let snapshot = try database.snapshot()
    let revision = try snapshot.revision(of: "b")
    #expect(revision?.generation == 2)
    #expect(try snapshot.revision(of: "never") == nil)
    #expect(try snapshot.revisions(of: "b").first == revision)
    #expect(try snapshot.revisions(of: "never") == [])
    #expect(try snapshot.tombstone("b")?.isDeleted == true)
    #expect(try snapshot.tombstone("a") == nil)
    #expect(try snapshot.tombstone("never") == nil)
    var feed = snapshot.changes(since: 3)
    let change = try #require(try feed.next())
    #expect(change.id == "b")
    #expect(change.isDeleted)
    #expect(change.revision == revision)
    #expect(try snapshot.document("") == nil)
    #expect(try snapshot.documents(["a", "b", "never"]).map { $0?.id } == ["a", nil, nil])
  }

  @Test func `an opening report describes the opening in words`() {
    var report = OpeningReport()
    #expect(report.description == "The store had been closed properly.")
    report.ending = .created
    #expect(report.description == "A new store was made.")
    report.ending = .interrupted
    report.replayedCommits = 3
    report.securedCommits = 2
    report.discardedBytes = 9
    report.damage = [DatabaseError(.damaged, "a bad byte", path: "/x")]
    report.notes = ["It rained"]
    #expect(
      report.description == "The store had not been closed. 3 commits were read from the log."
        + " 2 of the newest were logged again to make them durable."
        + " 9 bytes of an unfinished transaction were left out."
        + " Damage: damaged: a bad byte; /x. It rained.")
  }

  // MARK: The writer lock

  @Test func `the writer lock is passed to waiting threads, but not to those that timed out`()
    throws
  {
    let writerLock = WriterLock()
    writerLock.acquire()
    #expect(writerLock.isHeldByThisThread)
    let acquired = Recorder<Bool>()
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "waits").async {
      acquired.append(writerLock.acquire(timeout: .seconds(60)))
      writerLock.release()
      done.signal()
    }
    waitUntil { writerLock.waiterCount > 0 }
    #expect(!writerLock.acquire(timeout: .zero))
    #expect(writerLock.waiterCount == 1)
    writerLock.release()
    done.wait()
    #expect(acquired.all == [true])
    #expect(!writerLock.isHeldByThisThread)
    // A waiter that is no longer in the queue has been given the lock.
    #expect(writerLock.giveUp(DispatchSemaphore(value: 0)))
  }

  @Test func `timeouts are clamped to the range that the system supports`() {
    #expect(Duration.seconds(-5).dispatchInterval == .nanoseconds(0))
    #expect(Duration.seconds(1 << 40).dispatchInterval == .seconds(100_000_000))
    #expect(Duration.milliseconds(1500).dispatchInterval == .nanoseconds(1_500_000_000))
  }

  @Test
  func `a thread that waits for the writer lock while the store closes gets the error closed`()
    throws
  {
    let database = try store()
    let (begun, end, done) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let errors = Recorder<DatabaseError.Code?>()
    DispatchQueue(label: "writes").async {
      try? database.write { _ in
        begun.signal()
        end.wait()
      }
      done.signal()
    }
    begun.wait()
    DispatchQueue(label: "closes").async {
      try? database.close()
      done.signal()
    }
    waitUntil { database.store.writerLock.waiterCount >= 1 }
    DispatchQueue(label: "waits").async {
      errors.append(code { try database.write { _ in } })
      done.signal()
    }
    waitUntil { database.store.writerLock.waiterCount >= 2 }
    end.signal()
    for _ in 0..<3 { done.wait() }
    #expect(errors.all == [.closed])
  }

  @Test func `releasing the last reference to a database closes it before its delayed flush`()
    throws
  {
    let files = MemoryFileSystem()
    var configuration = Configuration.small(on: files)
    do {
      let database = try Database(at: "/store.divan", configuration: configuration)
      try database.write(durability: .relaxed(maxDelay: .milliseconds(30))) {
        try $0.replace("a", with: [:])
      }
    }
    // The flush comes due after the database is gone.
    DispatchSemaphore(value: 0).wait(untilPassed: .milliseconds(80))
    configuration.isReadOnly = true
    let reopened = try Database(at: "/store.divan", configuration: configuration)
    #expect(reopened.openingReport.ending == .closed)
    #expect(try reopened.snapshot().exists("a"))
  }

  /// Regression: the commit waited for the flush that was scheduled for the earlier one.
  @Test func `a commit is flushed within its delay although that of an earlier one is longer`()
    throws
  {
    let files = SimulatedFileSystem()
    var configuration = Configuration.small(on: files)
    configuration.maintenance = .manual
    let database = try Database(at: "/store.divan", configuration: configuration)
    try database.write(durability: .relaxed(maxDelay: .seconds(3600))) {
      try $0.replace("a", with: [:])
    }
    try database.write(durability: .relaxed(maxDelay: .milliseconds(5))) {
      try $0.replace("b", with: [:])
    }
    configuration.isReadOnly = true
    var isDurable = false
    let end = ContinuousClock.now + .seconds(10)
    while !isDurable, ContinuousClock.now < end {
      DispatchSemaphore(value: 0).wait(untilPassed: .milliseconds(5))
      configuration.fileSystem = files.restarted(.strict)
      let left = try Database(at: "/store.divan", configuration: configuration)
      isDurable = try left.snapshot().exists("b")
    }
    #expect(isDurable)
    // Until here it was open, or closing would have flushed.
    try database.close()
  }

  @Test func `a task that is cancelled before its work begins changes nothing`() async throws {
    let database = try store()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      var codes: [DatabaseError.Code?] = []
      do { try await database.write { try $0.replace("x", with: [:]) } } catch {
        codes.append((error as? DatabaseError)?.code)
      }
      do { _ = try await database.read { try $0.document("a") } } catch {
        codes.append((error as? DatabaseError)?.code)
      }
      return codes
    }
    task.cancel()
    let codes = await task.value
    #expect(codes == [.cancelled, .cancelled])
    #expect(try database.snapshot().count == 3)
    #expect(try await database.read { try $0.document("a") }?["id"] == "a")
  }
}

extension DispatchSemaphore {
  /// Waits until a time has passed; the semaphore is never signaled.
  func wait(untilPassed time: DispatchTimeInterval) { _ = wait(timeout: .now() + time) }
}
