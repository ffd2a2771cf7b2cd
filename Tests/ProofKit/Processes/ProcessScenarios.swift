import Divan
import Foundation

/// Scenarios of several processes on one store.
enum ProcessScenarios {
  static let all = [
    racing, racingOnOld, following, samePath, inheriting, deleting, renamed, renamedAndReplaced,
    removed, unlocked, copiedWhileStopped, copiedLive, occupied, elsewhere, suspending,
    killedWhileSuspended, refreshing,
  ]

  // MARK: Writers

  static let racing = ProcessScenario(name: "racing for a new store", times: 20) { fixture in
    try race(fixture)
  }

  static let racingOnOld = ProcessScenario(
    name: "racing for the store of a killed process", times: 20
  ) {
    fixture in
    let writer = try fixture.start("write", fixture.path(), "threads=2", "durability=mixed")
    try fixture.expect(writer.hasSaid(lines: 30), "it did not write")
    writer.kill()
    let acknowledged = writer.acknowledged
    try race(fixture)
    try fixture.check(fixture.path(), holds: acknowledged, isExact: false)
  }

  /// Opens the same store in four processes: one gets it, the others get an error that names it.
  private static func race(_ fixture: ProcessBench) throws {
    let racers = try (0..<4).map { _ in try fixture.start("hold", fixture.path(), "wait") }
    usleep(20_000)
    for racer in racers { racer.send() }
    for racer in racers {
      try fixture.expect(
        racer.line(beginning: "holding") != nil || !racer.errors.isEmpty, "nothing was said")
    }
    let winners = racers.filter { $0.lines.contains("holding") }
    try fixture.expect(winners.count == 1, "\(winners.count) won: \(racers.map(\.lines))")
    for racer in racers where racer !== winners[0] {
      try fixture.expect(
        racer.errors.allSatisfy {
          $0.hasPrefix("error storeInUse") && $0.contains("process \(winners[0].number);")
        }, "the winner is \(winners[0].number), and the loser says \(racer.errors)")
    }
    winners[0].endInput()
    winners[0].waitUntilExit()
    try fixture.check(fixture.path(), holds: [0: 1], isExact: false)
  }

  // MARK: Readers

  static let following = ProcessScenario(name: "following a writer", times: 30) { fixture in
    let writer = try fixture.start(
      "write", fixture.path(), "threads=3", "durability=mixed", "compact")
    try fixture.expect(writer.hasSaid(lines: 10), "it did not write")
    let follower = try fixture.start("read", fixture.path())
    var leasts: [[Int: Int]] = []
    for round in 0..<12 {
      if round == 9 { writer.kill() }
      leasts.append(writer.acknowledged)
      follower.send()
      try fixture.check(
        fixture.path(), holds: writer.acknowledged, isReadOnly: true, isExact: false)
      fixture.pause(upToMicroseconds: 4000)
    }
    follower.endInput()
    follower.waitUntilExit()
    try fixture.expect(
      follower.lines.count == leasts.count && follower.errors.isEmpty, "\(follower.errors)")
    var last: [Int: Int] = [:]
    for (line, least) in zip(follower.lines, leasts) {
      let seen = rounds(line)
      for thread in 0..<3 {
        let (count, before) = (seen[thread] ?? 0, max(last[thread] ?? 0, least[thread] ?? 0))
        try fixture.expect(count >= before, "\(count) of thread \(thread), and \(before) before")
      }
      last = seen
    }
    try fixture.check(fixture.path(), holds: writer.acknowledged)
  }

  /// Returns the rounds in a line such as `seen 0=12 1=14`.
  static func rounds(_ line: String) -> [Int: Int] {
    line.split(separator: " ").dropFirst().reduce(into: [:]) { rounds, part in
      let numbers = part.split(separator: "=").compactMap { Int($0) }
      if numbers.count == 2 { rounds[numbers[0]] = numbers[1] }
    }
  }

  // MARK: Paths

  static let samePath = ProcessScenario(name: "the same store through other paths", times: 10) {
    fixture in
    let path = fixture.path()
    let fileManager = FileManager.default
    let link = fixture.path("link")
    try fileManager.createSymbolicLink(atPath: link, withDestinationPath: path)
    try fileManager.createDirectory(
      atPath: fixture.path("other"), withIntermediateDirectories: true)
    let database = try Database(at: path)
    let aliases = [
      path, link, path + "/", link + "/", fixture.path("other/../store.divan"),
      fixture.path("./store.divan"), path + "/../store.divan", fixture.path("/store.divan"),
    ]
    for alias in aliases {
      let error = try fixture.expect(.storeInUse) { try Database(at: alias).close() }
      try fixture.expect(error.message.contains("in this process"), error.message)
      try fixture.expect(.storeInUse) { try Database.delete(at: alias) }
      let other = try fixture.start("hold", alias)
      other.waitUntilExit()
      try fixture.expect(
        other.errors.first?.contains("process \(getpid());") == true, "\(other.lines)")
    }
    try database.write { try $0.replace("a", with: ["n": 1]) }
    try database.close()
    try fileManager.removeItem(atPath: link)
    try Database.delete(at: path)
  }

  /// A program changes its working directory, and continues with a store opened by a relative path.
  static let elsewhere = ProcessScenario(name: "a relative path", times: 4) { fixture in
    try FileManager.default.createDirectory(
      atPath: fixture.path("other"), withIntermediateDirectories: false)
    let writer = try fixture.start(
      "write", "store.divan", "from=\(fixture.path("."))", "to=\(fixture.path("other"))",
      "rounds=60",
      "compact")
    writer.waitUntilExit()
    try fixture.expect(writer.lines.contains("closed"), "\(writer.lines)")
    try fixture.check(fixture.path(), holds: [0: 60])
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.path("other"))
    try fixture.expect(files.isEmpty, "\(files)")
  }

  static let inheriting = ProcessScenario(name: "a child process outlives the writer", times: 10) {
    fixture in
    let writer = try fixture.start("hold", fixture.path(), "child")
    guard let line = writer.line(beginning: "child "), let child = pid_t(line.dropFirst(6)) else {
      throw fixture.fail("it started no child: \(writer.lines)")
    }
    // It was started by a process that was started here.
    defer { kill(child, SIGKILL) }
    // The child keeps the writer's output open.
    writer.kill(awaitingOutput: false)
    try fixture.expect(kill(child, 0) == 0, "the child is gone")
    try fixture.check(fixture.path(), holds: [0: 1])
  }

  static let deleting = ProcessScenario(name: "deleting while other processes open", times: 20) {
    fixture in
    let churners = try (0..<3).map {
      try fixture.start(
        "churn", fixture.path(), "rounds=15", "seed=\(fixture.random.next() % 1000 + UInt64($0))")
    }
    for churner in churners {
      churner.waitUntilExit()
      for error in churner.errors {
        try fixture.expect(
          ["storeInUse", "notFound", "notAStore"].contains { error.hasPrefix("error \($0) ") },
          error)
      }
    }
    try fixture.expect(churners.contains { $0.lines.contains("wrote") }, "no process wrote")
    let database = try Database(at: fixture.path())
    try fixture.expect(database.openingReport.damage.isEmpty, "\(database.openingReport)")
    if let problem = try database.check().problems.first { throw problem }
    try database.close()
  }

  static let occupied = ProcessScenario(name: "restoring to a path that exists", times: 4) {
    fixture in
    for path in [fixture.path(), fixture.path("backup.divan")] {
      let database = try Database(at: path)
      try TwinLedger().write(1, thread: 0, in: database, durability: .full)
      if path == fixture.path() {
        try fixture.expect(.alreadyExists) { try database.backup(to: path) }
      }
      try database.close()
    }
    let files = FileManager.default
    let before = try files.contentsOfDirectory(atPath: fixture.path()).sorted()
    try fixture.expect(.alreadyExists) {
      try Database.restore(from: fixture.path("backup.divan"), to: fixture.path())
    }
    try fixture.expect(
      try files.contentsOfDirectory(atPath: fixture.path()).sorted() == before, "files were changed"
    )
    try fixture.check(fixture.path(), holds: [0: 1])
    try files.createDirectory(atPath: fixture.path("empty"), withIntermediateDirectories: false)
    try fixture.expect(.alreadyExists) {
      try Database.restore(from: fixture.path("backup.divan"), to: fixture.path("empty"))
    }
    try Database.restore(from: fixture.path("backup.divan"), to: fixture.path("new.divan"))
    try fixture.check(fixture.path("new.divan"), holds: [0: 1])
  }
}
