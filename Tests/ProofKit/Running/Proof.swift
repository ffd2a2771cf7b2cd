/// A body of evidence that the `Proofs` program gathers.
///
/// Everything that it does follows from its seeds, and each failure is reported with the command that
/// makes it happen again.
package protocol Proof: Sendable {
  /// What it is called on the command line.
  static var name: String { get }
  /// What it shows, in one sentence.
  static var claim: String { get }

  init()

  /// Tries as much as the run's budget allows, and tells `run` what came of it.
  func gather(_ run: ProofRun) throws
}
