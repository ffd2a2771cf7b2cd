import DivanLog

// Moving a context and its models to a newer snapshot.

extension ModelContextCore {
  /// Moves the context and its models to the newest snapshot.
  ///
  /// - Parameter settlesConflicts: whether unsaved changes win over external changes so far. If
  ///   not, saving detects the conflict.
  /// - Returns: the models that took over changes.
  /// - Throws: the errors of reading.
  @discardableResult
  func refresh(settlesConflicts: Bool) throws -> ModelUpdate {
    try requireReadable()
    finishCommit()
    defer { updateLiveQueries() }
    return try notifying { (taken) throws in
      try advance(settlesConflicts: settlesConflicts, &taken)
      if isInTransaction { noteAllOutdated() }
      try updateOutdated(settlesConflicts: settlesConflicts, &taken)
    }
  }

  /// Updates a model that is a copy to its document in the context's snapshot.
  func catchUp(_ model: Model) throws {
    let snapshot = try requireSnapshot()
    _ = try notifying { (taken) throws in
      try update(model, snapshot.document(model.id), settlesConflicts: false, &taken)
    }
  }

  /// Updates the models that have not fully taken over their documents.
  private func updateOutdated(settlesConflicts: Bool, _ taken: inout ModelUpdate) throws {
    // In a transaction, documents that refer to models which are new may have been stored.
    guard !outdated.isEmpty || isInTransaction else { return }
    defer { announceInverses() }
    let newest = try requireSnapshot()
    var firstError: (any Error)?
    for key in outdated.sorted(by: DocumentKey.isOrdered) {
      do {
        // A new model may have the ID of a released one.
        guard let model = known(key.id), model.state != .new else {
          outdated.remove(key)
          continue
        }
        if settlesConflicts {
          model.settleConflicts()
          if model.hasFailedToSave { scheduleRetry(model) }
        }
        try update(model, newest.document(key.id), settlesConflicts: settlesConflicts, &taken)
        // A model with changes stays outdated until a refresh settles its conflicts.
        if settlesConflicts || !model.isChanged { outdated.remove(key) }
      } catch {
        firstError = firstError ?? error
      }
    }
    if let firstError { throw firstError }
  }

  /// Updates models to the state of the transaction after a rollback.
  ///
  /// The rollback is not an external change, so the models' own changes do not conflict with it.
  func updateAfterRollback(_ models: [Model]) {
    guard !models.isEmpty else { return }
    _ = notifying { taken in
      for model in models.sorted(by: IdentityMap.isOrdered) {
        do {
          let document = try requireSnapshot().document(model.id)
          try update(model, document, settlesConflicts: true, &taken)
        } catch {
          outdated.insert(DocumentKey(model.id))
          handle?.report(error)
        }
      }
    }
  }

  /// Runs `body`, then notifies observers and hooks of the models that it updated.
  func notifying(_ body: (inout ModelUpdate) throws -> Void) rethrows -> ModelUpdate {
    var taken = ModelUpdate()
    defer {
      if !taken.isEmpty { for each in observers { each.observer?.note(taken) } }
      // Only after all models are up to date: a hook may save or refresh.
      for model in taken.changed { model.didLoad() }
    }
    try body(&taken)
    return taken
  }

  /// Moves to the newest snapshot.
  ///
  /// - Parameters:
  ///   - ownChanges: the number of changes that the context itself just made, and that its models
  ///     have already.
  ///   - settlesConflicts: whether unsaved changes win. If not, changed models record the base
  ///     values of their properties, and saving detects conflicts.
  ///   - taken: receives the models that took over changes.
  /// - Throws: the errors of reading.
  private func advance(
    ownChanges: Int = 0, settlesConflicts: Bool, _ taken: inout ModelUpdate
  ) throws {
    guard case .database(let database) = source else { return }
    let last = try requireSnapshot()
    let newest = try database.snapshot()
    snapshot = newest
    // They retain files that may no longer be needed.
    inverseIndexes.forgetScans()
    guard !identityMap.isEmpty else { return }
    if newest.hasPurged(since: last) {
      defer { announceInverses() }
      // Purges are not in the change feed, so each document must be checked.
      for model in identityMap.all.sorted(by: IdentityMap.isOrdered) where model.state == .stored {
        if try newest.exists(model.id) { continue }
        try update(model, nil, settlesConflicts: settlesConflicts, &taken)
      }
    }
    guard newest.sequence != last.sequence + UInt64(ownChanges) else { return }
    defer { announceInverses() }
    var changes = newest.changes(since: last.sequence)
    var firstError: DatabaseError?
    while true {
      let position = changes.position
      do {
        guard let change = try changes.next() else { break }
        guard let model = known(change.id), model.state != .new else { continue }
        let document = change.isDeleted ? nil : change.document
        try update(model, document, settlesConflicts: settlesConflicts, &taken)
      } catch let error as DatabaseError {
        firstError = firstError ?? error
        // A document that cannot be read must not prevent the others from being updated.
        if error.code == .damaged, changes.position > position { continue }
        // The remaining changes are unknown, so the next refresh checks all models.
        noteAllOutdated()
        break
      }
    }
    if let firstError { throw firstError }
  }

  /// Marks all models with documents as outdated.
  private func noteAllOutdated() {
    for model in identityMap.all where model.state != .new {
      outdated.insert(DocumentKey(model.id))
    }
  }

  /// Moves to the newest snapshot after a commit of this context.
  ///
  /// Errors are reported but not thrown: they must not make the commit look failed.
  ///
  /// - Parameters:
  ///   - ownChanges: the number of changes in that commit that the models have already; 0 to check
  ///     all models.
  ///   - merged: the models that took over changes when they were saved.
  func advance(ownChanges: Int, merged: [Model] = []) {
    do {
      _ = try notifying { (taken) throws in
        for model in merged { noteExternalChange(of: model, &taken) }
        try advance(ownChanges: ownChanges, settlesConflicts: false, &taken)
        guard isInTransaction, ownChanges == 0 else { return }
        noteAllOutdated()
        try updateOutdated(settlesConflicts: false, &taken)
      }
    } catch {
      handle?.report(error)
    }
    updateLiveQueries()
  }

  private func update(
    _ model: Model, _ document: Document?, settlesConflicts: Bool, _ taken: inout ModelUpdate
  ) throws {
    guard let document else {
      guard model.state != .deleted else { return }
      if model.isChanged, !settlesConflicts {
        // Saving the model detects the conflict, until a refresh settles it.
        outdated.insert(DocumentKey(model.id))
        return
      }
      model.announcing(ModelObservation.statePath) { model.state = .deleted }
      if isInTransaction { rollbackLog.noteReading(of: model) }
      noteClean(model)
      model.noteExternalChange()
      taken.deleted.append(model)
      return
    }
    let properties = try document.encoded()
    if model.state == .deleted, let type = registry?.modelClass(of: properties),
      type != Swift.type(of: model)
    {
      // The ID now belongs to another object, which gets its own model when it is requested.
      identityMap.remove(model)
      return
    }
    if hasOtherClass(properties, than: model) { return detach(model, &taken) }
    model.noteOtherDocument()
    let keepsConflicts = model.isChanged && !settlesConflicts
    if keepsConflicts {
      outdated.insert(DocumentKey(model.id))
      model.recordBases(before: properties)
    }
    let hasOtherAttachments =
      !(keepsConflicts && model.hasChangedAttachments)
      && model.rebase(onAttachments: document.attachments)
    guard properties.bytes != model.storedProperties?.bytes || model.state == .deleted else {
      if hasOtherAttachments { noteExternalChange(of: model, &taken) }
      return
    }
    let wasDeleted = model.state == .deleted
    model.rebase(on: properties)
    if isInTransaction { rollbackLog.noteReading(of: model) }
    if !model.isKnown { register(model) }
    if wasDeleted, model.isUnsaved { noteUnsaved(model) }
    model.upgradeIfOutdated()
    noteExternalChange(of: model, &taken)
  }

  /// Whether a document has changed from a model's class to another one.
  func hasOtherClass(_ properties: EncodedValue, than model: Model) -> Bool {
    guard let old = model.storedProperties, old.bytes != properties.bytes else { return false }
    if let registered = registry?.modelClass(of: properties) {
      return registered != Swift.type(of: model) && registered != registry?.modelClass(of: old)
    }
    let (names, key) = (model.modelClass.documentTypes, model.modelClass.documentTypeKey)
    func isOfClass(_ properties: EncodedValue) -> Bool {
      guard let type = try? properties.string(key) else { return false }
      return names.contains { haveSameUTF8($0, type) }
    }
    return isOfClass(old) && !isOfClass(properties)
  }

  /// Removes a model whose document has changed to another class.
  ///
  /// The model is treated as deleted; the document gets a new model when it is requested.
  func detach(_ model: Model, _ taken: inout ModelUpdate) {
    let isLost = model.isUnsaved
    if isInTransaction { rollbackLog.noteReading(of: model) }
    outdated.remove(DocumentKey(model.id))
    forget(model)
    guard model.state != .deleted else { return }
    model.announcing(ModelObservation.statePath) { model.state = .deleted }
    noteClean(model)
    model.noteExternalChange()
    taken.deleted.append(model)
    guard isLost else { return }
    model.report(
      DatabaseError(
        .modelClassMismatch,
        "the document is no longer of the class \(type(of: model)), and the model's unsaved changes are lost",
        hint: "Get the document's new model from the context, and change that"))
  }

  private func noteExternalChange(of model: Model, _ taken: inout ModelUpdate) {
    model.noteExternalChange()
    taken.noteChanged(model)
  }
}
