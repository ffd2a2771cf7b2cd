extension ModelContext {
  /// Saves what was changed, some time after it was, for as long as the task runs.
  ///
  /// ```swift
  /// let saving = Task {
  ///   await context.autosave(after: .seconds(2)) { error in print("not saved:", error) }
  /// }
  /// ```
  ///
  /// When a model has become unsaved, this waits for `delay`, and then does what ``saveAllModels()`` does. If
  /// that fails, models are saved one by one, and each that cannot be saved fails for itself: `onError` is told, it
  /// stays unsaved, and it is tried again when it is changed, when ``refresh()`` settles its conflicts, and after two
  /// seconds or twice the delay, then after twice as long and so on, a minute at most. What else is changed meanwhile is
  /// saved as if there was no such model. When the task is cancelled, what is unsaved is saved at
  /// once, and it ends; so it does when something cannot be saved because the database is closed. It runs where the
  /// context belongs, and keeps the context until then. Meanwhile closing the database saves what is unsaved, too:
  /// see ``Database/close(discardsUnsavedModels:isolation:)``.
  ///
  /// - Parameters:
  ///   - delay: how long to wait for further changes.
  ///   - actor: where the context belongs; the caller's actor, unless said otherwise.
  ///   - onError: told of each failure.
  public func autosave(
    after delay: Duration = .seconds(1), isolation actor: isolated (any Actor)? = #isolation,
    onError: (any Error) -> Void
  ) async {
    let signal = core.signalUnsaved()
    core.beginAutosaving(on: actor)
    defer { core.endAutosaving() }
    var round = AutosaveRound()
    while true {
      await signal.wait(beyond: round.seen, until: round.nextTry)
      round = await saveUnsaved(round, after: delay, onError: onError)
      if Task.isCancelled || core.source.isClosed { return }
    }
  }

  /// Saves what has become unsaved since a round of saving, after a while, and what failed and is to be tried again.
  func saveUnsaved(
    _ last: AutosaveRound, after delay: Duration,
    isolation actor: isolated (any Actor)? = #isolation, onError: (any Error) -> Void
  ) async -> AutosaveRound {
    if core.lastOrder > last.seen, !Task.isCancelled { try? await Task.sleep(for: delay) }
    // Before anything is saved: what hooks change belongs to the next round.
    let seen = core.lastOrder
    core.saveDue(retriesAll: Task.isCancelled, after: delay, onError)
    return AutosaveRound(seen: seen, nextTry: core.saveFailures.values.map(\.nextTry).min())
  }
}

/// How far a context has got that saves by itself.
struct AutosaveRound {
  /// How many times models had become unsaved by then.
  var seen: UInt64 = 0
  /// When something that failed is to be tried again.
  var nextTry: ContinuousClock.Instant?
}

/// What is remembered of a model that could not be saved.
struct SaveFailure {
  var count = 0
  var nextTry: ContinuousClock.Instant
}

extension ModelContextCore {
  /// Saves everything at once that did not fail before or, if that fails, whatever can be saved by itself; then what is
  /// to be tried again.
  func saveDue(retriesAll: Bool, after delay: Duration, _ onError: (any Error) -> Void) {
    let now = ContinuousClock.now
    let models = unsavedModels
    let fresh = models.filter { !$0.isRefused }
    do {
      if !fresh.isEmpty { try save(fresh, isEverything: fresh.count == models.count) }
    } catch {
      if fresh.count == 1 || source.isClosed {
        noteFailure(error, of: fresh[0], after: delay, onError)
      } else {
        // One model that is not valid, or in conflict, must not keep the others from being saved.
        saveEach(fresh, after: delay, onError)
      }
    }
    let due = models.filter { model in
      guard model.isRefused, let failure = saveFailures[ObjectIdentifier(model)] else {
        return false
      }
      return retriesAll || failure.nextTry <= now
    }
    saveEach(due, after: delay, onError)
  }

  private func saveEach(
    _ models: [Model], after delay: Duration, _ onError: (any Error) -> Void
  ) {
    for model in models where model.isUnsaved && !source.isClosed {
      do {
        try model.save()
      } catch {
        noteFailure(error, of: model, after: delay, onError)
      }
    }
  }

  /// Notes that a model could not be saved, which is tried again later.
  private func noteFailure(
    _ error: any Error, of model: Model, after delay: Duration, _ onError: (any Error) -> Void
  ) {
    if model.unsavedPlace > 0, !source.isClosed {
      let count = (saveFailures[ObjectIdentifier(model)]?.count ?? 0) + 1
      let pause = min(max(delay, .seconds(1)) * (1 << min(count, 16)), .seconds(60))
      saveFailures[ObjectIdentifier(model)] = SaveFailure(count: count, nextTry: .now + pause)
      model.isRefused = true
      // Writes to what is dirty already would be noticed by nobody.
      for place in model.modelClass.places where model.isDirty(place) {
        model.setFlags(model.flags(at: place) | PropertyFlags.hooked, at: place)
      }
    }
    onError(error)
  }

  /// Notes that a model that could not be saved is another now: it is saved like any that was changed.
  func noteMended(_ model: Model) {
    // What hooks change while it is tried again mends nothing.
    guard !isSaving else { return }
    forgetFailure(of: model)
    lastOrder += 1
    unsavedSignal?.note(lastOrder)
  }

  /// Forgets that a model could not be saved.
  func forgetFailure(of model: Model) {
    model.isRefused = false
    saveFailures[ObjectIdentifier(model)] = nil
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) & ~PropertyFlags.hooked, at: place)
    }
  }
}
