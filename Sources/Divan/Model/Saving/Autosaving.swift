/// Whether and how a context autosaves, and what could not be saved.
///
/// Invariants:
/// - The context and its actor are retained only while the context autosaves by itself and has
///   unsaved models.
/// - A model with a failure is unsaved, and `hasFailedToSave`.
struct Autosaving {
  /// Whether the context autosaves by itself, on the actor that it was made for.
  private(set) var isOn = false
  private weak var actor: (any Actor)?
  private var retained: (handle: ModelContext, actor: any Actor)?
  /// The context as seen by closing the database; nil while no task saves it.
  private(set) var registration: AutosavingContext?
  /// The failures, by model.
  private var failures: [ObjectIdentifier: SaveFailure] = [:]

  /// Turns autosaving on.
  mutating func start(on actor: any Actor) {
    isOn = true
    self.actor = actor
  }

  /// Turns autosaving off, and returns the context, which the caller releases.
  mutating func stop() -> ModelContext? {
    isOn = false
    return release()
  }

  mutating func register(_ context: AutosavingContext) { registration = context }

  /// Ends the registration, and returns it.
  mutating func unregister() -> AutosavingContext? { registration.take() }

  /// Retains a context that has unsaved models.
  mutating func noteUnsaved(_ handle: ModelContext?) {
    if isOn, let handle, let actor { retained = (handle, actor) }
    registration?.note(hasUnsaved: true)
  }

  /// Notes that there are no unsaved models, and returns the context, which the caller releases.
  mutating func noteAllSaved() -> ModelContext? {
    registration?.note(hasUnsaved: false)
    return release()
  }

  /// The deinitializer of the context ends autosaving, and must not run during a change of it.
  private mutating func release() -> ModelContext? {
    defer { retained = nil }
    return retained?.handle
  }

  // MARK: Failures

  /// Records another failure of a model, whose retries have longer and longer delays.
  mutating func noteFailure(of model: Model, after delay: Duration) {
    let id = ObjectIdentifier(model)
    let count = (failures[id]?.count ?? 0) + 1
    let pause = min(max(delay, .seconds(1)) * (1 << min(count, 16)), .seconds(60))
    failures[id] = SaveFailure(count: count, nextTry: .now + pause)
  }

  mutating func forgetFailure(of model: Model) { failures[ObjectIdentifier(model)] = nil }

  mutating func forgetFailures() { failures = [:] }

  /// Whether the retry of a model is due.
  func isDue(_ model: Model, at now: ContinuousClock.Instant) -> Bool {
    failures[ObjectIdentifier(model)].map { $0.nextTry <= now } ?? false
  }

  /// The time of the next retry; nil if nothing failed.
  var nextTry: ContinuousClock.Instant? { failures.values.map(\.nextTry).min() }

  var hasFailures: Bool { !failures.isEmpty }
}

/// The failed saves of a model, and the time of its next retry.
struct SaveFailure {
  var count = 0
  var nextTry: ContinuousClock.Instant
}
