/// Follows and saves a context on its actor, without retaining either of them.
final class ModelUpdateObserver: Sendable {
  private let context: ActorReference<ModelContext>
  private let changesAndPurges: ChangeSignal
  private let gate: SuspensionGate
  private let unsaved: ChangeSignal
  /// The context's state when it is created: ``Snapshot/changesAndPurges``.
  private let first: UInt64

  init(_ context: ModelContext, of database: Database, on actor: any Actor) {
    self.context = ActorReference(context, of: actor)
    changesAndPurges = database.store.commits.changesAndPurges
    gate = database.store.gate
    unsaved = context.core.unsaved.signaled()
    // Without a snapshot the database is suspended or closed.
    first = context.core.snapshot?.changesAndPurges ?? 0
  }

  /// Refreshes the context at each commit, until it is released or the database is closed.
  func follow() async {
    var last: UInt64? = first
    while let count = last, !Task.isCancelled {
      await changesAndPurges.wait(beyond: count)
      await gate.wait()
      guard !Task.isCancelled, let actor = context.actor else { return }
      last = await moveOn(from: count, actor)
    }
  }

  /// Refreshes the context; returns the state it then shows, or nil if following ends.
  private func moveOn(from last: UInt64, _ actor: isolated any Actor) async -> UInt64? {
    guard let context = context.object(on: actor) else { return nil }
    let core = context.core
    await core.finishCommit()
    do {
      try core.refresh(settlesConflicts: false)
    } catch DatabaseError.Code.suspended {
      return last
    } catch {
      if core.source.isClosed { return nil }
      context.report(error)
      // If this refresh made no progress, the next one would not either.
      if core.snapshot?.changesAndPurges == last { return nil }
    }
    return core.snapshot?.changesAndPurges
  }

  /// Saves changes until the context is released or the database is closed.
  func save(after delay: Duration) async {
    var last: AutosaveRound? = AutosaveRound()
    while let round = last, !Task.isCancelled {
      await unsaved.wait(beyond: round.seen, until: round.nextTry)
      guard !Task.isCancelled, let actor = context.actor else { return }
      last = await saveUnsaved(round, after: delay, actor)
    }
  }

  /// Saves unsaved models, retaining the context in the meantime.
  ///
  /// Returns the progress, or nil if nothing will be saved any more.
  private func saveUnsaved(
    _ last: AutosaveRound, after delay: Duration, _ actor: isolated any Actor
  ) async -> AutosaveRound? {
    guard let context = context.object(on: actor) else { return nil }
    let core = context.core
    let round = await context.saveUnsaved(last, after: delay) { context.report($0) }
    guard !core.source.isClosed else {
      core.stopAutosaving()
      return nil
    }
    return round
  }
}
