import Divan
import Foundation

/// Scenarios of several processes on one store.
enum ProcessScenarios {
  static let all = [
    racing, racingOnOld, following, samePath, inheriting, deleting, renamed, renamedAndReplaced,
    removed, unlocked, copiedWhileStopped, copiedLive, occupied, elsewhere,
  ]

  // MARK: Writers

  static let racing = ProcessScenario(name: "racing for a new store", times: 20) { bench in
    try race(bench)
  }

  static let racingOnOld = ProcessScenario(name: "racing for a killed store", times: 20) { bench in
    let writer = try bench.start("write", bench.path(), "threads=2", "durability=mixed")
    try bench.expect(writer.hasSaid(lines: 30), "it did not write")
    writer.kill()
    let acknowledged = writer.acknowledged
    try race(bench)
    try bench.check(bench.path(), holds: acknowledged, isExact: false)
  }

  /// Opens the same store in four processes: one gets it, the others get an error that names it.
  private static func race(_ bench: ProcessBench) throws {
    let racers = try (0..<4).map { _ in try bench.start("hold", bench.path(), "wait") }
    usleep(20_000)
    for racer in racers { racer.send() }
    for racer in racers {
      try bench.expect(
        racer.line(beginning: "holding") != nil || !racer.errors.isEmpty, "nothing was said")
    }
    let winners = racers.filter { $0.lines.contains("holding") }
    try bench.expect(winners.count == 1, "\(winners.count) won: \(racers.map(\.lines))")
    for racer in racers where racer !== winners[0] {
      try bench.expect(
        racer.errors.allSatisfy {
          $0.hasPrefix("error storeInUse") && $0.contains("process \(winners[0].number);")
        }, "the winner is \(winners[0].number), and the loser says \(racer.errors)")
    }
    winners[0].endInput()
    winners[0].waitUntilExit()
    try bench.check(bench.path(), holds: [0: 1], isExact: false)
  }

  // MARK: Readers

  static let following = ProcessScenario(name: "following a writer", times: 30) { bench in
    let writer = try bench.start(
      "write", bench.path(), "threads=3", "durability=mixed", "compact")
    try bench.expect(writer.hasSaid(lines: 10), "it did not write")
    let follower = try bench.start("read", bench.path())
    var leasts: [[Int: Int]] = []
    for round in 0..<12 {
      if round == 9 { writer.kill() }
      leasts.append(writer.acknowledged)
      follower.send()
      try bench.check(bench.path(), holds: writer.acknowledged, isReadOnly: true, isExact: false)
      bench.pause(upToMicroseconds: 4000)
    }
    follower.endInput()
    follower.waitUntilExit()
    try bench.expect(
      follower.lines.count == leasts.count && follower.errors.isEmpty, "\(follower.errors)")
    var last: [Int: Int] = [:]
    for (line, least) in zip(follower.lines, leasts) {
      let seen = rounds(line)
      for thread in 0..<3 {
        let (count, before) = (seen[thread] ?? 0, max(last[thread] ?? 0, least[thread] ?? 0))
        try bench.expect(count >= before, "\(count) of thread \(thread), and \(before) before")
      }
      last = seen
    }
    try bench.check(bench.path(), holds: writer.acknowledged)
  }

  /// Returns the rounds in a line such as `seen 0=12 1=14`.
  private static func rounds(_ line: String) -> [Int: Int] {
    line.split(separator: " ").dropFirst().reduce(into: [:]) { rounds, part in
      let numbers = part.split(separator: "=").compactMap { Int($0) }
      if numbers.count == 2 { rounds[numbers[0]] = numbers[1] }
    }
  }

  // MARK: Paths

  static let samePath = ProcessScenario(name: "the same store by other paths", times: 10) { bench in
    let path = bench.path()
    let fileManager = FileManager.default
    let link = bench.path("link")
    try fileManager.createSymbolicLink(atPath: link, withDestinationPath: path)
    try fileManager.createDirectory(atPath: bench.path("other"), withIntermediateDirectories: true)
    let database = try Database(at: path)
    let aliases = [
      path, link, path + "/", link + "/", bench.path("other/../store.divan"),
      bench.path("./store.divan"), path + "/../store.divan", bench.path("/store.divan"),
    ]
    for alias in aliases {
      let error = try bench.expect(.storeInUse) { try Database(at: alias).close() }
      try bench.expect(error.message.contains("in this process"), error.message)
      try bench.expect(.storeInUse) { try Database.delete(at: alias) }
      let other = try bench.start("hold", alias)
      other.waitUntilExit()
      try bench.expect(
        other.errors.first?.contains("process \(getpid());") == true, "\(other.lines)")
    }
    try database.write { try $0.overwrite("a", with: ["n": 1]) }
    try database.close()
    try fileManager.removeItem(atPath: link)
    try Database.delete(at: path)
  }

  /// A program changes its working directory, and continues with a store opened by a relative path.
  static let elsewhere = ProcessScenario(name: "a relative path", times: 4) { bench in
    try FileManager.default.createDirectory(
      atPath: bench.path("other"), withIntermediateDirectories: false)
    let writer = try bench.start(
      "write", "store.divan", "from=\(bench.path("."))", "to=\(bench.path("other"))", "rounds=60",
      "compact")
    writer.waitUntilExit()
    try bench.expect(writer.lines.contains("closed"), "\(writer.lines)")
    try bench.check(bench.path(), holds: [0: 60])
    let files = try FileManager.default.contentsOfDirectory(atPath: bench.path("other"))
    try bench.expect(files.isEmpty, "\(files)")
  }

  static let inheriting = ProcessScenario(name: "a child outlives the writer", times: 10) { bench in
    let writer = try bench.start("hold", bench.path(), "child")
    guard let line = writer.line(beginning: "child "), let child = pid_t(line.dropFirst(6)) else {
      throw bench.fail("it started no child: \(writer.lines)")
    }
    // It was started by a process that was started here.
    defer { kill(child, SIGKILL) }
    // The child keeps the writer's output open.
    writer.kill(awaitingOutput: false)
    try bench.expect(kill(child, 0) == 0, "the child is gone")
    try bench.check(bench.path(), holds: [0: 1])
  }

  static let deleting = ProcessScenario(name: "deleting while others open", times: 20) { bench in
    let churners = try (0..<3).map {
      try bench.start(
        "churn", bench.path(), "rounds=15", "seed=\(bench.random.next() % 1000 + UInt64($0))")
    }
    for churner in churners {
      churner.waitUntilExit()
      for error in churner.errors {
        try bench.expect(
          ["storeInUse", "notFound", "notAStore"].contains { error.hasPrefix("error \($0) ") },
          error)
      }
    }
    try bench.expect(churners.contains { $0.lines.contains("wrote") }, "nobody wrote")
    let database = try Database(at: bench.path())
    try bench.expect(database.openingReport.damage.isEmpty, "\(database.openingReport)")
    if let problem = try database.check().problems.first { throw problem }
    try database.close()
  }

  static let occupied = ProcessScenario(name: "restoring over what is there", times: 4) { bench in
    for path in [bench.path(), bench.path("backup.divan")] {
      let database = try Database(at: path)
      try TwinLedger().write(1, thread: 0, in: database, durability: .full)
      if path == bench.path() {
        try bench.expect(.alreadyExists) { try database.backup(to: path) }
      }
      try database.close()
    }
    let files = FileManager.default
    let before = try files.contentsOfDirectory(atPath: bench.path()).sorted()
    try bench.expect(.alreadyExists) {
      try Database.restore(from: bench.path("backup.divan"), to: bench.path())
    }
    try bench.expect(
      try files.contentsOfDirectory(atPath: bench.path()).sorted() == before, "files were changed")
    try bench.check(bench.path(), holds: [0: 1])
    try files.createDirectory(atPath: bench.path("empty"), withIntermediateDirectories: false)
    try bench.expect(.alreadyExists) {
      try Database.restore(from: bench.path("backup.divan"), to: bench.path("empty"))
    }
    try Database.restore(from: bench.path("backup.divan"), to: bench.path("new.divan"))
    try bench.check(bench.path("new.divan"), holds: [0: 1])
  }
}
