import Divan

extension Workload {
  /// Views of the loaded store, by year and title.
  static let viewing = [
    Workload(
      name: "view-build", title: "rows of a view, rebuilt", unit: .nanosecondsPerDocument,
      prepare: { try $0.load() }
    ) { bench in
      try measureView(bench, workCount: bench.count) { database in
        database.removeView(named: byYear.name)
        return try seconds { _ = try database.snapshot().rowCount(of: byYear) }
      }
    },
    Workload(
      name: "view-open", title: "rows of a view, from its file, after opening",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      // This writes the file, unless it exists.
      _ = try measureView(bench, workCount: 1) { _ in 0 }
      let database = try bench.open("loaded")
      let elapsed = try seconds {
        let count = try database.snapshot().rowCount(of: byYear)
        guard count > 0 else { throw BenchmarkError("there are no rows") }
      }
      try database.close()
      return elapsed * 1e9 / Double(bench.count)
    },
    Workload(
      name: "view-update", title: "a query of one row after a change of one document",
      unit: .nanoseconds, prepare: { try $0.load("viewed") }
    ) { bench in
      try measureView(bench, "viewed", workCount: 1000) { database in
        var elapsed = 0.0
        for number in 0..<1000 {
          let document = bench.samples.document(
            number * 7919 % bench.count, version: bench.repetition + 1)
          try database.write(durability: Durability.none) {
            _ = try $0.replace(document.id, with: document.properties)
          }
          elapsed += try seconds { _ = try database.rows(of: byYear, .all.unreduced().limit(1)) }
        }
        return elapsed
      }
    },
    Workload(
      name: "view-group", title: "a count for each year, over all rows",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureView(bench, workCount: bench.count) { database in
        try seconds {
          let years = try database.rows(of: byYear, .all.grouped(byFirst: 1))
          guard years.count > 1 else { throw BenchmarkError("there are no groups") }
        }
      }
    },
    Workload(
      name: "view-range", title: "a hundred rows of a view, from a random key on",
      unit: .nanoseconds, prepare: { try $0.load() }
    ) { bench in
      try measureView(bench, workCount: 1000) { database in
        let snapshot = try database.snapshot()
        return try seconds {
          var count = 0
          for number in 0..<1000 {
            let start: Value = [.int(Int64(1900 + number % 120))]
            count += try snapshot.rows(of: byYear, ViewQuery(from: start).unreduced().limit(100))
              .count
          }
          guard count > 0 else { throw BenchmarkError("there are no rows") }
        }
      }
    },
  ]

  private static let byYear = MapReduceView("by year", version: "1", reduction: .count) {
    document, emit in
    emit([document["year"] ?? .null, document["title"] ?? .null])
  }

  /// Measures work on a view whose rows are built.
  private static func measureView(
    _ bench: Bench, _ name: String = "loaded", workCount: Int,
    _ work: (Database) throws -> Double
  ) throws -> Double {
    let database = try bench.open(name)
    _ = try database.snapshot().rowCount(of: byYear)
    let elapsed = try work(database)
    try database.close()
    return elapsed * 1e9 / Double(workCount)
  }
}
