// The identity map of a context: one object for each document, retained while it is unsaved.

extension ModelContextCore {
  /// Returns the live model with an ID.
  func known(_ id: String) -> Model? {
    identityMap.isEmpty ? nil : identityMap[id, hash: IdentityMap.hash(of: id)]
  }

  func register(_ model: Model) {
    let hash = IdentityMap.hash(of: model.id)
    // If the client chose an ID that is taken, saving finds the conflict.
    if let other = identityMap[model.documentID, hash: hash], other.state != .deleted { return }
    identityMap.set(model, hash: hash)
  }

  /// Removes a model that is being deallocated.
  func forget(_ model: Model) {
    if identityMap.remove(model), !inverseReaders.isEmpty {
      inverseReaders.forget(DocumentKey(model.documentID))
    }
  }

  /// Whether a model in no context is a copy of one that this context has.
  func hasOriginal(of model: Model) -> Bool {
    guard model.core == nil, model.state == .stored, let known = known(model.id) else {
      return false
    }
    return known.state != .deleted
  }

  /// Inserts a model that is in no context and to which a model refers.
  ///
  /// A copy of a model that this context has stays outside, and the reference is to the original.
  func insertTarget(_ target: Model) {
    guard target.core == nil, !leavesOut(target) else { return }
    let isCopy = target.state == .stored
    insert(target)
    if isCopy { update(copy: target) }
  }

  /// Inserts a model that is in no context, and the models that it refers to.
  ///
  /// The model has no original in this context. If it is a copy, the caller updates it.
  func insert(_ model: Model) {
    guard model.core == nil else { return announceInverses() }
    take(model)
    guard model.modelClass.hasReferences else {
      announceInverses()
      return model.didEnterContext()
    }
    var arrived = [model]
    // Iterative, because a long chain would overflow the stack.
    var arriving: [Model] = takeTargets(of: model).reversed()
    while let next = arriving.popLast() {
      guard next.core == nil, !leavesOut(next) else { continue }
      take(next)
      arrived.append(next)
      if next.modelClass.hasReferences { arriving += takeTargets(of: next).reversed() }
    }
    // Before the hooks, which may save new models.
    let copies = arrived.dropFirst().filter { $0.state == .stored }
    announceInverses()
    // Targets come before the models that refer to them.
    for model in arrived.reversed() { model.didEnterContext() }
    for copy in copies { update(copy: copy) }
  }

  /// Whether a copy stays outside because this context has the original.
  ///
  /// Changes of the copy would be lost without notice, so they are reported.
  private func leavesOut(_ target: Model) -> Bool {
    guard hasOriginal(of: target) else { return false }
    if target.isUnsaved {
      handle?.report(
        DatabaseError(
          .alreadyExists, "a reference leads to a copy with changes, which are not saved",
          hint: "Change the model that the context has of the document", documentID: target.id))
    }
    return true
  }

  /// Updates a copy that entered the context by a reference, which cannot throw.
  private func update(copy: Model) {
    do { try catchUp(copy) } catch { handle?.report(error) }
  }

  /// Makes a model a member of this context.
  private func take(_ model: Model) {
    model.core = self
    if !isObservable { model.stopObservation() }
    register(model)
    if model.state == .new || model.isChanged || model.mark != .none { noteUnsaved(model) }
  }

  /// Replaces a model's references to models in no context by IDs; returns those to insert here.
  private func takeTargets(of model: Model) -> [Model] {
    var targets: [Model] = []
    for property in model.modelClass.properties {
      guard let type = property.target else { continue }
      for target in property.takeTargets(of: model) {
        if isInOtherContext(type) {
          insert(target, referredToAs: type)
        } else {
          targets.append(target)
        }
      }
    }
    return targets
  }

  /// Retains a model until it is saved.
  func noteUnsaved(_ model: Model) {
    guard model.unsavedPosition == 0, isOpen else { return }
    autosaving.noteUnsaved(handle)
    unsaved.add(model)
  }

  /// Releases a model that was saved, reverted or deleted.
  func noteClean(_ model: Model) {
    unsaved.remove(model)
    if model.hasFailedToSave { forgetFailure(of: model) }
    if model.retainsFound { model.releaseFound() }
    guard unsaved.isEmpty else { return }
    let released = autosaving.noteAllSaved()
    withExtendedLifetime(released) {}
  }

  /// The unsaved models, in the order in which they became unsaved.
  var unsavedModels: [Model] { unsaved.all }

  /// Releases all models when the context is deallocated.
  func close() {
    isOpen = false
    for task in tasks { task.cancel() }
    forgetAutosaving()
    autosaving.forgetFailures()
    let models = unsaved.removeAll()
    // Their references to each other would otherwise keep them alive.
    for case let model? in models where model.retainsFound { model.releaseFound() }
  }
}
