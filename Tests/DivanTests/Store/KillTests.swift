import ProofKit
import Testing

/// Runs a part of what `Proofs` does with processes that are killed and that share a store.
@Suite(.serialized)
struct KillTests {
  @Test func `what a killed writer had acknowledged is there, and nothing is there by half`() throws
  {
    let run = ProofRun(KillProof.name, budget: .test)
    try KillProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures)")
  }

  @Test func `processes that share a store agree on who writes, and never see or do harm`() throws {
    let run = ProofRun(ProcessProof.name, budget: .test)
    try ProcessProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures)")
  }
}
