import DivanLog

// What becomes of models when the transaction whose context they are in takes back what it stored.

extension ModelContextCore {
  /// Lets models that were just saved in the context's transaction be as before if that is taken back.
  func noteReversal(of saved: [SavedModel]) {
    guard isInTransaction else { return }
    let models = saved.map(ModelReversal.init)
    noteReversal { for model in models.reversed() { model.takeBack() } }
  }

  /// Does the same for models that are about to be deleted there, and for those out of whose documents references were taken.
  func noteReversal(of deleted: [Model], _ edited: [SavedChange]) {
    guard isInTransaction else { return }
    let states = deleted.map(\.state)
    noteReversal { [unowned self] in
      for (model, state) in zip(deleted, states) {
        model.announcing(ModelObservation.statePath) { model.state = state }
        if model.isUnsaved { noteUnsaved(model) }
      }
      for change in edited {
        guard let model = known(change.id), let before = try? change.before?.encoded() else {
          continue
        }
        model.rebase(on: before)
      }
    }
  }

  /// Does the same for what the context can take back itself.
  func noteReversal() {
    noteReversal { [unowned self] in
      // When all of the transaction is taken back there is nothing to read any more.
      if (try? requireSnapshot()) != nil { advance(ownChanges: 0) }
    }
  }

  private func noteReversal(_ takeBack: @escaping () -> Void) {
    guard case .transaction(let transaction) = source else { return }
    let history = undoHistory
    // The transaction holds neither the context nor itself by this for longer than it lives.
    transaction.reversals.append { [weak self] in
      guard let self else { return }
      undoHistory = history
      takeBack()
      announceInverses()
    }
  }
}

/// What a model was before it was saved in a transaction.
private struct ModelReversal {
  let model: Model
  let state: Model.State
  let body: EncodedValue?
  let extras: ModelExtras?
  let upgradedFrom: Int?
  /// The numbers of the properties that were changed.
  let changed: Set<Int>
  let saved: EncodedValue

  /// Remembers a model that is not clean yet.
  init(_ saved: SavedModel) {
    model = saved.model
    state = model.state
    body = model.body
    extras = model.extras
    upgradedFrom = model.upgradedFrom
    changed = Set(
      saved.model.modelClass.properties.filter { $0.isDirty(in: saved.model) }.map(\.place.index))
    self.saved = saved.body
  }

  /// Makes the model unsaved again, with the values that it was saved with; what was changed since stays.
  func takeBack() {
    let properties = model.modelClass.properties
    let paths = properties.filter {
      changed.contains($0.place.index) && model.modelClass.isObservable
    }
    .map { $0.observationPath(in: model) }
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
    if model.isUnsaved { model.core?.noteUnsaved(model) }
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
