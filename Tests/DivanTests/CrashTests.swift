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
  @Test(arguments: CrashWorkload.all)
  func `whenever the power goes, a prefix of the commits is left with all that was acknowledged`(
    workload: CrashWorkload
  ) throws {
    let explorer = CrashExplorer(workload)
    try explorer.explore()
    print("\(workload.name): \(explorer.summary)")
    #expect(explorer.failures.all.isEmpty, "\(explorer.failures.all.prefix(3))")
    #expect(explorer.stateCount > 0)
  }
}
