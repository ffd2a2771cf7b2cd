// Which models a context has: one object for each document, held while it is unsaved.

extension ModelContextCore {
  /// The live model of this ID.
  func known(_ id: String) -> Model? {
    live.isEmpty ? nil : live[id, hash: LiveModels.hash(of: id)]
  }

  func register(_ model: Model) {
    let hash = LiveModels.hash(of: model.id)
    // The ID may be taken if the client gave it; saving then finds the conflict.
    if let other = live[model.documentID, hash: hash], other.state != .deleted { return }
    live.set(model, hash: hash)
  }

  /// Takes out a model that is going.
  func forget(_ model: Model) {
    if live.remove(model), hasInverseReaders {
      forgetInverseReaders(DocumentKey(model.documentID))
    }
  }

  /// Puts in a new model that is in no context, and those that it refers to.
  func insert(_ model: Model) {
    guard model.core == nil else { return announceInverses() }
    take(model)
    guard model.modelClass.hasReferences else {
      announceInverses()
      return model.awakeFromInitializer()
    }
    var arrived = [model]
    // One after the other, so that a long chain needs no deep stack.
    var arriving: [Model] = takeTargets(of: model).reversed()
    while let next = arriving.popLast() {
      guard next.core == nil else { continue }
      take(next)
      arrived.append(next)
      if next.modelClass.hasReferences { arriving += takeTargets(of: next).reversed() }
    }
    announceInverses()
    // Those first that others refer to.
    for model in arrived.reversed() { model.awakeFromInitializer() }
  }

  /// Makes a model one of this context.
  private func take(_ model: Model) {
    model.core = self
    if !isObservable { model.stopObservation() }
    register(model)
    if model.state == .new || model.isChanged || model.mark != .none { noteUnsaved(model) }
  }

  /// Has a model refer to models that are in no context by their IDs; returns those of them that come into this one.
  private func takeTargets(of model: Model) -> [Model] {
    var targets: [Model] = []
    for property in model.modelClass.properties {
      guard let type = property.target else { continue }
      for target in property.takeTargets(of: model) {
        if isElsewhere(type) {
          insert(target, referredToAs: type)
        } else {
          targets.append(target)
        }
      }
    }
    return targets
  }

  /// Holds a model until it is saved.
  func noteUnsaved(_ model: Model) {
    guard model.unsavedPlace == 0, isOpen else { return }
    lastOrder += 1
    unsaved.add(model)
    if savesByItself, let handle, let savingActor { kept = (handle, savingActor) }
    autosaving?.note(hasUnsaved: true)
    unsavedSignal?.note(lastOrder)
  }

  /// Has somebody told from now on that models became unsaved.
  func signalUnsaved() -> ChangeSignal {
    if let unsavedSignal { return unsavedSignal }
    let signal = ChangeSignal(lastOrder)
    unsavedSignal = signal
    return signal
  }

  /// Lets go of a model that was saved, reverted or deleted.
  func noteClean(_ model: Model) {
    unsaved.remove(model)
    if model.isRefused { forgetFailure(of: model) }
    if model.holdsFound { model.letGoOfFound() }
    guard unsaved.isEmpty else { return }
    autosaving?.note(hasUnsaved: false)
    kept = nil
  }

  /// Says that what is changed is saved by itself from now on.
  func startSaving(on actor: any Actor) {
    savesByItself = true
    savingActor = actor
    beginAutosaving(on: actor)
  }

  /// Says that nothing is saved by itself any more, since the database is closed.
  func stopSaving() {
    savesByItself = false
    forgetAutosaving()
    kept = nil
  }

  /// The unsaved models, in the order in which they became so.
  var unsavedModels: [Model] { unsaved.all }

  /// Lets go of all models, when the context goes.
  func close() {
    isOpen = false
    for task in tasks { task.cancel() }
    forgetAutosaving()
    saveFailures = [:]
    let models = unsaved.removeAll()
    // What they hold of each other, so that none is left.
    for case let model? in models where model.holdsFound { model.letGoOfFound() }
  }
}
