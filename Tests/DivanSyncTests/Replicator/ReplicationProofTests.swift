import ProofKit
import Testing

/// Runs a sample of the proof of replications.
struct ReplicationProofTests {
  @Test func `stores have the same documents after any cut and kill`() throws {
    let seed = UInt64.random(in: 0..<1_000_000)
    print("seed", seed)
    let run = ProofRun(ReplicationProof.name, budget: .test, seed: seed)
    try ReplicationProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.joined(separator: "\n"))")
  }
}
