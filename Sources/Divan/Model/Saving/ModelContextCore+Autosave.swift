/// The progress of an autosaving context.
struct AutosaveRound {
  /// The number of times that models had become unsaved when the round began.
  var seen: UInt64 = 0
  /// The time of the next retry; nil if nothing failed.
  var nextTry: ContinuousClock.Instant?
}

extension ModelContextCore {
  /// Saves all models without earlier failures, and then the failed ones whose retry is due.
  ///
  /// If the models cannot be saved together, they are saved one by one.
  func saveDue(
    retriesAll: Bool, after delay: Duration, at now: ContinuousClock.Instant = .now,
    isolation actor: isolated (any Actor)? = #isolation, _ onError: (any Error) -> Void
  ) async {
    let models = unsavedModels
    let fresh = models.filter { !$0.hasFailedToSave }
    do {
      if !fresh.isEmpty {
        try await save(fresh, isEverything: fresh.count == models.count, isCancellable: false)
      }
    } catch {
      if fresh.count == 1 || source.isClosed {
        noteFailure(error, of: fresh[0], after: delay, onError)
      } else {
        // One invalid or conflicting model must not prevent the others from being saved.
        await saveEach(fresh, after: delay, onError)
      }
    }
    let due = models.filter {
      $0.hasFailedToSave && (retriesAll || autosaving.isDue($0, at: now))
    }
    await saveEach(due, after: delay, onError)
  }

  private func saveEach(
    _ models: [Model], after delay: Duration, isolation actor: isolated (any Actor)? = #isolation,
    _ onError: (any Error) -> Void
  ) async {
    for model in models where model.isUnsaved && !source.isClosed {
      do {
        try await save([model], isCancellable: false)
      } catch {
        noteFailure(error, of: model, after: delay, onError)
      }
    }
  }

  /// Records and reports that a model could not be saved, and schedules the retry.
  private func noteFailure(
    _ error: any Error, of model: Model, after delay: Duration, _ onError: (any Error) -> Void
  ) {
    if model.unsavedPosition > 0, !source.isClosed {
      autosaving.noteFailure(of: model, after: delay)
      model.hasFailedToSave = true
      // Otherwise writes to properties that are already dirty would go unnoticed. During a save, a
      // dirty property without the flag is one that was changed since the save began.
      if !model.isBeingSaved { model.hookDirtyProperties() }
    }
    source.noteAutosaveFailure(error)
    onError(error)
  }

  /// Schedules a save of a failed model because it has changed.
  func scheduleRetry(_ model: Model) {
    // Changes that hooks make during the retry do not count.
    guard !isSaving else { return }
    forgetFailure(of: model)
    unsaved.noteChange()
  }

  /// Clears the failure of a model.
  func forgetFailure(of model: Model) {
    model.hasFailedToSave = false
    autosaving.forgetFailure(of: model)
    guard !model.isBeingSaved else { return }
    for location in model.modelClass.locations {
      model.setFlags(model.flags(at: location) & ~PropertyFlags.hooked, at: location)
    }
  }
}
