import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Tests the rules of the log one by one, where random crashes reach them rarely or not at all.
package struct RuleProof: Proof {
  package static let name = "rules"
  package static let claim = "each rule of the log is kept"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    run.forEach(RuleCase.all, name: { $0.name }) { rule in
      try rule.check()
      run.count("rules held in situations made for them")
    }
  }
}

/// A situation in which the violation of a rule is detected.
package struct RuleCase: Sendable, CustomStringConvertible {
  /// The rule or promise, and the expected behavior.
  package let name: String
  /// Whether it takes more than a moment in a debug build.
  package var isLong = false
  /// Throws if the expectation is not met.
  package let check: @Sendable () throws -> Void

  package var description: String { name }

  package static let all: [RuleCase] =
    order + merging + segments + evidence + opening + checkpoints + pages + failures + frames
    + promises + revisions + secondaryIndexes + texts + attachedTexts + views
    + ownership
    + damage + sharing + encryption
}

/// Throws unless a condition is true.
func expect(_ isSo: Bool, _ what: @autoclosure () -> String = "not as expected") throws {
  guard isSo else { throw CrashOracle.Mismatch(what()) }
}

/// Returns a value; throws if it is nil.
func require<Value>(_ value: Value?, _ what: String) throws -> Value {
  guard let value else { throw CrashOracle.Mismatch("no \(what)") }
  return value
}

extension CrashFixture {
  /// Creates a fixture with an empty disk.
  static func fresh() -> CrashFixture { CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1)) }

  /// The same store after a loss of power, in another life.
  func restarted(_ loss: SimulatedDisk.Loss, life: Int = 500) -> CrashFixture {
    CrashFixture(
      fileSystem.restarted(loss), writer, isMapped: isMapped, life: life, cipher: cipher)
  }

  /// The current state of the oracle.
  var oracle: CrashOracle { writer.oracle.withLock { $0 } }

  /// Opens the store without background work.
  func openQuiet(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    try open {
      $0.maintenance = .manual
      change(&$0)
    }
  }

  /// Throws unless an opened store is the newest version and undamaged.
  func expectNewest(_ database: Database) throws {
    if let damage = database.openingReport.damage.first {
      throw CrashOracle.Mismatch("damage is reported: \(damage)")
    }
    let oracle = oracle
    let found = try oracle.identify(database)
    try expect(
      found == oracle.versions.count - 1,
      "version \(found) is found, and \(oracle.versions.count - 1) is the newest")
  }

  /// The names of the segments, in order.
  var segmentNames: [String] {
    fileSystem.names(in: CrashFixture.path).filter { $0.hasSuffix(".segment") }
  }

  /// Removes files whose names satisfy a condition.
  func vanish(where isMeant: (String) -> Bool) throws {
    for name in fileSystem.names(in: CrashFixture.path) where isMeant(name) {
      try fileSystem.vanish("\(CrashFixture.path)/\(name)")
    }
  }

  func path(of name: String) -> String { "\(CrashFixture.path)/\(name)" }

  var directory: StoreDirectory {
    StoreDirectory(CrashFixture.path, on: fileSystem, cipher: cipher)
  }

  /// Calls `body` at each changing call during `work`, and throws its errors at the end.
  func interrupting(_ work: () throws -> Void, _ body: @escaping @Sendable (Int) throws -> Void)
    throws
  {
    let problems = Recorder<String>()
    fileSystem.observeChangingCalls { call in
      do { try body(call) } catch { problems.append("call \(call): \(error)") }
    }
    defer { fileSystem.observeChangingCalls(nil) }
    try work()
    if let problem = problems.all.first { throw CrashOracle.Mismatch(problem) }
  }
}
