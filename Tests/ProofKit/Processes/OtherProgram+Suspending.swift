import Divan
import DivanTesting
import Foundation

extension OtherProgram {
  /// Writes, suspends, and resumes, as often as its input has lines for it.
  ///
  /// After a first line it writes and suspends. After a second one it tries to resume, and prints
  /// `refused`, if it was. After a third one it resumes, and prints what it then finds.
  func suspend() throws {
    let database = try open()
    let ledger = TwinLedger()
    // A snapshot is retained all the time, which must not retain the lock.
    var kept: [Snapshot] = []
    var round = 0
    while readLine() != nil {
      round += 1
      try ledger.write(round, thread: 0, in: database, durability: round % 2 == 0 ? .full : .none)
      kept.append(try database.snapshot())
      try database.suspend()
      OtherProgram.say("suspended \(round)")
      guard readLine() != nil else { break }
      do { try database.resume() } catch let error as DatabaseError {
        OtherProgram.say("refused \(round) \(error.code)")
        guard readLine() != nil else { break }
        try database.resume()
      }
      let counts = try ledger.read(try database.snapshot())
      for (index, snapshot) in kept.enumerated() where try ledger.read(snapshot)[0] != index + 1 {
        throw CrashOracle.Mismatch("a snapshot of round \(index + 1) changed")
      }
      OtherProgram.say(
        "resumed \(round) "
          + counts.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " "))
    }
    try database.close()
  }

  /// Follows a writer: refreshes at each line of input, and prints what is there then.
  func refresh() throws {
    var configuration = Configuration()
    configuration.isReadOnly = true
    let database = try Database(at: path, configuration: configuration)
    while readLine() != nil {
      do {
        let earlier = try database.snapshot()
        let before = try TwinLedger().read(earlier)
        try database.refresh()
        let counts = try TwinLedger().read(try database.snapshot())
        OtherProgram.say(
          "seen " + counts.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " "))
        guard try TwinLedger().read(earlier) == before else {
          throw CrashOracle.Mismatch("a snapshot changed")
        }
      } catch {
        OtherProgram.say(OtherProgram.text(of: error))
      }
    }
    try database.close()
  }
}
