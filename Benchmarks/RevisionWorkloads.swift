import Divan

extension Workload {
  /// Retained histories, and conflicts.
  static let branching = [
    Workload(
      name: "update", title: "documents changed, without retained history",
      unit: .microsecondsPerDocument
    ) { try update($0, keeping: .disabled) },
    Workload(
      name: "update-history", title: "the same, with every revision retained",
      unit: .microsecondsPerDocument
    ) { try update($0, keeping: .unlimited) },
    Workload(
      name: "update-deep",
      title: "the same, without retained history, of documents with 20 revisions",
      unit: .microsecondsPerDocument
    ) { try update($0, keeping: .disabled, prepare: deepen) },
    Workload(
      name: "conflict-insert", title: "a second branch of each document, from another store",
      unit: .microsecondsPerDocument
    ) { bench in
      try withDocuments(bench, keeping: .disabled) { database, documents in
        try inBatches(documents, database) { transaction, document in
          guard let revision = document.revision,
            let branch = RevisionID(
              generation: revision.generation, digest: String(repeating: "7", count: 32))
          else { return }
          try transaction.insert(document, history: [branch])
        }
      }
    },
    Workload(
      name: "conflict-resolve", title: "these conflicts resolved, property by property",
      unit: .microsecondsPerDocument
    ) { bench in
      try withDocuments(bench, keeping: .disabled) { database, documents in
        try branch(documents, in: database)
      } measure: { database, documents in
        try inBatches(documents, database) { transaction, document in
          try transaction.resolve(document.id) { _ in .mine }
        }
      }
    },
    Workload(
      name: "conflict-wide", title: "a document with a thousand branches, per branch",
      unit: .microsecondsPerDocument
    ) { bench in
      let database = try Database.inMemory()
      return try seconds { try widen(database) } * 1e6 / Double(branchCount)
    },
    Workload(
      name: "conflict-wide-resolve", title: "the same, resolved", unit: .milliseconds
    ) { bench in
      let database = try Database.inMemory()
      try widen(database)
      return try seconds {
        try database.write { _ = try $0.resolve("film") { _ in .mine } }
      } * 1e3
    },
    Workload(
      name: "memory-conflict-wide",
      title: "growth of anonymous memory by a document with a thousand branches, created and read",
      unit: .megabytes, isApart: true, limit: 16, warmsUp: false
    ) { bench in
      try withNewStore(bench) { database, memory in
        try widen(database) { memory.look() }
        for _ in 0..<4 {
          let branches = try database.snapshot().branches(of: "film")
          memory.look(oneTimeIn: 1)
          guard branches.count == branchCount else { throw BenchmarkError("branches are missing") }
        }
      }
    },
    Workload(
      name: "memory-long-history",
      title:
        "growth of anonymous memory by a document with ten thousand revisions, changed and read",
      unit: .megabytes, isApart: true, limit: 16, warmsUp: false
    ) { bench in
      try withNewStore(bench, revisionDepth: historyLength) { database, memory in
        try database.write {
          _ = try $0.insert(Document(id: "film"), history: history(of: historyLength))
        }
        for number in 0..<200 as Range<Int64> {
          try database.update("film") { $0["number"] = .int(number) }
          memory.look(oneTimeIn: 4)
        }
        let revisions = try database.snapshot().revisions(of: "film")
        memory.look(oneTimeIn: 1)
        guard revisions.count == historyLength else {
          throw BenchmarkError("revisions are missing")
        }
      }
    },
  ]

  private static let branchCount = 1000
  private static let historyLength = 10_000

  private static func widen(_ database: Database, afterEach: () -> Void = {}) throws {
    let base = try database.write { try $0.put(Document(id: "film", ["title": "Metropolis"])) }
    for index in 0..<branchCount {
      var branch = base
      branch["number"] = .int(Int64(index))
      try database.write { _ = try $0.put(branch, onConflict: .branch) }
      afterEach()
    }
  }

  /// Returns revision IDs for a history of a length, newest first.
  private static func history(of length: Int, after first: RevisionID? = nil) -> [RevisionID] {
    let generations = UInt64(first == nil ? 1 : 2)...UInt64(first == nil ? length : length + 1)
    let new = generations.reversed().compactMap { generation in
      // Each digest occurs once in a document, as in practice.
      let digits = String(generation)
      let zeros = String(repeating: "0", count: 32 - digits.count)
      return RevisionID(generation: generation, digest: zeros + digits)
    }
    return new + (first.map { [$0] } ?? [])
  }

  /// Returns the growth of anonymous memory while `body` works with a new store, in megabytes.
  private static func withNewStore(
    _ bench: Bench, revisionDepth: Int = Configuration().revisionDepth,
    _ body: (Database, inout GreatestMemory) throws -> Void
  ) throws -> Double {
    try bench.remove("revisions")
    var configuration = Configuration()
    configuration.durability = .none
    configuration.revisionDepth = revisionDepth
    let database = try Database(at: bench.path("revisions"), configuration: configuration)
    var memory = GreatestMemory()
    try body(database, &memory)
    try database.close()
    try bench.remove("revisions")
    return try memory.growth() / 1e6
  }

  /// Extends every document's history to the maximum depth, with the last revision made by this
  /// store.
  private static func deepen(_ database: Database, _ documents: inout [Document]) throws {
    var changed: [Document] = []
    try inBatches(documents, database) { transaction, document in
      try transaction.insert(
        document, history: history(of: Configuration().revisionDepth, after: document.revision))
      guard var current = try transaction.document(document.id) else { return }
      current["done"] = current["done"] == true ? false : true
      changed.append(try transaction.put(current))
    }
    documents = changed
  }

  private static func update(
    _ bench: Bench, keeping history: HistoryRetention,
    prepare: (Database, inout [Document]) throws -> Void = { _, _ in }
  ) throws -> Double {
    try withDocuments(bench, keeping: history, prepare: prepare) { database, documents in
      try inBatches(documents, database) { transaction, document in
        var document = document
        document["done"] = document["done"] == true ? false : true
        try transaction.put(document)
      }
    }
  }

  /// Adds a branch to every document in which one property differs.
  private static func branch(_ documents: [Document], in database: Database) throws {
    try inBatches(documents, database) { transaction, document in
      for title in ["A", "B"] {
        var document = document
        document["title"] = .string(title)
        try transaction.put(document, onConflict: .branch)
      }
    }
  }

  private static func inBatches(
    _ documents: [Document], _ database: Database,
    _ body: (WriteTransaction, Document) throws -> Void
  ) throws {
    for start in stride(from: 0, to: documents.count, by: Bench.transactionSize) {
      try database.write(durability: Durability.none) { transaction in
        for document in documents[start..<min(start + Bench.transactionSize, documents.count)] {
          try body(transaction, document)
        }
      }
    }
    try database.flush()
  }

  private static func withDocuments(
    _ bench: Bench, keeping history: HistoryRetention,
    prepare: (Database, inout [Document]) throws -> Void = { _, _ in },
    measure: (Database, [Document]) throws -> Void
  ) throws -> Double {
    try bench.remove("revisions")
    var configuration = Configuration()
    configuration.history = history
    let database = try Database(at: bench.path("revisions"), configuration: configuration)
    var documents: [Document] = []
    for start in stride(from: 0, to: bench.count, by: Bench.transactionSize) {
      let new = bench.samples.documents(start..<min(start + Bench.transactionSize, bench.count))
      try database.write(durability: Durability.none) { transaction in
        for document in new { documents.append(try transaction.put(document)) }
      }
    }
    try prepare(database, &documents)
    let elapsed = try seconds { try measure(database, documents) }
    try database.close()
    try bench.remove("revisions")
    return elapsed * 1e6 / Double(bench.count)
  }
}
