import Divan
import DivanTesting

extension CrashWorkload {
  /// Does some operations one after the other with a store that is in a certain state.
  ///
  /// Only the last one is looked at, since shorter workloads have the others as their last; without
  /// operations, the opening is.
  package static func composed(
    _ start: CrashStart, _ operations: [CrashOperation]
  ) -> CrashWorkload {
    let name = ([start.name] + operations.map(\.name)).joined(separator: ", ")
    return CrashWorkload(
      name: name,
      work: { bench in
        let session = CrashSession(bench)
        try bench.unwatched { try start.prepare(session) }
        session.forgetDatabase()
        if operations.isEmpty {
          try start.enter(session)
        } else {
          try bench.unwatched {
            try start.enter(session)
            for operation in operations.dropLast() { try operation.run(session) }
          }
        }
        try operations.last?.run(session)
        bench.showMoment()
        // What is still open is not closed: nobody looks at that.
        bench.watch(nil)
        bench.fileSystem.losePower(atCall: 0)
      }, isHeavy: operations.contains(where: \.isHeavy))
  }

  /// Every start with nothing and with each operation; from night on with each two, and with some
  /// of three.
  package static func composed(_ budget: Budget, seed: UInt64) -> [CrashWorkload] {
    let operations = CrashOperation.all
    var workloads: [CrashWorkload] = []
    for start in CrashStart.all {
      workloads.append(composed(start, []))
      workloads += operations.map { composed(start, [$0]) }
    }
    if budget == .test {
      return workloads.enumerated().filter { $0.offset % 8 == 3 }.map(\.element)
    }
    guard budget != .ci else { return workloads }
    for start in CrashStart.all {
      for first in operations {
        workloads += operations.map { composed(start, [first, $0]) }
      }
    }
    var random = SeededGenerator(seed: seed &+ 3)
    for _ in 0..<budget.choose(test: 0, ci: 0, night: 800, release: 8000) {
      let start = CrashStart.all[Int(random.next() % UInt64(CrashStart.all.count))]
      let three = (0..<3).map { _ in operations[Int(random.next() % UInt64(operations.count))] }
      workloads.append(composed(start, three))
    }
    return workloads
  }
}
