import Dispatch
import Foundation
import Synchronization

/// One run of a proof: what is to be tried, and what came of it.
package final class ProofRun: Sendable {
  package let proof: String
  package let budget: Budget
  /// Added to the seeds, so that each night tries something else; 0 unless asked for.
  package let seed: UInt64
  /// If it is not nil, only cases whose name contains it are tried.
  package let only: String?
  /// How many cases are tried at the same time.
  package let jobs: Int
  /// When no further case is begun, and the figures are those of the cases until then.
  package let deadline: ContinuousClock.Instant?
  /// The file that holds what earlier runs have tried, for suites that can be gone on with.
  package let ledgerPath: String?
  /// Told now and then how far the run is.
  package let progress: (@Sendable (String) -> Void)?
  /// Whether disks are to lose nothing, whatever loss is tried: what a suite must notice that is
  /// there to notice losses.
  package static let losesNothing =
    ProcessInfo.processInfo.environment["DIVAN_LOSE_NOTHING"] == "1"
  private let state = Mutex(State())

  private struct State {
    var figures: [(name: String, count: Int)] = []
    var failures: [String] = []
    var notes: [String] = []
  }

  package init(
    _ proof: String, budget: Budget, seed: UInt64 = 0, only: String? = nil, jobs: Int = 1,
    deadline: ContinuousClock.Instant? = nil, ledgerPath: String? = nil,
    progress: (@Sendable (String) -> Void)? = nil
  ) {
    self.proof = proof
    self.budget = budget
    self.seed = seed
    self.only = only
    self.jobs = jobs
    self.deadline = deadline
    self.ledgerPath = ledgerPath
    self.progress = progress
  }
}

extension ProofRun {
  /// Whether a case is to be tried.
  package func includes(_ name: String) -> Bool { only.map(name.contains) ?? true }

  /// Adds to a figure that is printed at the end; figures stand in the order of their first mention.
  package func count(_ name: String, _ count: Int = 1) {
    state.withLock { state in
      if let index = state.figures.firstIndex(where: { $0.name == name }) {
        state.figures[index].count += count
      } else {
        state.figures.append((name, count))
      }
    }
  }

  /// A line for the report, such as a row of a table.
  package func note(_ line: String) { state.withLock { $0.notes.append(line) } }

  /// Reports that a case failed, with what is needed to try just it again.
  ///
  /// Without a name it is about the run as a whole.
  package func fail(_ what: String, caseName: String = "", seed: UInt64? = nil) {
    let command =
      "swift run -c release Proofs \(budget.rawValue) \(proof)"
      + (caseName.isEmpty ? "" : " --only '\(caseName)'")
      + ((seed ?? self.seed) == 0 ? "" : " --seed \(seed ?? self.seed)")
    let place = caseName.isEmpty ? "" : "\(caseName): "
    state.withLock { $0.failures.append("\(place)\(what)\n  again: \(command)") }
  }

  package func figure(_ name: String) -> Int {
    state.withLock { $0.figures.first { $0.name == name }?.count ?? 0 }
  }

  package var figures: [(name: String, count: Int)] { state.withLock { $0.figures } }
  package var failures: [String] { state.withLock { $0.failures } }
  package var notes: [String] { state.withLock { $0.notes } }

  /// Reports a failure if a figure is below what this proof promises.
  ///
  /// Not if only some cases were asked for.
  package func require(_ name: String, atLeast minimum: Int) {
    guard only == nil, figure(name) < minimum else { return }
    state.withLock {
      $0.failures.append("\(name): \(figureText($0, name)), and at least \(minimum) were promised")
    }
  }

  private func figureText(_ state: borrowing State, _ name: String) -> String {
    "\(state.figures.first { $0.name == name }?.count ?? 0)"
  }

  /// Calls `body` for each case, ``jobs`` of them at a time; what one throws is reported as its
  /// failure.
  package func forEach<Case: Sendable>(
    _ cases: [Case], name: @Sendable (Case) -> String,
    _ body: @Sendable (Case) throws -> Void
  ) {
    let chosen = cases.filter { includes(name($0)) }
    let next = Atomic(0)
    let isLate = Atomic(false)
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
      while true {
        let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard index < chosen.count else { return }
        if let deadline, ContinuousClock.now > deadline {
          // One of the jobs says so.
          if !isLate.exchange(true, ordering: .relaxed) {
            fail("the time was over after \(index) of \(chosen.count) cases")
          }
          return
        }
        progress?("\(proof): \(index + 1) of \(chosen.count)")
        do {
          try body(chosen[index])
        } catch {
          fail("\(error)", caseName: name(chosen[index]))
        }
      }
    }
  }
}
