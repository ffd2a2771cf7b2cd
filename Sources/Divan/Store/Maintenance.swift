import Dispatch
import DivanLog
import Synchronization

/// Keeps the store small and quick to open, while it is used: writes checkpoints, merges segments,
/// and deletes what nobody needs any more.
///
/// One step runs at a time. It holds the turn to write only to take a snapshot and to bring in what
/// it made.
final class Maintenance: Sendable {
  struct State {
    var checkpoint: Checkpoint?
    /// Bytes that were appended to the log since the last checkpoint was begun.
    var pendingSize: Int
    /// Bytes of attachments to which documents stopped referring since the last step.
    var releasedSize = 0
    /// Whether there was a step since the store was opened.
    ///
    /// The first commit has one begun, or what many short sessions leave would never be cleaned away.
    var hasStepped = false
    var isScheduled = false
    var isStopped = false
    /// Segments whose contents stand in a merged one now; deleted once a checkpoint does not list them.
    var replaced: Set<FileName> = []
    /// Whether a merged segment has taken the name of one that the checkpoint lists, which then cannot
    /// be used until there is another.
    var isCheckpointSpent = false
    /// A merged segment that the index refers to in part only, since bringing it in failed.
    ///
    /// A checkpoint taken now would rest on it and its inputs both, so none is.
    var unfinished: (output: Segment, inputs: [Segment])?
    /// Segments that cannot be merged, because they are damaged.
    var damaged: Set<UInt64> = []
    /// Attachments that the newest version has forgotten, and whose files are still there, in the order in
    /// which they were.
    var unreferenced: [Unreferenced] = []
    /// Attachments in files that were stored, and to which perhaps nothing ever referred.
    var storedFiles: Set<SHA256.Digest> = []
    /// Whether there may be history that nobody needs, though none is kept.
    var isPruningDue = true
    /// Why the last step failed, if it did.
    var problem: DatabaseError?
    var waiters: [DispatchSemaphore] = []
    /// The highest number that any checkpoint had.
    var lastNumber: UInt64
  }

  /// An attachment whose file can be deleted once no version is left of the epoch in which it was
  /// forgotten, or of an earlier one.
  struct Unreferenced {
    weak var epoch: StoreState.Epoch?
    let digest: SHA256.Digest
  }

  let state: Guarded<State>
  private let queue = DispatchQueue(label: "divan.maintenance", qos: .utility)
  let expiry: ExpiryTimer

  /// Begins with the checkpoint that was opened, and so many bytes of log behind it.
  ///
  /// Those count, or a store that is never closed properly would open more slowly each time.
  init(_ checkpoint: Checkpoint?, highestNumber: UInt64, replayedSize: Int) {
    state = Guarded(
      State(checkpoint: checkpoint, pendingSize: replayedSize, lastNumber: highestNumber))
    expiry = ExpiryTimer(queue)
  }
}

extension Maintenance.State {
  /// Whether so many bytes came or went since the last step.
  fileprivate func isDue(every interval: Int) -> Bool {
    pendingSize >= interval || releasedSize >= interval
  }

  /// The forgotten attachments to which no version in memory refers.
  ///
  /// A version of an epoch refers to what was forgotten in later ones as well: so the first epoch that is left
  /// keeps all that come after it.
  var unreachable: ArraySlice<Maintenance.Unreferenced> {
    unreferenced.prefix { $0.epoch == nil }
  }
}

extension Maintenance {
  /// Why the last step in the background failed; nil if it did not.
  var problem: DatabaseError? { state.withLock { $0.problem } }

  /// Notes why work in the background failed.
  func note(_ problem: DatabaseError?) { state.withLock { $0.problem = problem } }

  /// Notes that the log grew, and that documents let go of attachments of some length, and has a step run
  /// when it is due.
  func noteAppended(_ size: Int, released: Int, _ store: Store) {
    let interval = store.configuration.checkpointInterval
    let isDue = state.withLock { state in
      state.pendingSize += size
      state.releasedSize += min(released, (1 << 60) - state.releasedSize)
      guard store.configuration.maintenance == .background, !state.isScheduled, !state.isStopped,
        !state.hasStepped || state.isDue(every: interval)
      else { return false }
      state.isScheduled = true
      return true
    }
    if isDue { schedule(store) }
  }

  private func schedule(_ store: Store) {
    // Whoever closes the store waits for this, so it does not keep the store longer than it is used.
    queue.async {
      while self.step(store) {}
    }
  }

  /// Runs a step on the caller's thread when it is due, where the configuration asks for that.
  func runInline(_ store: Store) {
    guard store.configuration.maintenance == .inline,
      state.withLock({ $0.isDue(every: store.configuration.checkpointInterval) })
    else { return }
    while step(store) {}
  }

  /// Lets go of history and attachments, then a checkpoint if it is due, and then as much merging as is
  /// worth it; returns true if a checkpoint has become due meanwhile.
  private func step(_ store: Store) -> Bool {
    let interval = store.configuration.checkpointInterval
    let isCheckpointDue = state.withLock { state in
      state.hasStepped = true
      state.releasedSize = 0
      return state.pendingSize >= interval
    }
    var problem: DatabaseError?
    do throws(DatabaseError) {
      try store.pruneHistory()
      try store.sweepAttachments()
      if isCheckpointDue { try store.writeCheckpoint() }
      try store.mergeWhatPays()
    } catch {
      // It is tried again when more was written; until then nothing is lost but space and time.
      problem = error
    }
    let (isDueAgain, waiters) = state.withLock { state in
      state.problem = problem
      // Nobody schedules a step while there is one.
      let isDueAgain =
        !isCheckpointDue && state.pendingSize >= interval && problem == nil && !state.isStopped
      state.isScheduled = isDueAgain
      defer { state.waiters = [] }
      return (isDueAgain, state.waiters)
    }
    for waiter in waiters { waiter.signal() }
    return isDueAgain
  }

  /// Writes a checkpoint on the caller's thread if it is due, and cleans nothing: where maintenance runs only when
  /// asked for, so that the index does not grow in memory without bound.
  func writeCheckpointIfDue(_ store: Store) throws(DatabaseError) {
    let interval = store.configuration.checkpointInterval
    guard state.withLock({ $0.pendingSize >= interval }) else { return }
    try exclusively(store) { () throws(DatabaseError) in try store.writeCheckpoint() }
  }

  /// Runs work that nobody waits for: between steps, or on the caller's thread where the configuration asks for that.
  ///
  /// Where maintenance runs only when asked for, or the store is being closed, it is not run.
  func perform(_ store: Store, _ work: @escaping @Sendable () -> Void) {
    switch store.configuration.maintenance {
    case .background: queue.async { if !self.isStopped { work() } }
    case .inline: work()
    case .manual: break
    }
  }

  /// Makes a writer wait for maintenance that has fallen far behind, for a second at most.
  func throttle(_ store: Store) {
    let limit = 4 * store.configuration.checkpointInterval
    let waiter: DispatchSemaphore? = state.withLock { state in
      guard state.isScheduled, state.pendingSize > limit, state.problem == nil else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.waiters.append(semaphore)
      return semaphore
    }
    _ = waiter?.wait(timeout: .now() + 1)
  }

  /// Whether the store is being closed, so that no long work should be begun.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Waits for the step that runs, and lets no other begin.
  func stop() {
    state.withLock { $0.isStopped = true }
    expiry.stop()
    queue.sync {}
  }

  /// Whether so much was written since the last checkpoint that the next opening would notice.
  var isWorthACheckpoint: Bool { state.withLock { $0.pendingSize >= 1 << 20 } }

  /// Runs work in between steps.
  func exclusively<R>(_ store: Store, _ work: () throws(DatabaseError) -> R) throws(DatabaseError)
    -> R
  {
    // A step may be saving the rows of a view, or somebody with the turn wait for these.
    try RunningMap.refuse("has the store cleaned or copied")
    // A step may be waiting for the turn, and this would wait for the step.
    guard !store.turn.isMine else {
      throw DatabaseError(
        .nestedWrite, "this cannot be done inside `write`", hint: "Do it after `write` returns")
    }
    let result: Result<R, DatabaseError> = queue.sync {
      // Closing has waited for this queue, and does its own last work without it.
      guard !isStopped else { return .failure(Store.closedError) }
      do throws(DatabaseError) {
        return .success(try work())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
