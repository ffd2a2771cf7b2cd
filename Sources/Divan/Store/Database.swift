import Dispatch
import DivanLog

/// A store of documents: a directory on a file system, or memory.
///
/// ```swift
/// let database = try Database(at: "Films.divan")
/// try database.write { transaction in
///   try transaction.put(Document(id: "metropolis", ["title": "Metropolis", "year": 1927]))
/// }
/// let film = try database.read { try $0.get("metropolis") }
/// ```
///
/// It may be used from any thread, task or actor. Reading takes a ``Snapshot`` and then no lock;
/// transactions run one after the other. One process at a time may have a store open for writing.
/// A database is closed by ``close(discardsUnsavedModels:isolation:)``, or with its last reference; the former tells of errors, and
/// leaves a store that opens faster.
public final class Database: Sendable {
  let store: Store

  /// Opens a store, which is made if there is none.
  ///
  /// Opening takes a few milliseconds after a clean close, with a million documents, and otherwise as
  /// long as it takes to read what was written since the last checkpoint. Of the index it reads one
  /// page in a hundred; the others come in when they are touched.
  ///
  /// - Parameters:
  ///   - path: the store's directory; the directory around it must exist.
  ///   - configuration: how it behaves.
  /// - Throws: ``DatabaseError`` with the codes `storeInUse`, `accessDenied`, `notAStore`,
  ///   `newerFormat`, `notFound`, `diskFull`, `readOnly`, `inputOutput`, `cancelled`, and `damaged`
  ///   if nothing at all can be read, or if something is damaged and the store was to be opened for
  ///   writing: ``Configuration/damage``.
  public init(at path: String, configuration: Configuration = Configuration()) throws {
    let fileSystem = configuration.usedFileSystem
    let absolute = try absolutePath(path, on: fileSystem)
    var opening = StoreOpening(absolute, on: fileSystem, configuration)
    let opened = try opening.open()
    store = Store(opened, configuration: configuration)
    do throws(DatabaseError) {
      try store.releaseHistoryWithoutContent()
      if store.report.ending == .interrupted { try store.deleteOrphanedAttachments() }
    } catch {
      // It is tried again by a later step; until then nothing is lost but space.
      store.maintenance.note(error)
    }
    store.noteOpened()
  }

  /// Makes an empty store in memory, which is gone with its last reference.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> Database {
    var configuration = configuration
    configuration.fileSystem = configuration.fileSystem ?? MemoryFileSystem()
    // Memory that is set aside helps nobody.
    configuration.reserveSize = 0
    // So would a file of rows that are in memory.
    configuration.viewSavingMinimum = .max
    return try Database(at: "/memory.divan", configuration: configuration)
  }

  deinit {
    // Whoever wants to hear of errors closes it.
    try? store.close()
    // The timer holds the store, which is not closed if this is inside `write`.
    store.maintenance.expiry.stop()
  }
}

extension Database {
  /// The directory of the store, from the root on.
  public var path: String { store.path }

  /// Thirty-two hexadecimal digits that no other store has, nor a backup of this one.
  public var storeID: String { "\(store.storeID)" }

  /// A new ID for a document, from the configuration's generator.
  public func newDocumentID() -> String { store.configuration.documentIDs.next() }

  /// What opening found, and what it did.
  public var openingReport: OpeningReport { store.report }

  /// Ends the use of the database: waits for the transaction and the step of cleaning that are running, makes
  /// everything durable, writes the rows of views that are worth keeping, and releases the store's files.
  ///
  /// Calls after that throw ``DatabaseError/Code/closed``, those on its snapshots too, and so do those
  /// that are just storing an attachment's content. Closing again does nothing.
  ///
  /// Contexts that save by themselves (``makeContext(_:autosavingAfter:isolation:)``,
  /// ``ModelContext/autosave(after:isolation:onError:)``) lose nothing: what is unsaved in those that belong to the
  /// caller's actor is saved first. If any of it cannot be saved, or one of another actor has unsaved models, this
  /// throws, and the database stays open.
  ///
  /// - Parameters:
  ///   - discardsUnsavedModels: whether to close nevertheless, without saving any models.
  ///   - actor: where the caller is.
  /// - Throws: why a model cannot be saved, or ``DatabaseError/Code/unsavedModels``, with the database still open; any
  ///   other ``DatabaseError``, and the database is closed nevertheless. With the code `outcomeUnknown`, what
  ///   was not durable before may be lost, which is said here also if a call was told so before.
  public func close(
    discardsUnsavedModels: Bool = false, isolation actor: isolated (any Actor)? = #isolation
  ) throws {
    try RunningMap.refuse("closes a database")
    if !discardsUnsavedModels, !store.isClosed { try store.companions.prepareToClose(on: actor) }
    try store.close()
  }

  /// Makes changes that are committed together, or not at all, as durable as the configuration says.
  ///
  /// Waits until no other transaction runs, calls `body`, and commits what it did, unless it throws.
  /// Calls from several threads commit together, where they can share a flush.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for other transactions; as long as it takes if nil.
  ///   - body: what to do, synchronously. Throwing rolls back.
  /// - Returns: what `body` returns.
  /// - Throws: whatever `body` throws. ``DatabaseError`` with the codes `timedOut`, `nestedWrite`,
  ///   `closed`, `readOnly`, `diskFull`, `inputOutput` and `writerStopped` say that nothing was
  ///   committed; `outcomeUnknown` says that reopening the store will show whether it was.
  @discardableResult
  public func write<R>(
    timeout: Duration? = nil, _ body: (WriteTransaction) throws -> sending R
  ) throws -> sending R {
    try write(durability: store.configuration.durability, timeout: timeout, body)
  }

  /// Makes changes that are committed together, or not at all, and says how durable they are to be.
  ///
  /// - Parameters:
  ///   - durability: how far the commit has got on return.
  ///   - timeout: how long to wait for other transactions; as long as it takes if nil.
  ///   - body: what to do, synchronously. Throwing rolls back.
  /// - Returns: what `body` returns.
  /// - Throws: as ``write(timeout:_:)-2tx42``.
  @discardableResult
  public func write<R>(
    durability: Durability, timeout: Duration? = nil,
    _ body: (WriteTransaction) throws -> sending R
  ) throws -> sending R {
    // `nonisolated(unsafe)`: the closure gives its result away (`sending`), and the store only hands it
    // on, which its generic functions cannot say.
    nonisolated(unsafe) let result = try store.write(
      durability: durability, timeout: timeout, body)
    return unsafe result
  }

  /// Reads from the database as it is now; see ``snapshot()``.
  public func read<R>(_ body: (Snapshot) throws -> sending R) throws -> sending R {
    try body(try snapshot())
  }

  /// The database as it is now: what was committed, at ``Durability/full`` once it is durable.
  ///
  /// It keeps the database open for as long as it lives, unless ``close(discardsUnsavedModels:isolation:)`` is called.
  public func snapshot() throws -> Snapshot { Snapshot(try store.view().keepingOpen(self)) }

  /// Makes everything durable that was committed before the call, at whatever durability.
  public func flush() throws { try store.flush() }
}
