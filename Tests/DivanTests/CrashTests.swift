import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Power lost at every call that changes something, with every kind of loss: what was acknowledged is
/// there afterwards, nothing is there by half, and the store goes on as if nothing had happened.
struct CrashTests {
  @Test func `whenever the power goes, a prefix of the commits is left with all that was promised`()
    throws
  {
    let run = ProofRun(CrashProof.name, budget: .test, jobs: 2)
    try CrashProof().gather(run)
    print(run.figures.map { "\($0.count) \($0.name)" }.joined(separator: ", "))
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }
}
