import DivanLog

/// What a ``ModelContext`` is inside, and what its models hold on to.
///
/// It holds the unsaved models, and they hold it: that circle is cut when the `ModelContext` goes, so
/// that models which nobody else holds go with it, saved or not.
///
/// Invariants:
/// - `unsaved` has the models that are new or changed and not deleted, as long as `isOpen`.
/// - Models that are not changed say what `snapshot` says, but for those in `outdated`; in a transaction, what that
///   had made when they were read or refreshed last.
final class ModelContextCore {
  private(set) var source: ModelSource
  /// Whether the context reads and saves by a transaction.
  private(set) var isInTransaction = false
  let registry: ModelRegistry?
  /// See ``ModelContext/isStrict``.
  var isStrict = false
  /// See ``ModelContext/isObservable``.
  var isObservable = true
  /// Whether models are told that they are about to be saved.
  var isSaving = false
  /// Whether models are told that they are about to be deleted, and what they delete then.
  var isPreparingDeletion = false
  var alsoDeleted: [Model] = []
  private(set) weak var handle: ModelContext?
  /// Whether `handle` lives.
  var isOpen = true
  /// What the context reads; nil in a transaction, which goes on.
  var snapshot: Snapshot? { didSet { snapshotCount += 1 } }
  /// How many snapshots the context has read from by now.
  private(set) var snapshotCount = 0
  /// Why nothing can be read.
  private var failure: (any Error)?
  var live = LiveModels()
  var unsaved = UnsavedModels()
  /// How many times a model became unsaved.
  var lastOrder: UInt64 = 0
  /// Tells those who save that models became unsaved; nil while nobody waits for that.
  var unsavedSignal: ChangeSignal?
  /// Those who are to be told of models that took something over.
  var followers: [ModelUpdates.WeakFollower] = []
  /// What shows the same snapshot.
  var liveQueries: [WeakLiveQuery] = []
  /// Changed models whose documents were changed elsewhere, and those that could not be read;
  /// `refresh` looks at them again.
  var outdated: Set<DocumentKey> = []
  /// Whether the context saves by itself what was changed: then it is kept until it has, and so is the
  /// actor on which it does.
  var savesByItself = false
  weak var savingActor: (any Actor)?
  /// What closing the database sees of the context; nil while nothing saves it by itself.
  var autosaving: AutosavingContext?
  /// The models that could not be saved by themselves, all of them unsaved and ``Model/isRefused``.
  var saveFailures: [ObjectIdentifier: SaveFailure] = [:]
  var kept: (handle: ModelContext, actor: any Actor)?
  /// What goes on by itself, until the context goes.
  var tasks: [Task<Void, Never>] = []

  /// The indexes that inverses were looked for in and that there were not; and what is known without them.
  var missingIndexes: Set<DocumentIndex> = []
  /// Those in whose place there are others of the same names.
  var refusedIndexes: Set<DocumentIndex> = []
  var scannedReferences: [DocumentIndex: (snapshot: Snapshot, ids: [DocumentKey: [String]])] = [:]
  /// The classes whose declared indexes were looked for.
  var indexedClasses: Set<ObjectIdentifier> = []
  var undoHistory = UndoHistory()
  /// What of a transaction may be taken back; empty elsewhere.
  var reversals = ModelReversals()
  /// The classes whose models are in other contexts.
  var elsewhere: [ModelElsewhere] = []
  /// The models whose inverses somebody observes, by their IDs; those of two databases may have the same.
  var inverseReaders: [DocumentKey: [WeakModel]] = [:] {
    didSet { hasInverseReaders = !inverseReaders.isEmpty }
  }
  /// Whether there are any: asked for each model that comes or goes.
  private(set) var hasInverseReaders = false

  struct WeakModel {
    weak var model: Model?
  }

  init(_ source: ModelSource, _ registry: ModelRegistry?) {
    self.source = source
    self.registry = registry
    do {
      switch source {
      case .database(let database): snapshot = try database.snapshot()
      case .snapshot(let given): snapshot = given
      case .transaction(let transaction):
        isInTransaction = true
        transaction.followers.add(self)
      case .over(let error): failure = error
      }
    } catch {
      failure = error
    }
  }

  func setHandle(_ handle: ModelContext) { self.handle = handle }

  /// What the context reads: in a transaction, what that has made so far.
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
  func requireReadable() throws {
    if let failure { throw failure }
    if isInTransaction, case .transaction(let transaction) = source { try transaction.check() }
  }

  /// Ends the use of the context: from now on nothing is read or saved, and nothing of the source is held.
  func end(_ error: DatabaseError) {
    failure = error
    source = .over(error)
    isInTransaction = false
    snapshot = nil
    scannedReferences = [:]
    reversals = ModelReversals()
  }
}
