extension ModelContext {
  /// Saves changes after a delay, for as long as the task runs.
  ///
  /// ```swift
  /// let saving = Task {
  ///   await context.autosave(after: .seconds(2)) { error in print("not saved:", error) }
  /// }
  /// ```
  ///
  /// When a model becomes unsaved, this method waits for `delay` and then saves as
  /// ``save()`` does. If that fails, it saves the models one by one. For each model that
  /// cannot be saved, it calls `onError` and leaves the model unsaved; other models are saved as
  /// usual.
  ///
  /// A failed model is saved again when it changes, when ``refresh()`` settles its conflicts, and
  /// periodically: first after two seconds or twice the delay, whichever is longer, then after
  /// twice as long each time, up to one minute.
  ///
  /// While the database is suspended, the method waits.
  ///
  /// When the task is cancelled, unsaved models are saved immediately and the method returns. It
  /// also returns when a save fails because the database is closed. It runs on the actor of the
  /// context and retains the context until it returns. In the meantime, closing the database saves
  /// unsaved models too: see ``Database/close(discardsUnsavedModels:isolation:)-b22j``.
  ///
  /// - Parameters:
  ///   - delay: how long to wait for further changes.
  ///   - actor: the actor that the context belongs to; the caller's actor by default.
  ///   - onError: called with each failure.
  public func autosave(
    after delay: Duration = .seconds(1), isolation actor: isolated (any Actor)? = #isolation,
    onError: (any Error) -> Void
  ) async {
    let signal = core.unsaved.signaled()
    core.beginAutosaving(on: actor)
    defer { core.endAutosaving() }
    var round = AutosaveRound()
    while true {
      await signal.wait(beyond: round.seen, until: round.nextTry)
      round = await saveUnsaved(round, after: delay, onError: onError)
      if Task.isCancelled || core.source.isClosed { return }
    }
  }

  /// Saves models that became unsaved since the last round, after a delay, and retries failed ones.
  func saveUnsaved(
    _ last: AutosaveRound, after delay: Duration,
    isolation actor: isolated (any Actor)? = #isolation, onError: (any Error) -> Void
  ) async -> AutosaveRound {
    if core.unsaved.changeCount > last.seen, !Task.isCancelled { try? await Task.sleep(for: delay) }
    await core.source.gate?.wait()
    // Read before saving: models that hooks change belong to the next round.
    let seen = core.unsaved.changeCount
    await core.saveDue(retriesAll: Task.isCancelled, after: delay, onError)
    return AutosaveRound(seen: seen, nextTry: core.autosaving.nextTry)
  }
}
