extension Database {
  /// Creates a context on the caller's actor that follows the database and saves by itself.
  ///
  /// ```swift
  /// @MainActor final class TodoStore {
  ///   let context: ModelContext
  ///   init(_ database: Database) { context = database.makeContext(isolation: #isolation) }
  /// }
  /// ```
  ///
  /// Its models take over external changes on that actor, soon after they were committed, as with
  /// ``ModelContext/updates``. Changes to its models are saved after a delay, as with
  /// ``ModelContext/autosave(after:isolation:onError:)``. ``ModelContext/errorHandler`` receives
  /// the errors of both.
  ///
  /// If you release the context while it has unsaved models, it stays alive until they are saved.
  /// Closing the database saves them too: see ``Database/close(discardsUnsavedModels:isolation:)``.
  ///
  /// Without an actor, the context does neither: it is the same as one from ``makeContext(_:)``.
  ///
  /// - Parameters:
  ///   - registry: the classes of documents; without it, a document becomes a model of the class
  ///     that you request.
  ///   - delay: how long after a change to save it; nil to save only when you call a save method.
  ///   - actor: the actor that the context belongs to.
  /// - Returns: a context that reads the database in its current state.
  public func makeContext(
    _ registry: ModelRegistry? = nil, autosavingAfter delay: Duration? = .seconds(1),
    isolation actor: isolated (any Actor)?
  ) -> ModelContext {
    let context = ModelContext(.database(self), registry)
    guard let actor else { return context }
    let core = context.core
    let observer = ModelUpdateObserver(context, of: self, on: actor)
    core.tasks.append(Task.detached { await observer.follow() })
    if let delay {
      core.startAutosaving(on: actor)
      core.tasks.append(Task.detached { await observer.save(after: delay) })
    }
    return context
  }
}
