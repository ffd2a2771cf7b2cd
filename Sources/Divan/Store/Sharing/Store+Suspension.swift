import DivanLog
import Synchronization

// Suspending is closing, and resuming is opening again: the same code does both, and the files say
// the same. The engine in between keeps only what its users have: snapshots with the files that
// they read, the counters that observers compare, and attachments that are still to be deleted.
// DECISIONS.md, D115; RECOVERY.md, rule 23

extension Store {
  /// Makes everything durable, releases the lock, and ends all writing until ``resume()``.
  ///
  /// If an error is thrown, the store is suspended nevertheless, unless the error is `closed` or
  /// `nestedWrite`.
  func suspend() throws {
    try requireOutsideOfWrite("suspend")
    try maintenance.requireOutsideOfExclusiveWork()
    transitions.acquire()
    defer { transitions.release() }
    guard !isClosed else { throw Store.closedError }
    guard !isSuspended else { return }
    maintenance.stop(isPause: true)
    following.stop()
    try withLockedState { (writer) in
      defer { give(&writer) }
      attachments.suspend()
      try endLog(&writer, isClosing: false)
    }
  }

  /// Releases everything that no snapshot needs.
  private func give(_ writer: inout WriterState) {
    gate.shut()
    _ = scheduledFlush.end()
    writer.log = nil
    // Observers have seen this version. After a failed flush, the newest one was never shown.
    var counters = (commits.visible?.state ?? writer.newest).counters
    counters.mayLackCommits = commits.mayLackVisible
    writer.suspended = counters
    commits.endSession()
    // Files and maps that no snapshot uses are closed with the last version.
    writer.load(Version(nodeSize: configuration.nodeSize))
    directory.giveUpLock()
  }

  /// Takes the lock back, and continues with the store as the files have it now.
  ///
  /// If an error is thrown, the store is still suspended.
  func resume() throws {
    try requireOutsideOfWrite("resume")
    transitions.acquire()
    defer { transitions.release() }
    guard !isClosed else { throw Store.closedError }
    guard isSuspended else { return }
    try withLockedState { (writer) throws(DatabaseError) in try takeBack(&writer) }
    gate.open()
    finishOpening()
  }

  private func takeBack(_ writer: inout WriterState) throws(DatabaseError) {
    guard let earlier = writer.suspended else {
      preconditionFailure("A suspended store has counters")
    }
    var opening = StoreOpening(directory, configuration, expecting: storeID, earlier)
    var opened: OpenedStore
    do throws(DatabaseError) {
      opened = try opening.open()
    } catch {
      directory.giveUpLock()
      throw error
    }
    let results = OpeningResults(opened)
    environment.opening.withLock { $0 = results }
    opened.state.follow(earlier)
    writer.load(opened.state)
    writer.followed = FollowedLog(head: opened.head)
    writer.log = opened.writer.take()
    environment.forgetCheck()
    attachments.resume()
    maintenance.restart(
      opened.checkpoint, highestNumber: opened.highestCheckpoint,
      replayedSize: opened.replayedSize)
    // Before any other thread can use the version.
    dropHistoryWithoutContent(&writer)
    commits.beginSession(writer.newest, tail: writer.tail ?? LogTail(sequenceBound: 0))
    writer.suspended = nil
  }
}
