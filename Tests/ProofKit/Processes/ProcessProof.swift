import Divan
import DivanTesting
import Foundation

/// Runs several processes on one store.
package struct ProcessProof: Proof {
  package static let name = "processes"
  package static let claim =
    "processes that share a store agree on one writer, and cause and see no damage"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let factor = run.budget.choose(test: 0.05, ci: 1, night: 30, release: 300)
    var cases: [Scenario] = []
    for kind in ProcessScenarios.all {
      for number in 1...max(1, Int(Double(kind.times) * factor)) {
        cases.append(Scenario(kind: kind, number: number))
      }
    }
    run.forEach(cases, name: \.name) { scenario in
      let fixture = try ProcessBench(seed: run.seed &+ UInt64(scenario.number))
      defer { fixture.end() }
      try scenario.kind.play(fixture)
      run.count("scenarios")
      run.count("of them \(scenario.kind.name)")
      run.count("copies in which damage was noticed", fixture.noticedCount)
    }
    run.require("scenarios", atLeast: cases.count)
    let copyCount = run.budget.choose(test: 40, ci: 500, night: 5000, release: 50_000)
    let lives = Array(0..<UInt64(run.budget.choose(test: 1, ci: 8, night: 80, release: 800)))
    run.forEach(lives, name: { "copies of files of different moments \($0)" }) { life in
      let copies = try LiveCopies(seed: run.seed &+ life)
      for number in 0..<UInt64(copyCount) {
        let copy = copies.copy(seed: life << 32 | number)
        let finding = try copies.examine(copy)
        run.count("copies put together of files of different moments")
        run.count("of them \(finding.rawValue)")
      }
    }
  }

  private struct Scenario: Sendable {
    let kind: ProcessScenario
    let number: Int
    var name: String { "\(kind.name) \(number)" }
  }
}

/// A scenario of processes on one store.
struct ProcessScenario: Sendable {
  let name: String
  /// How often it runs with the budget of minutes.
  let times: Int
  let play: @Sendable (ProcessBench) throws -> Void
}

/// A directory, and the processes that were started in it.
final class ProcessBench {
  let directory: ScratchDirectory
  var random: SeededGenerator
  /// The number of times that files of different moments were detected.
  var noticedCount = 0
  private var children: [ChildProcess] = []

  init(seed: UInt64) throws {
    directory = try ScratchDirectory()
    random = SeededGenerator(seed: seed)
  }

  /// Ends everything that was started.
  func end() { for child in children { child.kill(awaitingOutput: false) } }

  func path(_ name: String = "store.divan") -> String { directory.path + "/" + name }

  func start(_ arguments: String...) throws -> ChildProcess {
    let child = try ChildProcess(arguments)
    children.append(child)
    return child
  }

  func pause(upToMicroseconds limit: Int) { usleep(UInt32(random.next() % UInt64(limit))) }

  func fail(_ what: String) -> CrashOracle.Mismatch { CrashOracle.Mismatch(what) }

  func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw fail(what()) }
  }

  /// Runs `body`, which must throw one of these errors; returns the error.
  @discardableResult
  func expect(_ codes: DatabaseError.Code..., from body: () throws -> Void) throws -> DatabaseError
  {
    do {
      try body()
    } catch let error as DatabaseError where codes.contains(error.code) {
      return error
    }
    throw fail("nothing was refused, where \(codes) was expected")
  }

  /// Opens a store, and checks that it holds every acknowledged round, and nothing partial.
  ///
  /// It may hold at most one more round of each thread. Returns the rounds.
  @discardableResult
  func check(
    _ path: String, holds acknowledged: [Int: Int], isReadOnly: Bool = false,
    isExact: Bool = true
  ) throws -> [Int: Int] {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    configuration.isReadOnly = isReadOnly
    let database = try Database(at: path, configuration: configuration)
    try expect(database.openingReport.damage.isEmpty, "\(database.openingReport)")
    let found = try TwinLedger().read(try database.snapshot())
    for (thread, round) in acknowledged {
      let count = found[thread] ?? 0
      try expect(
        count >= round && (!isExact || count <= round + 1),
        "thread \(thread): \(round) were acknowledged, \(count) are there")
    }
    if !isReadOnly, let problem = try database.check().problems.first { throw problem }
    try database.close()
    return found
  }
}
