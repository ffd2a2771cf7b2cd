import Dispatch
import DivanLog
import Synchronization

/// The engine behind ``Database``: joins the log, the index and the documents.
///
/// `@unchecked Sendable`: `writer` and `newest` are accessed only by the thread that holds
/// ``writerLock``; everything else is synchronized by itself.
final class Store: @unchecked Sendable {
  let path: String
  let configuration: Configuration
  let directory: StoreDirectory
  let attachments: AttachmentFiles
  /// The results of the last opening, which a suspended store repeats.
  let opening: Guarded<OpeningResults>
  let writerLock = WriterLock()
  let commits: GroupCommit
  let maintenance: Maintenance
  /// The validations that revisions pass before they are stored, in the order of their names.
  let validations = Guarded<[Validation]>([])
  /// Objects that the layers above attach while the database is open.
  let services = AttachedServices()
  /// Serializes suspending, resuming, refreshing and closing.
  ///
  /// It is acquired before ``writerLock``.
  let transitions = WriterLock()
  /// Lets observers wait while the store is suspended.
  let gate = SuspensionGate()
  /// The reading of what another process writes, while the store is open for reading only.
  let following = WriterFollowing()
  let counters = MetricCounters()
  /// Passes on events; nil if no handler is set.
  let events: EventDelivery?
  private let closing = Atomic(false)
  let scheduledFlush = ScheduledFlush()

  /// Appends to the log; nil if the store cannot be written to.
  ///
  /// Guarded by ``writerLock``.
  var writer: LogWriter?
  /// The newest version, which the next transaction builds on.
  ///
  /// Guarded by ``writerLock``.
  var newest: Version
  /// The highest sequence number of any named snapshot; nil while that is not known.
  ///
  /// Guarded by ``writerLock``.
  var knownPin: UInt64?
  /// The counters of the last version before the store was suspended; nil if it is not.
  ///
  /// Guarded by ``writerLock``.
  var suspended: Version.Counters?
  /// How far the log was read, if the store is open for reading only.
  ///
  /// Guarded by ``writerLock``.
  var followed: FollowedLog
  /// The earliest expiry set by a commit that is not yet acknowledged to its writer.
  ///
  /// Guarded by ``writerLock``.
  private var earliestExpiry: UInt64?
  /// How much the last commit has written.
  ///
  /// Guarded by ``writerLock``.
  private var lastSize = CommitSize()

  init(_ opened: OpenedStore, configuration: Configuration, events: EventDelivery?) {
    self.events = events
    path = opened.directory.path
    var configuration = configuration
    configuration.revisionDepth = min(max(configuration.revisionDepth, 1), 10_000)
    // It may retain the caller, who retains the database.
    configuration.openingProgress = nil
    configuration.eventHandler = nil
    self.configuration = configuration
    directory = opened.directory
    var files = AttachmentFiles.Settings(isMapped: configuration.readMode.isMapped)
    files.inlineSizeLimit = configuration.attachmentInlineLimit
    attachments = AttachmentFiles(opened.directory, files)
    opening = Guarded(OpeningResults(opened))
    writer = opened.writer
    newest = opened.state
    followed = FollowedLog(head: opened.head)
    commits = GroupCommit(
      opened.state, tail: opened.writer?.tail ?? LogTail(sequenceBound: 0),
      in: opened.directory, counters: counters, events: events)
    maintenance = Maintenance(
      opened.checkpoint, highestNumber: opened.highestCheckpoint,
      replayedSize: opened.replayedSize)
  }

  deinit { directory.lock?.release() }

  static let closedError = DatabaseError(LogError.closed)
  static let suspendedError = DatabaseError(LogError.suspended)

  var isClosed: Bool { closing.load(ordering: .acquiring) }

  /// Whether the store is suspended, so that it has no lock and writes nothing.
  var isSuspended: Bool { gate.isSuspended }
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

  init(_ opened: OpenedStore) {
    storeID = opened.storeID
    report = opened.report
    isRebuilt = opened.checkpoint == nil
    refusal = opened.refusal
    reservedSequence = opened.reservedSequence
  }
}

extension Store {
  var storeID: StoreID { opening.withLock { $0.storeID } }
  var report: OpeningReport { opening.withLock { $0.report } }
  var isRebuilt: Bool { opening.withLock { $0.isRebuilt } }
  /// The error that prevents all writing; nil if there is none.
  var refusal: DatabaseError? { opening.withLock { $0.refusal } }

  /// The last sequence number that may have been used when the files were read last.
  var reservedSequence: UInt64 { opening.withLock { $0.reservedSequence } }

  /// The error for a call that needs the store's files, which cannot be used now.
  var unavailableError: DatabaseError {
    isClosed ? Store.closedError : Store.suspendedError
  }
}

extension Store {
  /// The newest version that readers may see.
  func view() throws(DatabaseError) -> ReadView {
    guard !isClosed else { throw Store.closedError }
    guard let visible = commits.takeVisible() else { throw unavailableError }
    return ReadView(visible, store: self)
  }

  /// The newest version that readers may see; nil while the store is suspended.
  func viewUnlessSuspended() throws(DatabaseError) -> ReadView? {
    do throws(DatabaseError) {
      return try view()
    } catch  where error.code == .suspended {
      return nil
    }
  }

  /// Runs `body` under the writer lock, and commits its changes.
  func write<R>(
    durability: Durability, timeout: Duration?, inBackground: Bool = false,
    _ body: (WriteTransaction) throws -> R
  ) throws -> R {
    var watch = events?.commitWatch
    // A nested write fails at once, without waiting first.
    if !inBackground, !writerLock.isHeldByThisThread { maintenance.throttle(self) }
    let writer = try acquireWriterLock(timeout: timeout)
    watch?.noteBegin()
    let result: R
    let (base, commit): (UInt64, UInt64)
    let session: Int
    let expiry: UInt64?
    let size: CommitSize
    do {
      defer { writerLock.release() }
      session = commits.session
      base = newest.commit
      result = try run(writer, durability: durability, body)
      commit = newest.commit
      expiry = earliestExpiry.take()
      size = lastSize
    }
    watch?.noteRelease()
    if commit > base {
      try settle(commit, of: session, durability)
      // Not before the commit can be read.
      if let expiry { noteExpiry(expiry) }
      if let event = watch?.event(commit: commit, size) { events?.report(event) }
    } else {
      // Nothing changed, but `body` may have read changes that a power loss would still undo.
      try commits.waitUntilVisible(base, of: session)
    }
    return result
  }

  /// Waits for the writer lock; returns the log writer, which only the lock's holder may use.
  func acquireWriterLock(timeout: Duration?) throws(DatabaseError) -> LogWriter {
    guard !isClosed, !isSuspended else { throw unavailableError }
    try MapFunctionGuard.refuse("writes to a database")
    if let refusal { throw refusal }
    guard !writerLock.isHeldByThisThread else {
      throw DatabaseError(
        .nestedWrite, "`write` was called inside `write`",
        hint: "Use the transaction that is open, or its `savepoint`")
    }
    guard take(timeout: timeout) else {
      throw DatabaseError(
        .timedOut, "another transaction did not end in time",
        hint: "Allow more time, or keep transactions short")
    }
    guard let writer else {
      // The store was closed or suspended while waiting, or was resumed for reading only.
      writerLock.release()
      throw isClosed || isSuspended ? unavailableError : refusal ?? unavailableError
    }
    return writer
  }

  private func take(timeout: Duration?) -> Bool {
    if let timeout { return writerLock.acquire(timeout: timeout) }
    writerLock.acquire()
    return true
  }

  /// Runs `body` and appends its changes to the log, if any; the caller holds the writer lock.
  func run<R>(
    _ writer: LogWriter, durability: Durability, _ body: (WriteTransaction) throws -> R
  ) throws -> R {
    if writer.tail.isPoisoned {
      // A flush for a checkpoint or a compaction may have failed without a committer to report to.
      commits.fail(
        DatabaseError(.outcomeUnknown, "a flush failed while maintenance ran", path: path))
    }
    if let failure = commits.failure {
      throw DatabaseError(
        .writerStopped, "writing stopped after an earlier failure",
        hint: "You can still read; close and reopen the store to write again", underlying: failure)
    }
    let start = try prepare(writer)
    let transaction = WriteTransaction(
      store: self, state: newest, fileID: start.fileID, base: start.offset)
    var isCommitted = false
    defer { transaction.end(isCommitted: isCommitted) }
    let result = try body(transaction)
    if !transaction.isEmpty {
      if configuration.checksUniqueness { try transaction.checkUniqueness() }
      try append(transaction, writer, needsFlush: durability == .full)
    }
    isCommitted = true
    return result
  }

  /// Makes sure that there is a segment to append to; returns the next transaction's start.
  func prepare(_ writer: LogWriter) throws(DatabaseError) -> (fileID: UInt64, offset: Int) {
    do throws(LogError) {
      // A new segment counts even if something failed after that.
      defer { if let active = writer.active { newest.segments.update(active) } }
      return try writer.prepare()
    } catch {
      throw writeFailure(error, writer)
    }
  }

  private func append(
    _ transaction: WriteTransaction, _ writer: LogWriter, needsFlush: Bool
  ) throws(DatabaseError) {
    if configuration.history.isOn, transaction.state.lastSequence > newest.lastSequence {
      try transaction.noteCommitPoint(after: ReadView(state: newest, store: self))
    }
    var state = transaction.state
    let start = writer.end.offset
    do throws(LogError) {
      state.time = try transaction.withBuffer { (buffer) throws(LogError) in
        try writer.append(
          &buffer, lastSequence: state.lastSequence, documentCount: state.documentCount)
      }
    } catch {
      throw writeFailure(error, writer)
    }
    // A flushed commit is acknowledged after the flush, and the check happens there.
    if !needsFlush, case .failure(let error) = commits.checkLock() {
      commits.fail(error)
      throw error
    }
    lastSize = CommitSize(
      revisionCount: Int(clamping: state.lastSequence) - Int(clamping: newest.lastSequence),
      bytes: Int(clamping: writer.end.offset - start))
    counters.noteCommit(lastSize)
    state.commit = writer.end.commit
    state.services = AttachedServices()
    if let active = writer.active { state.segments.update(active) }
    newest = state
    commits.add(state, needsFlush: needsFlush)
    earliestExpiry = transaction.earliestExpiry
    maintenance.noteAppended(transaction.size, released: transaction.releasedSize, self)
  }

  /// Translates a write failure: nothing was committed, unless a flush failed.
  private func writeFailure(_ error: LogError, _ writer: LogWriter) -> DatabaseError {
    if writer.tail.isPoisoned {
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
  private func settle(
    _ commit: UInt64, of session: Int, _ durability: Durability
  ) throws(DatabaseError) {
    switch durability {
    case .full: try commits.waitUntilDurable(commit, of: session)
    case .relaxed(let delay):
      scheduleFlush(after: delay)
      try commits.waitUntilVisible(commit, of: session)
    case .none:
      try commits.waitUntilVisible(commit, of: session)
    }
    maintenance.runInline(self)
  }

  private func scheduleFlush(after delay: Duration) {
    // In inline mode no other thread makes calls, so that the sequence of calls is reproducible.
    guard configuration.maintenance != .inline else { return }
    guard scheduledFlush.begin(self) else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay.dispatchInterval) {
      [scheduledFlush] in
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
    transitions.acquire()
    defer { transitions.release() }
    maintenance.stop()
    following.stop()
    writerLock.acquire()
    defer { writerLock.release() }
    guard !isClosed else { return }
    defer {
      closing.store(true, ordering: .releasing)
      _ = scheduledFlush.end()
      writer = nil
      directory.lock?.release()
      commits.endSignals()
      gate.end()
      services.end()
    }
    // Attachments that are still being stored can no longer be referenced.
    let stored = attachments.close()
    guard let writer else { return }
    // No reader is left. ``Database/compact()-npg5`` finds the files that cannot be deleted now.
    maintenance.state.withLock { $0.storedFiles.formUnion(stored) }
    try endLog(writer, isClosing: true)
  }

  /// Makes everything durable, and says in the log that it has ended.
  ///
  /// The caller holds the writer lock.
  func endLog(_ writer: LogWriter, isClosing: Bool) throws {
    // The failure may be unreported: it may have happened in the background.
    if let failure = commits.failure { throw failure }
    try commits.flushEverything()
    try? deleteUnreferencedAttachments(isClosing: isClosing, hasWriterLock: true)
    if maintenance.isWorthACheckpoint { try writeCheckpointWithLock(writer) }
    try translating { () throws(LogError) in
      try writer.noteClosed()
    }
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
