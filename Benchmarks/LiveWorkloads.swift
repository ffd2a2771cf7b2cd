import Dispatch
import Divan
import Synchronization

extension Workload {
  /// One observed query with 10,000 results, sorted by their titles.
  static let following = [
    Workload(
      name: "live-update", title: "a change to one of 10,000 followed results, until it is told of",
      unit: .nanoseconds
    ) { bench in
      try measureFollowing(bench) { database, follower in
        var elapsed = 0.0
        for number in 0..<500 {
          let moved = bench.samples.document(number * 7919 % followedCount, version: number + 1)
          try store([moved], in: database)
          let clock = ContinuousClock()
          let start = clock.now
          guard try await follower.next()?.changes.updates.count == 1 else {
            throw BenchmarkError("a change was not told of")
          }
          elapsed += (clock.now - start).inSeconds
        }
        return elapsed / 500
      }
    },
    Workload(
      name: "live-batch", title: "one of 100 such changes, told of at once", unit: .nanoseconds
    ) { bench in
      try measureFollowing(bench) { database, follower in
        var elapsed = 0.0
        for round in 0..<20 {
          let moved = (0..<100).map { number in
            bench.samples.document(
              (round * 100 + number) * 7919 % followedCount, version: round + 1)
          }
          try store(moved, in: database)
          let clock = ContinuousClock()
          let start = clock.now
          guard try await follower.next()?.changes.updates.count == moved.count else {
            throw BenchmarkError("changes were not told of")
          }
          elapsed += (clock.now - start).inSeconds
        }
        return elapsed / 2000
      }
    },
    Workload(
      name: "live-unconcerned", title: "a change that does not concern a followed query",
      unit: .nanoseconds
    ) { bench in
      try measureFollowing(bench) { database, follower in
        let others = (0..<10_000).map { Document(id: "other \($0)", ["kind": "other"]) }
        try store(others, in: database)
        try store([bench.samples.document(0, version: 1)], in: database)
        let clock = ContinuousClock()
        let start = clock.now
        guard try await follower.next()?.changes.updates.count == 1 else {
          throw BenchmarkError("a change was not told of")
        }
        return (clock.now - start).inSeconds / 10_000
      }
    },
  ]

  private static let followedCount = 10_000

  private static func store(_ documents: [Document], in database: Database) throws {
    try database.write(durability: Durability.none) { transaction in
      for document in documents {
        _ = try transaction.overwrite(document.id, with: document.properties)
      }
    }
  }

  /// Returns nanoseconds from `work`, which gets an in-memory database and an observed query of it.
  private static func measureFollowing(
    _ bench: Bench,
    _ work:
      @escaping @Sendable (Database, inout LiveUpdates<Document>.Iterator) async throws ->
      Double
  ) throws -> Double {
    let database = try Database.inMemory()
    try store(bench.samples.documents(0..<followedCount), in: database)
    let query = Query<Document>().filter { $0["year"] > 0 }.sort("title")
    let outcome = Mutex<Result<Double, any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      do {
        var follower = database.updates(of: query).makeAsyncIterator()
        guard try await follower.next()?.count == followedCount else {
          throw BenchmarkError("not everything was found")
        }
        let seconds = try await work(database, &follower)
        outcome.withLock { $0 = .success(seconds) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
      isDone.signal()
    }
    isDone.wait()
    try database.close()
    guard let seconds = try outcome.withLock({ $0 })?.get() else {
      throw BenchmarkError("nothing was measured")
    }
    return seconds * 1e9
  }
}

extension Duration {
  fileprivate var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
