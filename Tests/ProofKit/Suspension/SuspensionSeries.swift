import Divan
import DivanTesting

/// Cycles of suspension on one simulated disk, compared with a plain list of commits.
struct SuspensionSeries {
  /// What happens while the store is suspended.
  private enum Turn: String, CaseIterable {
    case resumed = "resumed"
    case killed = "killed while suspended"
    case killedMeanwhile = "killed while it suspends or resumes"
    case othersWrite = "resumed after another opening has written"
    case othersHold = "refused while another opening has the lock"
    case othersDie = "resumed after another opening was killed"
    case othersAndPower = "killed with another opening"
    case closed = "closed"
  }

  private static let path = "/store.divan"

  private var random: SeededGenerator
  private var disk: SimulatedDisk
  private var plain = PlainCommits()
  /// Databases of processes that were killed, which must not close the store properly.
  private var abandoned: [Database] = []
  /// A copy that is kept up to date by changes only, and the last one that was applied.
  private var mirror: [String: Int] = [:]
  private var mirrored: UInt64 = 0
  private var turns: [String: Int] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed)
  }
}

extension SuspensionSeries {
  /// Plays some cycles; returns how often each thing happened.
  mutating func play(_ count: Int) throws -> [String: Int] {
    var database = try open()
    for number in 1...count {
      do {
        database = try playOne(database)
        try follow(database)
      } catch {
        throw CrashOracle.Mismatch("cycle \(number): \(error); \(disk)")
      }
    }
    try database.close()
    disk = disk.restarted(ProofRun.losesNothing ? .everything : .strict)
    try requireNewest(try open())
    return turns
  }

  private func open() throws -> Database {
    var configuration = disk.configuration()
    configuration.durability = .full
    return try Database(at: SuspensionSeries.path, configuration: configuration)
  }

  private mutating func write(_ database: Database, atMost limit: Int) throws {
    for _ in 0..<random.below(limit + 1) {
      try plain.commit(
        to: database, durability: random.below(3) == 0 ? .none : .full, &random)
    }
    if random.below(12) == 0 { try database.compact() }
  }

  /// Writes, suspends, and lets something happen; returns the database that continues.
  private mutating func playOne(_ database: Database) throws -> Database {
    try write(database, atMost: 4)
    let turn = Turn.allCases[random.below(Turn.allCases.count)]
    turns[turn.rawValue, default: 0] += 1
    let kept = try database.snapshot()
    let shown = plain.count
    if turn == .killedMeanwhile { return try lose(within: database) }
    try database.suspend()
    plain.noteDurable()
    try requireIdle(database)
    try requireShown(shown, by: kept)
    let left = try end(turn, database)
    // A snapshot of a process that is gone reads from the disk as it was.
    if turn != .closed { try requireShown(shown, by: kept) }
    return left
  }

  private mutating func end(_ turn: Turn, _ database: Database) throws -> Database {
    switch turn {
    case .resumed, .killedMeanwhile: break
    case .killed:
      return try restart(database, isClean: true)
    case .closed:
      try database.close()
      return try open()
    case .othersWrite:
      let other = try open()
      try requireNewest(other)
      try write(other, atMost: 6)
      if random.below(2) == 0 { try other.close() } else { try other.suspend() }
      plain.noteDurable()
      // A suspended one is resumed later, or never.
      abandoned.append(other)
    case .othersHold:
      let other = try open()
      try write(other, atMost: 3)
      try expectError(.storeInUse) { try database.resume() }
      guard database.isSuspended else { throw CrashOracle.Mismatch("it is no longer suspended") }
      try write(other, atMost: 3)
      try other.close()
      plain.noteDurable()
    case .othersDie:
      let other = try open()
      try write(other, atMost: 5)
      disk.files.endProcess()
      abandoned.append(other)
    case .othersAndPower:
      let other = try open()
      try write(other, atMost: 5)
      abandoned.append(other)
      return try restart(database, isClean: false)
    }
    try database.resume()
    plain.noteDurable()
    try requireNewest(database)
    return database
  }

  /// Loses power at some call while the store is suspended and resumed.
  private mutating func lose(within database: Database) throws -> Database {
    disk.losePower(atCall: 1 + random.below(24))
    do {
      try database.suspend()
      plain.noteDurable()
      try database.resume()
    } catch {
      guard disk.hasLostPower else { throw error }
    }
    return try restart(database, isClean: false)
  }

  /// Starts the machine or the process again.
  private mutating func restart(_ database: Database, isClean: Bool) throws -> Database {
    abandoned.append(database)
    let losses: [SimulatedDisk.Loss] = [
      .strict, .processEnd, .everything, .random(seed: random.next()), .prefix(seed: random.next()),
      .dataFirst(seed: random.next()), .sizeFirst(seed: random.next()),
    ]
    let loss = losses[random.below(losses.count)]
    disk = disk.restarted(ProofRun.losesNothing && loss != .processEnd ? .everything : loss)
    let opened = try open()
    if let damage = opened.openingReport.damage.first { throw damage }
    if isClean {
      // Without a commit, there is no log that could be closed.
      guard opened.openingReport.ending != .interrupted, opened.openingReport.securedCommits == 0
      else { throw CrashOracle.Mismatch("it was not closed: \(opened.openingReport)") }
      try requireNewest(opened)
    }
    let count = plain.count
    try plain.cut(to: try plain.identify(try opened.snapshot()))
    if plain.count < count { (mirror, mirrored) = ([:], 0) }
    return opened
  }

  // MARK: Checks

  private func requireNewest(_ database: Database) throws {
    try plain.requireNewest(try database.snapshot())
  }

  private func requireShown(_ count: Int, by snapshot: Snapshot) throws {
    guard !disk.hasLostPower, plain.states.indices.contains(count) else { return }
    let found = try plain.identify(snapshot)
    guard found == count else {
      throw CrashOracle.Mismatch("a snapshot of commit \(count) shows commit \(found)")
    }
  }

  /// Throws unless a suspended store has no lock, refuses calls, and writes nothing.
  private func requireIdle(_ database: Database) throws {
    guard disk.files.lockCount == 0 else { throw CrashOracle.Mismatch("the lock is still held") }
    let calls = disk.changingCallCount
    try expectError(.suspended) { _ = try database.write { try $0.replace("x", with: [:]) } }
    try expectError(.suspended) { _ = try database.snapshot() }
    try expectError(.suspended) { try database.compact() }
    try expectError(.suspended) { try database.flush() }
    try database.suspend()
    guard disk.changingCallCount == calls else {
      throw CrashOracle.Mismatch("a suspended store was written to")
    }
  }

  private func expectError(_ code: DatabaseError.Code, _ body: () throws -> Void) throws {
    do { try body() } catch let error as DatabaseError where error.code == code { return }
    throw CrashOracle.Mismatch("nothing was refused where \(code) was expected")
  }

  /// Applies the changes since the last cycle to the mirror, which must then equal the store.
  private mutating func follow(_ database: Database) throws {
    let snapshot = try database.snapshot()
    guard snapshot.sequence >= mirrored else {
      throw CrashOracle.Mismatch("sequence \(snapshot.sequence) follows \(mirrored)")
    }
    var changes = snapshot.changes(since: mirrored)
    while let change = try changes.next() {
      mirror[change.id] = change.isDeleted ? nil : change.document["value"]?.intValue ?? -1
    }
    mirrored = snapshot.sequence
    guard mirror == plain.states[plain.count] else {
      throw CrashOracle.Mismatch("the changes lead to \(mirror), not \(plain.states[plain.count])")
    }
  }
}
