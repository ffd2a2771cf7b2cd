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
    transitions.acquire()
    defer { transitions.release() }
    guard !isClosed else { throw Store.closedError }
    guard !isSuspended else { return }
    maintenance.stop(isPause: true)
    following.stop()
    writerLock.acquire()
    defer { writerLock.release() }
    defer { give() }
    attachments.suspend()
    if let writer { try endLog(writer, isClosing: false) }
  }

  /// Releases everything that no snapshot needs.
  private func give() {
    gate.shut()
    _ = scheduledFlush.end()
    writer = nil
    // Observers have seen this version. After a failed flush, the newest one was never shown.
    var counters = (commits.visible?.state ?? newest).counters
    counters.mayLackCommits = commits.failure != nil
    suspended = counters
    commits.endSession()
    // Files and maps that no snapshot uses are closed with the last version.
    newest = Version(nodeSize: configuration.nodeSize)
    knownPin = nil
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
    try takeBack()
    gate.open()
    finishOpening()
  }

  private func takeBack() throws(DatabaseError) {
    writerLock.acquire()
    defer { writerLock.release() }
    guard let earlier = suspended else {
      preconditionFailure("A suspended store has counters")
    }
    var opening = StoreOpening(directory, configuration, expecting: storeID, earlier)
    let opened: OpenedStore
    do throws(DatabaseError) {
      opened = try opening.open()
    } catch {
      directory.giveUpLock()
      throw error
    }
    self.opening.withLock { $0 = OpeningResults(opened) }
    newest = opened.state
    newest.follow(earlier)
    followed = FollowedLog(head: opened.head)
    writer = opened.writer
    attachments.resume()
    maintenance.restart(
      opened.checkpoint, highestNumber: opened.highestCheckpoint,
      replayedSize: opened.replayedSize)
    // Before any other thread can use the version.
    dropHistoryWithoutContent()
    commits.beginSession(newest, tail: opened.writer?.tail ?? LogTail(sequenceBound: 0))
    suspended = nil
  }
}
