import ProofKit
import Testing

/// Runs a part of what `Proofs` does with processes that are killed and that share a store.
@Suite(.serialized)
struct KillTests {
  @Test(.partOfProof)
  func `commits that a killed writer acknowledged survive, and no commit is partial`() throws {
    let run = ProofRun(KillProof.name, budget: .test)
    try KillProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures)")
  }

  @Test(.partOfProof)
  func `processes that share a store have one writer at a time and read consistent states`()
    throws
  {
    let run = ProofRun(ProcessProof.name, budget: .test)
    try ProcessProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures)")
  }
}
