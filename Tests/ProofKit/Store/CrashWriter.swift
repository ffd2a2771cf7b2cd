import DivanLog
import DivanTesting
package import Synchronization

package import Divan

/// Works with a store as a program would, and reports everything to the oracle.
package final class CrashWriter: Sendable {
  package let oracle: Mutex<CrashOracle>
  private let random: Mutex<SeededGenerator>
  /// Whether something failed, so that it is unknown what a later flush has flushed.
  package let isUnsure = Atomic(false)

  package init(_ oracle: CrashOracle = CrashOracle(), seed: UInt64) {
    self.oracle = Mutex(oracle)
    random = Mutex(SeededGenerator(seed: seed))
  }

  /// Creates a writer for a store that keeps some replaced revisions, and some revision IDs.
  package convenience init(
    seed: UInt64, history: HistoryRetention, revisionDepth: Int = Configuration().revisionDepth
  ) {
    var oracle = CrashOracle(revisionDepth: revisionDepth)
    oracle.history = history
    self.init(oracle, seed: seed)
  }

  package typealias Step = StoreChange

  /// Commits some steps in one transaction.
  package func commit(
    _ database: Database, _ steps: [Step], durability: Durability = .full
  ) throws {
    guard let (before, base) = try begin(database) else { return }
    let index = before.versions.count
    var version = before.versions[base]
    var isAttempted = false
    do {
      try database.write(durability: durability) { transaction in
        for step in steps {
          try version.make(step, in: transaction) { random.withLock { $0.next() } }
        }
        let old = version.documents[CrashOracle.clock]?.winner.revision
        let clock = try transaction.replace(
          CrashOracle.clock, with: ["version": .int(Int64(index))])
        try version.add(CrashOracle.Entry(clock), to: CrashOracle.clock, inPlaceOf: old)
        let attempted = version
        oracle.withLock { $0.attempt(attempted) }
        isAttempted = true
      }
    } catch let error as DatabaseError {
      // Any other code means that nothing was committed; then it must never be found.
      if isAttempted, error.code != .outcomeUnknown { oracle.withLock { $0.dropNewest() } }
      throw error
    }
    oracle.withLock {
      $0.noteSeen(index)
      if durability == .full { $0.secured = index }
    }
  }

  /// Returns the oracle, and the version that a transaction builds on now.
  ///
  /// A commit of unknown outcome may be lost: then the next one is built on the one before it. On a
  /// disk that lies, the store may have none of these versions, and the result of a transaction is
  /// unknown.
  private func begin(_ database: Database) throws -> (oracle: CrashOracle, base: Int)? {
    let before = oracle.withLock { $0 }
    guard isUnsure.load(ordering: .relaxed) else { return (before, before.versions.count - 1) }
    do { return (before, try before.identify(database)) } catch is CrashOracle.Mismatch {
      return nil
    }
  }

  /// Runs a call that is a fully durable transaction, if `change` applies, and records the change.
  private func commitApart(
    _ database: Database, _ body: () throws -> Void,
    _ change: (inout StoreModel, _ lastSequence: UInt64) -> Bool
  ) throws {
    guard let (before, base) = try begin(database) else { return }
    var version = before.versions[base]
    guard change(&version, try database.snapshot().sequence) else { return try body() }
    let attempted = version
    oracle.withLock { $0.attempt(attempted) }
    do {
      try body()
    } catch let error as DatabaseError {
      if error.code != .outcomeUnknown { oracle.withLock { $0.dropNewest() } }
      throw error
    }
    oracle.withLock {
      $0.noteSeen(before.versions.count)
      $0.secured = before.versions.count
    }
  }

  /// Names the newest version, unless the name is taken.
  package func name(_ database: Database, _ name: String) throws {
    guard try !database.namedSnapshots().contains(where: { $0.name == name }) else { return }
    try commitApart(database) {
      try database.saveSnapshot(named: name)
    } _: { version, sequence in
      version.name(name, sequence: sequence)
      return true
    }
  }

  /// Removes a name, if it exists.
  package func removeName(_ database: Database, _ name: String) throws {
    guard try database.namedSnapshots().contains(where: { $0.name == name }) else { return }
    try commitApart(database) {
      try database.deleteSnapshot(named: name)
    } _: { version, _ in
      version.removeName(name)
      return true
    }
  }

  /// Adds an index, unless it exists.
  package func addIndex(_ database: Database, _ name: String) throws {
    guard try !database.indexes().contains(where: { $0.name == name }) else { return }
    try commitApart(database) {
      try database.addIndex(StoreModel.index(name))
    } _: { version, _ in
      version.addIndex(name)
      return true
    }
  }

  /// Removes an index, if it exists.
  package func removeIndex(_ database: Database, _ name: String) throws {
    guard try database.indexes().contains(where: { $0.name == name }) else { return }
    try commitApart(database) {
      try database.removeIndex(named: name)
    } _: { version, _ in
      version.removeIndex(name)
      return true
    }
  }

  /// Purges documents that expired by a time, which is the database's.
  package func purgeExpired(_ database: Database, at time: UInt64) throws {
    try commitApart(database) {
      try database.purgeExpiredDocuments()
    } _: { version, sequence in
      version.purgeExpired(at: time, lastSequence: sequence)
    }
  }

  /// Records that everything so far was flushed.
  package func noteFlushed() {
    guard !isUnsure.load(ordering: .relaxed) else { return }
    oracle.withLock { $0.secured = $0.versions.count - 1 }
  }
}
