extension Database {
  /// Makes a context that belongs to the caller's actor, and lives there by itself.
  ///
  /// ```swift
  /// @MainActor final class TodoStore {
  ///   let context: ModelContext
  ///   init(_ database: Database) { context = database.makeContext(isolation: #isolation) }
  /// }
  /// ```
  ///
  /// What is changed elsewhere reaches its models on that actor soon after it was committed, as with
  /// ``ModelContext/updates``; and what is changed in its models is saved after a while, as with
  /// ``ModelContext/autosave(after:isolation:onError:)``. Errors of both are told to
  /// ``ModelContext/errorHandler``. A context that nobody holds any more lives on until what was unsaved is saved.
  ///
  /// Without an actor nothing happens by itself: it is a context as ``makeContext(_:)`` makes it.
  ///
  /// - Parameters:
  ///   - registry: which classes documents are of; without one, those that they are asked for as.
  ///   - delay: how long after a change it is saved; nil to save only when that is asked for.
  ///   - actor: where the context belongs.
  /// - Returns: the context, which reads the database as it is now.
  public func makeContext(
    _ registry: ModelRegistry? = nil, autosavingAfter delay: Duration? = .seconds(1),
    isolation actor: isolated (any Actor)?
  ) -> ModelContext {
    let context = ModelContext(self, registry)
    guard actor != nil else { return context }
    let place = WeakContext(context: context)
    let following = Task {
      // A task that captures the actor runs there.
      _ = actor
      await place.follow()
    }
    context.core.tasks.append(following)
    if let delay {
      context.core.savesByItself = true
      let saving = Task {
        // A task that captures the actor runs there.
        _ = actor
        await place.save(after: delay)
      }
      context.core.tasks.append(saving)
    }
    return context
  }
}

/// A context as those know it who work for it and do not keep it.
private struct WeakContext {
  weak var context: ModelContext?

  /// Moves the context on whenever the database was changed, until either is gone.
  func follow(isolation actor: isolated (any Actor)? = #isolation) async {
    while !Task.isCancelled {
      guard let core = context?.core, let last = core.snapshot?.sequence else { return }
      await core.database.store.commits.changes.wait(beyond: last)
      guard !Task.isCancelled, let context else { return }
      do {
        try context.core.refresh(settlesConflicts: false)
      } catch {
        if core.database.store.isClosed { return }
        context.errorHandler?(error)
        // Where it did not come further, it would not the next time either.
        if core.snapshot?.sequence == last { return }
      }
    }
  }

  /// Saves what is changed, until the context is gone.
  func save(after delay: Duration, isolation actor: isolated (any Actor)? = #isolation) async {
    while !Task.isCancelled {
      guard let core = context?.core else { return }
      let signal = core.signalUnsaved()
      if core.unsaved.isEmpty { await signal.wait(beyond: core.lastOrder) }
      // What is unsaved keeps the context, so that nothing is lost that was promised.
      guard !core.unsaved.isEmpty, let context else { continue }
      await context.saveUnsaved(after: delay) { context.errorHandler?($0) }
      if core.database.store.isClosed { return core.stopSaving() }
    }
  }
}
