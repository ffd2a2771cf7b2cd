import Divan
import DivanTesting
import Foundation

/// Scenarios of a process that is suspended, and of one that follows another.
extension ProcessScenarios {
  static let suspending = ProcessScenario(
    name: "writing while another process is suspended", times: 10
  ) { fixture in
    let child = try fixture.start("suspend", fixture.path())
    for round in 1...4 {
      try expectLock(true, fixture)
      child.send()
      try fixture.expect(child.line(beginning: "suspended \(round)") != nil, "\(child.lines)")
      try expectLock(false, fixture)
      let database = try Database(at: fixture.path())
      try fixture.expect(
        database.openingReport.ending == .closed && database.openingReport.securedCommits == 0,
        "\(database.openingReport)")
      try TwinLedger().write(round, thread: 1, in: database, durability: .full)
      // The other process cannot take the lock back now.
      child.send()
      try fixture.expect(
        child.line(beginning: "refused \(round) storeInUse") != nil, "\(child.lines)")
      if round % 2 == 0 { try database.compact() }
      try database.close()
      child.send()
      let line = child.line(beginning: "resumed \(round) ")
      try fixture.expect(
        line == "resumed \(round) 0=\(round) 1=\(round)", "\(child.lines)")
    }
    child.endInput()
    child.waitUntilExit()
    try fixture.check(fixture.path(), holds: [0: 4, 1: 4])
  }

  static let killedWhileSuspended = ProcessScenario(
    name: "a suspended process is killed", times: 10
  ) { fixture in
    let child = try fixture.start("suspend", fixture.path())
    try fixture.expect(child.line(beginning: "open") != nil, "\(child.lines)")
    child.send()
    try fixture.expect(child.line(beginning: "suspended 1") != nil, "\(child.lines)")
    fixture.pause(upToMicroseconds: 3000)
    child.kill()
    let database = try Database(at: fixture.path())
    try fixture.expect(
      database.openingReport.ending == .closed && database.openingReport.securedCommits == 0,
      "\(database.openingReport)")
    try database.close()
    try fixture.check(fixture.path(), holds: [0: 1])
  }

  static let refreshing = ProcessScenario(name: "refreshing beside a writer", times: 20) {
    fixture in
    let writer = try fixture.start(
      "write", fixture.path(), "threads=3", "durability=mixed", "compact")
    try fixture.expect(writer.hasSaid(lines: 10), "it did not write")
    let follower = try fixture.start("refresh", fixture.path())
    var leasts: [[Int: Int]] = []
    for round in 0..<40 {
      if round == 36 { writer.kill() }
      leasts.append(writer.acknowledged)
      follower.send()
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

  /// Throws unless some process has the store's lock, or none has, as the system says.
  private static func expectLock(_ isHeld: Bool, _ fixture: ProcessBench) throws {
    let path = fixture.path("store.divan/LOCK")
    // The child makes the file when it opens the store.
    let deadline = ContinuousClock.now + .seconds(20)
    while !FileManager.default.fileExists(atPath: path), ContinuousClock.now < deadline {
      usleep(500)
    }
    let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    // Only Linux has this list.
    guard let number, let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else {
      return
    }
    var isFound = locks.contains(":\(number) ")
    while isHeld, !isFound, ContinuousClock.now < deadline {
      usleep(500)
      isFound = try String(contentsOfFile: "/proc/locks", encoding: .utf8).contains(":\(number) ")
    }
    try fixture.expect(isFound == isHeld, "of the lock the system says:\n\(locks)")
  }
}
