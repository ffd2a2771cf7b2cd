import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of a power loss at every call that changes something, with every kind of loss.
///
/// Afterwards, acknowledged commits exist, no commit is partial, and the store keeps working.
struct CrashTests {
  @Test(.partOfProof)
  func `after any power loss a prefix of the commits is left, with all acknowledged ones`()
    throws
  {
    let run = ProofRun(CrashProof.name, budget: .test, jobs: 2)
    try CrashProof().gather(run)
    print(run.figures.map { "\($0.count) \($0.name)" }.joined(separator: ", "))
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }

  @Test func `a proof run with a ledger skips the cases that an earlier run completed`() throws {
    let directory = try TemporaryDirectory()
    func run(seed: UInt64 = 0, until deadline: ContinuousClock.Instant? = nil) throws -> (
      run: ProofRun, begun: Int
    ) {
      let begun = Mutex(0)
      let run = ProofRun(
        CrashProof.name, budget: .test, seed: seed, only: "a new store", deadline: deadline,
        ledgerPath: "\(directory.path)/ledger"
      ) { _ in begun.withLock { $0 += 1 } }
      try CrashProof().gather(run)
      return (run, begun.withLock { $0 })
    }
    // The time limit is reached before any run begins.
    let ended = try run(until: .now)
    #expect(ended.begun == 0 && ended.run.figure("distinct states") == 0)
    let whole = try run()
    #expect(whole.begun > 0 && whole.run.figure("distinct states") > 0)
    let again = try run()
    #expect(again.begun == 0)
    #expect(again.run.figures.map(\.count) == whole.run.figures.map(\.count))
    #expect(again.run.notes == whole.run.notes)
    #expect(throws: CrashOracle.Mismatch.self) { try run(seed: 7) }
  }
}
