import Divan
import DivanLog
import DivanTesting

/// Applies a list of operations to a store and to a plain model, and compares them.
///
/// Used by one thread.
final class RandomRun {
  private static let path = "/store.divan"
  private let setting: RandomSetting
  private var random: SeededGenerator
  private var disk = SimulatedFileSystem()
  private let clock = ProofClock()
  private var lives = 0
  private var database: Database?
  /// The versions that may be found after a crash, oldest first.
  ///
  /// The first one is secured; the last one was committed last, or may have been.
  private var versions = [StoreModel()]
  /// Whether it is unknown if the last version was committed.
  private var isUnknown = false
  private var held: [(snapshot: Snapshot, model: StoreModel)] = []
  /// The kinds of faults that were requested since the store was last opened without error.
  private var faults: [FaultKind] = []
  private var dueLoss: SimulatedDisk.Loss?
  private var highestSequence: UInt64 = 0
  private var copies = 0
  /// The number of times that each kind of operation ran.
  private(set) var counts: [String: Int] = [:]

  /// Receives everything that is done, and the calls of the disk.
  private let listener: Recorder<String>?

  init(_ setting: RandomSetting, seed: UInt64, listener: Recorder<String>? = nil) {
    self.setting = setting
    self.listener = listener
    versions[0].revisionDepth = setting.revisionDepth
    random = SeededGenerator(seed: seed)
  }
}

extension RandomRun {
  /// Runs the operations; throws at the first difference.
  func run(_ operations: [RandomOperation]) throws {
    listen()
    try open()
    for (index, operation) in operations.enumerated() {
      listener?.append("\(operation)")
      do {
        try perform(operation)
        if index % 32 == 0 { try compare() }
      } catch {
        throw CrashOracle.Mismatch("operation \(index), \(operation): \(error)")
      }
    }
    do {
      disk.stopFailing()
      try compare()
      try reopen()
      try compare()
      if setting.isRich { try checkFiles() }
      database = nil
      held = []
      guard disk.openFileCount == 0, disk.lockCount == 0 else {
        throw CrashOracle.Mismatch("\(disk.openFileCount) files were left open")
      }
    } catch {
      throw CrashOracle.Mismatch("at the end: \(error)")
    }
  }

  /// Checks that no files of deleted attachments are left, and that none is missing.
  private func checkFiles() throws {
    held = []
    if let dueLoss { try crash(dueLoss) }
    let fixture = CrashFixture(disk, CrashWriter(seed: 0), cipher: setting.cipher)
    try fixture.checkAttachmentFiles(opened(), model, setting.history)
  }

  private func listen() {
    guard let listener else { return }
    disk.observeCalls { listener.append("    \($0.verb) \($0.path)") }
  }

  private func configuration(life: Int) -> Configuration {
    setting.configuration(disk, life: life, clock)
  }

  private var model: StoreModel { versions[versions.count - 1] }

  private func opened() throws -> Database {
    guard let database else { throw CrashOracle.Mismatch("no database is open") }
    return database
  }

  private func count(_ what: String) { counts[what, default: 0] += 1 }

  /// Performs an operation, which may fail if a fault was injected.
  private func perform(_ operation: RandomOperation) throws {
    do {
      try make(operation)
    } catch let error as DatabaseError {
      try take(error)
    }
    if disk.hasLostPower { try crash(dueLoss ?? .strict) }
    guard isUnknown else { return }
    try reopen()
  }

  private func take(_ error: DatabaseError) throws {
    listener?.append("  \(error)")
    if disk.hasLostPower { return }
    guard faults.contains(where: { $0.explains(error) }) else { throw error }
    count("errors")
    // Only a reopened store can be written to.
    if [.writerStopped, .outcomeUnknown, .readOnly, .closed].contains(error.code) {
      isUnknown = true
    }
  }

  private func make(_ operation: RandomOperation) throws {
    switch operation {
    case .write(let changes, let durability, let throwing):
      try write(changes, durability, throwing: throwing)
    case .read(let reading):
      count("readings")
      try model.compare(opened().snapshot(), reading)
    case .hold:
      held.append((try opened().snapshot(), model))
      if held.count > 5 { held.removeFirst() }
      count("snapshots")
    case .compareHeld: for (snapshot, model) in held { try model.compareInAllWays(snapshot) }
    case .letGo: held = []
    case .name(let number): try name("name-\(number)")
    case .removeName(let number): try removeName("name-\(number)")
    case .addIndex(let name): try addIndex(name)
    case .removeIndex(let name): try removeIndex(name)
    case .purgeExpired(let seconds): try purgeExpired(afterSeconds: seconds)
    case .checkpoint: try opened().writeCheckpoint(); count("checkpoints")
    case .merge: try opened().compactWhatPays(); count("merges")
    case .compact: try opened().compact(); count("compactings")
    case .flush: try opened().flush(); secure(); count("flushes")
    case .backup: try backup()
    case .reopen: try reopen()
    case .readBeside: try readBeside()
    case .fail(let call, let kind, let isLasting):
      let kind = RandomOperation.faults[kind]
      faults.append(kind)
      kind.arm(disk, atCall: call, flushCall: nil, isLasting: isLasting)
      count("faults")
    case .heal: disk.stopFailing()
    case .crash(let loss): try crash(loss)
    case .losePower(let call, let loss):
      dueLoss = loss
      disk.losePower(atCall: call)
    }
  }

  /// Records that everything that was committed so far is durable.
  private func secure() { versions.removeFirst(versions.count - 1) }

  private struct Stop: Error {}

  private func write(
    _ changes: [StoreChange], _ durability: Durability, throwing: Bool
  ) throws {
    let before = model
    var attempted: StoreModel?
    let database = try opened()
    do {
      try database.write(durability: durability) { transaction in
        let changed = try before.changed(changes, transaction, &random)
        for document in changed.documents.values where document.newest > before.lastSequence {
          guard document.newest > highestSequence else {
            throw CrashOracle.Mismatch("sequence \(document.newest) was handed out again")
          }
        }
        if throwing { throw Stop() }
        attempted = changed
      }
      guard let attempted else { throw CrashOracle.Mismatch("a closure did not run to its end") }
      count("transactions")
      // Nothing was changed, so nothing was committed or flushed.
      guard attempted != before else { return }
      highestSequence = max(highestSequence, attempted.lastSequence)
      versions.append(attempted)
      if durability == .full { secure() }
    } catch is Stop {
      count("transactions that threw")
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      if let attempted { versions.append(attempted) }
      isUnknown = true
      throw error
    }
  }

  /// Runs a call that is a fully durable transaction of its own, after which the store must be
  /// `attempted`.
  private func commit(_ attempted: StoreModel, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      versions.append(attempted)
      isUnknown = true
      throw error
    }
    versions.append(attempted)
    secure()
  }

  private func name(_ name: String) throws {
    let database = try opened()
    var attempted = model
    guard attempted.named[name] == nil else { return }
    attempted.name(name, sequence: try database.snapshot().sequence)
    try commit(attempted) { try database.saveSnapshot(named: name) }
    count("versions named")
  }

  private func removeName(_ name: String) throws {
    let database = try opened()
    var attempted = model
    guard attempted.named[name] != nil else { return }
    attempted.removeName(name)
    try commit(attempted) { try database.deleteSnapshot(named: name) }
  }

  private func addIndex(_ name: String) throws {
    let database = try opened()
    var attempted = model
    guard !attempted.indexes.contains(name) else { return }
    attempted.addIndex(name)
    try commit(attempted) { try database.addIndex(StoreModel.index(name)) }
    count("indexes made")
  }

  private func removeIndex(_ name: String) throws {
    let database = try opened()
    var attempted = model
    guard attempted.indexes.contains(name) else { return }
    attempted.removeIndex(name)
    try commit(attempted) { try database.removeIndex(named: name) }
  }

  private func purgeExpired(afterSeconds seconds: UInt64) throws {
    let database = try opened()
    clock.now = max(clock.now, Configuration.proofTime + seconds * 1000)
    var attempted = model
    guard
      attempted.purgeExpired(at: clock.now, lastSequence: try database.snapshot().sequence)
    else { return }
    do {
      try commit(attempted) { try database.purgeExpiredDocuments() }
    } catch let error as DatabaseError where !isUnknown {
      // It takes several steps, and may have purged some documents before one of them failed.
      versions.append(attempted)
      isUnknown = true
      throw error
    }
    count("purges of expired documents")
  }

  /// Checks that committed data is visible, and that held snapshots are unchanged.
  private func compare() throws {
    do {
      let database = try opened()
      try model.compareInAllWays(database.snapshot())
      try model.compareBesides(database, setting.history)
      for (snapshot, model) in held { try model.compareInAllWays(snapshot) }
    } catch let error as DatabaseError {
      try take(error)
      if disk.hasLostPower { try crash(dueLoss ?? .strict) }
    }
    count("comparisons")
  }

  private func readBeside() throws {
    var configuration = configuration(life: 9)
    configuration.isReadOnly = true
    let reader = try Database(at: RandomRun.path, configuration: configuration)
    try check(reader)
    try model.compareInAllWays(reader.snapshot())
    try model.compareBesides(reader, setting.history)
    count("openings beside the writer")
  }

  private func backup() throws {
    copies += 1
    let copy = "/copy-\(copies).divan"
    let restored = "/restored-\(copies).divan"
    let keepsHistory = copies % 4 != 0
    try opened().backup(to: copy, keepingHistory: keepsHistory)
    secure()
    let configuration = configuration(life: 7000 + copies)
    try Database.restore(from: copy, to: restored, configuration: configuration)
    let database = try Database(at: restored, configuration: configuration)
    try check(database)
    try model.compareInAllWays(database.snapshot())
    if keepsHistory { try model.compareBesides(database, setting.history) }
    try database.write { _ = try $0.replace("own", with: [:]) }
    try database.close()
    try Database.delete(at: copy, configuration: configuration)
    try Database.delete(at: restored, configuration: configuration)
    count("backups")
  }
}

extension RandomRun {
  /// Closes the database, whatever the result, and opens the store again.
  private func reopen() throws {
    var isClosed = false
    do {
      try database?.close()
      isClosed = !isUnknown
    } catch let error as DatabaseError {
      try take(error)
    }
    database = nil
    held = []
    if disk.hasLostPower { return try crash(dueLoss ?? .strict) }
    // Calls may still fail while it is opened.
    if !faults.isEmpty {
      do {
        return try open(isClosed: isClosed)
      } catch let error as DatabaseError {
        try take(error)
        if disk.hasLostPower { return try crash(dueLoss ?? .strict) }
      }
      isClosed = false
      disk.stopFailing()
      faults = []
    }
    do {
      try open(isClosed: isClosed)
    } catch let error as DatabaseError {
      try take(error)
      try crash(dueLoss ?? .strict)
    }
    count("reopenings")
  }

  private func crash(_ loss: SimulatedDisk.Loss) throws {
    disk = disk.restarted(loss)
    listen()
    // The old disk is gone, and so is everything that was open on it.
    database = nil
    held = []
    faults = []
    dueLoss = nil
    try open(isClosed: false)
    count("crashes")
  }

  private func open(isClosed: Bool = true) throws {
    lives += 1
    let opened = try Database(
      at: RandomRun.path, configuration: configuration(life: lives))
    try check(opened)
    let index = try identify(opened)
    if isClosed, index != versions.count - 1 {
      throw CrashOracle.Mismatch("\(versions.count - 1 - index) commits of a closed store are lost")
    }
    // If HEAD is reported missing, the store cannot be known to be closed. The same applies if
    // there is a segment whose creation was reported as failed.
    let mayMislead = faults.contains {
      if case .everythingDone = $0 { true } else { $0 == .error(.notFound) }
    }
    if isClosed, lives > 1, !mayMislead, opened.openingReport.ending == .interrupted {
      throw CrashOracle.Mismatch("a closed store is found interrupted")
    }
    // A version that was served must not be lost.
    versions = [versions[index]]
    highestSequence = max(highestSequence, versions[0].lastSequence)
    isUnknown = false
    database = opened
  }

  /// Returns the newest of the possible versions that matches the store.
  private func identify(_ database: Database) throws -> Int {
    let snapshot = try database.snapshot()
    var differences: [String] = []
    for (index, version) in versions.enumerated().reversed() {
      do {
        guard try version.hasNames(of: database) else { continue }
        try version.compare(snapshot)
      } catch let error as CrashOracle.Mismatch {
        differences.append("\(error)".prefix(200).description)
        continue
      }
      try version.compareBesides(database, setting.history)
      return index
    }
    throw CrashOracle.Mismatch(
      "what is found is none of \(versions.count) versions; it differs from the newest: "
        + (differences.first ?? "other named snapshots") + "; from the oldest: "
        + (differences.last ?? "other named snapshots"))
  }

  private func check(_ database: Database) throws {
    if let damage = database.openingReport.damage.first {
      throw CrashOracle.Mismatch("damage, of which there is none: \(damage)")
    }
  }
}
