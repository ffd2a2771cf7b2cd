import Divan

extension Workload {
  /// Bulk writes.
  static let loading = [
    Workload(
      name: "load", title: "bulk load in random key order, 1,000 a transaction, flushed at the end",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false
    ) { bench in
      try bench.remove("load")
      let database = try bench.open("load", .none)
      let elapsed = try bench.fill(database)
      try database.close()
      try bench.remove("load")
      return elapsed * 1e6 / Double(bench.count)
    },
    Workload(
      name: "load-memory", title: "the same into a store in memory",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false
    ) { bench in
      let database = try Database.inMemory()
      let elapsed = try bench.fill(database)
      try database.close()
      return elapsed * 1e6 / Double(bench.count)
    },
    Workload(
      name: "overwrite", title: "random overwriting of half the store, 1,000 a transaction",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false,
      prepare: { try $0.load("overwrite") }
    ) { bench in
      let database = try bench.open("overwrite", .none)
      var random = RandomNumbers(state: UInt64(77 + bench.repetition))
      var elapsed = 0.0
      var written = 0
      while written < bench.count / 2 {
        let documents = (0..<Bench.transactionSize).map { _ in
          bench.samples.document(random.below(bench.count), version: 1 + bench.repetition)
        }
        elapsed += try seconds { try overwrite(documents, in: database) }
        written += documents.count
      }
      elapsed += try seconds { try database.flush() }
      try database.close()
      return elapsed * 1e6 / Double(written)
    },
  ]

  /// Stores documents in one transaction, replacing existing ones.
  static func overwrite(_ documents: [Document], in database: Database) throws {
    try database.write(durability: Durability.none) { transaction in
      for document in documents {
        try transaction.replace(document.id, with: document.properties)
      }
    }
  }
}
