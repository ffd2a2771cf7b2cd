import Divan
import DivanTesting

extension CrashWorkload {
  /// Returns a workload of some operations in sequence on a store in a given state.
  ///
  /// Only the last operation is examined, because shorter workloads have the others as their last;
  /// without operations, the opening is examined.
  package static func composed(
    _ start: CrashStart, _ operations: [CrashOperation]
  ) -> CrashWorkload {
    let name = ([start.name] + operations.map(\.name)).joined(separator: ", ")
    var workload = CrashWorkload(
      name: name,
      work: { fixture in
        let session = CrashSession(fixture)
        try fixture.unwatched { try start.prepare(session) }
        session.forgetDatabase()
        if operations.isEmpty {
          try start.enter(session)
        } else {
          try fixture.unwatched {
            try start.enter(session)
            for operation in operations.dropLast() { try operation.run(session) }
          }
        }
        try operations.last?.run(session)
        fixture.showMoment()
        // Open databases are not closed: that is not examined.
        fixture.watch(nil)
        fixture.fileSystem.losePower(atCall: 0)
      }, history: start.history, revisionDepth: start.revisionDepth,
      isHeavy: operations.contains(where: \.isHeavy),
      isOneOfMany: operations.count > 1)
    workload.isRich = (CrashStart.rich + [.pruned]).contains { $0.name == start.name }
    return workload
  }

  /// Returns workloads for documents and stores with everything in addition to properties.
  ///
  /// They are every start with nothing and with each operation, and some with two or three.
  package static func rich(_ budget: Budget, seed: UInt64) -> [CrashWorkload] {
    let starts = CrashStart.rich
    let few = CrashStart.all.filter { ["a new store", "an aged store"].contains($0.name) }
    let operations = CrashOperation.rich
    var workloads: [CrashWorkload] = []
    for start in starts { workloads.append(composed(start, [])) }
    let all = starts + few
    for (number, operation) in operations.enumerated() {
      // There are so many states for each start that CI tries two for each operation.
      let chosen =
        budget == .ci ? [all[number % all.count], all[(number * 3 + 2) % all.count]] : all
      workloads += chosen.map { composed($0, [operation]) }
    }
    // The operations on revisions; all operations if there is time.
    let pruning = budget == .ci ? CrashOperation.branching : operations
    workloads += [composed(.pruned, [])] + pruning.map { composed(.pruned, [$0]) }
    if budget == .test {
      return workloads.enumerated().filter { $0.offset % 48 == 5 }.map(\.element)
    }
    var random = SeededGenerator(seed: seed &+ 4)
    func choose<T>(_ all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }
    let others = operations + CrashOperation.all.filter { !$0.isHeavy }
    let count = budget.choose(test: 0, ci: 8, night: 4000, release: 16_000)
    for number in 0..<count {
      let last = number % 3 > 0 ? choose(operations) : choose(others)
      let before = (0...(budget == .ci ? 0 : number % 2)).map { _ in choose(others) }
      workloads.append(composed(choose(starts), before + [last]))
    }
    return workloads
  }

  /// Returns workloads for documents with properties only.
  ///
  /// They are every start with nothing and with each operation, and some with two; from `night` on,
  /// every pair, and some with three.
  package static func plain(_ budget: Budget, seed: UInt64) -> [CrashWorkload] {
    let starts = CrashStart.all
    let operations = CrashOperation.all
    var workloads: [CrashWorkload] = []
    for start in starts {
      workloads.append(composed(start, []))
      workloads += operations.map { composed(start, [$0]) }
    }
    if budget == .test {
      return workloads.enumerated().filter { $0.offset % 24 == 3 }.map(\.element)
    }
    var random = SeededGenerator(seed: seed &+ 3)
    func choose<T>(_ all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }
    if budget == .ci {
      for _ in 0..<24 {
        workloads.append(composed(choose(starts), [choose(operations), choose(operations)]))
      }
      return workloads
    }
    for start in starts {
      for first in operations {
        workloads += operations.map { composed(start, [first, $0]) }
      }
    }
    for _ in 0..<budget.choose(test: 0, ci: 0, night: 2000, release: 8000) {
      let three = (0..<3).map { _ in choose(operations) }
      workloads.append(composed(choose(starts), three))
    }
    return workloads
  }
}
