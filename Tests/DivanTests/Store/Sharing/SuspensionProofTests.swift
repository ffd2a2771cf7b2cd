import ProofKit
import Testing

/// Runs a part of what `Proofs` does with stores that are suspended or followed.
struct SuspensionProofTests {
  @Test(.partOfProof)
  func `a store that is suspended and resumed loses nothing and sees what others write`()
    throws
  {
    let run = ProofRun(SuspensionProof.name, budget: .test)
    try SuspensionProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures)")
  }
}
