import ProofKit
import Testing

@Suite struct FileSystemAgreementTests {
  /// Runs a part of `Proofs ci agreement`.
  @Test(arguments: [0, 70_000] as [UInt64])
  func `random operations have the same results on every file system`(seed: UInt64) throws {
    let run = ProofRun(AgreementProof.name, budget: .test, seed: seed)
    try AgreementProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3))")
  }
}
