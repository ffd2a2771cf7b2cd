import ProofKit
import Testing

/// Tests that compare the documents of saved models with dictionaries.
struct SavedPropertiesTests {
  @Test(.partOfProof)
  func `saved models have the properties that a dictionary has`() throws {
    let run = ProofRun(ModelProof.name, budget: .test)
    try ModelProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }
}
