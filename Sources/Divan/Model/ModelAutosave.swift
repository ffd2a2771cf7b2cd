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
  /// that fails, models are saved one by one; `onError` is told of each that cannot be, it stays unsaved, and
  /// it is tried again after two seconds or twice the delay, then after twice as long and so on, a minute at
  /// most. When the task is cancelled, what is unsaved is saved at
  /// once, and it ends; so it does when something cannot be saved because the database is closed. It runs where the context belongs, and keeps the context until then.
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
    while true {
      if core.unsaved.isEmpty { await signal.wait(beyond: core.lastOrder) }
      await saveUnsaved(after: delay, onError: onError)
      if Task.isCancelled || core.source.isClosed { return }
    }
  }

  /// Saves what is unsaved after a while, and again until all of it is saved, the database is closed, or the
  /// task is cancelled.
  func saveUnsaved(
    after delay: Duration, isolation actor: isolated (any Actor)? = #isolation,
    onError: (any Error) -> Void
  ) async {
    var failureCount = 0
    while true {
      if !Task.isCancelled {
        let pause = min(max(delay, .seconds(1)) * (1 << min(failureCount, 16)), .seconds(60))
        try? await Task.sleep(for: failureCount == 0 ? delay : pause)
      }
      if saveEach(onError) || Task.isCancelled || core.source.isClosed { return }
      failureCount += 1
    }
  }

  /// Saves everything at once or, if that fails, whatever can be saved by itself; returns whether all was saved.
  private func saveEach(_ onError: (any Error) -> Void) -> Bool {
    do {
      try saveAllModels()
      return true
    } catch {
      let models = core.unsavedModels
      guard models.count > 1 else {
        onError(error)
        return false
      }
      // One model that is not valid, or in conflict, must not keep the others from being saved.
      var isAllSaved = true
      for model in models where model.isUnsaved {
        do {
          try model.save()
        } catch {
          onError(error)
          isAllSaved = false
        }
      }
      return isAllSaved
    }
  }
}
