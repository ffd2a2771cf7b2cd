import DivanTesting
import Dispatch
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of the events about slow queries and transactions, and of the text of events.
struct SlowWorkTests {
  private let recorder = EventRecorder()

  private func open(
    query: Duration? = nil, commit: Duration? = nil
  ) throws -> Database {
    var configuration = Configuration()
    configuration.maintenance = .manual
    configuration.eventHandler = recorder.handler
    configuration.slowQueryThreshold = query
    configuration.slowCommitThreshold = commit
    return try Database.inMemory(configuration: configuration)
  }

  private func fill(_ database: Database, _ count: Int) throws {
    try database.write { transaction in
      for number in 0..<count {
        _ = try transaction.replace("\(number)", with: ["n": .int(Int64(number))])
      }
    }
  }

  @Test func `with a threshold of zero every query is reported with its counts`() throws {
    let database = try open(query: .zero)
    try fill(database, 100)
    let snapshot = try database.snapshot()
    let query = Query<Document>().filter { $0["n"] < 30 }
    #expect(try snapshot.find(query).count == 30)
    #expect(try snapshot.count(query.limit(7)) == 7)
    #expect(try snapshot.ids(query.sorted { $0["n"] }).count == 30)
    #expect(try snapshot.sum(query) { $0["n"] } == 435)
    try database.write { _ = try $0.update(query) { $0["seen"] = true } }
    let events = recorder.of(.slowQuery, from: database)
    #expect(events.map { $0.query?.resultCount } == [30, 7, 30, 30, 30])
    #expect(events[0].query?.candidateCount == 100 && events[0].query?.documentsRead == 100)
    #expect(events.allSatisfy { $0.level == .warning && $0.duration ?? .zero > .zero })
    #expect(events.allSatisfy { $0.query?.text.contains("30") == true })
    #expect(events[0].query?.plan.isEmpty == false)
    #expect(database.metrics.queries == 5)
  }

  @Test func `no query is reported without a threshold or below it`() throws {
    for threshold in [nil, Duration.seconds(3600)] {
      let database = try open(query: threshold, commit: threshold)
      try fill(database, 10)
      _ = try database.snapshot().find(Query<Document>())
      let kinds = Set(recorder.all(from: database).map(\.kind))
      #expect(kinds.isDisjoint(with: [.slowQuery, .slowCommit]) && kinds.contains(.opened))
    }
  }

  @Test func `with a threshold of zero every commit is reported with what it wrote`() throws {
    let database = try open(commit: .zero)
    for count in [1, 50, 3] { try fill(database, count) }
    try database.write { _ in }  // Commits nothing.
    _ = try? database.write { transaction in
      _ = try transaction.replace("x", with: [:])
      throw CancellationError()
    }
    let events = recorder.of(.slowCommit, from: database).compactMap(\.commit)
    #expect(events.map(\.revisionCount) == [1, 50, 3] && events.map(\.commit) == [1, 2, 3])
    let metrics = database.metrics
    #expect(events.reduce(0) { $0 + $1.size } == metrics.appendedBytes)
    #expect(metrics.commits == 3 && metrics.storedRevisions == 54)
  }

  @Test func `a commit that waits for another transaction is reported with the wait`() throws {
    let database = try open(commit: .milliseconds(20))
    let isDone = DispatchSemaphore(value: 0)
    try database.write(durability: .none) { _ in
      DispatchQueue.global().async {
        try? self.fill(database, 2)
        isDone.signal()
      }
      waitUntil { database.metrics.waitingWriters > 0 }
      let end = ContinuousClock.now + .milliseconds(40)
      waitUntil { ContinuousClock.now >= end }
    }
    isDone.wait()
    let events = recorder.of(.slowCommit, from: database)
    let commit = try #require(events.last?.commit)
    #expect(events.count == 1 && commit.revisionCount == 2)
    #expect(commit.lockWait >= .milliseconds(40))
    #expect(try #require(events.last?.duration) >= commit.lockWait + commit.flushWait)
    let metrics = database.metrics
    #expect(metrics.writerWaits == 1 && metrics.writerWaitSeconds >= 0.04)
  }

  @Test func `a message has no user's data, and the details are on one line`() throws {
    let database = try open(query: .zero)
    try database.write { try $0.put(Document(id: "secret\n1", ["word": "pass\u{1B}word"])) }
    let query = Query<Document>().filter { $0["word"] == "pass\u{1B}word" }
    _ = try database.snapshot().find(query)
    let event = try #require(recorder.of(.slowQuery, from: database).last)
    #expect(!event.message.contains("pass") && event.details.contains(#"pass\u001bword"#))
    for text in [event.message, event.details, event.logLine, event.description] {
      #expect(!text.unicodeScalars.contains { $0.value < 0x20 }, "\(text)")
    }
  }

  @Test func `the text of a long query is cut`() throws {
    let database = try open(query: .zero)
    let values = (0..<5000).map { Value.string("value \($0)") }
    _ = try database.snapshot().find(Query<Document>().filter { $0["word"].isIn(values) })
    let query = try #require(recorder.of(.slowQuery, from: database).last?.query)
    #expect(query.text.count == 2002 && query.text.hasSuffix(" …"), "\(query.text.count)")
    #expect(query.plan.count <= 2002)
  }

  @Test func `a line of a log has the time, the level, the kind, the message and the details`()
    throws
  {
    let database = try open()
    let event = try #require(recorder.of(.opened, from: database).last)
    let pattern =
      /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info divan opened: The database was opened in [\d.]+ ms: a new store \(store \/memory\.divan; report A new store was made\.\)/
    #expect(try pattern.wholeMatch(in: event.logLine) != nil, "\(event.logLine)")
    DatabaseEvent.Handler.standardError(from: .error).receive(event)
  }
}
