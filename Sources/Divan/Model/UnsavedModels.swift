/// The unsaved models of a context, in the order in which they became so.
///
/// Each knows its place among them, so that nothing is searched when it is saved.
///
/// Invariants:
/// - A model's `unsavedPlace` is one more than the index of it in `places`, and 0 if it is none of them.
/// - `count` is how many places are taken; those that are not are fewer than these, but for some.
struct UnsavedModels {
  private var places: [Model?] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  /// In the order in which they became unsaved.
  var all: [Model] { places.compactMap { $0 } }

  /// Adds a model, which is not among them, as the last one.
  mutating func add(_ model: Model) {
    places.append(model)
    count += 1
    model.unsavedPlace = places.count
  }

  /// Takes out a model, which the caller holds; does nothing if it is not among them.
  mutating func remove(_ model: Model) {
    guard model.unsavedPlace > 0 else { return }
    places[model.unsavedPlace - 1] = nil
    model.unsavedPlace = 0
    count -= 1
    if places.count > 2 * count + 32 { closeGaps() }
  }

  /// Takes out all, and gives them to the caller: what is released here could run anybody's code.
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
