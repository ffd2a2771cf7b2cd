import DivanLog

/// The state of a model before its context's transaction changed it, and the states before that.
///
/// Only the model retains it, and it is released with the model.
final class RollbackEntry {
  enum Change {
    case saving(Saving)
    /// The state before the model was deleted.
    case deletion(Model.State)
    /// The document before a reference was removed, and the base values of changed properties.
    case rebasing(EncodedValue, ByteKeyed<EncodedValue?>)
    /// The references of an unsaved property, by its number, before some were removed.
    case removal(Int, [ModelReference], left: [DocumentKey])
  }

  private var change: Change
  /// The number of the nested changes that had begun last: see ``RollbackLog``.
  let number: Int
  private(set) var previous: RollbackEntry?

  init(_ change: Change, _ number: Int, after previous: RollbackEntry?) {
    self.change = change
    self.number = number
    self.previous = previous
  }

  deinit {
    // Iterative, because a long chain would overflow the stack.
    var next = previous.take()
    while next != nil, isKnownUniquelyReferenced(&next) { next = next?.previous.take() }
  }

  /// Absorbs the next change, to be rolled back together; returns false if it is of another kind.
  func add(_ next: Change) -> Bool {
    switch (change, next) {
    case (.saving(let first), .saving(let second)):
      // The last saved document does not contain the values that lost an earlier conflict.
      guard !first.isResolved else { return false }
      change = .saving(first.adding(second))
    case (.rebasing, .rebasing): break
    default: return false
    }
    return true
  }

  /// Merges this into the previous changes down to a number, and returns what remains.
  func folded(since number: Int) -> RollbackEntry {
    var last = self
    while let previous = last.previous, previous.number >= number, previous.add(last.change) {
      last = previous
    }
    return last
  }

  func rollBack(_ model: Model) {
    switch change {
    case .saving(let saving): saving.rollBack(model)
    case .deletion(let state):
      model.announcing(ModelObservation.statePath) { model.state = state }
    case .rebasing(let properties, let bases):
      model.rebase(on: properties)
      model.pendingChanges?.bases = bases
    case .removal(let index, let references, let left):
      let property = model.modelClass.properties[index]
      guard property.references(in: model).map(\.key) == left else { return }
      property.set(references: references, in: model)
    }
  }
}

extension RollbackEntry {
  /// The state of a model before it was saved.
  struct Saving {
    private let state: Model.State
    private let base: EncodedValue?
    private var pendingChanges: PendingChanges?
    private let upgradedFrom: Int?
    /// The numbers of the properties that were changed.
    private var changed: Set<Int>
    /// The document with the model's own values.
    private var saved: EncodedValue
    /// Whether conflict resolution stored a value other than the model's.
    fileprivate var isResolved: Bool

    /// Records a model before it is made clean.
    init(_ saved: SavedModel) {
      let model = saved.model
      state = model.state
      base = model.storedProperties
      pendingChanges = model.pendingChanges
      upgradedFrom = model.upgradedFrom
      changed = Set(
        model.modelClass.locations.filter { model.isDirty($0) }.map(\.index))
      self.saved = saved.mine ?? saved.properties
      isResolved = !saved.resolved.isEmpty
    }

    /// Returns the state from before two successive saves.
    fileprivate func adding(_ next: Saving) -> Saving {
      var all = self
      all.pendingChanges =
        pendingChanges.map { $0.adding(next.pendingChanges) } ?? next.pendingChanges
      all.changed.formUnion(next.changed)
      all.saved = next.saved
      all.isResolved = next.isResolved
      return all
    }

    /// Makes the model unsaved again, with the values it was saved with; later changes stay.
    fileprivate func rollBack(_ model: Model) {
      let properties = model.modelClass.properties
      model.announcing(paths(in: model) + ModelObservation.otherPaths) {
        model.storedProperties = saved
        for property in properties where !property.isDirty(in: model) {
          property.readAgain(in: model)
          // No document has the values of a new model.
          let isChanged = changed.contains(property.location.index)
          guard isChanged || base == nil else { continue }
          property.load(model)
          if isChanged { property.set(PropertyFlags.dirty, in: model) }
        }
        model.storedProperties = base
        model.state = state
        model.upgradedFrom = upgradedFrom
        model.pendingChanges =
          pendingChanges.map { $0.adding(model.pendingChanges) } ?? model.pendingChanges
        model.isChanged =
          model.isChanged || !changed.isEmpty || model.pendingChanges?.isChanged ?? false
      }
    }

    /// The observation paths of the properties that are about to change.
    ///
    /// These are the properties that become unsaved again, and those that the save merged.
    private func paths(in model: Model) -> [ModelObservation.Path] {
      let (shown, next) = (model.storedProperties, base ?? saved)
      let others = model.modelClass.properties.filter { property in
        if changed.contains(property.location.index) { return true }
        return !property.isDirty(in: model)
          && (try? shown?.property(property.key)?.bytes)
            != (try? next.property(property.key)?.bytes)
      }
      return others.map { $0.observationPath(in: model) }
    }
  }
}

extension PendingChanges {
  /// Returns these changes, overwritten with later ones.
  fileprivate func adding(_ later: PendingChanges?) -> PendingChanges {
    guard let later else { return self }
    var all = self
    all.undeclared.merge(later.undeclared)
    all.attachments.merge(later.attachments)
    return all
  }
}
