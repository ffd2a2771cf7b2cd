import Divan
import DivanTesting
import Foundation
import Synchronization

/// The program that proofs start as another process, to be observed, stopped and killed.
///
/// It prints its reports one line at a time, and only whole lines.
package struct OtherProgram: Sendable {
  private let command: String
  let path: String
  private let options: [String: String]

  /// Parses `COMMAND STORE [name=value…]`.
  package init?(arguments: [String]) {
    guard arguments.count >= 2 else { return nil }
    command = arguments[0]
    path = arguments[1]
    options = arguments.dropFirst(2).reduce(into: [:]) { options, argument in
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      if let name = parts.first { options[name] = parts.count > 1 ? parts[1] : "" }
    }
  }

  private func number(_ name: String, default usual: Int) -> Int {
    options[name].flatMap(Int.init) ?? usual
  }

  /// Runs the command; returns the exit status.
  package func run() -> Int32 {
    do {
      if options["wait"] != nil { _ = readLine() }
      switch command {
      case "write": try write()
      case "hold": try hold()
      case "read": read()
      case "churn": churn()
      case "check": try check()
      case "suspend": try suspend()
      case "refresh": try refresh()
      default: return 64
      }
      return 0
    } catch {
      OtherProgram.say(OtherProgram.text(of: error))
      return 3
    }
  }

  /// Prints a line with a single call, so that a kill does not split it.
  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  static func text(of error: any Error) -> String {
    guard let error = error as? DatabaseError else { return "error other \(error)" }
    return "error \(error.code) \(error)".replacing("\n", with: " ")
  }

  /// Changes the working directory, if an option names another one.
  private func changeDirectory(_ option: String) throws {
    guard let directory = options[option] else { return }
    guard FileManager.default.changeCurrentDirectoryPath(directory) else {
      throw CrashOracle.Mismatch("no directory \(directory)")
    }
  }

  func open() throws -> Database {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    OtherProgram.say("opening")
    try changeDirectory("from")
    let database = try Database(at: path, configuration: configuration)
    try changeDirectory("to")
    OtherProgram.say("open")
    return database
  }
}

extension OtherProgram {
  /// Writes rounds from several threads, and prints each acknowledged one: `THREAD ROUND`.
  private func write() throws {
    let database = try open()
    let ledger = TwinLedger()
    let counts = try ledger.read(try database.snapshot())
    let roundCount = number("rounds", default: .max / 2)
    let group = DispatchGroup()
    for thread in 0..<number("threads", default: 1) {
      let first = (counts[thread] ?? 0) + 1
      Thread.detach(in: group) {
        for round in first..<(first + roundCount) {
          do {
            let durability = durability(thread: thread, round: round)
            try ledger.write(
              round, thread: thread, in: database, durability: durability,
              attaching: options["attach"] != nil
            ) { piece in
              pause(beforePiece: piece, afterRounds: round - first)
            }
          } catch {
            OtherProgram.say(OtherProgram.text(of: error))
            return
          }
          OtherProgram.say("\(thread) \(round)")
        }
      }
    }
    if options["compact"] != nil { Thread.detachNewThread { while Self.compact(database) {} } }
    group.wait()
    OtherProgram.say("closing")
    try database.close()
    OtherProgram.say("closed")
  }

  /// Pauses in the middle of an attachment, if the options request it.
  ///
  /// They give the number of rounds before it, and the piece.
  private func pause(beforePiece piece: Int, afterRounds rounds: Int) {
    guard piece == number("pausepiece", default: -1), rounds == number("pauserounds", default: -1)
    else { return }
    OtherProgram.say("attaching")
    // The proof kills the process during this time.
    Thread.sleep(forTimeInterval: 30)
  }

  private static func compact(_ database: Database) -> Bool {
    do {
      try database.compact()
      Thread.sleep(forTimeInterval: 0.002)
      return true
    } catch {
      // While closing, or when the store was removed, there is nothing to compact.
      return false
    }
  }

  private func durability(thread: Int, round: Int) -> Durability {
    switch options["durability"] {
    case "none": return .none
    case "relaxed": return .relaxed(maxDelay: .milliseconds(3))
    case "mixed": return [.full, .none, .relaxed(maxDelay: .milliseconds(2))][(thread + round) % 3]
    default: return .full
    }
  }

  /// Keeps the store open until its input ends; may start a child that outlives it.
  private func hold() throws {
    let database = try open()
    try TwinLedger().write(
      (TwinLedger().read(try database.snapshot())[0] ?? 0) + 1, thread: 0, in: database,
      durability: .full)
    if options["child"] != nil {
      OtherProgram.say("child \(try spawnSleepingChild())")
    }
    OtherProgram.say("holding")
    while readLine() != nil {}
    try database.close()
  }

  /// Opens the store for reading at each line of input, and prints what it found.
  private func read() {
    var configuration = Configuration()
    configuration.isReadOnly = true
    while readLine() != nil {
      do {
        let database = try Database(at: path, configuration: configuration)
        let snapshot = try database.snapshot()
        let counts = try TwinLedger().read(snapshot)
        guard database.openingReport.damage.isEmpty else {
          throw CrashOracle.Mismatch("\(database.openingReport)")
        }
        OtherProgram.say(
          "seen " + counts.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " "))
        // A snapshot does not change, whatever the writer does in the meantime.
        Thread.sleep(forTimeInterval: 0.003)
        guard try TwinLedger().read(snapshot) == counts else {
          throw CrashOracle.Mismatch("a snapshot changed")
        }
        try database.close()
      } catch {
        OtherProgram.say(OtherProgram.text(of: error))
      }
    }
  }

  /// Opens the store for writing, as after a crash, and checks it; prints `found THREAD=ROUND …`.
  ///
  /// Then it writes a round, to show that the recovered store is writable.
  private func check() throws {
    let database = try open()
    let ledger = TwinLedger()
    let counts = try ledger.read(try database.snapshot())
    if let damage = database.openingReport.damage.first { throw damage }
    if let problem = try database.check().problems.first { throw problem }
    try ledger.write((counts[15] ?? 0) + 1, thread: 15, in: database, durability: .full)
    try database.close()
    OtherProgram.say(
      "found " + counts.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " "))
  }

  /// Opens, writes to, closes and sometimes deletes the same store as other processes.
  ///
  /// Each time it prints `wrote` or the error. If two processes ever wrote at once, one of them
  /// would not find its own data.
  private func churn() {
    var random = SeededGenerator(seed: UInt64(number("seed", default: 0)))
    for round in 0..<number("rounds", default: 1) {
      do {
        let database = try Database(at: path)
        let own = Value.int(Int64(getpid()) << 20 | Int64(round))
        for _ in 0..<3 {
          try database.write { try $0.replace("owner", with: ["n": own]) }
          let found = try database.snapshot().document("owner")?["n"]
          guard found == own else { throw CrashOracle.Mismatch("another one writes, too") }
        }
        try database.close()
        OtherProgram.say("wrote")
        if random.next() % 2 == 0 {
          try Database.delete(at: path)
          OtherProgram.say("deleted")
        }
      } catch {
        OtherProgram.say(OtherProgram.text(of: error))
      }
    }
  }
}

/// Starts a process that sleeps, and inherits every descriptor that is not closed for children.
private func spawnSleepingChild() throws -> pid_t {
  var child: pid_t = 0
  // The texts live as long as the call.
  let status = unsafe "/bin/sleep".withCString { program in
    unsafe "20".withCString { seconds in
      var arguments = unsafe [
        UnsafeMutablePointer(mutating: program), UnsafeMutablePointer(mutating: seconds), nil,
      ]
      return unsafe posix_spawn(&child, program, nil, nil, &arguments, nil)
    }
  }
  guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EINVAL) }
  return child
}
