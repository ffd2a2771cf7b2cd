import Divan

extension Workload {
  /// One observed query with 10,000 results, sorted by their titles.
  static let following = [
    Workload(
      name: "live-update", title: "update of a live query after a change of one of 10,000 results",
      unit: .nanoseconds
    ) { bench in
      try measureObserving(bench) { database, results in
        var elapsed = 0.0
        for number in 0..<500 {
          let moved = bench.samples.document(number * 7919 % resultCount, version: number + 1)
          try store([moved], in: database)
          let clock = ContinuousClock()
          let start = clock.now
          guard try await results.next()?.changes.updates.count == 1 else {
            throw BenchmarkError("a change was not reported")
          }
          elapsed += (clock.now - start).inSeconds
        }
        return elapsed / 500
      }
    },
    Workload(
      name: "live-batch", title: "the same, per change, with 100 changes in one update",
      unit: .nanoseconds
    ) { bench in
      try measureObserving(bench) { database, results in
        var elapsed = 0.0
        for round in 0..<20 {
          let moved = (0..<100).map { number in
            bench.samples.document(
              (round * 100 + number) * 7919 % resultCount, version: round + 1)
          }
          try store(moved, in: database)
          let clock = ContinuousClock()
          let start = clock.now
          guard try await results.next()?.changes.updates.count == moved.count else {
            throw BenchmarkError("changes were not reported")
          }
          elapsed += (clock.now - start).inSeconds
        }
        return elapsed / 2000
      }
    },
    Workload(
      name: "live-unconcerned", title: "a change that does not affect a live query",
      unit: .nanoseconds
    ) { bench in
      try measureObserving(bench) { database, results in
        let others = (0..<10_000).map { Document(id: "other \($0)", ["kind": "other"]) }
        try store(others, in: database)
        try store([bench.samples.document(0, version: 1)], in: database)
        let clock = ContinuousClock()
        let start = clock.now
        guard try await results.next()?.changes.updates.count == 1 else {
          throw BenchmarkError("a change was not reported")
        }
        return (clock.now - start).inSeconds / 10_000
      }
    },
  ]

  private static let resultCount = 10_000

  private static func store(_ documents: [Document], in database: Database) throws {
    try database.write(durability: Durability.none) { transaction in
      for document in documents {
        _ = try transaction.replace(document.id, with: document.properties)
      }
    }
  }

  /// Returns nanoseconds from `work`, which gets an in-memory database and an observed query of it.
  private static func measureObserving(
    _ bench: Bench,
    _ work:
      @escaping @Sendable (Database, inout LiveUpdates<Document>.Iterator) async throws ->
      Double
  ) throws -> Double {
    let database = try Database.inMemory()
    try store(bench.samples.documents(0..<resultCount), in: database)
    let query = Query<Document>().filter { $0["year"] > 0 }.sorted(by: "title")
    let seconds = try waitFor {
      var results = database.liveResults(of: query).makeAsyncIterator()
      guard try await results.next()?.count == resultCount else {
        throw BenchmarkError("documents are missing")
      }
      return try await work(database, &results)
    }
    try database.close()
    return seconds * 1e9
  }
}
