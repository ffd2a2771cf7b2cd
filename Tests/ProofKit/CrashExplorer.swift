import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Runs a workload once, and at each of its changing calls tries what losses of power would leave.
package final class CrashExplorer: Sendable {
  package let workload: CrashWorkload
  package let isMapped: Bool
  package let failures = Recorder<String>()
  private struct Counts {
    var calls = 0
    var states = 0
    var nested = 0
    var distinct: Set<Int> = []
  }
  private let counts = Mutex(Counts())
  /// Guards against exploring within an exploration.
  private let lives = Atomic(1000)

  package init(_ workload: CrashWorkload, isMapped: Bool = true) {
    self.workload = workload
    self.isMapped = isMapped
  }

  package var stateCount: Int { counts.withLock { $0.states + $0.nested } }

  package var summary: String {
    counts.withLock {
      "\($0.calls) calls, \($0.states) states (\($0.distinct.count) different), and \($0.nested) "
        + "after a crash in recovery"
    }
  }
}

extension CrashExplorer {
  package func explore() throws {
    var fileSystem = SimulatedFileSystem()
    let writer = CrashWriter(seed: 1)
    var bench = CrashBench(fileSystem, writer, isMapped: isMapped)
    try workload.prepare(bench)
    if fileSystem.hasLostPower {
      fileSystem = fileSystem.restarted(.processEnd)
      bench = CrashBench(fileSystem, writer, isMapped: isMapped)
    }
    let subject = fileSystem
    fileSystem.observeChangingCalls { [self] call in
      let oracle = writer.oracle.withLock { $0 }
      counts.withLock { $0.calls += 1 }
      for (index, loss) in CrashLoss.all(subject, call).enumerated()
      where (index + call) % workload.stride == 0 {
        attempt(subject, loss, oracle, call)
      }
    }
    try workload.work(bench)
    fileSystem.observeChangingCalls(nil)
    // And at the very end.
    for loss in CrashLoss.all(subject, 0) {
      attempt(subject, loss, writer.oracle.withLock { $0 }, 0)
    }
  }

  private func attempt(
    _ disk: SimulatedFileSystem, _ loss: CrashLoss, _ oracle: CrashOracle, _ call: Int
  ) {
    do {
      let left = disk.restarted(loss.loss, tearing: loss.tearing)
      var hasher = Hasher()
      left.hashContents(into: &hasher)
      hasher.combine(oracle.secured)
      hasher.combine(oracle.versions.count)
      // What is left unflushed by the end of a process shows in later losses only.
      if loss.loss == .processEnd { hasher.combine(call) }
      let isNew = counts.withLock {
        $0.states += 1
        return $0.distinct.insert(hasher.finalize()).inserted
      }
      if isNew { try examine(left, oracle, call) }
    } catch {
      failures.append("\(workload.name), call \(call), \(loss): \(error)")
    }
  }

  /// Opens what is left, compares, goes on, and opens it again.
  private func examine(_ disk: SimulatedFileSystem, _ oracle: CrashOracle, _ call: Int) throws {
    let number = counts.withLock { $0.distinct.count }
    if number % 64 == 0 { try crashInRecovery(of: disk, oracle, number) }
    var oracle = oracle
    let bench = self.bench(disk, CrashWriter(seed: 0))
    let database = try bench.open { $0.maintenance = .manual }
    try check(database)
    let index = try oracle.identify(database.snapshot())
    try checkNames(disk)
    guard number % 3 == 0 else { return }
    // What was served is kept, whatever happens.
    oracle.cut(after: index)
    try goOn(disk, database, oracle, number)
  }

  /// Writes another document, ends in some way, and opens again.
  private func goOn(
    _ disk: SimulatedFileSystem, _ database: Database, _ oracle: CrashOracle, _ number: Int
  ) throws {
    let writer = CrashWriter(oracle, seed: UInt64(number))
    let highest = oracle.highestSequence
    try writer.commit(database, [.put("afterwards", size: 10)])
    guard let document = try database.snapshot().get("afterwards"), document.sequence > highest
    else { throw CrashOracle.Mismatch("a sequence up to \(highest) was handed out again") }
    var next = disk
    switch number % 4 {
    case 0, 1: try database.close()
    case 2: next = disk.restarted(.strict)
    default: next = disk.restarted(.random(seed: UInt64(number)))
    }
    let reopened = try bench(next, writer).open { $0.maintenance = .manual }
    try check(reopened)
    if number % 4 < 2, reopened.openingReport.ending != .closed {
      throw CrashOracle.Mismatch("a closed store is found \(reopened.openingReport.ending)")
    }
    _ = try writer.oracle.withLock { try $0.identify(reopened.snapshot()) }
  }

  private func bench(_ disk: SimulatedFileSystem, _ writer: CrashWriter) -> CrashBench {
    CrashBench(
      disk, writer, isMapped: isMapped, life: lives.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// After an opening for writing nothing is left that stands for what another file stands for.
  private func checkNames(_ disk: SimulatedFileSystem) throws {
    var numbers: [ClosedRange<UInt64>] = []
    for case .segment(let range)? in disk.names(in: CrashBench.path).map({ FileName($0) }) {
      numbers.append(range)
    }
    numbers.sort { $0.lowerBound < $1.lowerBound }
    for (one, next) in zip(numbers, numbers.dropFirst()) where one.overlaps(next) {
      throw CrashOracle.Mismatch("segments \(one) and \(next) were both left")
    }
    guard disk.names(in: "\(CrashBench.path)/tmp").isEmpty else {
      throw CrashOracle.Mismatch("a temporary file was left")
    }
  }

  private func check(_ database: Database) throws {
    if let damage = database.openingReport.damage.first {
      throw CrashOracle.Mismatch("a crash was taken for damage: \(damage)")
    }
  }

  /// Loses power again at each call of the opening.
  private func crashInRecovery(
    of disk: SimulatedFileSystem, _ oracle: CrashOracle, _ number: Int
  ) throws {
    let twin = disk.restarted(.processEnd)
    let problem = Mutex<(any Error)?>(nil)
    twin.observeChangingCalls { [self] call in
      for loss in CrashLoss.few(seed: UInt64(number &* 100 &+ call)) {
        counts.withLock { $0.nested += 1 }
        do {
          let left = twin.restarted(loss.loss, tearing: loss.tearing)
          let database = try bench(left, CrashWriter(seed: 0)).open { $0.maintenance = .manual }
          try check(database)
          _ = try oracle.identify(database.snapshot())
        } catch {
          problem.withLock {
            $0 = $0 ?? CrashOracle.Mismatch("in recovery, call \(call), \(loss): \(error)")
          }
        }
      }
    }
    let database = try bench(twin, CrashWriter(seed: 0)).open { $0.maintenance = .manual }
    twin.observeChangingCalls(nil)
    if let problem = problem.withLock({ $0 }) { throw problem }
    // What was served once survives the loss of power, though only the process had ended before.
    var oracle = oracle
    oracle.secured = try oracle.identify(database.snapshot())
    let later = try bench(twin.restarted(.strict), CrashWriter(seed: 0)).open()
    try check(later)
    _ = try oracle.identify(later.snapshot())
  }
}
