package import Divan
package import DivanTesting
import Synchronization

/// A user of a fixture's store, which performs ``CrashOperation``s step by step.
package final class CrashSession {
  package let fixture: CrashFixture
  /// The maintenance mode of the databases that it opens.
  package var maintenance = Configuration.MaintenanceMode.manual
  private var opened: Database?

  package init(_ fixture: CrashFixture) { self.fixture = fixture }

  /// Returns the database, after opening it if necessary.
  package func database() throws -> Database {
    if let opened { return opened }
    let maintenance = maintenance
    let database = try fixture.open { $0.maintenance = maintenance }
    opened = database
    if fixture.writer.oracle.withLock({ $0.isUncertain }) {
      // From here on, the served version is the only one possible.
      let snapshot = try database.snapshot()
      try fixture.writer.oracle.withLock { $0.cut(after: try $0.identify(snapshot)) }
    }
    return database
  }

  package func commit(_ steps: CrashWriter.Step..., durability: Durability = .full) throws {
    try fixture.commit(database(), steps, durability: durability)
  }

  package func fill(
    _ numbers: Range<Int>, size: Int = 600, durability: Durability = .full
  ) throws {
    try fixture.fill(database(), numbers, size: size, durability: durability)
  }

  package func flush() throws {
    try fixture.flush(database())
    fixture.writer.noteFlushed()
  }

  package func close() throws {
    try fixture.close(database())
    opened = nil
    fixture.writer.noteFlushed()
  }

  /// Drops the database, which does nothing further if its disk was lost or it was closed.
  package func forgetDatabase() { opened = nil }

  /// Ends the process, or cuts the power, and continues with what is left.
  package func lose(_ loss: SimulatedDisk.Loss) throws {
    fixture.lose(loss)
    opened = nil
    _ = try database()
  }

  /// Runs work that may fill the disk.
  ///
  /// Returns whether the disk was full.
  package func tryWithFullDisk(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return false
    } catch let error as DatabaseError where error.code == .diskFull {
      let snapshot = try database().snapshot()
      try fixture.writer.oracle.withLock { oracle in
        oracle.forget(after: try oracle.identify(snapshot))
      }
      return true
    }
  }
}
