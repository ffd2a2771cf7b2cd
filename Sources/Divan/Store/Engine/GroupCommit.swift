import Dispatch
import DivanLog
import Synchronization

/// The version of the store that readers see, and the versions that still wait for a flush.
///
/// Committers that wait at the same time share one flush: the first of them flushes for all.
/// Versions become visible in order, and at ``Durability/full`` only once they are durable.
///
/// If the store is suspended and resumed, each time in between is a *session* with a log writer of
/// its own. A thread that waits for a commit of an earlier session learns how that one ended.
final class GroupCommit: Sendable {
  fileprivate struct PendingVersion {
    let state: Version
    let needsFlush: Bool
  }

  fileprivate struct State {
    /// Nil while the store is suspended.
    var visible: VersionBox?
    /// Newer versions, oldest first.
    var waiting: [PendingVersion] = []
    var durableCommit: UInt64
    var isFlushing = false
    var sleepers: [DispatchSemaphore] = []
    var failure: DatabaseError?
    var tail: LogTail
    /// The number of the session.
    var session = 0
    /// The last durable commits of earlier sessions that ended with a failure.
    var failed: [Int: (durableCommit: UInt64, failure: DatabaseError)] = [:]
    /// Outdated versions that readers hold.
    var held = HeldVersions()
    /// The number of times that a reader has taken the visible version.
    var viewCount = 0
  }

  private let state: Guarded<State>
  private let directory: StoreDirectory
  private let counters: MetricCounters
  private let events: EventDelivery?
  /// Signals readable changes, by the sequence number of the last change.
  let changes: ChangeSignal
  /// Signals readable changes and purges, by ``Version/changesAndPurges``.
  let changesAndPurges: ChangeSignal

  /// Begins with the version that was opened.
  ///
  /// Nothing was appended to `tail` yet, and never will be if the store is only read.
  init(
    _ initial: Version, tail: LogTail, in directory: StoreDirectory,
    counters: MetricCounters, events: EventDelivery?
  ) {
    self.counters = counters
    self.events = events
    state = Guarded(
      State(visible: VersionBox(initial), durableCommit: initial.commit, tail: tail))
    self.directory = directory
    changes = ChangeSignal(initial.lastSequence)
    changesAndPurges = ChangeSignal(initial.changesAndPurges)
  }
}

extension GroupCommit {
  /// The newest version that readers may see; nil while the store is suspended.
  var visible: VersionBox? { state.withLock { $0.visible } }

  /// Returns the newest version that readers may see, and counts that; nil while suspended.
  func takeVisible() -> VersionBox? {
    state.withLock { state in
      if state.visible != nil { state.viewCount += 1 }
      return state.visible
    }
  }

  /// The visible version, the number of times that it was taken, and the versions that are held.
  func usage() -> (visible: VersionBox?, viewCount: Int, heldCount: Int, heldAge: Duration) {
    state.withLock { state in
      let held = state.held.summary()
      return (state.visible, state.viewCount, held.count, held.age)
    }
  }

  /// The file that commits are appended to; nil if there is none yet.
  var activeFileID: UInt64? { state.withLock { $0.tail }.activeFileID }

  /// The number of the session, which the holder of the writer lock notes with its commit.
  var session: Int { state.withLock { $0.session } }

  /// The reason why nothing is committed any more; nil if commits go on.
  var failure: DatabaseError? { state.withLock { $0.failure } }

  /// Whether readers have seen commits that may be lost, because a flush has failed.
  var mayLackVisible: Bool {
    state.withLock { state in
      guard state.failure != nil, let visible = state.visible else { return false }
      return visible.state.commit > state.durableCommit
    }
  }

  /// Adds a version that waits for its flush, if it needs one, and for the versions before it.
  func add(_ version: Version, needsFlush: Bool) {
    let reached = state.withLock {
      $0.waiting.append(PendingVersion(state: version, needsFlush: needsFlush))
      $0.publish()
      return $0.reached
    }
    notify(reached)
  }

  /// Replaces the newest version with one that has the same contents, stored differently.
  ///
  /// Does nothing after a failure: then the newest version has commits that must not become
  /// visible.
  func replaceNewest(with version: Version) {
    state.withLock {
      guard $0.failure == nil, $0.visible != nil else { return }
      if let last = $0.waiting.popLast() {
        $0.waiting.append(PendingVersion(state: version, needsFlush: last.needsFlush))
      } else {
        $0.show(version)
      }
    }
  }

  /// Returns when `commit` is durable.
  ///
  /// - Parameters:
  ///   - commit: the commit.
  ///   - session: the session that it belongs to; nil for the current one.
  /// - Throws: the failure of that session, if the commit may not be durable.
  func waitUntilDurable(_ commit: UInt64, of session: Int? = nil) throws(DatabaseError) {
    while true {
      enum Step {
        case done, failed(DatabaseError), sleep(DispatchSemaphore), flush
      }
      let step: Step = state.withLock { state in
        if let session, session != state.session {
          // A session that ended without a failure has flushed everything.
          guard let end = state.failed[session], commit > end.durableCommit else { return .done }
          return .failed(end.failure)
        }
        if state.durableCommit >= commit { return .done }
        if let failure = state.failure { return .failed(failure) }
        if state.isFlushing {
          let semaphore = DispatchSemaphore(value: 0)
          state.sleepers.append(semaphore)
          return .sleep(semaphore)
        }
        state.isFlushing = true
        return .flush
      }
      switch step {
      case .done: return
      case .failed(let error): throw error
      case .sleep(let semaphore): semaphore.wait()
      case .flush: flush()
      }
    }
  }

  /// Returns when `commit` can be read.
  ///
  /// A commit of weaker durability that is based on commits that wait for their flush waits with
  /// them.
  func waitUntilVisible(_ commit: UInt64, of session: Int) throws(DatabaseError) {
    let isVisible = state.withLock { state in
      state.session == session && state.visible.map { $0.state.commit >= commit } ?? false
    }
    if !isVisible { try waitUntilDurable(commit, of: session) }
  }

  /// Returns when everything is durable that was committed before the call.
  func flushEverything() throws(DatabaseError) {
    let (tail, session) = state.withLock { ($0.tail, $0.session) }
    guard let commit = tail.appendedCommit else { return }
    try waitUntilDurable(commit, of: session)
  }

  /// Flushes for all committers that wait.
  private func flush() {
    let start = ContinuousClock.now
    let outcome: Result<UInt64, DatabaseError>
    // A session does not end while it flushes.
    let tail = state.withLock { $0.tail }
    do throws(LogError) {
      let commit = try tail.flush()
      // Only after the flush: a writer that takes the lock after this check reads everything that
      // was flushed.
      outcome = checkLock().map { _ in commit }
    } catch {
      outcome = .failure(GroupCommit.unknownOutcome(error))
    }
    let time = start.duration(to: .now)
    let (sleepers, reached, commitCount, failure) = state.withLock { state in
      state.isFlushing = false
      let before = state.durableCommit
      var failure: DatabaseError?
      switch outcome {
      case .success(let commit): state.noteDurable(commit)
      case .failure(let error): if state.fail(error) { failure = error }
      }
      defer { state.sleepers = [] }
      return (state.sleepers, state.reached, state.durableCommit - before, failure)
    }
    if case .success = outcome { counters.noteGroup(of: commitCount, time) }
    if let failure { events?.report(.writingStopped(failure)) }
    notify(reached)
    for sleeper in sleepers { sleeper.signal() }
  }

  /// Checks that `LOCK` is the locked file, so that no other writer can have the store open.
  func checkLock() -> Result<Void, DatabaseError> {
    do throws(LogError) {
      return .success(try directory.checkPath())
    } catch {
      return .failure(GroupCommit.lostLock(error, path: directory.path))
    }
  }

  /// The error for a commit if `LOCK` was not the locked file after the commit was written.
  private static func lostLock(_ error: LogError, path: String) -> DatabaseError {
    DatabaseError(
      .outcomeUnknown,
      "the store's `LOCK` was removed or replaced while the store was open, or its directory was moved or "
        + "deleted: another process may write to the store, and it is unknown whether the commit is kept",
      hint: "You can still read; close the database, and open the store at its current path",
      path: path, underlying: DatabaseError(error))
  }

  /// Notifies waiting tasks of the last change that readers can see.
  private func notify(_ reached: (sequence: UInt64, both: UInt64)?) {
    guard let reached else { return }
    changes.note(reached.sequence)
    changesAndPurges.note(reached.both)
  }

  /// Notifies waiting tasks that no more changes will come.
  func endSignals() {
    changes.end()
    changesAndPurges.end()
  }

  /// Ends the session, whose commits are all durable unless it has failed.
  ///
  /// The caller holds the writer lock. From now on readers see no version, and the memory of the
  /// last one is released unless a snapshot uses it.
  func endSession() {
    while true {
      let sleeper: DispatchSemaphore? = state.withLock { state in
        guard !state.isFlushing else {
          let sleeper = DispatchSemaphore(value: 0)
          state.sleepers.append(sleeper)
          return sleeper
        }
        if let failure = state.failure {
          state.failed[state.session] = (state.durableCommit, failure)
        }
        state.session += 1
        state.show(nil)
        state.waiting = []
        // It has the files open.
        state.tail = LogTail(sequenceBound: 0)
        return nil
      }
      guard let sleeper else { return }
      sleeper.wait()
    }
  }

  /// Begins another session with the version that was read from the files.
  func beginSession(_ version: Version, tail: LogTail) {
    let reached = state.withLock { state in
      state.show(version)
      state.durableCommit = version.commit
      state.failure = nil
      state.tail = tail
      return state.reached
    }
    notify(reached)
  }

  /// Shows a later version, which another process has written.
  func show(_ version: Version) {
    let reached = state.withLock { state in
      state.show(version)
      state.durableCommit = version.commit
      return state.reached
    }
    notify(reached)
  }

  /// Stops all committing; versions that wait for a flush are dropped.
  func fail(_ error: DatabaseError) {
    if state.withLock({ $0.fail(error) }) { events?.report(.writingStopped(error)) }
  }

  /// The error for commits that may be durable or not after a failure.
  static func unknownOutcome(_ error: LogError) -> DatabaseError {
    let cause = DatabaseError(error)
    return DatabaseError(
      .outcomeUnknown, "writing or flushing failed, and whether the commit is durable is unknown",
      hint: "You can still read; close and reopen the store to find out, and to write again",
      path: cause.path, underlying: cause)
  }
}

extension GroupCommit.State {
  /// The last change that readers can see, by both counts.
  fileprivate var reached: (sequence: UInt64, both: UInt64)? {
    visible.map { ($0.state.lastSequence, $0.state.changesAndPurges) }
  }

  fileprivate mutating func noteDurable(_ commit: UInt64) {
    durableCommit = max(durableCommit, commit)
    publish()
    if failure != nil { waiting = [] }
  }

  fileprivate mutating func publish() {
    var count = 0
    for version in waiting {
      // After a failure, versions that are not durable never become visible.
      let isReady = !version.needsFlush && failure == nil
      guard isReady || version.state.commit <= durableCommit else { break }
      count += 1
    }
    guard count > 0 else { return }
    show(waiting[count - 1].state)
    waiting.removeFirst(count)
  }

  /// Makes a version the visible one; nil while the store is suspended.
  fileprivate mutating func show(_ version: Version?) {
    if visible != nil, !isKnownUniquelyReferenced(&visible), let old = visible { held.add(old) }
    visible = version.map(VersionBox.init)
  }

  /// Stops all committing; returns false if it was stopped before.
  fileprivate mutating func fail(_ error: DatabaseError) -> Bool {
    let isFirst = failure == nil
    if isFirst { failure = error }
    // A flush that is running may still succeed, and then its commits are committed.
    if !isFlushing { waiting = [] }
    return isFirst
  }
}
