import DivanLog

/// What a model was before its context's transaction changed it, and what it was before that.
///
/// Only the model holds it, so that it goes with it.
final class ModelReversal {
  enum Change {
    case saving(Saving)
    /// What the model was before it was deleted.
    case deletion(Model.State)
    /// What the document was before a reference was taken out of it, and from what changed properties were changed.
    case rebasing(EncodedValue, [String: EncodedValue?])
    /// What an unsaved property of this number referred to before references were taken out, and what was left.
    case removal(Int, [ModelReference], left: [DocumentKey])
  }

  private var change: Change
  /// The number of the nested changes that had begun last: see ``ModelReversals``.
  let number: Int
  let previous: ModelReversal?

  init(_ change: Change, _ number: Int, after previous: ModelReversal?) {
    self.change = change
    self.number = number
    self.previous = previous
  }

  /// Takes in what follows it and is taken back together with it; returns false if that is of another kind.
  func add(_ next: Change) -> Bool {
    switch (change, next) {
    case (.saving(let first), .saving(let second)): change = .saving(first.adding(second))
    case (.rebasing, .rebasing): break
    default: return false
    }
    return true
  }

  func takeBack(_ model: Model) {
    switch change {
    case .saving(let saving): saving.takeBack(model)
    case .deletion(let state):
      model.announcing(ModelObservation.statePath) { model.state = state }
    case .rebasing(let body, let bases):
      model.rebase(on: body)
      model.extras?.bases = bases
    case .removal(let index, let references, let left):
      let property = model.modelClass.properties[index]
      guard property.references(in: model).map(\.key) == left else { return }
      property.set(references: references, in: model)
    }
  }
}

extension ModelReversal {
  /// What a model was before it was saved.
  struct Saving {
    private let state: Model.State
    private let body: EncodedValue?
    private var extras: ModelExtras?
    private let upgradedFrom: Int?
    /// The numbers of the properties that were changed.
    private var changed: Set<Int>
    private var saved: EncodedValue

    /// Remembers a model that is not clean yet.
    init(_ saved: SavedModel) {
      let model = saved.model
      state = model.state
      body = model.body
      extras = model.extras
      upgradedFrom = model.upgradedFrom
      changed = Set(
        model.modelClass.places.filter { model.isDirty($0) }.map(\.index))
      self.saved = saved.body
    }

    /// What the model was before it was saved twice.
    fileprivate func adding(_ next: Saving) -> Saving {
      var all = self
      all.extras = extras.map { $0.adding(next.extras) } ?? next.extras
      all.changed.formUnion(next.changed)
      all.saved = next.saved
      return all
    }

    /// Makes the model unsaved again, with the values that it was saved with; what was changed since stays.
    fileprivate func takeBack(_ model: Model) {
      let properties = model.modelClass.properties
      let paths: [ModelObservation.Path] =
        model.observers == nil
        ? []
        : properties.filter { isOther($0, in: model) }.map { $0.observationPath(in: model) }
      model.announcing(paths + ModelObservation.otherPaths) {
        model.body = saved
        for property in properties where !property.isDirty(in: model) {
          property.readAgain(in: model)
          // What a new model has stands nowhere else.
          let isChanged = changed.contains(property.place.index)
          guard isChanged || body == nil else { continue }
          property.load(model)
          if isChanged { property.set(PropertyFlags.dirty, in: model) }
        }
        model.body = body
        model.state = state
        model.upgradedFrom = upgradedFrom
        model.extras = extras.map { $0.adding(model.extras) } ?? model.extras
        model.isChanged = model.isChanged || !changed.isEmpty || model.extras?.isChanged ?? false
      }
    }

    /// Whether a property may become another one by that: it was changed here, or others changed it, which came with
    /// saving.
    private func isOther(_ property: any ModelProperty, in model: Model) -> Bool {
      guard !changed.contains(property.place.index) else { return true }
      guard !property.isDirty(in: model), let body else { return false }
      let key = property.key
      return (try? model.body?.property(key)?.bytes) != (try? body.property(key)?.bytes)
    }
  }
}

extension ModelExtras {
  /// These changes, and later ones over them.
  fileprivate func adding(_ later: ModelExtras?) -> ModelExtras {
    guard let later else { return self }
    var all = self
    all.undeclared.merge(later.undeclared) { $1 }
    all.attachments.merge(later.attachments) { $1 }
    return all
  }
}
