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
  /// ``ModelContext/errorHandler``. A context that nobody holds any more lives on until what was unsaved is saved, and
  /// closing the database saves it, too: see ``Database/close(discardsUnsavedModels:isolation:)``.
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
    let context = ModelContext(.database(self), registry)
    guard let actor else { return context }
    let core = context.core
    let follower = ModelFollower(context, of: self, on: actor)
    core.tasks.append(Task.detached { await follower.follow() })
    if let delay {
      core.startSaving(on: actor)
      core.tasks.append(Task.detached { await follower.save(after: delay) })
    }
    return context
  }
}

/// What works for a context on its actor, and keeps neither of them.
///
/// `@unchecked Sendable`: the context is reached on its actor only; all else never changes.
private final class ModelFollower: @unchecked Sendable {
  private weak var context: ModelContext?
  private weak var actor: (any Actor)?
  private let changesAndPurges: ChangeSignal
  private let unsaved: ChangeSignal
  /// What the context shows when it is made: ``Snapshot/changesAndPurges``.
  private let first: UInt64?

  init(_ context: ModelContext, of database: Database, on actor: any Actor) {
    self.context = context
    self.actor = actor
    changesAndPurges = database.store.commits.changesAndPurges
    unsaved = context.core.signalUnsaved()
    first = context.core.snapshot?.changesAndPurges
  }

  /// Moves the context on whenever the database was changed, until it is gone or the database is closed.
  func follow() async {
    var last = first
    while let count = last, !Task.isCancelled {
      await changesAndPurges.wait(beyond: count)
      guard !Task.isCancelled, let actor else { return }
      last = await moveOn(from: count, actor)
    }
  }

  /// Moves the context on; returns what it shows then, or nil if it goes no further.
  private func moveOn(from last: UInt64, _ actor: isolated any Actor) -> UInt64? {
    guard let context else { return nil }
    let core = context.core
    do {
      try core.refresh(settlesConflicts: false)
    } catch {
      if core.source.isClosed { return nil }
      context.errorHandler?(error)
      // Where it did not come further, it would not the next time either.
      if core.snapshot?.changesAndPurges == last { return nil }
    }
    return core.snapshot?.changesAndPurges
  }

  /// Saves what is changed, until the context is gone or the database is closed.
  func save(after delay: Duration) async {
    var last: AutosaveRound? = AutosaveRound()
    while let round = last, !Task.isCancelled {
      await unsaved.wait(beyond: round.seen, until: round.nextTry)
      guard !Task.isCancelled, let actor else { return }
      last = await saveUnsaved(round, after: delay, actor)
    }
  }

  /// Saves what is unsaved, which keeps the context until then; returns how far it got, or nil if nothing is saved
  /// any more.
  private func saveUnsaved(
    _ last: AutosaveRound, after delay: Duration, _ actor: isolated any Actor
  ) async -> AutosaveRound? {
    guard let context else { return nil }
    let core = context.core
    let round = await context.saveUnsaved(last, after: delay) { context.errorHandler?($0) }
    guard !core.source.isClosed else {
      core.stopSaving()
      return nil
    }
    return round
  }
}
