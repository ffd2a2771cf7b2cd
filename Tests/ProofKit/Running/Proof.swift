/// A proof that the `Proofs` program runs.
///
/// Everything that it does is determined by its seeds, and each failure is reported with the
/// command that reproduces it.
package protocol Proof: Sendable {
  /// The proof's name on the command line.
  static var name: String { get }
  /// The property that it proves, in one sentence.
  static var claim: String { get }

  init()

  /// Tries as much as the run's budget allows, and reports the results to `run`.
  func gather(_ run: ProofRun) throws
}
