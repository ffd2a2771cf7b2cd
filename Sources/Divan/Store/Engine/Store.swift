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
  let storeID: StoreID
  let report: OpeningReport
  /// The part of the log that damage makes unknown; nil if none, or if it is to be ignored.
  let gap: LogGap?
  let hasGap: Bool
  /// Whether the index was rebuilt from the log alone because no checkpoint could be used.
  let isRebuilt: Bool
  let writerLock = WriterLock()
  let commits: GroupCommit
  let maintenance: Maintenance
  /// The validations that revisions pass before they are stored, in the order of their names.
  let validations = Guarded<[Validation]>([])
  /// Objects that the layers above attach while the database is open.
  let services = AttachedServices()
  let counters = MetricCounters()
  /// Passes on events; nil if no handler is set.
  let events: EventDelivery?
  private let lock: (any FileLock)?
  private let closing = Atomic(false)
  private let scheduledFlush = ScheduledFlush()
  /// The error that prevents all writing, if the store was opened with one.
  let refusal: DatabaseError?

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
    var files = AttachmentFiles.Settings(isMapped: configuration.readMode == .mapped)
    files.inlineSizeLimit = configuration.attachmentInlineLimit
    attachments = AttachmentFiles(opened.directory, files)
    storeID = opened.storeID
    report = opened.report
    gap = configuration.damage == .salvage ? nil : opened.gap
    hasGap = gap != nil
    isRebuilt = opened.checkpoint == nil
    lock = opened.lock
    writer = opened.writer
    newest = opened.state
    refusal = opened.refusal
    commits = GroupCommit(
      opened.state, tail: opened.writer?.tail ?? LogTail(sequenceBound: 0),
      in: opened.directory, counters: counters, events: events)
    maintenance = Maintenance(
      opened.checkpoint, highestNumber: opened.highestCheckpoint,
      replayedSize: opened.replayedSize)
  }

  deinit { lock?.release() }

  static let closedError = DatabaseError(LogError.closed)

  var isClosed: Bool { closing.load(ordering: .acquiring) }
}

extension Store {
  /// The newest version that readers may see.
  func view() throws(DatabaseError) -> ReadView {
    guard !isClosed else { throw Store.closedError }
    return ReadView(commits.takeVisible(), store: self)
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
    let expiry: UInt64?
    let size: CommitSize
    do {
      defer { writerLock.release() }
      base = newest.commit
      result = try run(writer, durability: durability, body)
      commit = newest.commit
      expiry = earliestExpiry.take()
      size = lastSize
    }
    watch?.noteRelease()
    if commit > base {
      try settle(commit, durability)
      // Not before the commit can be read.
      if let expiry { noteExpiry(expiry) }
      if let event = watch?.event(commit: commit, size) { events?.report(event) }
    } else {
      // Nothing changed, but `body` may have read changes that a power loss would still undo.
      try commits.waitUntilVisible(base)
    }
    return result
  }

  /// Waits for the writer lock; returns the log writer, which only the lock's holder may use.
  func acquireWriterLock(timeout: Duration?) throws(DatabaseError) -> LogWriter {
    guard !isClosed else { throw Store.closedError }
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
      // The store was closed while waiting.
      writerLock.release()
      throw Store.closedError
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
  private func settle(_ commit: UInt64, _ durability: Durability) throws(DatabaseError) {
    switch durability {
    case .full: try commits.waitUntilDurable(commit)
    case .relaxed(let delay):
      scheduleFlush(after: delay)
      try commits.waitUntilVisible(commit)
    case .none:
      try commits.waitUntilVisible(commit)
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
    try commits.flushEverything()
  }

  /// Ends writing, closes the log so that it opens fast, and releases the store's resources.
  func close() throws { try reportingClosing { try end() } }

  private func end() throws {
    if writerLock.isHeldByThisThread {
      throw DatabaseError(
        .nestedWrite, "`close` was called inside `write`", hint: "Close it after `write` returns")
    }
    maintenance.stop()
    writerLock.acquire()
    defer { writerLock.release() }
    guard !isClosed else { return }
    defer {
      closing.store(true, ordering: .releasing)
      _ = scheduledFlush.end()
      writer = nil
      lock?.release()
      commits.endSignals()
      services.end()
    }
    // Attachments that are still being stored can no longer be referenced.
    let stored = attachments.close()
    guard let writer else { return }
    // The failure may be unreported: it may have happened in the background.
    if let failure = commits.failure { throw failure }
    try commits.flushEverything()
    // No reader is left. ``Database/compact()-npg5`` finds the files that cannot be deleted now.
    maintenance.state.withLock { $0.storedFiles.formUnion(stored) }
    try? deleteUnreferencedAttachments(isClosing: true)
    if maintenance.isWorthACheckpoint { try writeCheckpointWithLock(writer) }
    try translating { () throws(LogError) in
      try writer.noteClosed()
    }
    services.noteClosing(of: self)
  }
}
