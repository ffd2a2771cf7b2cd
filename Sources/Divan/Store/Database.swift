import Dispatch
import DivanLog

/// A store of documents: a directory on a file system, or memory.
///
/// ```swift
/// let database = try Database(at: "Films.divan")
/// try database.write { transaction in
///   try transaction.put(Document(id: "metropolis", ["title": "Metropolis", "year": 1927]))
/// }
/// let film = try database.read { try $0.document("metropolis") }
/// ```
///
/// You can use it from any thread, task or actor. Reading takes a ``Snapshot`` and then no lock;
/// transactions run one after the other. One process at a time may have a store open for writing. A
/// database is closed by ``close(discardsUnsavedModels:isolation:)-b22j``, or with its last
/// reference, unless ``mainContext`` was used; the method reports errors, and leaves a store that
/// opens faster.
public final class Database: Sendable {
  let store: Store

  /// Opens a store; creates it if there is none.
  ///
  /// After a clean close, opening takes some milliseconds, even with ten million documents: pages
  /// of the index are read on first access. Otherwise it takes as long as reading the log since the
  /// last checkpoint, and one page in a hundred of the index.
  ///
  /// - Parameters:
  ///   - path: the store's directory. It is created if it is missing, with the directories around
  ///     it.
  ///   - configuration: how the database behaves.
  /// - Throws: ``DatabaseError`` with the codes `storeInUse`, `accessDenied`, `notAStore`,
  ///   `newerFormat`, `notFound`, `diskFull`, `readOnly`, `inputOutput`, `cancelled`, and `damaged`
  ///   if nothing at all can be read, or if something is damaged and the store was to be opened for
  ///   writing: ``Configuration/damage``.
  public init(at path: String, configuration: Configuration = Configuration()) throws {
    let fileSystem = configuration.usedFileSystem
    let absolute = try absolutePath(path, on: fileSystem)
    let events = EventDelivery(configuration, path: absolute)
    let opened: OpenedStore
    do {
      opened = try reportingProgress(to: configuration.openingProgress) {
        var opening = StoreOpening(absolute, on: fileSystem, configuration, shouldContinue: $0)
        return try opening.open()
      }
    } catch {
      events?.end(with: .openingFailed(error))
      throw error
    }
    store = Store(opened, configuration: configuration, events: events)
    store.reportOpening()
    store.withLockedState { (writer) in store.dropHistoryWithoutContent(&writer) }
    store.finishOpening()
  }

  /// Creates an empty store in memory, which ends with its last reference.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> Database {
    var configuration = configuration
    configuration.fileSystem = configuration.fileSystem ?? MemoryFileSystem()
    // A reserve in memory has no use.
    configuration.reserveSize = 0
    // Nor does a file for rows that are in memory.
    configuration.viewSavingMinimum = .max
    return try Database(at: "/memory.divan", configuration: configuration)
  }

  deinit {
    // To get errors, call `close`.
    try? store.close()
    // The timer retains the store, which is not closed if this runs inside `write`.
    store.maintenance.expiry.stop()
  }
}

extension Database {
  /// The absolute path of the store's directory.
  public var path: String { store.path }

  /// Thirty-two hexadecimal digits that no other store has, nor a backup of this one.
  public var storeID: String { "\(store.storeID)" }

  /// A new ID for a document, from the configuration's generator.
  public func newDocumentID() -> String { store.configuration.documentIDs.next() }

  /// The report of opening the store, or of resuming after it was suspended.
  public var openingReport: OpeningReport { store.report }

  /// Closes the database: makes everything durable, and releases the store's files.
  ///
  /// First it waits for the transaction and the maintenance pass that are running. It also writes
  /// the rows of views that are worth keeping.
  ///
  /// Later calls throw ``DatabaseError/Code/closed``, those on its snapshots too, and so do calls
  /// that are just storing an attachment's content. Closing again does nothing.
  ///
  /// Contexts that save by themselves (``makeFollowingContext(_:autosavingAfter:isolation:)``,
  /// ``ModelContext/autosave(after:isolation:onError:)``) lose nothing: unsaved changes in those
  /// that belong to the caller's actor are saved first. If any of them cannot be saved, or a
  /// context of another actor has unsaved models, this throws, and the database stays open.
  ///
  /// - Parameters:
  ///   - discardsUnsavedModels: whether to close nevertheless, without saving any models.
  ///   - actor: the actor of the caller.
  /// - Throws: the reason why a model cannot be saved, or ``DatabaseError/Code/unsavedModels``,
  ///   with the database still open; any other ``DatabaseError``, and the database is closed
  ///   nevertheless. With the code `outcomeUnknown`, changes that were not durable before may be
  ///   lost. This is reported here even if an earlier call has reported it.
  public func close(
    discardsUnsavedModels: Bool = false, isolation actor: isolated (any Actor)? = #isolation
  ) throws {
    try prepareToClose(discardsUnsavedModels: discardsUnsavedModels, on: actor)
    try store.close()
  }

  /// Saves the autosaving contexts of an actor, and throws if models stay unsaved.
  func prepareToClose(
    discardsUnsavedModels: Bool, on actor: isolated (any Actor)?
  ) throws {
    try MapFunctionGuard.refuse("closes a database")
    if !discardsUnsavedModels, !store.isClosed { try store.services.prepareToClose(on: actor) }
  }

  /// Makes changes that are committed together, or not at all, with the configured durability.
  ///
  /// Waits until no other transaction runs, calls `body`, and commits its changes, unless it
  /// throws. Calls from several threads share a flush where they can.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for other transactions; without limit if nil.
  ///   - body: makes the changes, synchronously. Throwing rolls back.
  /// - Returns: the result of `body`.
  /// - Throws: errors of `body`. ``DatabaseError`` with the codes `timedOut`, `nestedWrite`,
  ///   `closed`, `readOnly`, `diskFull`, `inputOutput` and `writerStopped` say that nothing was
  ///   committed; `outcomeUnknown` says that reopening the store will show whether it was.
  @discardableResult
  public func write<R>(
    timeout: Duration? = nil, _ body: (WriteTransaction) throws -> sending R
  ) throws -> sending R {
    try write(durability: store.configuration.durability, timeout: timeout, body)
  }

  /// Makes changes that are committed together, or not at all, with the durability that you choose.
  ///
  /// - Parameters:
  ///   - durability: how far the commit has got on return.
  ///   - timeout: how long to wait for other transactions; without limit if nil.
  ///   - body: makes the changes, synchronously. Throwing rolls back.
  /// - Returns: the result of `body`.
  /// - Throws: as ``write(timeout:_:)-2tx42``.
  @discardableResult
  public func write<R>(
    durability: Durability, timeout: Duration? = nil,
    _ body: (WriteTransaction) throws -> sending R
  ) throws -> sending R {
    // `nonisolated(unsafe)`: the closure gives its result away (`sending`), and the store only
    // passes it on, which its generic functions cannot express.
    nonisolated(unsafe) let result = try store.write(
      durability: durability, timeout: timeout, body)
    return unsafe result
  }

  /// Reads from the database as it is now; see ``snapshot()``.
  public func read<R>(_ body: (Snapshot) throws -> sending R) throws -> sending R {
    try body(try snapshot())
  }

  /// Returns the database as it is now.
  ///
  /// It contains all committed changes, at ``Durability/full`` once they are durable.
  ///
  /// The snapshot keeps the database open while it exists, unless
  /// ``close(discardsUnsavedModels:isolation:)-b22j`` is called.
  public func snapshot() throws -> Snapshot { Snapshot(try store.view(for: self)) }

  /// Makes everything durable that was committed before the call, at any durability.
  public func flush() throws { try store.flush() }
}

extension Database: CustomStringConvertible {
  /// The path of the store.
  public var description: String { "Database \(printable(path))" }
}
