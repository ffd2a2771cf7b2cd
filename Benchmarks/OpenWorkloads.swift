import Divan

extension Workload {
  /// Opens stores in a new process, with the files in the system's cache.
  static let opening = [
    Workload(
      name: "open-clean", title: "open and first read, after a clean close", unit: .milliseconds,
      isApart: true, warmsUp: false, prepare: { try $0.load() }
    ) { try openAndRead("loaded", $0) },
    Workload(
      name: "open-killed",
      title: "open and first read, after the writer of 20,000 documents was killed",
      unit: .milliseconds, isApart: true, warmsUp: false,
      prepare: { bench in
        // A fresh copy, without the log of the previous sample.
        try bench.remove("killed")
        try bench.load("killed")
        try ChildTask(workload: overwriteAndEnd.name, bench: bench).runUntilKilled()
      }
    ) { try openAndRead("killed", $0) },
  ]

  /// The work of the process that is killed; not a workload by itself.
  static let overwriteAndEnd = Workload(
    name: "overwrite-and-end", title: "", unit: .milliseconds
  ) { bench in
    let database = try bench.open("killed", .none)
    var random = RandomNumbers(state: UInt64(7 + bench.repetition))
    for _ in 0..<20 {
      let documents = (0..<1000).map { _ in
        bench.samples.document(random.below(bench.count), version: 2)
      }
      try overwrite(documents, in: database)
    }
    killThisProcess()
    return 0
  }

  private static func openAndRead(_ name: String, _ bench: Bench) throws -> Double {
    let id = bench.samples.id(bench.count / 2 + bench.repetition)
    var opened: Database?
    let elapsed = try seconds {
      let database = try bench.open(name)
      guard try database.read({ try $0.document(id) }) != nil else {
        throw BenchmarkError("\(id) was not found")
      }
      opened = database
    }
    try opened?.close()
    return elapsed * 1e3
  }
}
