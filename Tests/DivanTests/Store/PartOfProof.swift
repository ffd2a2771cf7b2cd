import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// The test runs a part of a proof.
  ///
  /// It is skipped where the whole proof runs next, as in `.ci/run`.
  static var partOfProof: Self {
    .disabled(
      if: ProcessInfo.processInfo.environment["DIVAN_PROOFS_FOLLOW"] != nil,
      "The whole proof runs next.")
  }
}
