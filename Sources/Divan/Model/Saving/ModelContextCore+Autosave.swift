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
  /// ``saveAllModels()`` does. If that fails, it saves the models one by one. For each model that
  /// cannot be saved, it calls `onError` and leaves the model unsaved; other models are saved as
  /// usual.
  ///
  /// A failed model is saved again when it changes, when ``refresh()`` settles its conflicts, and
  /// periodically: first after two seconds or twice the delay, whichever is longer, then after
  /// twice as long each time, up to one minute.
  ///
  /// When the task is cancelled, unsaved models are saved immediately and the method returns. It
  /// also returns when a save fails because the database is closed. It runs on the actor of the
  /// context and retains the context until it returns. In the meantime, closing the database saves
  /// unsaved models too: see ``Database/close(discardsUnsavedModels:isolation:)``.
  ///
  /// - Parameters:
  ///   - delay: how long to wait for further changes.
  ///   - actor: the actor that the context belongs to; the caller's actor by default.
  ///   - onError: called with each failure.
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

  /// Saves models that became unsaved since the last round, after a delay, and retries failed ones.
  func saveUnsaved(
    _ last: AutosaveRound, after delay: Duration,
    isolation actor: isolated (any Actor)? = #isolation, onError: (any Error) -> Void
  ) async -> AutosaveRound {
    if core.lastOrder > last.seen, !Task.isCancelled { try? await Task.sleep(for: delay) }
    // Read before saving: models that hooks change belong to the next round.
    let seen = core.lastOrder
    core.saveDue(retriesAll: Task.isCancelled, after: delay, onError)
    return AutosaveRound(seen: seen, nextTry: core.saveFailures.values.map(\.nextTry).min())
  }
}

/// The progress of an autosaving context.
struct AutosaveRound {
  /// The number of times that models had become unsaved when the round began.
  var seen: UInt64 = 0
  /// The time of the next retry; nil if nothing failed.
  var nextTry: ContinuousClock.Instant?
}

/// The failed saves of a model, and the time of its next retry.
struct SaveFailure {
  var count = 0
  var nextTry: ContinuousClock.Instant
}

extension ModelContextCore {
  /// Saves all models without earlier failures, and then the failed ones whose retry is due.
  ///
  /// If the models cannot be saved together, they are saved one by one.
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
        // One invalid or conflicting model must not prevent the others from being saved.
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

  /// Records and reports that a model could not be saved, and schedules the retry.
  private func noteFailure(
    _ error: any Error, of model: Model, after delay: Duration, _ onError: (any Error) -> Void
  ) {
    if model.unsavedPlace > 0, !source.isClosed {
      let count = (saveFailures[ObjectIdentifier(model)]?.count ?? 0) + 1
      let pause = min(max(delay, .seconds(1)) * (1 << min(count, 16)), .seconds(60))
      saveFailures[ObjectIdentifier(model)] = SaveFailure(count: count, nextTry: .now + pause)
      model.isRefused = true
      // Otherwise writes to properties that are already dirty would go unnoticed.
      for place in model.modelClass.places where model.isDirty(place) {
        model.setFlags(model.flags(at: place) | PropertyFlags.hooked, at: place)
      }
    }
    onError(error)
  }

  /// Schedules a save of a failed model because it has changed.
  func noteMended(_ model: Model) {
    // Changes that hooks make during the retry do not count.
    guard !isSaving else { return }
    forgetFailure(of: model)
    lastOrder += 1
    unsavedSignal?.note(lastOrder)
  }

  /// Clears the failure of a model.
  func forgetFailure(of model: Model) {
    model.isRefused = false
    saveFailures[ObjectIdentifier(model)] = nil
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) & ~PropertyFlags.hooked, at: place)
    }
  }
}
