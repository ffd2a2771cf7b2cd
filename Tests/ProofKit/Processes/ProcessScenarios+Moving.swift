import Divan
import Foundation

/// Scenarios in which users move or delete an open store; none may damage it without an error.
extension ProcessScenarios {
  private static func startWriter(_ bench: ProcessBench) throws -> ChildProcess {
    let writer = try bench.start(
      "write", bench.path(), "threads=2", "durability=mixed", "compact")
    try bench.expect(writer.hasSaid(lines: 20), "it did not write")
    bench.pause(upToMicroseconds: 20_000)
    return writer
  }

  /// Lets a writer continue until it ends or some time has passed; then kills it.
  private static func letGoOn(_ writer: ChildProcess, _ bench: ProcessBench) throws {
    let count = writer.lines.count
    _ = writer.hasSaid(lines: count + 300, within: 0.15)
    writer.kill()
    // Every failure that it reports has an error code.
    for error in writer.errors {
      try bench.expect(!error.hasPrefix("error other"), error)
    }
  }

  static let renamed = ProcessScenario(name: "renaming an open store", times: 20) { bench in
    let writer = try startWriter(bench)
    try FileManager.default.moveItem(atPath: bench.path(), toPath: bench.path("moved.divan"))
    try letGoOn(writer, bench)
    try bench.expect(!FileManager.default.fileExists(atPath: bench.path()), "made anew")
    try bench.check(bench.path("moved.divan"), holds: writer.acknowledged)
  }

  static let renamedAndReplaced = ProcessScenario(
    name: "renaming an open store and making another in its place", times: 20
  ) { bench in
    let writer = try startWriter(bench)
    try FileManager.default.moveItem(atPath: bench.path(), toPath: bench.path("moved.divan"))
    let other = try bench.start("write", bench.path(), "threads=1", "compact")
    try bench.expect(other.hasSaid(lines: 20), "it did not write: \(other.lines)")
    try letGoOn(writer, bench)
    _ = other.hasSaid(lines: other.lines.count + 20, within: 1)
    other.kill()
    try bench.expect(other.errors.isEmpty, "\(other.errors)")
    try bench.check(bench.path(), holds: other.acknowledged)
    try bench.check(bench.path("moved.divan"), holds: writer.acknowledged)
  }

  static let removed = ProcessScenario(name: "removing an open store", times: 20) { bench in
    let writer = try startWriter(bench)
    // The writer may be creating files at the same time.
    while (try? FileManager.default.removeItem(atPath: bench.path())) == nil,
      FileManager.default.fileExists(atPath: bench.path())
    {}
    try letGoOn(writer, bench)
    // The path is free for another store.
    let next = try bench.start("write", bench.path(), "rounds=5")
    next.waitUntilExit()
    try bench.expect(next.lines.contains("closed"), "\(next.lines)")
    try bench.check(bench.path(), holds: [0: 5])
  }

  /// Another process can then open the store, and reads what the first one was acknowledged.
  static let unlocked = ProcessScenario(
    name: "removing the lock of an open store and opening it again", times: 20
  ) { bench in
    let writer = try startWriter(bench)
    try FileManager.default.removeItem(atPath: bench.path("store.divan/LOCK"))
    let other = try bench.start(
      "write", bench.path(), "threads=1", "compact", "durability=mixed")
    try bench.expect(other.hasSaid(lines: 20), "it did not write: \(other.lines)")
    try letGoOn(writer, bench)
    _ = other.hasSaid(lines: other.lines.count + 20, within: 1)
    other.kill()
    try bench.expect(other.errors.isEmpty, "\(other.errors)")
    try bench.expect(!writer.errors.isEmpty, "the first one went on without its lock")
    let acknowledged = writer.acknowledged.merging(other.acknowledged) { max($0, $1) }
    try bench.check(bench.path(), holds: acknowledged, isExact: false)
  }

  static let copiedWhileStopped = ProcessScenario(
    name: "copying an open store that stands still", times: 20
  ) { bench in
    let writer = try startWriter(bench)
    try writer.stop()
    let acknowledged = writer.acknowledged
    let copy = bench.path("copy.divan")
    try FileManager.default.copyItem(atPath: bench.path(), toPath: copy)
    writer.send(signal: SIGCONT)
    // The copy is not open in any process, and contains everything that was acknowledged.
    try bench.check(copy, holds: acknowledged, isExact: false)
    try letGoOn(writer, bench)
    try bench.check(bench.path(), holds: writer.acknowledged)
  }

  static let copiedLive = ProcessScenario(
    name: "copying a store that is written to", times: 16
  ) { bench in
    let writer = try startWriter(bench)
    let copy = bench.path("copy.divan")
    // Files come and go during the copy; some tools stop there, this one continues.
    try bench.copyFiles(bench.path(), to: copy, pausingUpToMicroseconds: 4000)
    try letGoOn(writer, bench)
    // Such a copy is not a backup, because its files are of different moments. But if no damage is
    // reported, it holds the store's contents at one of them.
    do {
      let database = try Database(at: copy)
      if database.openingReport.damage.isEmpty, try database.check().isSound {
        _ = try TwinLedger().read(try database.snapshot())
      } else {
        bench.noticedCount += 1
      }
      try database.close()
    } catch let error as DatabaseError where error.code == .damaged {
      bench.noticedCount += 1
    }
    try bench.check(bench.path(), holds: writer.acknowledged)
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
