package import Divan
package import DivanTesting
import Synchronization

/// A disk with a store on it, and the one who works with it.
package final class CrashBench: Sendable {
  package static let path = "/store.divan"
  package let fileSystem: SimulatedFileSystem
  package let writer: CrashWriter
  package let isMapped: Bool
  private let lives: Atomic<Int>
  private let phase = Mutex(CallSite.Phase.other)
  /// What is to happen when work with a store fails; by default that is thrown, and ends it.
  package let tolerance = FaultTolerance()

  package init(
    _ fileSystem: SimulatedFileSystem, _ writer: CrashWriter, isMapped: Bool = true, life: Int = 0
  ) {
    self.fileSystem = fileSystem
    self.writer = writer
    self.isMapped = isMapped
    lives = Atomic(life)
  }

  package func configuration() -> Configuration {
    let life = lives.wrappingAdd(1, ordering: .relaxed).newValue
    var configuration = Configuration.crashing(on: fileSystem, life: life)
    configuration.reads = isMapped ? .mapped : .buffered
    return configuration
  }

  package func open(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    var configuration = configuration()
    change(&configuration)
    let database = try doing(.open) {
      try Database(at: CrashBench.path, configuration: configuration)
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
    try attempt(.merge) { try database.mergeWhatPays() }
  }

  /// Runs `body` as ``doing(_:_:)`` does, and goes on after an error if that is tolerated.
  package func attempt(_ phase: CallSite.Phase, _ body: () throws -> Void) throws {
    do { try doing(phase, body) } catch { try tolerance.take(error, writer) }
  }

  /// Runs `body`; calls that it makes of the disk are told apart from others by `phase`.
  package func doing<R>(_ phase: CallSite.Phase, _ body: () throws -> R) rethrows -> R {
    self.phase.withLock { $0 = phase }
    defer { self.phase.withLock { $0 = .other } }
    return try body()
  }

  /// Where in the work with the store a call is made.
  package func site(of call: SimulatedCall) -> CallSite {
    CallSite(phase.withLock { $0 }, call)
  }

  package func commit(
    _ database: Database, _ steps: [CrashWriter.Step], durability: Durability = .full
  ) throws {
    try attempt(.commit) { try writer.commit(database, steps, durability: durability) }
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
