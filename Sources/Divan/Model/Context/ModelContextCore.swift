import DivanLog

/// The state of a ``ModelContext``, which its models retain.
///
/// It retains the unsaved models, and they retain it. The deinitializer of `ModelContext` breaks
/// that cycle, and models without other owners are released with it, saved or not.
///
/// Invariants:
/// - `unsaved` has the models that are new or changed and not deleted, while `isOpen`.
/// - Unchanged models show `snapshot`, except those in `outdated`. In a transaction, they show what
///   it had stored when they were last read or refreshed.
final class ModelContextCore {
  private(set) var source: ModelSource
  /// Whether the context reads and saves through a transaction.
  private(set) var isInTransaction = false
  let registry: ModelRegistry?
  /// See ``ModelContext/isStrict``.
  var isStrict = false
  /// See ``ModelContext/isObservable``.
  var isObservable = true
  /// Whether a save is calling the hooks of its models.
  var isSaving = false
  /// Whether a deletion is calling the hooks of its models.
  var isPreparingDeletion = false
  var alsoDeleted: [Model] = []
  /// The transaction that runs on another thread; nil if there is none.
  var commitInFlight: CommitInFlight?
  /// See ``ModelContext/durability``.
  var durability: Durability?
  private(set) weak var handle: ModelContext?
  /// Whether `handle` is alive.
  var isOpen = true
  /// The snapshot that the context reads; nil in a transaction, whose state changes.
  var snapshot: Snapshot? { didSet { snapshotCount += 1 } }
  /// The number of snapshots that the context has read so far.
  private(set) var snapshotCount = 0
  /// The error that prevents all reading.
  private var failure: (any Error)?
  var identityMap = IdentityMap()
  var unsaved = UnsavedModels()
  var autosaving = Autosaving()
  /// The iterators to notify of models that took over changes.
  var observers: [ModelUpdates.WeakObserver] = []
  /// The live queries that show the context's snapshot.
  var liveQueries: [WeakLiveQuery] = []
  /// The errors for views to show; nil while no view shows errors.
  var errorReports: ErrorReports?
  /// Documents that their models have not fully taken over; `refresh` checks them again.
  ///
  /// These are changed models with external changes of their documents, and documents that could
  /// not be read.
  var outdated: Set<DocumentKey> = []
  /// Background tasks, which are cancelled when the context is deallocated.
  var tasks: [Task<Void, Never>] = []

  var inverseIndexes = InverseIndexes()
  var inverseReaders = InverseReaders()
  /// The classes whose declared indexes were checked.
  var indexedClasses: Set<ObjectIdentifier> = []
  /// The descriptions of the errors of building indexes that were reported.
  var reportedIndexErrors: Set<String> = []
  var undoHistory = UndoHistory()
  /// The nested changes that can be rolled back; empty outside of a transaction.
  var rollbackLog = RollbackLog()
  /// The classes whose models are in other contexts.
  var crossContext: [CrossContextReference] = []

  init(_ source: ModelSource, _ registry: ModelRegistry?) {
    self.source = source
    self.registry = registry ?? source.registry
    do {
      switch source {
      case .database(let database): snapshot = try database.snapshot()
      case .snapshot(let given): snapshot = given
      case .transaction(let transaction):
        isInTransaction = true
        transaction.observers.add(self)
      case .ended(let error): failure = error
      }
    } catch {
      failure = error
    }
  }

  func setHandle(_ handle: ModelContext) { self.handle = handle }

  /// Calls a closure, and retains the context until it returns.
  ///
  /// A context that autosaves and that the client has released lives only while it has unsaved
  /// models. Without this, a save would end it before its hooks make models unsaved again.
  func retainingHandle<R>(_ body: () throws -> R) rethrows -> R {
    let handle = handle
    defer { withExtendedLifetime(handle) {} }
    return try body()
  }

  /// Returns the snapshot to read: in a transaction, its current state.
  ///
  /// The latter never leaves the context, since it belongs to the transaction's thread.
  func requireSnapshot() throws -> Snapshot {
    try requireReadable()
    if isInTransaction, case .transaction(let transaction) = source {
      return Snapshot(transaction.view)
    }
    guard let snapshot else { throw DatabaseError(.closed, "the context was never opened") }
    return snapshot
  }

  /// Throws if nothing can be read.
  ///
  /// If the database was suspended when the context was created, and no longer is, it is read now.
  func requireReadable() throws {
    if let failure {
      guard case .database(let database) = source, case DatabaseError.Code.suspended = failure
      else { throw failure }
      snapshot = try database.snapshot()
      self.failure = nil
    }
    if isInTransaction, case .transaction(let transaction) = source { try transaction.check() }
  }

  /// Ends the context: nothing can be read or saved any more, and the source is released.
  func end(_ error: DatabaseError) {
    failure = error
    source = .ended(error)
    isInTransaction = false
    snapshot = nil
    inverseIndexes.forgetScans()
    rollbackLog = RollbackLog()
  }
}
