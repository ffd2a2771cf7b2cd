import Dispatch
import Foundation
import Synchronization

/// One run of a proof: its options and its results.
package final class ProofRun: Sendable {
  package let proof: String
  package let budget: Budget
  /// A number that is added to the seeds, so that each night tries other cases; 0 by default.
  package let seed: UInt64
  /// If it is not nil, only cases whose names contain it are tried.
  package let only: String?
  /// The number of cases that are tried at the same time.
  package let jobs: Int
  /// The time after which no further case begins; the figures then cover the cases so far.
  package let deadline: ContinuousClock.Instant?
  /// The file with the progress of earlier runs, for suites that can be resumed.
  package let ledgerPath: String?
  /// Receives the progress of the run from time to time.
  package let progress: (@Sendable (String) -> Void)?
  /// Whether disks lose nothing, whatever loss is tried.
  ///
  /// A suite that detects losses must notice that.
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
  /// Returns whether a case is to be tried.
  package func includes(_ name: String) -> Bool { only.map(name.contains) ?? true }

  /// Adds to a figure that is printed at the end; figures are printed in the order of first use.
  package func count(_ name: String, _ count: Int = 1) {
    state.withLock { state in
      if let index = state.figures.firstIndex(where: { $0.name == name }) {
        state.figures[index].count += count
      } else {
        state.figures.append((name, count))
      }
    }
  }

  /// Adds a line to the report, such as a row of a table.
  package func note(_ line: String) { state.withLock { $0.notes.append(line) } }

  /// Reports a failed case, with the command that reproduces it.
  ///
  /// Without a name, the failure concerns the run as a whole.
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

  /// Reports a failure if a figure is below the required minimum.
  ///
  /// It has no effect if only some cases were selected.
  package func require(_ name: String, atLeast minimum: Int) {
    guard only == nil, figure(name) < minimum else { return }
    state.withLock {
      $0.failures.append("\(name): \(figureText($0, name)), and at least \(minimum) were promised")
    }
  }

  private func figureText(_ state: borrowing State, _ name: String) -> String {
    "\(state.figures.first { $0.name == name }?.count ?? 0)"
  }

  /// Calls `body` for each case, ``jobs`` of them at a time; an error of a case is reported as its
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
          // Only one of the jobs reports it.
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
