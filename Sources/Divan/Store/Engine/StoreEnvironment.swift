import DivanLog
import Synchronization

/// What reading needs of a store: its files, its configuration, and where errors are reported.
///
/// Read views share it with the ``Store``, which has the writer and the maintenance as well. So no
/// read can wait for the writer lock or change a version. The only file that a read can make is
/// the one that requests a check of the index.
final class StoreEnvironment: Sendable {
  let path: String
  let configuration: Configuration
  let directory: StoreDirectory
  let attachments: AttachmentFiles
  /// The results of the last opening, which a suspended store repeats.
  let opening: Guarded<OpeningResults>
  /// Objects that the layers above attach while the database is open.
  let services = AttachedServices()
  /// Lets observers wait while the store is suspended.
  let gate = SuspensionGate()
  let counters = MetricCounters()
  /// Passes on events; nil if no handler is set.
  let events: EventDelivery?
  private let closing = Atomic(false)
  /// Whether this session has made the file that requests a check of the index.
  private let isCheckRequested = Atomic(false)

  init(
    _ configuration: Configuration, _ directory: StoreDirectory, _ opening: OpeningResults,
    events: EventDelivery?
  ) {
    self.events = events
    path = directory.path
    var configuration = configuration
    configuration.revisionDepth = min(max(configuration.revisionDepth, 1), 10_000)
    // It may retain the caller, who retains the database.
    configuration.openingProgress = nil
    configuration.eventHandler = nil
    self.configuration = configuration
    self.directory = directory
    var files = AttachmentFiles.Settings(isMapped: configuration.readMode.isMapped)
    files.inlineSizeLimit = configuration.attachmentInlineLimit
    files.random = configuration.random
    attachments = AttachmentFiles(directory, files)
    self.opening = Guarded(opening)
  }
}

extension StoreEnvironment {
  var storeID: StoreID { opening.withLock { $0.storeID } }
  var report: OpeningReport { opening.withLock { $0.report } }
  var isRebuilt: Bool { opening.withLock { $0.isRebuilt } }
  /// The error that prevents all writing; nil if there is none.
  var refusal: DatabaseError? { opening.withLock { $0.refusal } }

  var isClosed: Bool { closing.load(ordering: .acquiring) }

  /// Whether the store is suspended, so that it has no lock and writes nothing.
  var isSuspended: Bool { gate.isSuspended }

  /// Notes that the store is closed.
  func close() { closing.store(true, ordering: .releasing) }

  /// Counts and reports an error if it is about damage; returns the error.
  @discardableResult
  func note(_ error: DatabaseError) -> DatabaseError {
    guard error.code == .damaged else { return error }
    counters.noteDamage()
    events?.reportDamage(error)
    return error
  }

  /// Whether another process may have removed an attachment that could not be read.
  ///
  /// It may do so while this process only reads the store, or has suspended it.
  func mayLack(_ digest: SHA256.Digest) -> Bool {
    if configuration.isReadOnly { return true }
    // A process that resumed the store has the lock again. A file that is there is its own.
    return attachments.session > 0 && (try? attachments.hasFile(of: digest)) == false
  }

  // MARK: The check of the index

  /// Makes the next opening check the inner pages of the index.
  func requestCheck() {
    // A store that cannot be written to may not even have the lock. Its openings check anyway.
    guard refusal == nil, !isSuspended, !isClosed,
      !isCheckRequested.exchange(true, ordering: .relaxed)
    else { return }
    // If it fails, the next failed read of the next session tries again.
    try? directory.requestCheck()
  }

  /// Notes that the session ended, and with it the request for a check.
  func forgetCheck() { isCheckRequested.store(false, ordering: .relaxed) }
}
