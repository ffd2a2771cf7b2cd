import Divan

extension Workload {
  /// The memory and disk space of stores.
  static let taking = [
    Workload(
      name: "memory-loaded", title: "growth of anonymous memory by a load, everything resident",
      unit: .bytesPerDocument, isApart: true, warmsUp: false
    ) { bench in
      try bench.remove("memory")
      // The documents of one transaction are created once before, and are therefore not counted.
      _ = bench.samples.documents(0..<min(bench.count, Bench.transactionSize))
      let before = try requireMemory()
      let database = try bench.open("memory", .none)
      try bench.fill(database)
      var documents = try database.snapshot().documents()
      while try documents.next() != nil {}
      let after = try requireMemory()
      try database.close()
      try bench.remove("memory")
      return (after - before) / Double(bench.count)
    },
    Workload(
      name: "memory-opened", title: "growth of anonymous memory by opening and one read",
      unit: .megabytes, isApart: true, warmsUp: false, prepare: { try $0.load() }
    ) { bench in
      let before = try requireMemory()
      let database = try bench.open("loaded")
      _ = try database.read { try $0.document(bench.samples.id(0)) }
      let after = try requireMemory()
      try database.close()
      return (after - before) / 1e6
    },
    Workload(
      name: "disk-loaded", title: "the store's directory ÷ JSON with _id and _rev, after the load",
      unit: .times, warmsUp: false, prepare: { try $0.load() }
    ) { bench in
      let database = try bench.open("loaded")
      let size = try database.statistics.directorySize
      try database.close()
      return Double(size) / liveSize(bench)
    },
    Workload(
      name: "disk-overwriting",
      title: "the maximum of that while overwriting everything five times",
      unit: .times, isApart: true, warmsUp: false
    ) { bench in
      try bench.remove("disk")
      let database = try bench.open("disk", .none)
      try bench.fill(database)
      var random = RandomNumbers(state: UInt64(4242 + bench.repetition))
      var greatest = try database.statistics.directorySize
      for round in 1...max(5, 5 * bench.count / Bench.transactionSize) {
        let documents = (0..<Bench.transactionSize).map { _ in
          bench.samples.document(random.below(bench.count), version: round)
        }
        try overwrite(documents, in: database)
        greatest = max(greatest, try database.statistics.directorySize)
      }
      try database.close()
      try bench.remove("disk")
      return Double(greatest) / liveSize(bench)
    },
  ]

  static func requireMemory() throws -> Double {
    guard let memory = anonymousMemory() else {
      throw BenchmarkError("this system does not report the size of anonymous memory")
    }
    return memory
  }

  /// Returns the size of the documents' JSON with `_id` and `_rev`, estimated from a sample.
  private static func liveSize(_ bench: Bench) -> Double {
    let sample = bench.samples.documents(0..<min(bench.count, 2000))
    let size = sample.reduce(0) { $0 + Samples.size($1) }
    return Double(size) * Double(bench.count) / Double(sample.count)
  }
}
