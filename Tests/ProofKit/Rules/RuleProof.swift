import DivanLog
import DivanTesting
import Synchronization

import Divan

/// The rules of the log one by one, where a crash at random reaches them seldom or not at all.
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

/// A situation in which leaving out a rule shows.
package struct RuleCase: Sendable, CustomStringConvertible {
  /// Which rule, or which promise, and what is to be seen.
  package let name: String
  /// Whether it takes more than a moment in a debug build.
  package var isLong = false
  /// Throws if it is not.
  package let check: @Sendable () throws -> Void

  package var description: String { name }

  package static let all: [RuleCase] =
    order + merging + segments + evidence + opening + checkpoints + failures + frames
    + promises + revisions + secondaryIndexes + views + ownership
    + damage
}

/// Throws unless something is so.
func expect(_ isSo: Bool, _ what: @autoclosure () -> String = "not as expected") throws {
  guard isSo else { throw CrashOracle.Mismatch(what()) }
}

/// Throws if there is nothing.
func require<Value>(_ value: Value?, _ what: String) throws -> Value {
  guard let value else { throw CrashOracle.Mismatch("no \(what)") }
  return value
}

extension CrashBench {
  /// A disk with nothing on it.
  static func fresh() -> CrashBench { CrashBench(SimulatedFileSystem(), CrashWriter(seed: 1)) }

  /// The same store after a loss of power, in another life.
  func restarted(_ loss: SimulatedDisk.Loss, life: Int = 500) -> CrashBench {
    CrashBench(fileSystem.restarted(loss), writer, isMapped: isMapped, life: life)
  }

  /// What the oracle knows now.
  var oracle: CrashOracle { writer.oracle.withLock { $0 } }

  /// Opens the store with nothing going on by itself.
  func openQuiet(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    try open {
      $0.maintenance = .manual
      change(&$0)
    }
  }

  /// Throws if an opened store is not the newest version, sound.
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
    fileSystem.names(in: CrashBench.path).filter { $0.hasSuffix(".segment") }
  }

  /// Takes files away whose names satisfy a condition.
  func vanish(where isMeant: (String) -> Bool) throws {
    for name in fileSystem.names(in: CrashBench.path) where isMeant(name) {
      try fileSystem.vanish("\(CrashBench.path)/\(name)")
    }
  }

  func path(of name: String) -> String { "\(CrashBench.path)/\(name)" }

  var directory: StoreDirectory { StoreDirectory(CrashBench.path, on: fileSystem) }

  /// Calls `body` at each call that changes something while `work` is done; what it throws is thrown
  /// in the end.
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
