import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Power loss at every call that changes something, with every kind of loss.
///
/// Acknowledged commits are there afterwards, no commit is there in part, and the store keeps
/// working.
struct CrashTests {
  @Test func `whenever the power goes, a prefix of the commits is left with all that was promised`()
    throws
  {
    let run = ProofRun(CrashProof.name, budget: .test, jobs: 2)
    try CrashProof().gather(run)
    print(run.figures.map { "\($0.count) \($0.name)" }.joined(separator: ", "))
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }

  @Test func `a run that was ended goes on with what it has not tried`() throws {
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
