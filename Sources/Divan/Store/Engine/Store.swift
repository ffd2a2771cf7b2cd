import Dispatch
import DivanLog
import Synchronization

/// The engine behind ``Database``: joins the log, the index and the documents.
///
/// Readers use the versions that ``commits`` shows. Writers take turns: ``withWriter(_:)`` lends
/// the one ``WriterState`` to one of them at a time.
final class Store: Sendable {
  /// What reading needs, which read views share.
  let environment: StoreEnvironment
  let writerLock = WriterLock()
  let commits: GroupCommit
  let maintenance: Maintenance
  /// The validations that revisions pass before they are stored, in the order of their names.
  let validations = Guarded<[Validation]>([])
  /// Serializes suspending, resuming, refreshing and closing.
  ///
  /// It is acquired before ``writerLock``.
  let transitions = WriterLock()
  /// The reading of what another process writes, while the store is open for reading only.
  let following = WriterFollowing()
  let scheduledFlush = ScheduledFlush()

  /// Lent by ``withWriter(_:)`` and ``withLockedState(_:)`` while ``writerLock`` is held.
  private let writerState: Guarded<WriterState>

  init(_ opened: consuming OpenedStore, configuration: Configuration, events: EventDelivery?) {
    var opened = opened
    environment = StoreEnvironment(
      configuration, opened.directory, OpeningResults(opened), events: events)
    commits = GroupCommit(
      opened.state, tail: opened.writer?.tail ?? LogTail(sequenceBound: 0),
      in: opened.directory, counters: environment.counters, events: events)
    maintenance = Maintenance(
      opened.checkpoint, highestNumber: opened.highestCheckpoint,
      replayedSize: opened.replayedSize)
    writerState = Guarded(
      WriterState(
        opened.writer.take(), opened.state, FollowedLog(head: opened.head), publishingTo: commits))
  }

  deinit { directory.lock?.release() }

  static let closedError = DatabaseError(LogError.closed)
  static let suspendedError = DatabaseError(LogError.suspended)

}

extension Store {
  var path: String { environment.path }
  var configuration: Configuration { environment.configuration }
  var directory: StoreDirectory { environment.directory }
  var attachments: AttachmentFiles { environment.attachments }
  var services: AttachedServices { environment.services }
  var gate: SuspensionGate { environment.gate }
  var counters: MetricCounters { environment.counters }
  var events: EventDelivery? { environment.events }
  var storeID: StoreID { environment.storeID }
  var report: OpeningReport { environment.report }
  var isRebuilt: Bool { environment.isRebuilt }
  var refusal: DatabaseError? { environment.refusal }
  var isClosed: Bool { environment.isClosed }
  var isSuspended: Bool { environment.isSuspended }
}

/// The results of opening a store that outlive the opening.
struct OpeningResults: Sendable {
  let storeID: StoreID
  let report: OpeningReport
  /// Whether the index was rebuilt from the log alone because no checkpoint could be used.
  let isRebuilt: Bool
  /// The error that prevents all writing, if the store was opened with one.
  let refusal: DatabaseError?
  /// The last sequence number that may have been used, perhaps by commits that are not seen yet.
  var reservedSequence: UInt64

  init(_ opened: borrowing OpenedStore) {
    storeID = opened.storeID
    report = opened.report
    isRebuilt = opened.checkpoint == nil
    refusal = opened.refusal
    reservedSequence = opened.reservedSequence
  }
}

extension Store {
  /// The last sequence number that may have been used when the files were read last.
  var reservedSequence: UInt64 { environment.opening.withLock { $0.reservedSequence } }

  /// The error for a call that needs the store's files, which cannot be used now.
  var unavailableError: DatabaseError {
    isClosed ? Store.closedError : Store.suspendedError
  }
}

extension Store {
  /// Runs `body` under the writer lock, and commits its changes.
  func write<R>(
    durability: Durability, timeout: Duration?, inBackground: Bool = false,
    _ body: (WriteTransaction) throws -> R
  ) throws -> R {
    var watch = events?.commitWatch
    // A nested write fails at once, without waiting first.
    if !inBackground, !writerLock.isHeldByThisThread { maintenance.throttle(self) }
    try acquireWriterLock(timeout: timeout)
    watch?.noteBegin()
    let (result, commit) = try withHeldState { (writer) in
      try requireLog(writer)
      return try run(&writer, durability: durability, body)
    }
    watch?.noteRelease()
    if commit.isNew {
      try settle(commit, durability)
      // Not before the commit can be read.
      if let expiry = commit.earliestExpiry { noteExpiry(expiry) }
      if let event = watch?.event(commit: commit.number, commit.size) { events?.report(event) }
    } else {
      // Nothing changed, but `body` may have read changes that a power loss would still undo.
      try commits.waitUntilVisible(commit.number, of: commit.session)
    }
    return result
  }

  /// Lends the state of the writer, and with it the right to append to the log.
  func withWriter<R>(
    _ body: (inout WriterState) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    try acquireWriterLock(timeout: nil)
    return try withHeldState { (writer) throws(DatabaseError) in
      try requireLog(writer)
      return try body(&writer)
    }
  }

  /// Lends the state of the writer to a caller that opens or closes the store, whether or not the
  /// store can be written to.
  func withLockedState<R, E: Error>(_ body: (inout WriterState) throws(E) -> R) throws(E) -> R {
    writerLock.acquire()
    return try withHeldState(body)
  }

  /// Lends the state of the writer, and releases the writer lock, which the caller has acquired.
  private func withHeldState<R, E: Error>(
    _ body: (inout WriterState) throws(E) -> R
  ) throws(E) -> R {
    defer { writerLock.release() }
    // `body` returns the result to a variable, so that it need not be `sending`.
    var result: R?
    try writerState.withLock { (state) throws(E) in result = try body(&state) }
    guard let result else { preconditionFailure("A body that has returned has a result") }
    return result
  }

  /// Waits for the writer lock.
  private func acquireWriterLock(timeout: Duration?) throws(DatabaseError) {
    guard !isClosed, !isSuspended else { throw unavailableError }
    try MapFunctionGuard.refuse("writes to a database")
    if let refusal { throw refusal }
    guard !writerLock.isHeldByThisThread else {
      throw DatabaseError(
        .nestedWrite, "`write` was called inside `write`",
        hint: "Use the transaction that is open, or its `savepoint`")
    }
    if let timeout {
      guard writerLock.acquire(timeout: timeout) else {
        throw DatabaseError(
          .timedOut, "another transaction did not end in time",
          hint: "Allow more time, or keep transactions short")
      }
    } else {
      writerLock.acquire()
    }
  }

  /// Throws if the store was closed or suspended meanwhile, or was resumed for reading only.
  private func requireLog(_ writer: borrowing WriterState) throws(DatabaseError) {
    guard writer.log == nil else { return }
    throw isClosed || isSuspended ? unavailableError : refusal ?? unavailableError
  }

  /// Runs `body`, and appends its changes to the log, if any.
  func run<R>(
    _ writer: inout WriterState, durability: Durability, _ body: (WriteTransaction) throws -> R
  ) throws -> (R, Commit) {
    if writer.tail?.isPoisoned == true {
      // A flush for a checkpoint or a compaction may have failed without a committer to report to.
      commits.fail(
        DatabaseError(.outcomeUnknown, "a flush failed while maintenance ran", path: path))
    }
    if let failure = commits.failure {
      throw DatabaseError(
        .writerStopped, "writing stopped after an earlier failure",
        hint: "You can still read; close and reopen the store to write again", underlying: failure)
    }
    let start = try prepareLog(&writer)
    let transaction = WriteTransaction(
      store: self, state: writer.newest, knownPin: writer.knownPin, fileID: start.fileID,
      at: start.offset)
    var isCommitted = false
    defer { transaction.end(isCommitted: isCommitted) }
    let result = try body(transaction)
    var commit = Commit(number: writer.newest.commit, session: commits.session)
    if !transaction.isEmpty {
      if configuration.checksUniqueness { try transaction.checkUniqueness() }
      try append(transaction, to: &writer, needsFlush: durability == .full, &commit)
    }
    writer.knownPin = transaction.knownPin
    isCommitted = true
    return (result, commit)
  }

  /// The end of a transaction: the commit that it has made, or the one that it has read.
  struct Commit {
    var number: UInt64
    /// The session of ``commits`` that it belongs to.
    let session: Int
    /// Whether the transaction has changed anything.
    var isNew = false
    var size = CommitSize()
    /// The earliest expiry that it has set.
    var earliestExpiry: UInt64?
  }

  /// Makes sure that there is a segment to append to; returns the next transaction's start.
  @discardableResult
  func prepareLog(
    _ writer: inout WriterState
  ) throws(DatabaseError) -> (fileID: UInt64, offset: Int) {
    do throws(LogError) { return try writer.prepareLog() } catch {
      throw writeFailure(error, writer)
    }
  }

  private func append(
    _ transaction: WriteTransaction, to writer: inout WriterState, needsFlush: Bool,
    _ commit: inout Commit
  ) throws(DatabaseError) {
    let lastSequence = writer.newest.lastSequence
    if configuration.history.isOn, transaction.state.lastSequence > lastSequence {
      try transaction.noteCommitPoint(after: writer.view(of: self))
    }
    do throws(LogError) {
      try writer.append(&transaction.buffer, making: transaction.state)
    } catch {
      throw writeFailure(error, writer)
    }
    // A flushed commit is acknowledged after the flush, and the check happens there.
    if !needsFlush, case .failure(let error) = commits.checkLock() {
      commits.fail(error)
      throw error
    }
    commit.isNew = true
    commit.earliestExpiry = transaction.earliestExpiry
    commit.size = CommitSize(
      revisionCount: Int(clamping: transaction.state.lastSequence) - Int(clamping: lastSequence),
      bytes: transaction.size)
    counters.noteCommit(commit.size)
    commit.number = writer.commit(transaction.state, needsFlush: needsFlush)
    maintenance.noteAppended(transaction.size, released: transaction.releasedSize, self)
  }

  /// Translates a write failure: nothing was committed, unless a flush failed.
  private func writeFailure(
    _ error: LogError, _ writer: borrowing WriterState
  ) -> DatabaseError {
    if writer.tail?.isPoisoned == true {
      let unknown = GroupCommit.unknownOutcome(error)
      commits.fail(unknown)
      return unknown
    }
    let failure = DatabaseError(error)
    if failure.code == .diskFull { releaseReserve() }
    return failure
  }

  /// Makes room for small transactions, such as deletions, when the disk is full.
  private func releaseReserve() {
    // If it cannot be released, there is no more room than before, which the error says already.
    try? directory.remove(.reserve)
  }

  /// Returns when a commit is as durable as requested.
  private func settle(_ commit: Commit, _ durability: Durability) throws(DatabaseError) {
    switch durability {
    case .full: try commits.waitUntilDurable(commit.number, of: commit.session)
    case .relaxed(let delay):
      scheduleFlush(after: delay)
      try commits.waitUntilVisible(commit.number, of: commit.session)
    case .none:
      try commits.waitUntilVisible(commit.number, of: commit.session)
    }
    maintenance.runInline(self)
  }

  private func scheduleFlush(after delay: Duration) {
    // In inline mode no other thread makes calls, so that the sequence of calls is reproducible.
    guard configuration.maintenance != .inline else { return }
    let time = DispatchTime.now() + delay.dispatchInterval
    guard scheduledFlush.begin(self, at: time.uptimeNanoseconds) else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: time) { [scheduledFlush] in
      // A failure is kept, and reported to the next writer.
      try? scheduledFlush.end()?.flush()
    }
  }

  /// Makes everything durable that was committed before the call.
  func flush() throws(DatabaseError) {
    guard !isClosed else { throw Store.closedError }
    // A store that is suspended has flushed everything.
    guard !isSuspended else { throw Store.suspendedError }
    try commits.flushEverything()
  }

  /// Ends writing, closes the log so that it opens fast, and releases the store's resources.
  func close() throws { try reportingClosing { try end() } }

  private func end() throws {
    try requireOutsideOfWrite("close")
    try maintenance.requireOutsideOfExclusiveWork()
    transitions.acquire()
    defer { transitions.release() }
    maintenance.stop()
    following.stop()
    try withLockedState { (writer) in try end(&writer) }
  }

  private func end(_ writer: inout WriterState) throws {
    guard !isClosed else { return }
    defer {
      environment.close()
      _ = scheduledFlush.end()
      writer.log = nil
      directory.lock?.release()
      commits.endSignals()
      gate.end()
      services.end()
    }
    // Attachments that are still being stored can no longer be referenced.
    let stored = attachments.close()
    // No reader is left. ``Database/compact()-npg5`` finds the files that cannot be deleted now.
    if writer.log != nil { maintenance.state.withLock { $0.storedFiles.formUnion(stored) } }
    try endLog(&writer, isClosing: true)
  }

  /// Makes everything durable, and says in `HEAD` that the log has ended, if there is a writer.
  func endLog(_ writer: inout WriterState, isClosing: Bool) throws {
    guard writer.log != nil else { return }
    // The failure may be unreported: it may have happened in the background.
    if let failure = commits.failure { throw failure }
    try commits.flushEverything()
    try? deleteUnreferencedAttachments(writer, isClosing: isClosing)
    // The entries of an index, and their removal, are not in the log.
    let isLarge = writer.newest.memtableSize >= 8 * Maintenance.closingInterval
    if isLarge || maintenance.isClosingCheckpointDue { try writeCheckpoint(&writer) }
    try translating { () throws(LogError) in try writer.log?.noteClosed() }
    services.noteClosing(of: self)
  }

  /// Refuses a call within a transaction, for whose end the call would wait.
  func requireOutsideOfWrite(_ call: String) throws(DatabaseError) {
    guard !writerLock.isHeldByThisThread else {
      throw DatabaseError(
        .nestedWrite, "`\(call)` was called inside `write`",
        hint: "Call it after `write` returns")
    }
  }
}
