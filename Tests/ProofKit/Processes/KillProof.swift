import Divan
import DivanTesting
import Foundation

/// Kills processes while they write, on the machine's own file system.
///
/// The ledger is kept here, outside of the killed processes.
package struct KillProof: Proof {
  package static let name = "kills"
  package static let claim =
    "a killed process loses nothing that it acknowledged, and leaves nothing half-done"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let kills = run.budget.choose(test: 3, ci: 28, night: 700, release: 7000)
    run.forEach(KillCase.all, name: \.name) { killCase in
      let directory = try ScratchDirectory()
      var loop = KillLoop(killCase, directory.path + "/killed.divan", seed: run.seed)
      for _ in 0..<kills {
        let life = try loop.runLife()
        run.count("kills")
        run.count("of them \(killCase.moment.rawValue)", life.wasInTime ? 1 : 0)
        run.count("of them noticed when the store was opened", life.wasNoticed ? 1 : 0)
        run.count("of them that left a part of an attachment", life.leftPart ? 1 : 0)
      }
      run.count("rounds acknowledged", loop.acknowledged.values.reduce(0, +))
    }
    run.require("kills", atLeast: KillCase.all.count * kills)
    run.require(
      "of them noticed when the store was opened", atLeast: KillCase.all.count * kills / 2)
    // The process waits for these kills, so none of them comes too late.
    run.require("of them \(KillCase.CommitPoint.attaching.rawValue)", atLeast: kills)
    run.require("of them that left a part of an attachment", atLeast: 1)
    // With only a few kills on a busy machine, all those of one moment may come too late.
    guard run.budget != .test else { return }
    for moment in KillCase.CommitPoint.allCases {
      run.require("of them \(moment.rawValue)", atLeast: 1)
    }
  }
}

/// The work of a process, and when it is killed.
struct KillCase: Sendable {
  enum CommitPoint: String, CaseIterable {
    case writing = "while writing"
    case stopped = "while stopped, or soon after it resumed"
    case opening = "while opening"
    case closing = "while closing, or soon before"
    case attaching = "in the middle of an attachment"
  }

  var threads = 1
  var durability = "full"
  var isCompacting = false
  var isAttaching = false
  var moment = CommitPoint.writing

  var name: String {
    "\(moment.rawValue), \(threads) threads, \(durability)\(isCompacting ? ", compacting" : "")"
      + (isAttaching ? ", attaching" : "")
  }

  static let all = [
    KillCase(), KillCase(threads: 4), KillCase(threads: 3, durability: "none", isCompacting: true),
    KillCase(threads: 2, durability: "relaxed"),
    KillCase(threads: 4, durability: "mixed", isCompacting: true),
    KillCase(threads: 2, durability: "mixed", moment: .stopped),
    KillCase(threads: 3, durability: "none", isCompacting: true, moment: .opening),
    KillCase(threads: 2, durability: "mixed", isCompacting: true, moment: .closing),
    KillCase(threads: 2, isAttaching: true),
    KillCase(threads: 2, durability: "mixed", isCompacting: true, isAttaching: true),
    KillCase(isAttaching: true, moment: .attaching),
    KillCase(durability: "none", isCompacting: true, isAttaching: true, moment: .attaching),
  ]
}

/// One store, and the processes that work on it in sequence until they are killed.
struct KillLoop {
  let killCase: KillCase
  let path: String
  /// The last round of each thread that must be present.
  var acknowledged: [Int: Int] = [:]
  private var random: SeededGenerator
  private var life = 0

  init(_ killCase: KillCase, _ path: String, seed: UInt64) {
    self.killCase = killCase
    self.path = path
    random = SeededGenerator(seed: seed)
  }

  /// Starts a process, kills it, and checks what it left.
  mutating func runLife() throws -> (wasInTime: Bool, wasNoticed: Bool, leftPart: Bool) {
    life += 1
    let isShort = killCase.moment == .closing
    let child = try ChildProcess(
      [
        "write", path, "threads=\(killCase.threads)", "durability=\(killCase.durability)",
        killCase.isCompacting ? "compact" : "", killCase.isAttaching ? "attach" : "",
        isShort ? "rounds=40" : "",
      ] + (killCase.moment == .attaching ? middleOfAttachment() : []))
    let wasInTime = try kill(child)
    for (thread, round) in child.acknowledged { acknowledged[thread] = round }
    guard child.errors.isEmpty else { throw CrashOracle.Mismatch("\(child.errors)") }
    let leftPart = names(in: "tmp").contains { $0.hasPrefix("attachment-") }
    return (wasInTime, try verify(), leftPart)
  }

  /// Returns options that pause in the middle of an attachment, in one of the first rounds.
  ///
  /// Every other time, the pause is so late that more came before it than is held in memory.
  private mutating func middleOfAttachment() -> [String] {
    let piece = random.next() % 2 == 0 ? 17 + random.next() % 2 : 1 + random.next() % 16
    return ["pausepiece=\(piece)", "pauserounds=\(random.next() % 4)"]
  }

  private mutating func kill(_ child: ChildProcess) throws -> Bool {
    var wasInTime = true
    defer { child.kill() }
    switch killCase.moment {
    case .writing:
      guard child.hasSaid(lines: 3) else { throw CrashOracle.Mismatch("it did not write") }
      pause(upToMicroseconds: 40_000)
    case .stopped:
      guard child.hasSaid(lines: 3) else { throw CrashOracle.Mismatch("it did not write") }
      pause(upToMicroseconds: 20_000)
      try child.stop()
      pause(upToMicroseconds: 3000)
      try expectInUse(by: child)
      if random.next() % 2 == 0 {
        child.send(signal: SIGCONT)
        pause(upToMicroseconds: 5000)
      }
    case .opening:
      // Every other time it begins to write, so that there is something to recover.
      if life % 2 == 1 {
        guard child.hasSaid(lines: 40) else { throw CrashOracle.Mismatch("it did not write") }
        pause(upToMicroseconds: 10_000)
        return false
      }
      guard child.line(beginning: "opening") != nil else {
        throw CrashOracle.Mismatch("it did not open")
      }
      pause(upToMicroseconds: 3000)
      child.kill()
      wasInTime = !child.lines.contains("open")
    case .closing:
      if random.next() % 2 == 0 {
        guard child.line(beginning: "closing") != nil else {
          throw CrashOracle.Mismatch("it did not close")
        }
        pause(upToMicroseconds: 500)
      } else {
        guard child.hasSaid(lines: 20) else { throw CrashOracle.Mismatch("it did not write") }
        pause(upToMicroseconds: 20_000)
      }
      child.kill()
      wasInTime = !child.lines.contains("closed")
    case .attaching:
      guard child.line(beginning: "attaching") != nil else {
        throw CrashOracle.Mismatch("it attached nothing")
      }
      pause(upToMicroseconds: 2000)
    }
    return wasInTime
  }

  private mutating func pause(upToMicroseconds limit: Int) {
    usleep(UInt32(random.next() % UInt64(limit)))
  }

  private func expectInUse(by child: ChildProcess) throws {
    do {
      try Database(at: path).close()
      throw CrashOracle.Mismatch("a store was opened that another process has open")
    } catch let error as DatabaseError where error.code == .storeInUse {
      guard error.message.hasSuffix("process \(child.number)") else {
        throw CrashOracle.Mismatch("\(error.message) instead of process \(child.number)")
      }
    }
  }

  /// Opens what is left; returns whether the store was found not to be closed.
  private mutating func verify() throws -> Bool {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    // Every other time the next process finds what this one left, and must recover it.
    configuration.isReadOnly = random.next() % 2 == 0 && killCase.moment != .attaching
    if configuration.isReadOnly, !Database.exists(at: path) { return true }
    let database = try Database(at: path, configuration: configuration)
    let report = database.openingReport
    guard report.damage.isEmpty else { throw CrashOracle.Mismatch("\(report)") }
    let found = try TwinLedger().read(try database.snapshot())
    for thread in 0..<killCase.threads {
      let (count, least) = (found[thread] ?? 0, acknowledged[thread] ?? 0)
      // A thread reports that a round was acknowledged before it begins another.
      guard (least...least + 1).contains(count) else {
        throw CrashOracle.Mismatch(
          "thread \(thread): \(least) were acknowledged, \(count) are there: \(report)")
      }
      acknowledged[thread] = count
    }
    if let problem = try database.check().problems.first { throw problem }
    if !configuration.isReadOnly { try expectNoOrphans(in: database) }
    try database.close()
    return report.ending != .closed
  }

  /// Checks that opening and cleaning leave no unreferenced attachment files.
  ///
  /// Opening leaves none that no document ever had, and cleaning none that no document has.
  private func expectNoOrphans(in database: Database) throws {
    let statistics = try database.statistics
    guard statistics.attachmentFileCount <= statistics.attachmentCount, names(in: "tmp").isEmpty
    else {
      throw CrashOracle.Mismatch(
        "\(statistics.attachmentCount) contents have the files "
          + "\(names(in: "attachments") + names(in: "tmp"))")
    }
    try database.compact()
    let snapshot = try database.snapshot()
    let stored = try (0..<killCase.threads).filter { try snapshot.exists("\($0)-file") }
    // Different threads may be in the same round.
    let digests = Set(
      try stored.map { try snapshot.document("\($0)-file")?.attachments["content"]?.digest })
    // They are in folders named by the beginnings of their names.
    let attachments = names(in: "attachments").filter { $0.contains("/") }
    let temporary = names(in: "tmp")
    guard attachments.count == digests.count, temporary.isEmpty else {
      throw CrashOracle.Mismatch(
        "\(digests.count) attachments have the files \(attachments + temporary)")
    }
  }

  private func names(in folder: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: "\(path)/\(folder)")
    return (names?.allObjects ?? []).compactMap { $0 as? String }
  }
}
