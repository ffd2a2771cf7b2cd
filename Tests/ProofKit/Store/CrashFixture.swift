package import Divan
import DivanLog
package import DivanTesting
import Synchronization

/// A disk with a store on it, and its writer.
package final class CrashFixture: Sendable {
  package static let path = "/store.divan"
  private let disk: Mutex<SimulatedFileSystem>
  private let watcher = Mutex<Watcher?>(nil)
  package let writer: CrashWriter
  package let isMapped: Bool
  private let lives: Atomic<Int>
  private let phase = Mutex(CallSite.Phase.other)
  /// The clock of the databases.
  package let clock = ProofClock()
  /// The cipher that the store is encrypted with; nil if it is not encrypted.
  package let cipher: TestCipher?
  /// The reaction to failures of work with the store; by default, errors are thrown and end it.
  package let tolerance = FaultTolerance()

  package init(
    _ fileSystem: SimulatedFileSystem, _ writer: CrashWriter, isMapped: Bool = true, life: Int = 0,
    cipher: TestCipher? = nil
  ) {
    self.cipher = cipher
    disk = Mutex(fileSystem)
    self.writer = writer
    self.isMapped = isMapped
    lives = Atomic(life)
  }

  /// The current disk; the end of a process or a loss of power replaces it by another one.
  package var fileSystem: SimulatedFileSystem { disk.withLock { $0 } }

  package func configuration() -> Configuration {
    let life = lives.wrappingAdd(1, ordering: .relaxed).newValue
    var configuration = Configuration.crashing(on: fileSystem, life: life)
    configuration.readMode = isMapped ? .mapped : .buffered
    configuration.cipher = cipher
    (configuration.history, configuration.revisionDepth) = writer.oracle.withLock {
      ($0.history, $0.revisionDepth)
    }
    configuration.now = { [clock] in clock.now }
    // Damaged data must be readable, too; the report describes the damage.
    configuration.damage = .salvage
    return configuration
  }

  package func open(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    var configuration = configuration()
    change(&configuration)
    let database = try doing(.open) {
      try Database(at: CrashFixture.path, configuration: configuration)
    }
    tolerance.note(database)
    return database
  }

  package func close(_ database: Database) throws { try attempt(.close) { try database.close() } }

  package func flush(_ database: Database) throws { try attempt(.flush) { try database.flush() } }

  package func compact(_ database: Database) throws {
    try attempt(.compact) { try database.compact() }
  }

  package func checkpoint(_ database: Database) throws {
    try attempt(.checkpoint) { try database.writeCheckpoint() }
  }

  package func merge(_ database: Database) throws {
    try attempt(.merge) { try database.compactWhatPays() }
  }

  /// Runs `body` as ``doing(_:_:)`` does, and continues after an error if that is tolerated.
  package func attempt(_ phase: CallSite.Phase, _ body: () throws -> Void) throws {
    do { try doing(phase, body) } catch { try tolerance.take(error, writer) }
  }

  /// Runs `body`; `phase` marks the calls of the disk that it makes.
  package func doing<R>(_ phase: CallSite.Phase, _ body: () throws -> R) rethrows -> R {
    self.phase.withLock { $0 = phase }
    defer { self.phase.withLock { $0 = .other } }
    return try body()
  }

  /// Returns the place of a call in the work with the store.
  package func site(of call: SimulatedCall) -> CallSite {
    CallSite(phase.withLock { $0 }, call)
  }

  /// Copies the store to another place.
  package func backup(_ database: Database, to path: String) throws {
    writer.oracle.withLock { $0.beginCopy(path) }
    try doing(.backup) { try database.backup(to: path) }
    writer.oracle.withLock { $0.finishCopy() }
  }

  /// Restores a store from a copy.
  package func restore(from copy: String, to path: String) throws {
    let version = writer.oracle.withLock { oracle in
      oracle.copies.last { $0.path == copy }?.version ?? 0
    }
    let configuration = configuration()
    writer.oracle.withLock { $0.beginCopy(path, of: version) }
    try doing(.restore) {
      try Database.restore(from: copy, to: path, configuration: configuration)
    }
    writer.oracle.withLock { $0.finishCopy() }
  }

  package func commit(
    _ database: Database, _ steps: [CrashWriter.Step], durability: Durability = .full
  ) throws {
    try attempt(.commit) { try writer.commit(database, steps, durability: durability) }
  }

  /// Names the newest version, unless the name is taken.
  package func name(_ database: Database, _ name: String) throws {
    try attempt(.commit) { try writer.name(database, name) }
  }

  /// Removes a name, if it exists.
  package func removeName(_ database: Database, _ name: String) throws {
    try attempt(.commit) { try writer.removeName(database, name) }
  }

  /// Adds an index by the documents' numbers, unless it exists.
  package func addIndex(_ database: Database, _ name: String) throws {
    try attempt(.index) { try writer.addIndex(database, name) }
  }

  /// Removes an index, if it exists.
  package func removeIndex(_ database: Database, _ name: String) throws {
    try attempt(.index) { try writer.removeIndex(database, name) }
  }

  /// Queries a view, whose rows must match the documents.
  package func askView(_ database: Database) throws {
    try attempt(.view) { try ProofView.check(database) }
  }

  /// Purges documents that expired up to a number of seconds after the beginning.
  package func purgeExpired(_ database: Database, afterSeconds seconds: UInt64) throws {
    clock.now = Configuration.proofTime + seconds * 1000
    try attempt(.commit) { try writer.purgeExpired(database, at: clock.now) }
  }

  /// Commits some documents one by one.
  package func fill(
    _ database: Database, _ numbers: Range<Int>, size: Int = 600, durability: Durability = .full
  ) throws {
    for number in numbers {
      try commit(database, [.put("doc-\(number)", size: size)], durability: durability)
    }
  }
}

/// A clock whose time changes only when it is set.
package final class ProofClock: Sendable {
  private let time = Atomic(Configuration.proofTime)

  /// The time in milliseconds since 1970.
  package var now: UInt64 {
    get { time.load(ordering: .relaxed) }
    set { time.store(newValue, ordering: .relaxed) }
  }

  package init() {}
}

// MARK: Files of attachments

extension CrashFixture {
  /// Returns the digests of the contents that have files.
  package static func attachmentFiles(
    on disk: SimulatedFileSystem, _ cipher: TestCipher? = nil
  ) -> Set<String> {
    let root = "\(path)/attachments"
    let names = disk.names(in: root).flatMap { disk.names(in: "\(root)/\($0)") }
    guard let cipher else { return Set(names) }
    return Set(
      names.map { name in
        SHA256.Digest(name).map { "\(cipher.digest(ofName: $0))" } ?? name
      })
  }

  /// Cleans up, and checks the attachment files.
  ///
  /// Throws unless each readable attachment has its file and no other file is left.
  package func checkAttachmentFiles(
    _ database: Database, _ version: StoreModel, _ retention: HistoryRetention
  ) throws {
    try database.flush()
    try database.compact()
    let files = CrashFixture.attachmentFiles(on: fileSystem, cipher)
    let (needed, allowed) = version.attachmentFiles(
      largerThan: Configuration.proofInlineLimit, retention)
    guard needed.isSubset(of: files) else {
      throw CrashOracle.Mismatch("attachments without files: \(needed.subtracting(files))")
    }
    guard files.isSubset(of: allowed) else {
      throw CrashOracle.Mismatch("files of no attachment: \(files.subtracting(allowed))")
    }
    if let problem = try database.check().problems.first {
      throw CrashOracle.Mismatch("the check finds: \(problem)")
    }
  }
}

// MARK: Ends of a process, and watchers

/// An observer of the fixture's disk.
package struct Watcher: Sendable {
  /// Called before each call, on each of the fixture's disks.
  package let beforeCall: @Sendable (SimulatedFileSystem, SimulatedCall) -> Void
  /// Called where a workload requests it.
  package let atMoment: @Sendable (SimulatedFileSystem) -> Void

  package init(
    beforeCall: @escaping @Sendable (SimulatedFileSystem, SimulatedCall) -> Void,
    atMoment: @escaping @Sendable (SimulatedFileSystem) -> Void
  ) {
    self.beforeCall = beforeCall
    self.atMoment = atMoment
  }
}

extension CrashFixture {
  /// Sets the observer; nil removes it.
  package func watch(_ watcher: Watcher?) {
    self.watcher.withLock { $0 = watcher }
    observe(fileSystem)
  }

  private func observe(_ disk: SimulatedFileSystem) {
    guard let watcher = watcher.withLock({ $0 }) else { return disk.observeCalls(nil) }
    disk.observeCalls { [unowned disk] call in watcher.beforeCall(disk, call) }
  }

  /// Whether there is an observer.
  package var isWatched: Bool { watcher.withLock { $0 != nil } }

  /// Runs `body` without the observer.
  package func unwatched<R>(_ body: () throws -> R) rethrows -> R {
    let previous = watcher.withLock { $0 }
    watch(nil)
    defer { watch(previous) }
    return try body()
  }

  /// Lets the observer, if there is one, examine the disk as it is now.
  package func showMoment() { watcher.withLock { $0 }?.atMoment(fileSystem) }

  /// Ends the process or cuts the power; databases that still have the store open have no effect.
  package func lose(_ loss: SimulatedDisk.Loss) {
    writer.oracle.withLock { $0.noteLoss(keepsAll: loss == .processEnd || loss == .everything) }
    let old = fileSystem
    old.observeCalls(nil)
    old.losePower(atCall: 0)
    let next = old.restarted(loss)
    disk.withLock { $0 = next }
    observe(next)
  }
}
