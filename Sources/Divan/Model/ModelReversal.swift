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
    case rebasing(EncodedValue, ByteKeyed<EncodedValue?>)
    /// What an unsaved property of this number referred to before references were taken out, and what was left.
    case removal(Int, [ModelReference], left: [DocumentKey])
  }

  private var change: Change
  /// The number of the nested changes that had begun last: see ``ModelReversals``.
  let number: Int
  private(set) var previous: ModelReversal?

  init(_ change: Change, _ number: Int, after previous: ModelReversal?) {
    self.change = change
    self.number = number
    self.previous = previous
  }

  deinit {
    // One after the other, so that a long chain needs no deep stack.
    var next = previous.take()
    while next != nil, isKnownUniquelyReferenced(&next) { next = next?.previous.take() }
  }

  /// Takes in what follows it and is taken back together with it; returns false if that is of another kind.
  func add(_ next: Change) -> Bool {
    switch (change, next) {
    case (.saving(let first), .saving(let second)):
      // The document that was saved last has nothing of what gave way in a conflict before.
      guard !first.isResolved else { return false }
      change = .saving(first.adding(second))
    case (.rebasing, .rebasing): break
    default: return false
    }
    return true
  }

  /// What is left once this is added to those before it, down to a number, that take it in.
  func folded(since number: Int) -> ModelReversal {
    var last = self
    while let previous = last.previous, previous.number >= number, previous.add(last.change) {
      last = previous
    }
    return last
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
    /// The document as the model meant it.
    private var saved: EncodedValue
    /// Whether something else was stored for a property than the model had.
    fileprivate var isResolved: Bool

    /// Remembers a model that is not clean yet.
    init(_ saved: SavedModel) {
      let model = saved.model
      state = model.state
      body = model.body
      extras = model.extras
      upgradedFrom = model.upgradedFrom
      changed = Set(
        model.modelClass.places.filter { model.isDirty($0) }.map(\.index))
      self.saved = saved.mine ?? saved.body
      isResolved = !saved.resolved.isEmpty
    }

    /// What the model was before it was saved twice.
    fileprivate func adding(_ next: Saving) -> Saving {
      var all = self
      all.extras = extras.map { $0.adding(next.extras) } ?? next.extras
      all.changed.formUnion(next.changed)
      all.saved = next.saved
      all.isResolved = next.isResolved
      return all
    }

    /// Makes the model unsaved again, with the values that it was saved with; what was changed since stays.
    fileprivate func takeBack(_ model: Model) {
      let properties = model.modelClass.properties
      model.announcing(paths(in: model) + ModelObservation.otherPaths) {
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

    /// What stands for the properties that are about to become others: those that are unsaved again, and what the model
    /// took over when it was saved.
    private func paths(in model: Model) -> [ModelObservation.Path] {
      let (shown, next) = (model.body, body ?? saved)
      let others = model.modelClass.properties.filter { property in
        if changed.contains(property.place.index) { return true }
        return !property.isDirty(in: model)
          && (try? shown?.property(property.key)?.bytes)
            != (try? next.property(property.key)?.bytes)
      }
      return others.map { $0.observationPath(in: model) }
    }
  }
}

extension ModelExtras {
  /// These changes, and later ones over them.
  fileprivate func adding(_ later: ModelExtras?) -> ModelExtras {
    guard let later else { return self }
    var all = self
    all.undeclared.merge(later.undeclared)
    all.attachments.merge(later.attachments)
    return all
  }
}
