// Which models a context has: one object for each document, held while it is unsaved.

extension ModelContextCore {
  /// The live model of this ID.
  func known(_ id: String) -> Model? { live[id] }

  func register(_ model: Model) {
    // The ID may be taken if the client gave it; saving then finds the conflict.
    if let other = known(model.id), other.state != .deleted { return }
    live.set(model)
  }

  /// Takes out a model that is going.
  func forget(_ id: String) {
    if live.forget(id), !inverseReaders.isEmpty { inverseReaders[DocumentKey(id)] = nil }
  }

  /// Puts in a new model that is in no context, and those that it refers to.
  func insert(_ model: Model) {
    guard model.core == nil else { return }
    model.core = self
    if !isObservable { model.stopObservation() }
    register(model)
    if model.state == .new || model.isChanged { noteUnsaved(model) }
    for property in model.modelClass.properties
    where property.place.initialFlags & PropertyFlags.reference != 0 {
      property.insertTargets(of: model, into: self)
    }
    announceInverses()
    model.awakeFromInitializer()
  }

  /// Holds a model until it is saved.
  func noteUnsaved(_ model: Model) {
    guard model.unsavedPlace == 0, isOpen else { return }
    lastOrder += 1
    unsaved.add(model)
    if savesByItself, let handle, let savingActor { kept = (handle, savingActor) }
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
    if unsaved.isEmpty { kept = nil }
  }

  /// Says that what is changed is saved by itself from now on.
  func startSaving(on actor: any Actor) {
    savesByItself = true
    savingActor = actor
  }

  /// Says that nothing is saved by itself any more, since the database is closed.
  func stopSaving() {
    savesByItself = false
    kept = nil
  }

  /// The unsaved models, in the order in which they became so.
  var unsavedModels: [Model] { unsaved.all }

  /// Lets go of all models, when the context goes.
  func close() {
    isOpen = false
    for task in tasks { task.cancel() }
    _ = unsaved.removeAll()
  }
}
