import Divan
import DivanTesting
import ProofKit
import TestSupport
import Testing

/// Tests of several tasks that observe the changes of several writers.
///
/// Run under the thread sanitizer by `.ci/run`.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct ChangeFeedConcurrencyTests {
  /// The changes that an observer received.
  private struct ReceivedChanges: Sendable {
    var latest: [String: UInt64] = [:]
    var deleted: Set<String> = []
    var last: UInt64 = 0
    var count = 0
    var isStrictlyAscending = true

    mutating func add(_ change: Change) {
      isStrictlyAscending = isStrictlyAscending && change.sequence > last
      last = change.sequence
      count += 1
      latest[change.id] = change.sequence
      if change.isDeleted { deleted.insert(change.id) } else { deleted.remove(change.id) }
    }
  }

  /// Observes the changes until the document `end` exists.
  ///
  /// After `patience` changes, the feed is released and a new one begins.
  private static func observe(
    _ database: Database, patience: Int = .max, pause: Duration? = nil,
    where isIncluded: (@Sendable (Change) -> Bool)? = nil
  ) async throws -> ReceivedChanges {
    var received = ReceivedChanges()
    while true {
      var left = patience
      for try await change in database.changeFeed(since: received.last, where: isIncluded) {
        received.add(change)
        if change.id == "end" { return received }
        left -= 1
        if left == 0 { break }
        if let pause { try await Task.sleep(for: pause) }
      }
      try Task.checkCancellation()
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `every change feed delivers the last change of each document in order`(seed: UInt64)
    async throws
  {
    let directory = try TemporaryDirectory()
    var configuration = Configuration()
    configuration.segmentSizeGoal = 64 << 10
    configuration.compactedSegmentSizeLimit = 512 << 10
    configuration.checkpointInterval = 32 << 10
    let database = try Database(at: directory.path + "/feed.divan", configuration: configuration)
    func isEven(_ change: Change) -> Bool {
      change.id == "end" || change.id.utf8.last.map { $0 % 2 == 0 } ?? false
    }
    let received = try await withThrowingTaskGroup(of: (Int, ReceivedChanges).self) { group in
      for index in 0..<3 {
        group.addTask { (index, try await Self.observe(database)) }
      }
      group.addTask { (3, try await Self.observe(database, pause: .milliseconds(3))) }
      group.addTask { (4, try await Self.observe(database, patience: 7)) }
      group.addTask {
        (5, try await Self.observe(database) { $0.id == "end" || $0.id.utf8.last! % 2 == 0 })
      }
      try await withThrowingTaskGroup(of: Void.self) { writers in
        for writer in 0..<4 as Range<UInt64> {
          writers.addTask { try await Self.write(database, seed: seed * 10 + writer) }
        }
        try await writers.waitForAll()
      }
      try await database.write { _ = try $0.put(Document(id: "end")) }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    let feed = try database.snapshot().changes()
    let all = try feed.collect()
    for (index, changes) in received {
      let expected = index == 5 ? all.filter(isEven) : all
      let comment: Comment = "observer \(index), seed \(seed)"
      #expect(changes.isStrictlyAscending, comment)
      for change in expected {
        #expect(changes.latest[change.id] == change.sequence, comment)
        #expect(changes.deleted.contains(change.id) == change.isDeleted, comment)
      }
    }
    print("seed \(seed):", all.count, "documents,", received.mapValues(\.count))
    #expect(try database.statistics.maintenanceProblem == nil)
    try await database.close()
  }

  private static func write(_ database: Database, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    for step in 0..<effort(100, underThreadSanitizer: 40) {
      let durability: Durability =
        Int.random(in: 0..<4, using: &random) == 0 ? .full : .relaxed(maxDelay: .milliseconds(2))
      let ids = (0..<Int.random(in: 1...5, using: &random)).map { _ in
        "doc-\(Int.random(in: 0..<200, using: &random))"
      }
      let deletes = Int.random(in: 0..<5, using: &random) == 0
      try await database.write(durability: durability) { transaction in
        for id in ids {
          if deletes, try transaction.delete(id) { continue }
          try transaction.replace(id, with: ["step": .int(Int64(step))])
        }
      }
    }
  }

  @Test func `change feeds can begin and be cancelled while documents change`() async throws {
    let database = try Database.inMemory()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for observer in 0..<40 {
        group.addTask {
          let task = Task {
            var last: UInt64 = 0
            for try await change in database.changeFeed() {
              #expect(change.sequence > last)
              last = change.sequence
            }
          }
          try await Task.sleep(for: .milliseconds(observer * 3))
          task.cancel()
          try await task.value
        }
      }
      group.addTask {
        for number in 0..<300 {
          try await database.write(durability: .none) {
            _ = try $0.replace("\(number % 10)", with: [:])
          }
        }
      }
      try await group.waitForAll()
    }
    try await database.close()
  }

  @Test func `validations can be set and removed while revisions are stored`() async throws {
    let database = try Database.inMemory()
    let refusals = Recorder<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 0..<400 {
          let name = "\(number % 3)"
          if number % 2 == 0 {
            database.setValidation(named: name, nil)
          } else {
            database.setValidation(named: name) { revision in
              if revision.document["n"] == 3 { try revision.reject("three") }
            }
          }
          await Task.yield()
        }
      }
      for writer in 0..<3 {
        group.addTask {
          for number in 0..<100 {
            do {
              try await database.write {
                _ = try $0.replace("\(writer)", with: ["n": .int(Int64(number % 5))])
              }
            } catch let error as DatabaseError where error.code == .validationFailed {
              refusals.append(number)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(
      try database.snapshot().sequence + UInt64(refusals.all.count) == 300)
  }
}
