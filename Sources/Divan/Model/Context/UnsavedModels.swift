import DivanLog

/// The unsaved models of a context, in the order in which they became unsaved.
///
/// Each model stores its own position, so removing it needs no search.
///
/// Invariants:
/// - The `unsavedPosition` of a model is its index in `slots` plus one, or 0 if it is not there.
/// - `count` is the number of models in `slots`. At most `count` + 32 slots are empty.
struct UnsavedModels {
  private var slots: [Model?] = []
  private(set) var count = 0
  /// The number of times that a model became unsaved, or is to be saved once more.
  private(set) var changeCount: UInt64 = 0
  private var signal: ChangeSignal?

  var isEmpty: Bool { count == 0 }
  /// In the order in which they became unsaved.
  var all: [Model] { slots.compactMap { $0 } }

  /// Appends a model that is not in the collection.
  mutating func add(_ model: Model) {
    slots.append(model)
    count += 1
    model.unsavedPosition = slots.count
    noteChange()
  }

  /// Notifies the tasks that wait for models to save.
  mutating func noteChange() {
    changeCount += 1
    signal?.note(changeCount)
  }

  /// Returns the signal of ``changeCount``, creating it if needed.
  mutating func signaled() -> ChangeSignal {
    let made = signal ?? ChangeSignal(changeCount)
    signal = made
    return made
  }

  /// Removes a model, which the caller retains; does nothing if it is not in the collection.
  mutating func remove(_ model: Model) {
    guard model.unsavedPosition > 0 else { return }
    slots[model.unsavedPosition - 1] = nil
    model.unsavedPosition = 0
    count -= 1
    if slots.count > 2 * count + 32 { closeGaps() }
  }

  /// Removes and returns all models.
  ///
  /// The caller releases them, because their deinitializers may run client code.
  mutating func removeAll() -> [Model?] {
    let models = slots
    for model in models { model?.unsavedPosition = 0 }
    slots = []
    count = 0
    return models
  }

  private mutating func closeGaps() {
    slots.removeAll { $0 == nil }
    for (index, model) in slots.enumerated() { model?.unsavedPosition = index + 1 }
  }
}
