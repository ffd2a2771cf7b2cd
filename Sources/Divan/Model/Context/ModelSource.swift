import DivanLog

/// The source that a context reads models from and saves them to.
enum ModelSource {
  /// A database: one snapshot after another, and a transaction for each save.
  case database(Database)
  /// The current state of a transaction.
  case transaction(WriteTransaction)
  /// A fixed snapshot; nothing can be saved.
  case snapshot(Snapshot)
  /// Invalidated: the scope that owned the context has ended.
  case ended(DatabaseError)
}

extension ModelSource {
  /// What reading needs of the store; nil after the context was invalidated.
  private var environment: StoreEnvironment? {
    switch self {
    case .database(let database): database.store.environment
    case .transaction(let transaction): transaction.store.environment
    case .snapshot(let snapshot): snapshot.view.environment
    case .ended: nil
    }
  }

  /// The classes of the database's schema; nil if it was opened without one.
  var registry: ModelRegistry? { environment.flatMap { DatabaseSchema.of($0).schema?.registry } }

  /// Returns an ID for a new document from the store's generator; nil if there is no store.
  func newDocumentID() -> String? { environment?.configuration.documentIDs.next() }

  /// Lets tasks wait while the database is suspended; nil if the source is no database.
  var gate: SuspensionGate? {
    if case .database(let database) = self { database.store.gate } else { nil }
  }

  /// Whether a failed save can never succeed.
  var isClosed: Bool {
    if case .database(let database) = self { database.store.isClosed } else { true }
  }

  /// Reports that an autosaving context could not save a model.
  func noteAutosaveFailure(_ error: any Error) {
    environment?.events?.report(.autosaveFailed(error))
  }

  /// Whether the current thread runs a transaction of the database.
  var isWritingOnThisThread: Bool {
    switch self {
    case .database(let database): database.store.writerLock.isHeldByThisThread
    case .transaction(let transaction): transaction.store.writerLock.isHeldByThisThread
    case .snapshot, .ended: false
    }
  }

  func requireWritable() throws(DatabaseError) {
    switch self {
    case .database, .transaction: return
    case .snapshot: throw ModelSource.readOnly
    case .ended(let error): throw error
    }
  }

  static var readOnly: DatabaseError {
    DatabaseError(
      .readOnly, "the context reads a snapshot, which never changes",
      hint: "Save with a context of the database, or of a transaction")
  }
}
