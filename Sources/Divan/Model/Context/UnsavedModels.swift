/// The unsaved models of a context, in the order in which they became unsaved.
///
/// Each model stores its own position, so that removing it needs no search.
///
/// Invariants:
/// - The `unsavedPlace` of a model is its index in `places` plus one, or 0 if it is not there.
/// - `count` is the number of models in `places`. At most `count` + 32 places are empty.
struct UnsavedModels {
  private var places: [Model?] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  /// In the order in which they became unsaved.
  var all: [Model] { places.compactMap { $0 } }

  /// Appends a model that is not in the collection.
  mutating func add(_ model: Model) {
    places.append(model)
    count += 1
    model.unsavedPlace = places.count
  }

  /// Removes a model, which the caller retains; does nothing if it is not in the collection.
  mutating func remove(_ model: Model) {
    guard model.unsavedPlace > 0 else { return }
    places[model.unsavedPlace - 1] = nil
    model.unsavedPlace = 0
    count -= 1
    if places.count > 2 * count + 32 { closeGaps() }
  }

  /// Removes and returns all models.
  ///
  /// The caller releases them, because their deinitializers may run client code.
  mutating func removeAll() -> [Model?] {
    let models = places
    for model in models { model?.unsavedPlace = 0 }
    places = []
    count = 0
    return models
  }

  private mutating func closeGaps() {
    places.removeAll { $0 == nil }
    for (index, model) in places.enumerated() { model?.unsavedPlace = index + 1 }
  }
}
