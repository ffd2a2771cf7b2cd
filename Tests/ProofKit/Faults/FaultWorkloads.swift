package import Divan
import DivanLog
import DivanTesting
import Synchronization

extension CrashWorkload {
  /// The workloads for faults in addition to those for crashes: reading, and copying.
  package static let alsoForFaults = [reading, readingOnly, copying]

  private static func fillForReading(_ bench: CrashBench) throws {
    for session in 0..<3 {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, session * 6..<session * 6 + 9, size: 150)
      try bench.commit(database, [.delete("doc-\(session)")])
      if session == 1 {
        try bench.checkpoint(database)
        try bench.compact(database)
      }
      try bench.close(database)
    }
  }

  package static let reading = CrashWorkload(
    name: "reading what several sessions left", prepare: fillForReading
  ) { bench in
    let database = try bench.open()
    try bench.read(database)
    try bench.commit(database, [.put("doc-3", size: 700)])
    try bench.read(database)
    try bench.close(database)
  }

  package static let readingOnly = CrashWorkload(
    name: "reading beside a writer", prepare: fillForReading
  ) { bench in
    let database = try bench.open { $0.maintenance = .manual }
    try bench.commit(database, [.put("doc-3", size: 700)])
    try bench.attempt(.open) {
      let reader = try Database(at: CrashBench.path, configuration: bench.readingConfiguration())
      try bench.check(reader)
      try bench.read(reader)
    }
    try bench.close(database)
  }

  package static let copying = CrashWorkload(
    name: "a backup, restored", prepare: fillForReading
  ) { bench in
    let database = try bench.open { $0.maintenance = .manual }
    try bench.commit(
      database, [.put("doc-4", size: 70), .attach("doc-5", name: "a", seed: 3, size: 200)],
      durability: .none)
    try bench.attempt(.backup) {
      try database.backup(to: "/copy.divan")
      bench.writer.noteFlushed()
      try Database.restore(
        from: "/copy.divan", to: "/restored.divan", configuration: bench.readingConfiguration())
      let copy = try Database(at: "/restored.divan", configuration: bench.readingConfiguration())
      try bench.check(copy)
      try bench.read(copy)
    }
    try bench.close(database)
  }
}

extension CrashBench {
  func readingConfiguration() -> Configuration {
    var configuration = configuration()
    configuration.isReadOnly = true
    return configuration
  }

  /// Reads everything, in every way; the result must match the oracle.
  package func read(_ database: Database) throws {
    try attempt(.read) {
      let oracle = writer.oracle.withLock { $0 }
      let index = try oracle.identify(database)
      let snapshot = try database.snapshot()
      for (id, entry) in oracle.versions[index].entries {
        let document = try snapshot.get(id)
        guard document.map(CrashOracle.Entry.init) == (entry.isDeleted ? nil : entry) else {
          throw CrashOracle.Mismatch("\(id) reads differently by itself")
        }
      }
    }
  }

  /// Checks that an undamaged store reports no damage.
  func check(_ database: Database) throws {
    if let damage = database.openingReport.damage.first { throw damage }
  }
}
