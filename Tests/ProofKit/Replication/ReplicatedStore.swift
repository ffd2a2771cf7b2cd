import Divan
import DivanSync
import DivanTesting

/// A store on a simulated disk, whose process is killed from time to time.
final class ReplicatedStore {
  let name: String
  let clock = SimulatedClock()
  private let hasSmallFiles: Bool
  /// Whether what comes from others is flushed only where the replication asks for it.
  private let isWeak: Bool
  private(set) var disk: SimulatedDisk
  private(set) var database: Database
  /// The disk at an earlier time, for a copy that is put in its place.
  private var earlier: SimulatedDisk?

  init(_ name: String, seed: UInt64, hasSmallFiles: Bool, isWeak: Bool) throws {
    self.name = name
    self.hasSmallFiles = hasSmallFiles
    self.isWeak = isWeak
    disk = SimulatedDisk(seed: seed, clock: clock)
    database = try Self.open(disk, clock, hasSmallFiles: hasSmallFiles, isWeak: isWeak)
  }

  private static func open(
    _ disk: SimulatedDisk, _ clock: SimulatedClock, hasSmallFiles: Bool, isWeak: Bool
  ) throws -> Database {
    var configuration = disk.configuration(hasSmallFiles: hasSmallFiles)
    // The network moves this clock, and a restarted disk would have another one.
    configuration.now = clock.read
    if isWeak { configuration.durability = .none }
    // Several threads write: the edits, and the replications in both directions.
    configuration.maintenance = .background
    return try Database(at: "/\(Self.folder)", configuration: configuration)
  }

  private static let folder = "replicated.divan"

  /// Continues on another disk, as a new process.
  private func continueOn(_ other: SimulatedDisk) throws {
    // The old process is gone: its database is neither closed nor used again.
    disk = other
    database = try Self.open(other, clock, hasSmallFiles: hasSmallFiles, isWeak: isWeak)
    let report = database.openingReport
    guard report.damage.isEmpty else { throw CrashOracle.Mismatch("\(name): \(report)") }
  }

  /// Kills the process, and starts another one with what is left on the disk.
  func kill(_ loss: SimulatedDisk.Loss) throws { try continueOn(disk.restarted(loss)) }

  /// Keeps a copy of the store as it is now.
  func keepCopy() { earlier = disk.restarted(.processEnd) }

  /// Puts the kept copy in the place of the store; returns false if there is none.
  func returnToCopy() throws -> Bool {
    guard let earlier else { return false }
    try continueOn(earlier.restarted(.processEnd))
    return true
  }
}
