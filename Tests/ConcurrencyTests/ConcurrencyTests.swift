import Dispatch
import Divan
import DivanLog
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

/// Tests of many threads on one store.
///
/// Run under the thread sanitizer by `.ci/run`.
@Suite(.serialized)
struct ConcurrencyTests {
  /// The duration of the long test: `DIVAN_TEST_SECONDS`, or a few seconds.
  private static var seconds: Double {
    ProcessInfo.processInfo.environment["DIVAN_TEST_SECONDS"].flatMap(Double.init) ?? 5
  }

  /// Moves money between accounts in transactions; its sum is the same in each snapshot.
  @Test(arguments: [ReadMode.mapped, .buffered])
  func `every snapshot is consistent while eight threads read and two write`(
    reads: ReadMode
  ) throws {
    let directory = try TemporaryDirectory()
    var configuration = Configuration()
    configuration.readMode = reads
    configuration.segmentSizeGoal = 64 << 10
    configuration.compactedSegmentSizeLimit = 512 << 10
    configuration.checkpointInterval = 32 << 10
    let database = try Database(at: directory.path + "/bank.divan", configuration: configuration)
    let accounts = 40
    try database.write { transaction in
      for number in 0..<accounts {
        try transaction.put(Document(id: "account-\(number)", ["balance": 100]))
      }
    }
    let end = ContinuousClock.now + .seconds(ConcurrencyTests.seconds / 2)
    let problems = Guarded<[String]>([])
    let transfers = Atomic(0)
    let checks = Atomic(0)
    let group = DispatchGroup()
    func run(_ body: @escaping @Sendable () throws -> Void) {
      let thread = DispatchQueue(label: "thread")
      thread.async(group: group) {
        do {
          while ContinuousClock.now < end { try body() }
        } catch {
          problems.withLock { $0.append("\(error)") }
        }
      }
    }
    for writer in 0..<2 {
      run {
        let durability: Durability = writer == 0 ? .full : .relaxed(maxDelay: .milliseconds(5))
        try database.write(durability: durability) { transaction in
          let (from, to) = (Int.random(in: 0..<accounts), Int.random(in: 0..<accounts))
          guard from != to else { return }
          for (number, amount) in [(from, -7), (to, 7)] {
            try transaction.update("account-\(number)") {
              $0["balance"] = .int(Int64(($0["balance"]?.intValue ?? 0) + amount))
            }
          }
        }
        transfers.add(1, ordering: .relaxed)
      }
    }
    for _ in 0..<8 {
      run {
        let snapshot = try database.snapshot()
        var sum = 0
        var count = 0
        var documents = snapshot.documents(descending: Bool.random())
        while let document = try documents.next() {
          sum += document["balance"]?.intValue ?? 0
          count += 1
        }
        let changes = snapshot.changes()
        let feed = try changes.collect()
        if sum != 100 * accounts || count != accounts || feed.count != accounts {
          problems.withLock { $0.append("sum \(sum), count \(count), changes \(feed.count)") }
        }
        checks.add(1, ordering: .relaxed)
      }
    }
    group.wait()
    let found = problems.withLock { $0 }
    #expect(found.isEmpty, "\(found.prefix(3))")
    #expect(transfers.load(ordering: .relaxed) > 0)
    #expect(checks.load(ordering: .relaxed) > 0)
    #expect(try database.check().isSound)
    #expect(try database.statistics.maintenanceProblem == nil)
    print(
      "\(transfers.load(ordering: .relaxed)) transfers, \(checks.load(ordering: .relaxed)) snapshots",
      try database.statistics.segments.map(\.name))
    try database.close()
  }

  /// Runs a part of `Proofs`, also under the thread sanitizer.
  @Test func `concurrent threads leave strictly serializable histories`() async throws {
    let failures = try await onOwnThread {
      let run = ProofRun(HistoryProof.name, budget: .test)
      try HistoryProof().gather(run)
      return run.failures
    }
    #expect(failures.isEmpty, "\(failures)")
  }

  @Test func `live queries miss no change while threads write`() async throws {
    let failures = try await onOwnThread {
      let run = ProofRun(LiveProof.name, budget: .test)
      try LiveProof().gather(run)
      return run.failures
    }
    #expect(failures.isEmpty, "\(failures)")
  }

  @Test func `all commits of concurrent asynchronous callers are stored`() async throws {
    let database = try Database.inMemory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          try await database.write { transaction in
            _ = try transaction.put(Document(id: "task-\(number)", ["n": .int(Int64(number))]))
          }
          let count = try await database.read { try $0.count }
          #expect(count > 0)
        }
      }
      try await group.waitForAll()
    }
    #expect(try database.snapshot().count == 100)
  }

  @Test func `a task that is cancelled before its write begins changes nothing`() async throws {
    let database = try Database.inMemory()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.write { try $0.put(Document(id: "never", [:])) }
    }
    task.cancel()
    let result = await task.result
    #expect(throws: DatabaseError.self) { try result.get() }
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a snapshot neither waits for an open transaction nor sees its changes`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(Document(id: "a", [:]))
      let outside = try DispatchQueue(label: "reader").sync { try database.snapshot().count }
      #expect(outside == 0)
    }
    #expect(try database.snapshot().count == 1)
  }
}
