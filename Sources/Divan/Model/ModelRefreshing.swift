// How a context moves on, and its models with it.

extension ModelContextCore {
  /// Moves to the newest snapshot, and the models with it.
  ///
  /// - Parameter settlesConflicts: whether what was changed here is to win over what was changed elsewhere
  ///   by now. If not, saving finds the conflict.
  /// - Returns: the models that took something over.
  /// - Throws: whatever reading throws.
  @discardableResult
  func refresh(settlesConflicts: Bool) throws -> ModelUpdate {
    try requireReadable()
    defer { updateLiveQueries() }
    return try telling { (taken) throws in
      try advance(settlesConflicts: settlesConflicts, &taken)
      if isInTransaction { noteAllOutdated() }
      try updateOutdated(settlesConflicts: settlesConflicts, &taken)
    }
  }

  /// Brings a model that was copied elsewhere to what the context's snapshot says of its document.
  func catchUp(_ model: Model) throws {
    let snapshot = try requireSnapshot()
    _ = try telling { (taken) throws in
      try update(model, snapshot.get(model.id), settlesConflicts: false, &taken)
    }
  }

  /// Looks at those again whose documents were changed without their taking that over.
  private func updateOutdated(settlesConflicts: Bool, _ taken: inout ModelUpdate) throws {
    // In a transaction documents may have come that refer to models which are new themselves.
    guard !outdated.isEmpty || isInTransaction else { return }
    defer { announceInverses() }
    let newest = try requireSnapshot()
    var firstError: (any Error)?
    for key in outdated.sorted(by: DocumentKey.isOrdered) {
      do {
        // A new model may have the ID of one that went.
        guard let model = known(key.id), model.state != .new else {
          outdated.remove(key)
          continue
        }
        if settlesConflicts {
          model.settleConflicts()
          if model.isRefused { noteMended(model) }
        }
        try update(model, newest.get(key.id), settlesConflicts: settlesConflicts, &taken)
        // What is changed still is looked at again when somebody says that it is to win.
        if settlesConflicts || !model.isChanged { outdated.remove(key) }
      } catch {
        firstError = firstError ?? error
      }
    }
    if let firstError { throw firstError }
  }

  /// Lets models show what the transaction has after something that they showed was taken back.
  ///
  /// That was nobody's change: what was changed in the models from it is no conflict.
  func showAgain(_ models: [Model]) {
    guard !models.isEmpty else { return }
    _ = telling { taken in
      for model in models.sorted(by: LiveModels.isOrdered) {
        do {
          let document = try requireSnapshot().get(model.id)
          try update(model, document, settlesConflicts: true, &taken)
        } catch {
          outdated.insert(DocumentKey(model.id))
          handle?.errorHandler?(error)
        }
      }
    }
  }

  /// Tells followers of the models that `body` says took something over.
  func telling(_ body: (inout ModelUpdate) throws -> Void) rethrows -> ModelUpdate {
    var taken = ModelUpdate()
    defer {
      if !taken.isEmpty { for each in followers { each.follower?.note(taken) } }
      // When all of them are up to date: a hook may save, or refresh.
      for model in taken.changed { model.didLoad() }
    }
    try body(&taken)
    return taken
  }

  /// Moves to the newest snapshot.
  ///
  /// - Parameters:
  ///   - ownChanges: how many changes the context itself just made, which its models know of.
  ///   - settlesConflicts: whether what was changed here is to win. If not, changed models remember what
  ///     their properties were changed from, so that saving them finds conflicts.
  ///   - taken: gets the models that took something over.
  /// - Throws: whatever reading throws.
  private func advance(
    ownChanges: Int = 0, settlesConflicts: Bool, _ taken: inout ModelUpdate
  ) throws {
    guard case .database(let database) = source else { return }
    let last = try requireSnapshot()
    let newest = try database.snapshot()
    snapshot = newest
    // They hold on to files that may not be needed any more.
    scannedReferences = [:]
    guard !live.isEmpty else { return }
    if newest.hasPurged(since: last) {
      defer { announceInverses() }
      // Purges are no changes: nothing but looking tells of them.
      for model in live.all.sorted(by: LiveModels.isOrdered) where model.state == .stored {
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
        // One document that cannot be read must not keep the others from being taken over.
        if error.code == .damaged, changes.position > position { continue }
        // Whatever else changed is not known, so the next refresh looks at everything.
        noteAllOutdated()
        break
      }
    }
    if let firstError { throw firstError }
  }

  /// Has all models looked at again that have documents.
  private func noteAllOutdated() {
    for model in live.all where model.state != .new {
      outdated.insert(DocumentKey(model.id))
    }
  }

  /// Moves to the newest snapshot after a commit of our own, which an error must not seem to undo.
  ///
  /// - Parameters:
  ///   - ownChanges: how many changes that commit has of which the models know; 0 if they are to look at all.
  ///   - merged: the models that took something over when they were saved.
  func advance(ownChanges: Int, merged: [Model] = []) {
    do {
      _ = try telling { (taken) throws in
        for model in merged { noteExternalChange(of: model, &taken) }
        try advance(ownChanges: ownChanges, settlesConflicts: false, &taken)
        guard isInTransaction, ownChanges == 0 else { return }
        noteAllOutdated()
        try updateOutdated(settlesConflicts: false, &taken)
      }
    } catch {
      handle?.errorHandler?(error)
    }
    updateLiveQueries()
  }

  private func update(
    _ model: Model, _ document: Document?, settlesConflicts: Bool, _ taken: inout ModelUpdate
  ) throws {
    guard let document else {
      guard model.state != .deleted else { return }
      if model.isChanged, !settlesConflicts {
        // Saving it finds the conflict, until somebody refreshes.
        outdated.insert(DocumentKey(model.id))
        return
      }
      model.announcing(ModelObservation.statePath) { model.state = .deleted }
      if isInTransaction { reversals.noteReading(of: model) }
      noteClean(model)
      model.noteExternalChange()
      taken.deleted.append(model)
      return
    }
    let body = try document.encoded()
    if model.state == .deleted, let type = registry?.modelClass(of: body),
      type != Swift.type(of: model)
    {
      // Another thing has got the ID: it gets an object of its own when it is asked for.
      live.remove(model)
      return
    }
    if hasOtherClass(body, than: model) { return detach(model, &taken) }
    model.noteOtherDocument()
    let keepsConflicts = model.isChanged && !settlesConflicts
    if keepsConflicts {
      outdated.insert(DocumentKey(model.id))
      model.rememberBases(before: body)
    }
    let hasOtherAttachments =
      !(keepsConflicts && model.hasChangedAttachments)
      && model.rebase(onAttachments: document.attachments)
    guard body.bytes != model.body?.bytes || model.state == .deleted else {
      if hasOtherAttachments { noteExternalChange(of: model, &taken) }
      return
    }
    let wasDeleted = model.state == .deleted
    model.rebase(on: body)
    if isInTransaction { reversals.noteReading(of: model) }
    if !model.isKnown { register(model) }
    if wasDeleted, model.isUnsaved { noteUnsaved(model) }
    model.upgradeIfOutdated()
    noteExternalChange(of: model, &taken)
  }

  /// Whether a document has become one of another class than a model's, which it was of when the model took it over last.
  func hasOtherClass(_ body: EncodedValue, than model: Model) -> Bool {
    guard let old = model.body, old.bytes != body.bytes else { return false }
    if let registered = registry?.modelClass(of: body) {
      return registered != Swift.type(of: model) && registered != registry?.modelClass(of: old)
    }
    guard let type = model.modelClass.documentType else { return false }
    let key = model.modelClass.documentTypeKey
    return (try? old.string(key)) == type && (try? body.string(key)) != type
  }

  /// Lets go of a model whose document has become one of another class: as if it was deleted, and another thing had got
  /// its ID, which gets an object of its own when it is asked for.
  func detach(_ model: Model, _ taken: inout ModelUpdate) {
    let isLost = model.isUnsaved
    if isInTransaction { reversals.noteReading(of: model) }
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
        .otherModelClass,
        "the document has become one of another class than \(type(of: model)), and what was changed in the model is not saved",
        hint: "Ask the context for the document's new model, and change that"))
  }

  private func noteExternalChange(of model: Model, _ taken: inout ModelUpdate) {
    model.noteExternalChange()
    taken.noteChanged(model)
  }
}
