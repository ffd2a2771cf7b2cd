extension Database {
  /// Creates a context on the caller's actor that follows the database.
  ///
  /// ```swift
  /// @MainActor final class TodoStore {
  ///   let context: ModelContext
  ///   init(_ database: Database) { context = database.makeFollowingContext() }
  /// }
  /// ```
  ///
  /// Its models take over external changes on that actor, soon after they were committed, as with
  /// ``ModelContext/updates``. Changes to its models are saved when you call a save method; with a
  /// `delay`, they are also saved by themselves, as with
  /// ``ModelContext/autosave(after:isolation:onError:)``. ``ModelContext/errorHandler`` receives
  /// the errors of both.
  ///
  /// If you release an autosaving context while it has unsaved models, it stays alive until they
  /// are saved. Closing the database saves them too: see
  /// ``Database/close(discardsUnsavedModels:isolation:)-b22j``. Other contexts discard unsaved
  /// models when you release them.
  ///
  /// On the main actor, ``mainContext`` is such a context, and shared.
  ///
  /// - Parameters:
  ///   - registry: the classes of documents; nil for those of the database's ``Schema``, or else
  ///     for the class that you request.
  ///   - delay: how long after a change to save it; nil, the default, to save only when you call a
  ///     save method.
  ///   - actor: the actor that the context belongs to; the caller's by default.
  /// - Returns: a context that reads the database in its current state.
  public func makeFollowingContext(
    _ registry: ModelRegistry? = nil, autosavingAfter delay: Duration? = nil,
    isolation actor: isolated any Actor = #isolation
  ) -> ModelContext {
    let context = ModelContext(.database(self), registry)
    let core = context.core
    let observer = ModelUpdateObserver(context, of: self, on: actor)
    core.tasks.append(Task.detached { await observer.follow() })
    if let delay {
      core.startAutosaving(on: actor)
      core.tasks.append(Task.detached { await observer.save(after: delay) })
    }
    return context
  }

  /// The context of the main actor, which follows the database and which all its users share.
  ///
  /// ```swift
  /// let todo = Todo(in: database.mainContext)
  /// todo.text = "Buy milk"
  /// try todo.save()
  /// ```
  ///
  /// It is made on first use, as by ``makeFollowingContext(_:autosavingAfter:isolation:)`` without
  /// autosaving. The database retains it, and it retains the database: close the
  /// database to release both. After that, each access returns another context, which can read
  /// nothing.
  @MainActor public var mainContext: ModelContext {
    guard !store.isClosed else { return makeContext() }
    let context = store.services.get(MainContext.self) { MainContext() }.context(of: self)
    // Another thread may have closed the database meanwhile.
    if store.isClosed { store.services.end() }
    return context
  }
}

/// The holder of ``Database/mainContext``, which only the main actor accesses.
@MainActor
private final class MainContext: AttachedService {
  private var context: ModelContext?

  nonisolated init() {}

  func context(of database: Database) -> ModelContext {
    if let context { return context }
    let made = database.makeFollowingContext()
    context = made
    return made
  }

  nonisolated func storeIsClosing(_ store: Store) {}

  nonisolated func storeDidClose() { Task { @MainActor in context = nil } }
}
