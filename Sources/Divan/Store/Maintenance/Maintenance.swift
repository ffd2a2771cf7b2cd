import Dispatch
import DivanLog
import Synchronization

/// Keeps an open store small and quick to open: writes checkpoints, compacts segments, frees space.
///
/// One pass runs at a time. It takes the writer lock only to take a snapshot and to publish its
/// result.
final class Maintenance: Sendable {
  struct State {
    var checkpoint: Checkpoint?
    /// The bytes that were appended to the log since the last checkpoint was begun.
    var pendingSize: Int
    /// The bytes of attachments that documents have released since the last pass.
    var releasedSize = 0
    /// Whether a pass has run since the store was opened.
    ///
    /// The first commit starts one. Otherwise the garbage of many short sessions would never be
    /// removed.
    var hasRunPass = false
    var isScheduled = false
    var isStopped = false
    /// Whether it was stopped only until the store is resumed.
    var isPaused = false
    /// Segments that a compacted one has replaced, and outputs of compactions that failed; deleted
    /// once a checkpoint does not list them.
    var replaced: Set<FileName> = []
    /// Whether a compacted segment has the name of one that the last checkpoint lists.
    ///
    /// That checkpoint cannot be used, until there is another.
    var isCheckpointSpent = false
    /// A compacted segment that the index refers to only in part, because installing it failed.
    ///
    /// A checkpoint taken now would depend on both the segment and its inputs, so none is written.
    var unfinished: (output: Segment, inputs: [Segment])?
    /// The size of the memtables at which a checkpoint of an index build failed; 0 once another
    /// checkpoint was written.
    var failedMemtableSize = 0
    /// The file IDs of segments that are left out of compactions, because they, or what decides
    /// about their records, cannot be read.
    var damaged: Set<UInt64> = []
    /// Attachments that the newest version has dropped and whose files still exist, in that order.
    var unreferenced: [Unreferenced] = []
    /// Stored attachments in files to which perhaps no document ever referred.
    var storedFiles: Set<SHA256.Digest> = []
    /// Whether there may be unneeded history, though none is kept.
    var isPruningDue = true
    /// The thread that runs exclusive work; nil if there is none.
    var exclusiveThread: ThreadID?
    /// The error of the last pass; nil if it succeeded.
    var problem: DatabaseError?
    var waiters: [DispatchSemaphore] = []
    /// The number of the last checkpoint that was begun.
    var lastNumber: UInt64
  }

  /// An attachment whose file is deleted when no version refers to it any more.
  ///
  /// That is when no version is left of the epoch in which it was dropped, or of an earlier one.
  struct Unreferenced {
    weak var epoch: Version.Epoch?
    let digest: SHA256.Digest
  }

  let state: Guarded<State>
  private let queue = DispatchQueue(label: "divan.maintenance", qos: .utility)
  /// Taken while a pass or exclusive work runs in inline mode, where passes are not on the queue.
  private let inlineWork = DispatchSemaphore(value: 1)
  let expiry: ExpiryTimer

  /// Begins with the checkpoint that was opened, and the number of bytes of log after it.
  ///
  /// These bytes count as pending. Otherwise a store that is never closed properly would open more
  /// slowly each time.
  init(_ checkpoint: Checkpoint?, highestNumber: UInt64, replayedSize: Int) {
    state = Guarded(
      State(checkpoint: checkpoint, pendingSize: replayedSize, lastNumber: highestNumber))
    expiry = ExpiryTimer(queue)
  }
}

extension Maintenance.State {
  /// Whether a pass is due: `interval` bytes were appended, or released since the last pass.
  fileprivate func isPassDue(every interval: Int) -> Bool {
    isCheckpointDue(every: interval) || releasedSize >= interval
  }

  /// The dropped attachments to which no version in memory refers.
  ///
  /// A version of an epoch also refers to attachments that were dropped in later ones. So the first
  /// epoch that is left retains all that come after it.
  var unreachable: ArraySlice<Maintenance.Unreferenced> {
    unreferenced.prefix { $0.epoch == nil }
  }
}

extension Maintenance {
  /// The error of the last pass in the background; nil if it succeeded.
  var problem: DatabaseError? { state.withLock { $0.problem } }

  /// Records the error of background work.
  func note(_ problem: DatabaseError?) { state.withLock { $0.problem = problem } }

  /// Counts log growth and the size of released attachments, and schedules a pass when one is due.
  func noteAppended(_ size: Int, released: Int, _ store: Store) {
    let interval = store.configuration.checkpointInterval
    let isDue = state.withLock { state in
      state.pendingSize += size
      state.releasedSize += min(released, (1 << 60) - state.releasedSize)
      guard store.configuration.maintenance == .background, !state.isScheduled, !state.isStopped,
        !state.hasRunPass || state.isPassDue(every: interval)
      else { return false }
      state.isScheduled = true
      return true
    }
    if isDue { schedule(store) }
  }

  private func schedule(_ store: Store) {
    // Closing the store waits for this queue, so the closure does not retain the store any longer.
    queue.async {
      while self.runPass(store) {}
    }
  }

  /// Runs a pass on the caller's thread when it is due, in inline mode.
  ///
  /// While another thread runs one, or while this thread or another does exclusive work, it returns
  /// at once. The pass remains due, and a later commit runs it. To wait could be a deadlock: the
  /// exclusive work may be a copy whose progress is reported to a closure that writes.
  func runInline(_ store: Store) {
    guard store.configuration.maintenance == .inline,
      state.withLock({ $0.isPassDue(every: store.configuration.checkpointInterval) }),
      inlineWork.wait(timeout: .now()) == .success
    else { return }
    defer { inlineWork.signal() }
    guard !isStopped else { return }
    while runPass(store) {}
  }

  /// Prunes history and attachments, writes a checkpoint if it is due, and compacts segments.
  ///
  /// It compacts as much as is worth it. Returns true if a checkpoint became due during the pass.
  private func runPass(_ store: Store) -> Bool {
    let interval = store.configuration.checkpointInterval
    let isCheckpointDue = state.withLock { state in
      state.hasRunPass = true
      state.releasedSize = 0
      return state.isCheckpointDue(every: interval)
    }
    var problem: DatabaseError?
    do throws(DatabaseError) {
      try store.pruneHistory()
      try store.sweepAttachments()
      if isCheckpointDue { try store.writeCheckpoint() }
      try store.compactWhatPays()
    } catch {
      // It is retried after more writes. Until then only space and time are lost.
      problem = error
    }
    let (isDueAgain, waiters, earlier) = state.withLock { state in
      let earlier = state.problem
      state.problem = problem
      // No other pass is scheduled while this one runs.
      let isDueAgain =
        !isCheckpointDue && state.isCheckpointDue(every: interval) && problem == nil
        && !state.isStopped
      state.isScheduled = isDueAgain
      defer { state.waiters = [] }
      return (isDueAgain, state.waiters, earlier)
    }
    store.noteMaintenance(problem, after: earlier)
    for waiter in waiters { waiter.signal() }
    return isDueAgain
  }

  /// Writes a checkpoint on the caller's thread if it is due, without other maintenance.
  ///
  /// For manual maintenance, so that the index does not grow in memory without bound.
  func writeCheckpointIfDue(_ store: Store) throws(DatabaseError) {
    let interval = store.configuration.checkpointInterval
    guard state.withLock({ $0.isCheckpointDue(every: interval) }) else { return }
    try exclusively(store) { () throws(DatabaseError) in try store.writeCheckpoint() }
  }

  /// Runs work without waiting for it: between passes, or on the caller's thread in inline mode.
  ///
  /// In manual mode, and when the store is being closed, the work is not run.
  func perform(_ store: Store, _ work: @escaping @Sendable () -> Void) {
    switch store.configuration.maintenance {
    case .background: queue.async { if !self.isStopped { work() } }
    case .inline: work()
    case .manual: break
    }
  }

  /// Makes a writer wait, for at most a second, for maintenance that has fallen far behind.
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

  /// Waits for the pass that runs, and prevents any other.
  ///
  /// - Parameter isPause: whether ``restart(_:highestNumber:replayedSize:)`` may follow.
  func stop(isPause: Bool = false) {
    state.withLock {
      $0.isStopped = true
      $0.isPaused = isPause
    }
    expiry.stop()
    queue.sync {}
    inlineWork.wait()
    inlineWork.signal()
  }

  /// Continues with the state of a store that was opened again.
  ///
  /// Files that attachments may still have are kept in mind; another process may have deleted them,
  /// which does no harm.
  func restart(_ checkpoint: Checkpoint?, highestNumber: UInt64, replayedSize: Int) {
    let waiters = state.withLock { state in
      var next = State(checkpoint: checkpoint, pendingSize: replayedSize, lastNumber: highestNumber)
      next.unreferenced = state.unreferenced
      next.storedFiles = state.storedFiles
      defer { state = next }
      return state.waiters
    }
    for waiter in waiters { waiter.signal() }
    expiry.restart()
  }

  /// Refuses a call from the progress closure of exclusive work, for whose end it would wait.
  func requireOutsideOfExclusiveWork() throws(DatabaseError) {
    let me = ThreadID.current
    guard state.withLock({ $0.exclusiveThread != me }) else {
      throw DatabaseError(
        .nestedWrite, "this call is not allowed while a backup reports its progress",
        hint: "Make it after `backup` returns")
    }
  }

  /// Runs work between passes.
  func exclusively<R>(_ store: Store, _ work: () throws(DatabaseError) -> R) throws(DatabaseError)
    -> R
  {
    try requireOutsideOfExclusiveWork()
    // A pass may be saving the rows of a view, or the thread with the writer lock may wait for
    // these.
    try MapFunctionGuard.refuse("compacts or copies a database")
    // A pass may be waiting for the writer lock, and this would wait for the pass.
    guard !store.writerLock.isHeldByThisThread else {
      throw DatabaseError(
        .nestedWrite, "this call is not allowed inside `write`",
        hint: "Make it after `write` returns")
    }
    let result: Result<R, DatabaseError> = queue.sync {
      inlineWork.wait()
      defer { inlineWork.signal() }
      let me = ThreadID.current
      state.withLock { $0.exclusiveThread = me }
      defer { state.withLock { $0.exclusiveThread = nil } }
      // Closing has waited for this queue, and does its own last work without it.
      let (isStopped, isPaused) = state.withLock { ($0.isStopped, $0.isPaused) }
      guard !isStopped else {
        return .failure(isPaused ? Store.suspendedError : Store.closedError)
      }
      do throws(DatabaseError) {
        return .success(try work())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
