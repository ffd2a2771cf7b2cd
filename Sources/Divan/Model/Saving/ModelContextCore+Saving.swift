import DivanLog

extension ModelContextCore {
  /// Stores the changes of models in one transaction.
  ///
  /// With `isEverything`, models that become unsaved during the save are saved too.
  func save(_ models: some Sequence<Model>, isEverything: Bool = false) throws {
    try requireNotInHook()
    try retainingHandle {
      finishCommit()
      // A commit that was in flight may have deleted some of the models.
      let all = isEverything ? unsavedModels : Array(models)
      let prepared = try prepare(all, isEverything: isEverything)
      let chosen = prepared.filter(\.hasChanges)
      if !chosen.isEmpty {
        buildIndexes(for: chosen.lazy.map { $0.modelClass })
        let ids = undoHistory.isOn ? chosen.map(\.id) : []
        let (saved, changes) = try write { transaction in
          let encoded = try encode(chosen, over: transaction.document)
          return (encoded.saved, try Self.put(encoded.documents, in: transaction, recording: ids))
        }
        noteRollbackEntry(of: saved)
        publish(saved, changes)
      }
      clearHandledMarks(of: prepared)
      for model in chosen { model.didSave() }
    }
  }

  /// Throws if a hook, which must not save, does so.
  func requireNotInHook() throws(DatabaseError) {
    guard !isSaving else {
      throw DatabaseError(
        .nestedWrite, "a hook saves while its model is being saved",
        hint: "Save in `didSave`, or let `save` save the changes of `willSave`")
    }
    guard !isPreparingDeletion else {
      throw DatabaseError(
        .nestedWrite, "a hook saves while its model is being deleted",
        hint: "Save the changes of `willDelete` after the deletion")
    }
  }

  /// Clears the marks of models that had no changes to store.
  ///
  /// This comes before `didSave`: a mark that it sets applies to the next save.
  func clearHandledMarks(of prepared: [Model]) {
    for model in prepared where model.mark == .handled && !model.hasChanges {
      model.announcing(ModelObservation.statePath) { model.mark = .none }
      if model.state == .stored { noteClean(model) }
    }
  }

  /// Calls the hooks of the models, and validates them.
  ///
  /// Returns the models with something to save, including models that are only marked.
  func prepare(_ models: [Model], isEverything: Bool) throws -> [Model] {
    try source.requireWritable()
    isSaving = true
    defer { isSaving = false }
    var chosen: [Model] = []
    var seen: Set<ObjectIdentifier> = []
    var next = models
    while !next.isEmpty {
      let first = chosen.count
      for model in next where seen.insert(ObjectIdentifier(model)).inserted {
        try requireSavable(model)
        if model.isUnsaved { chosen.append(model) }
      }
      for model in chosen[first...] {
        model.willSave(model.changedNames)
        if model.mark == .set { model.mark = .handled }
      }
      next = isEverything ? unsaved.all.filter { !seen.contains(ObjectIdentifier($0)) } : []
    }
    chosen.removeAll { !$0.isUnsaved }
    try validate(chosen)
    // A hook may have deleted another model.
    chosen.removeAll { !$0.isUnsaved }
    return chosen
  }

  /// Calls the validation hooks of models with changes, and throws if any reports a failure.
  func validate(_ models: [Model]) throws(DatabaseError) {
    var failures: [InvalidModelsError.Failure] = []
    for model in models where model.hasChanges {
      var validation = ModelValidation(model)
      model.validate(&validation)
      failures += validation.failures
    }
    guard let first = failures.first else { return }
    let error = InvalidModelsError(failures: failures)
    throw DatabaseError(
      .invalidModel, "nothing was saved: \(error)", documentID: first.documentID,
      underlying: error)
  }

  private func requireSavable(_ model: Model) throws(DatabaseError) {
    guard model.core === self else {
      throw DatabaseError(
        .notInContext, "the model is in \(model.core == nil ? "no" : "another") context",
        documentID: model.documentID)
    }
    if model.isUndiscovered { throw model.unknownProperties }
    if model.state == .deleted, model.isChanged {
      throw DatabaseError(
        .notFound, "the model was changed after its document was deleted",
        documentID: model.documentID)
    }
  }

  /// Makes models clean that a transaction has stored, and moves the context on to it.
  func publish(_ saved: [SavedModel], _ changes: [SavedChange]) {
    undoHistory.note(changes)
    for result in saved { finish(result) }
    if saved.contains(where: \.isMerged) { announceInverses() }
    advance(ownChanges: saved.count, merged: saved.filter(\.isMerged).map(\.model))
    for result in saved { result.model.noteOtherDocument() }
  }

  /// Makes a saved model clean.
  private func finish(_ saved: SavedModel) {
    let model = saved.model
    let changedAgain = saved.propertiesChangedAgain
    let pendingChanges = saved.pendingChangesLeft
    if saved.isMerged {
      model.rebase(on: saved.properties, resolved: saved.resolved)
      outdated.remove(DocumentKey(model.id))
    } else {
      model.storedProperties = saved.properties
    }
    // A merge also takes over external changes of attachments.
    model.announcing(
      saved.isMerged ? ModelObservation.otherPaths : [ModelObservation.statePath]
    ) {
      model.state = .stored
      model.pendingChanges = pendingChanges
      model.isChanged = !changedAgain.isEmpty || pendingChanges?.isChanged == true
      if model.mark == .handled { model.mark = .none }
      model.upgradedFrom = nil
    }
    for (index, location) in model.modelClass.locations.enumerated() {
      let flags = model.flags(at: location)
      guard flags & PropertyFlags.dirty != 0, !changedAgain.contains(index) else { continue }
      let isReadAgain = flags & PropertyFlags.readAfterSaving != 0
      model.setFlags(
        flags & ~PropertyFlags.dirty | (isReadAgain ? PropertyFlags.unloaded : 0), at: location)
      // The changed values are now part of the document, and are read again like the others.
      if saved.isMerged { model.modelClass.properties[index].readAgain(in: model) }
    }
    if !model.isKnown { register(model) }
    noteClean(model)
    // The model may have been marked again after `willSave` was called.
    if model.isUnsaved { noteUnsaved(model) }
  }
}
