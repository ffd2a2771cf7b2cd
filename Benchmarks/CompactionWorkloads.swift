import Divan

extension Workload {
  /// Compactions of a store of which every tenth document was overwritten, at random.
  static let compacting = [
    Workload(
      name: "compact", title: "`compact` after a tenth was overwritten",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false, prepare: prepareCompaction
    ) { bench in
      let database = try openToCompact(bench)
      let elapsed = try seconds { try database.compact() }
      try database.close()
      return elapsed * 1e6 / Double(bench.count)
    },
    Workload(
      name: "memory-compact", title: "growth of anonymous memory by that compaction",
      unit: .bytesPerDocument, isApart: true, warmsUp: false, prepare: prepareCompaction
    ) { bench in
      let database = try openToCompact(bench)
      let before = try requireMemory()
      try database.compact()
      let after = try requireMemory()
      try database.close()
      return max(0, after - before) / Double(bench.count)
    },
  ]

  /// Opens the store without maintenance in the background.
  private static func openToCompact(_ bench: Bench) throws -> Database {
    var configuration = Configuration()
    configuration.durability = .none
    configuration.maintenance = .manual
    return try Database(at: bench.path("compacted"), configuration: configuration)
  }

  private static func prepareCompaction(_ bench: Bench) throws {
    try bench.remove("compacted")
    try bench.load("compacted")
    let database = try openToCompact(bench)
    var random = RandomNumbers(state: UInt64(99 + bench.repetition))
    var left = bench.count / 10
    while left > 0 {
      let documents = (0..<min(left, Bench.transactionSize)).map { _ in
        bench.samples.document(random.below(bench.count), version: 2)
      }
      try overwrite(documents, in: database)
      left -= documents.count
    }
    try database.close()
  }
}
