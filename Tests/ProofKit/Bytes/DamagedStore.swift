import Divan
import DivanLog
package import DivanTesting
import Synchronization

/// A small store that was closed, to be damaged.
package struct DamagedStore: Sendable {
  package let name: String
  package let fill: @Sendable (CrashFixture) throws -> Void

  package static let all = [plain, checkpointed, merged]

  package static let plain = DamagedStore(name: "a log of two segments") { fixture in
    for session in 0..<2 {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, session..<session + 4, size: 200)
      try fixture.commit(database, [.delete("doc-\(session)")])
      try database.close()
    }
  }

  package static let checkpointed = DamagedStore(name: "a checkpoint and a log after it") {
    fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.commit(database, [.put("doc-0", size: 500)])
    try fixture.fill(database, 1..<30, size: 20)
    try database.writeCheckpoint()
    try fixture.commit(database, [.put("doc-3", size: 30), .delete("doc-4")])
    try database.close()
  }

  package static let merged = DamagedStore(name: "compacted segments") { fixture in
    for session in 0..<3 {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, session..<session + 4, size: 100)
      if session == 1 { try database.compact() }
      try database.close()
    }
  }

  package struct Original {
    package let disk: SimulatedFileSystem
    package let oracle: CrashOracle
    package let files: [(path: String, size: Int)]
    package var version: Int { oracle.versions.count - 1 }
  }

  package func make() throws -> Original {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    try fill(fixture)
    let disk = fixture.fileSystem
    let names = try disk.list(CrashFixture.path).filter {
      !["LOCK", "tmp", "RESERVE"].contains($0)
    }
    let files = try names.map { name in
      let path = "\(CrashFixture.path)/\(name)"
      return (path: path, size: try disk.status(path).size)
    }
    return Original(disk: disk, oracle: fixture.writer.oracle.withLock { $0 }, files: files)
  }
}

extension DamagedStore.Original {
  /// Opens a damaged copy and reads everything.
  ///
  /// It must be what was stored, or an error must report the reason; throws otherwise.
  package func check(_ disk: SimulatedFileSystem, isMapped: Bool) throws {
    let fixture = CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      if database.openingReport.damage.isEmpty {
        let found = try oracle.identify(database)
        guard found == version else {
          throw CrashOracle.Mismatch("version \(found) of \(version) without a report")
        }
      } else {
        try checkRest(database)
      }
    } catch let error as DatabaseError {
      guard [.damaged, .notAStore, .newerFormat].contains(error.code), error.path != nil else {
        throw CrashOracle.Mismatch("an error without sense: \(error)")
      }
    }
  }

  /// Checks that everything that can still be read was once stored.
  private func checkRest(_ database: Database) throws {
    try oracle.requireNoInventions(in: database)
    for error in database.openingReport.damage where error.path == nil {
      throw CrashOracle.Mismatch("damage without a place: \(error)")
    }
  }
}
