import Divan
import DivanTesting
import Synchronization

extension CrashExplorer {
  /// Loses power again at each call of a recovery, and of some recoveries from what that leaves.
  ///
  /// Recovery only makes durable what is there, so each of them must find the same version as the
  /// first. The exception: if only the process had ended, and the disk still held back changes, a
  /// loss of power may leave an older version, but none older than was promised.
  func crashInRecovery(
    of disk: SimulatedFileSystem, _ oracle: CrashOracle, expecting version: Int, _ number: Int
  ) throws {
    try crash(in: disk, oracle, version, number, depth: 0)
  }

  private func crash(
    in disk: SimulatedFileSystem, _ oracle: CrashOracle, _ version: Int, _ number: Int, depth: Int
  ) throws {
    let twin = disk.restarted(.processEnd)
    defer { twin.losePower(atCall: 0) }
    let isDurable = disk.unflushedChangeCount == 0
    let trial = Trial()
    let fixture = fixture(twin, stranger)
    let look: @Sendable (CallSite?) -> Void = { [self] site in
      trial.call += 1
      counts.withLock { counts in if let site { counts.recoverySites[site, default: 0] += 1 } }
      twin.cacheHashes()
      let seed = seed &+ UInt64(number &* 1000 &+ trial.call &* 8)
      let losses = CrashLoss.inRecovery(twin, after: trial.lastChange, seed: seed)
      trial.lastChange = twin.unflushedChanges.last?.number ?? trial.lastChange
      for loss in losses where trial.problem == nil {
        do {
          try recover(
            twin.restarted(loss.loss, tearing: loss.tearing), oracle, version, number, trial,
            isDurable: isDurable, depth: depth)
        } catch {
          trial.problem = CrashOracle.Mismatch(
            "in recovery, call \(trial.call)\(site.map { " (\($0))" } ?? ""), \(loss): \(error)")
        }
      }
    }
    fixture.watch(
      Watcher { _, call in
        if call.verb.isChanging { look(fixture.site(of: call)) }
      } atMoment: { _ in
      })
    let database = try fixture.open { $0.maintenance = .manual }
    fixture.watch(nil)
    look(nil)
    if let problem = trial.problem { throw problem }
    // Data that was served once survives a loss of power, even if only the process had ended
    // before.
    let later = twin.restarted(.strict)
    defer { later.losePower(atCall: 0) }
    let reopened = try self.fixture(later, stranger).open { $0.maintenance = .manual }
    try check(reopened)
    let found = try oracle.identify(reopened)
    guard found == version else {
      throw CrashOracle.Mismatch("version \(version) was served, and version \(found) is left")
    }
    try database.close()
  }

  /// Examines what one loss in a recovery left, unless it occurred before.
  private func recover(
    _ left: SimulatedFileSystem, _ oracle: CrashOracle, _ version: Int, _ number: Int,
    _ trial: Trial, isDurable: Bool, depth: Int
  ) throws {
    counts.withLock { $0.recoveryCrashesTried += 1 }
    guard trial.takeUp(left.imageHash) else { return }
    counts.withLock { $0.recoveryCrashes[depth] += 1 }
    let fork = left.restarted(.processEnd)
    defer { left.losePower(atCall: 0) }
    let database = try fixture(left, stranger).open { $0.maintenance = .manual }
    try check(database)
    let found = try oracle.identify(database)
    guard found == version || (!isDurable && found < version) else {
      throw CrashOracle.Mismatch("version \(version) was recovered first, and now \(found)")
    }
    guard depth == 0, (number + trial.imageCount) % effort.secondRecoveryStride == 0 else {
      return
    }
    try crash(in: fork, oracle, found, number, depth: 1)
  }
}

/// The progress of one recovery trial; used by one thread.
private final class Trial: Sendable {
  private struct State {
    var call = 0
    var lastChange = 0
    var images: Set<UInt64> = []
    var problem: (any Error)?
  }
  private let state = Mutex(State())

  var call: Int {
    get { state.withLock { $0.call } }
    set { state.withLock { $0.call = newValue } }
  }
  var lastChange: Int {
    get { state.withLock { $0.lastChange } }
    set { state.withLock { $0.lastChange = newValue } }
  }
  var imageCount: Int { state.withLock { $0.images.count } }

  /// Returns whether an image is new.
  func takeUp(_ image: UInt64) -> Bool { state.withLock { $0.images.insert(image).inserted } }

  var problem: (any Error)? {
    get { state.withLock { $0.problem } }
    set { state.withLock { $0.problem = newValue } }
  }
}
