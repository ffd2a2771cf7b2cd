import Divan
import Foundation

/// Scenarios in which users move or delete an open store; none may damage it without an error.
extension ProcessScenarios {
  private static func startWriter(_ fixture: ProcessBench) throws -> ChildProcess {
    let writer = try fixture.start(
      "write", fixture.path(), "threads=2", "durability=mixed", "compact")
    try fixture.expect(writer.hasSaid(lines: 20), "it did not write")
    fixture.pause(upToMicroseconds: 20_000)
    return writer
  }

  /// Lets a writer continue until it ends or some time has passed; then kills it.
  private static func letGoOn(_ writer: ChildProcess, _ fixture: ProcessBench) throws {
    let count = writer.lines.count
    _ = writer.hasSaid(lines: count + 300, within: 0.15)
    writer.kill()
    // Every failure that it reports has an error code.
    for error in writer.errors {
      try fixture.expect(!error.hasPrefix("error other"), error)
    }
  }

  static let renamed = ProcessScenario(name: "renaming an open store", times: 20) { fixture in
    let writer = try startWriter(fixture)
    try FileManager.default.moveItem(atPath: fixture.path(), toPath: fixture.path("moved.divan"))
    try letGoOn(writer, fixture)
    try fixture.expect(
      !FileManager.default.fileExists(atPath: fixture.path()), "it was created again")
    try fixture.check(fixture.path("moved.divan"), holds: writer.acknowledged)
  }

  static let renamedAndReplaced = ProcessScenario(
    name: "renaming an open store and creating another at its path", times: 20
  ) { fixture in
    let writer = try startWriter(fixture)
    try FileManager.default.moveItem(atPath: fixture.path(), toPath: fixture.path("moved.divan"))
    let other = try fixture.start("write", fixture.path(), "threads=1", "compact")
    try fixture.expect(other.hasSaid(lines: 20), "it did not write: \(other.lines)")
    try letGoOn(writer, fixture)
    _ = other.hasSaid(lines: other.lines.count + 20, within: 1)
    other.kill()
    try fixture.expect(other.errors.isEmpty, "\(other.errors)")
    try fixture.check(fixture.path(), holds: other.acknowledged)
    try fixture.check(fixture.path("moved.divan"), holds: writer.acknowledged)
  }

  static let removed = ProcessScenario(name: "removing an open store", times: 20) { fixture in
    let writer = try startWriter(fixture)
    // The writer may be creating files at the same time.
    while (try? FileManager.default.removeItem(atPath: fixture.path())) == nil,
      FileManager.default.fileExists(atPath: fixture.path())
    {}
    try letGoOn(writer, fixture)
    // The path is free for another store.
    let next = try fixture.start("write", fixture.path(), "rounds=5")
    next.waitUntilExit()
    try fixture.expect(next.lines.contains("closed"), "\(next.lines)")
    try fixture.check(fixture.path(), holds: [0: 5])
  }

  /// Another process can then open the store, and reads what the first one was acknowledged.
  static let unlocked = ProcessScenario(
    name: "removing LOCK of an open store and opening it again", times: 20
  ) { fixture in
    let writer = try startWriter(fixture)
    try FileManager.default.removeItem(atPath: fixture.path("store.divan/LOCK"))
    let other = try fixture.start(
      "write", fixture.path(), "threads=1", "compact", "durability=mixed")
    try fixture.expect(other.hasSaid(lines: 20), "it did not write: \(other.lines)")
    try letGoOn(writer, fixture)
    _ = other.hasSaid(lines: other.lines.count + 20, within: 1)
    other.kill()
    try fixture.expect(other.errors.isEmpty, "\(other.errors)")
    try fixture.expect(!writer.errors.isEmpty, "the first one continued without its lock")
    let acknowledged = writer.acknowledged.merging(other.acknowledged) { max($0, $1) }
    try fixture.check(fixture.path(), holds: acknowledged, isExact: false)
  }

  static let copiedWhileStopped = ProcessScenario(
    name: "copying an open store whose writer is stopped", times: 20
  ) { fixture in
    let writer = try startWriter(fixture)
    try writer.stop()
    let acknowledged = writer.acknowledged
    let copy = fixture.path("copy.divan")
    try FileManager.default.copyItem(atPath: fixture.path(), toPath: copy)
    writer.send(signal: SIGCONT)
    // The copy is not open in any process, and contains everything that was acknowledged.
    try fixture.check(copy, holds: acknowledged, isExact: false)
    try letGoOn(writer, fixture)
    try fixture.check(fixture.path(), holds: writer.acknowledged)
  }

  static let copiedLive = ProcessScenario(
    name: "copying a store during writes", times: 16
  ) { fixture in
    let writer = try startWriter(fixture)
    let copy = fixture.path("copy.divan")
    // Files come and go during the copy; some tools stop there, this one continues.
    try fixture.copyFiles(fixture.path(), to: copy, pausingUpToMicroseconds: 4000)
    try letGoOn(writer, fixture)
    // Such a copy is not a backup, because its files are of different moments. But if no damage is
    // reported, it holds the store's contents at one of them.
    do {
      let database = try Database(at: copy)
      if database.openingReport.damage.isEmpty, try database.check().isSound {
        _ = try TwinLedger().read(try database.snapshot())
      } else {
        fixture.noticedCount += 1
      }
      try database.close()
    } catch let error as DatabaseError where error.code == .damaged {
      fixture.noticedCount += 1
    }
    try fixture.check(fixture.path(), holds: writer.acknowledged)
  }
}

extension ProcessBench {
  /// Copies file by file, in the order of discovery, except for files that vanish in the meantime.
  func copyFiles(_ path: String, to copy: String, pausingUpToMicroseconds limit: Int) throws {
    let files = FileManager.default
    try files.createDirectory(atPath: copy, withIntermediateDirectories: false)
    for name in try files.contentsOfDirectory(atPath: path) {
      try? files.copyItem(atPath: path + "/" + name, toPath: copy + "/" + name)
      pause(upToMicroseconds: limit)
    }
  }
}
