import Foundation
import ProofKit

/// The command line of `Proofs`.
struct ProofProgram {
  /// In the order in which they run.
  static let proofs: [any Proof.Type] = [
    CrashProof.self, RuleProof.self, FaultProof.self, LyingProof.self, RandomProof.self,
    ByteProof.self, AgreementProof.self, HistoryProof.self, LiveProof.self, KillProof.self,
    ProcessProof.self, ReplicaProof.self, SuspensionProof.self, QueryProof.self, ModelProof.self,
    ReplicationProof.self,
  ]

  private static let usage = """
    usage: Proofs BUDGET [PROOF…] [--only TEXT] [--seed NUMBER] [--jobs COUNT] [--minutes COUNT]
                  [--resume FILE]

      BUDGET   test (seconds), ci (minutes), night (hours) or release (days)
      PROOF    \(proofs.map { "\($0.name): \($0.claim)" }.joined(separator: "\n           "))
      --only   tries only cases whose name contains TEXT
      --seed   is added to every seed
      --jobs   how many cases are tried at the same time; as many as there are cores if not given
      --minutes  after so long no case is begun any more, and the figures are those of the cases until
               then, which counts as a failure; says on the standard error how far it is
      --resume  of `crash`: keeps in FILE what was tried, and goes on where a run that kept it there
               was ended
    """

  private var budget: Budget?
  private var chosen: [any Proof.Type] = []
  private var only: String?
  private var seed: UInt64 = 0
  private var jobs = ProcessInfo.processInfo.activeProcessorCount
  private var minutes: Int?
  private var ledgerPath: String?
  private var isUnderstood = true

  init(arguments: [String]) {
    var rest = arguments[...]
    budget = rest.popFirst().flatMap(Budget.init)
    while let argument = rest.popFirst() {
      switch argument {
      case "--only": only = rest.popFirst()
      case "--seed": take(rest.popFirst().flatMap { UInt64($0) }, into: \.seed)
      case "--minutes": take(rest.popFirst().flatMap { Int($0) }, into: \.minutes)
      case "--resume": take(rest.popFirst(), into: \.ledgerPath)
      case "--jobs": take(rest.popFirst().flatMap { Int($0) }, into: \.jobs)
      default:
        if let proof = Self.proofs.first(where: { $0.name == argument }) {
          chosen.append(proof)
        } else {
          isUnderstood = false
        }
      }
    }
    if chosen.isEmpty { chosen = Self.proofs }
  }

  private mutating func take<T>(_ value: T?, into path: WritableKeyPath<Self, T>) {
    if let value { self[keyPath: path] = value } else { isUnderstood = false }
  }

  private mutating func take<T>(_ value: T?, into path: WritableKeyPath<Self, T?>) {
    if value == nil { isUnderstood = false }
    self[keyPath: path] = value
  }

  /// Runs what was asked for; returns the status to exit with.
  func run() -> Int32 {
    guard let budget, isUnderstood, jobs > 0 else {
      print(Self.usage)
      return 64
    }
    var failureCount = 0
    let deadline = minutes.map { ContinuousClock.now + .seconds($0 * 60) }
    let progress = minutes.map { _ in
      { @Sendable (line: String) in
        FileHandle.standardError.write(Data((line + "\n").utf8))
      }
    }
    for proof in chosen {
      print("\n\(proof.name): \(proof.claim)")
      let run = ProofRun(
        proof.name, budget: budget, seed: seed, only: only, jobs: jobs, deadline: deadline,
        ledgerPath: ledgerPath, progress: progress)
      let duration = ContinuousClock().measure {
        do { try proof.init().gather(run) } catch { run.fail("\(error)", caseName: "") }
      }
      for note in run.notes { print("  \(note)") }
      for (name, count) in run.figures { print("  \(count) \(name)") }
      print("  \(duration.components.seconds) seconds")
      failureCount += run.failures.count
      for failure in run.failures.prefix(20) { print("  FAILED \(failure.prefix(2000))") }
      if run.failures.count > 20 { print("  FAILED and \(run.failures.count - 20) more") }
    }
    print(failureCount == 0 ? "\nEverything held." : "\n\(failureCount) failures.")
    return failureCount == 0 ? 0 : 1
  }
}
