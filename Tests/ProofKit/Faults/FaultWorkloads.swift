package import Divan
import DivanLog
import DivanTesting
import Synchronization

extension CrashWorkload {
  /// The workloads for faults in addition to those for crashes: reading, and copying.
  package static let alsoForFaults = [reading, readingOnly, copying]

  private static func fillForReading(_ fixture: CrashFixture) throws {
    for session in 0..<3 {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, session * 6..<session * 6 + 9, size: 150)
      try fixture.commit(database, [.delete("doc-\(session)")])
      if session == 1 {
        try fixture.checkpoint(database)
        try fixture.compact(database)
      }
      try fixture.close(database)
    }
  }

  package static let reading = CrashWorkload(
    name: "reading the store of several sessions", prepare: fillForReading
  ) { fixture in
    let database = try fixture.open()
    try fixture.read(database)
    try fixture.commit(database, [.put("doc-3", size: 700)])
    try fixture.read(database)
    try fixture.close(database)
  }

  package static let readingOnly = CrashWorkload(
    name: "reading beside a writer", prepare: fillForReading
  ) { fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("doc-3", size: 700)])
    try fixture.attempt(.open) {
      let reader = try Database(
        at: CrashFixture.path, configuration: fixture.readingConfiguration())
      try fixture.check(reader)
      try fixture.read(reader)
    }
    try fixture.close(database)
  }

  package static let copying = CrashWorkload(
    name: "a backup that is restored", prepare: fillForReading
  ) { fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(
      database, [.put("doc-4", size: 70), .attach("doc-5", name: "a", seed: 3, size: 200)],
      durability: .none)
    try fixture.attempt(.backup) {
      try database.backup(to: "/copy.divan")
      fixture.writer.noteFlushed()
      try Database.restore(
        from: "/copy.divan", to: "/restored.divan", configuration: fixture.readingConfiguration())
      let copy = try Database(at: "/restored.divan", configuration: fixture.readingConfiguration())
      try fixture.check(copy)
      try fixture.read(copy)
    }
    try fixture.close(database)
  }
}

extension CrashFixture {
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
        let document = try snapshot.document(id)
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
