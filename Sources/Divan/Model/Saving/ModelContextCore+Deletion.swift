import DivanLog

// Deletion of models, and of the models that are deleted with them.

extension ModelContextCore {
  /// Deletes the documents of models and applies their delete rules, in one transaction.
  ///
  /// The models are deleted together: none of them prevents another from being deleted.
  func delete(_ models: [Model]) throws {
    // A `willDelete` hook deletes these: they are added to the current deletion.
    guard !isPreparingDeletion else {
      alsoDeleted += models
      return
    }
    try retainingHandle {
      finishCommit()
      let deletion = try prepareDeletion(of: models)
      let documents = try deletion.documents()
      publish(deletion, documents.isEmpty ? StoredDeletion() : try write(documents.delete))
    }
  }

  /// Deletes the documents of models as `delete(_:)` does, on another thread.
  func delete(
    _ models: [Model], isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    guard !isPreparingDeletion, case .database(let database) = source else {
      return try deleteWhileWaiting(models)
    }
    await finishCommit()
    let deletion = try prepareDeletion(of: models)
    let documents = try deletion.documents()
    if documents.isEmpty { return publish(deletion, StoredDeletion()) }
    try await commit(to: database, documents.delete) { [self] in
      publish(deletion, try $0.get())
    }
  }

  private func deleteWhileWaiting(_ models: [Model]) throws { try delete(models) }

  /// Makes new models deleted in the context, and changes nothing in the store.
  ///
  /// No delete rule applies: the models were never stored, so no document depends on them.
  func discard(_ models: [Model]) {
    noteRollbackEntry(ofDeleting: models)
    for model in models { makeDeleted(model) }
    announceInverses()
  }

  /// Calls the hooks of the models; returns the deletion that results from their changes.
  private func prepareDeletion(of models: [Model]) throws -> ModelDeletion {
    isPreparingDeletion = true
    defer {
      isPreparingDeletion = false
      alsoDeleted = []
    }
    var notified: Set<Model> = []
    while true {
      // Starts over each time, because the hooks may have changed references.
      var deletion = ModelDeletion(self)
      for model in models + alsoDeleted { try deletion.add(model) }
      let next = deletion.models.filter { $0.state == .stored && notified.insert($0).inserted }
      guard !next.isEmpty else { return deletion }
      try source.requireWritable()
      for model in next where model.state == .stored { model.willDelete() }
    }
  }

  /// Throws if a rule reaches into another context, which the transaction cannot change.
  fileprivate func requireNoCrossContextRule(_ model: Model) throws(DatabaseError) {
    guard !crossContext.isEmpty else { return }
    let inverse = model.modelClass.inverses.first {
      $0.rule.concernsSources && isInOtherContext($0.source)
    }
    let property = model.modelClass.properties.first {
      $0.location.deleteRule.concernsTargets && ($0.target.map(isInOtherContext) ?? false)
    }
    guard let name = inverse?.name ?? property?.name else { return }
    throw DatabaseError(
      .notInContext,
      "the delete rule of \(type(of: model)).\(name) cannot be applied in another context",
      hint: "Remove the rule, and delete or change the models there yourself", documentID: model.id,
      propertyPath: name)
  }

  /// Makes models deleted whose documents a transaction has deleted, and moves the context on to
  /// it.
  fileprivate func publish(_ deletion: ModelDeletion, _ made: StoredDeletion) {
    undoHistory.note(made.nullified.map(\.change) + made.deleted)
    noteRollbackEntry(ofDeleting: deletion.models)
    for model in deletion.models { makeDeleted(model) }
    for each in made.nullified { try? takeOver(each.change) }
    for each in deletion.nullified { each.removeUnsaved(in: self) }
    announceInverses()
    if made.sequenceCount > 0 { advance(ownChanges: made.sequenceCount) }
    for each in made.nullified { try? settle(each.change, each.key) }
  }

  private func makeDeleted(_ model: Model) {
    // A document that has the ID of a new model, now or later, gets a model of its own. In a
    // transaction, a rollback may make the model a new one again.
    if model.state == .new, model.isKnown,
      !isInTransaction || (try? isStored(model.id)) == true
    {
      forget(model)
    }
    // Another model may have the ID, and be outdated.
    if !outdated.isEmpty, known(model.id) === model { outdated.remove(DocumentKey(model.id)) }
    model.announcing(ModelObservation.statePath) { model.state = .deleted }
    noteClean(model)
  }

  /// Whether references to a model's ID mean this model.
  ///
  /// The ID of a new model may belong to another model or to a stored document: saving finds that
  /// conflict.
  fileprivate func ownsID(_ model: Model) throws -> Bool {
    guard model.state == .new else { return true }
    return try known(model.id) === model && !isStored(model.id)
  }

  private func isStored(_ id: String) throws -> Bool { try requireSnapshot().exists(id) }

  /// Applies the removal of a reference to the document's model, so it is not an external change.
  private func takeOver(_ change: SavedChange) throws {
    guard let model = known(change.id), model.state == .stored,
      // If there were external changes too, the removal is taken over with them.
      try change.before?.encoded().bytes == model.storedProperties?.bytes, let after = change.after
    else { return }
    let properties = try after.encoded()
    noteRollbackEntry(ofRebasing: model)
    model.rebase(on: properties)
  }

  /// Settles the conflict with a removed reference in a model that also took over other changes.
  private func settle(_ change: SavedChange, _ key: String) throws {
    guard let model = known(change.id), case let base?? = model.pendingChanges?.bases[key],
      try base.decode() == change.before?.properties[key]
    else { return }
    model.pendingChanges?.bases[key] = nil
  }
}

/// The models to delete, and the references to remove.
///
/// A model refers to another one if it does so in the context or in its stored document: unsaved
/// changes do not hide a stored reference.
private struct ModelDeletion {
  /// The references of one property to one of the models to delete.
  struct Incoming {
    let target: Model
    let relation: InverseRelation
    /// The IDs of the documents that contain them in the context's snapshot.
    let ids: [String]
  }

  private let core: ModelContextCore
  /// In the order in which they were found.
  private(set) var models: [Model] = []
  private var chosen: Set<ObjectIdentifier> = []
  private var incoming: [Incoming] = []
  private var denials: [(model: Model, property: String, others: [Model])] = []

  init(_ core: ModelContextCore) { self.core = core }

  var nullified: [Incoming] { incoming.filter { $0.relation.rule.removesReferences } }

  /// Adds a model, and the models that are deleted with it.
  mutating func add(_ first: Model) throws {
    // Iterative, because a long chain would overflow the stack.
    var next = [first]
    while let model = next.popLast() {
      guard model.state != .deleted, chosen.insert(ObjectIdentifier(model)).inserted else {
        continue
      }
      models.append(model)
      try core.requireNoCrossContextRule(model)
      let relations = model.modelClass.inverses.filter { $0.rule.concernsSources }
      if !relations.isEmpty, try core.ownsID(model) {
        for relation in relations { next += try addSources(of: model, by: relation).reversed() }
      }
      for property in model.modelClass.properties {
        switch property.location.deleteRule {
        case .noAction, .nullify: break
        case .cascade: next += try property.targets(in: model).reversed()
        case .deny: denials.append((model, property.name, try property.targets(in: model)))
        }
      }
    }
  }

  /// Adds the references of one property to a model; returns the models to delete with it.
  private mutating func addSources(
    of model: Model, by relation: InverseRelation
  ) throws -> [Model] {
    let ids = try core.ids(referringTo: model.id, by: relation)
    incoming.append(Incoming(target: model, relation: relation, ids: ids))
    switch relation.rule {
    case .noAction, .nullify: return []
    case .cascade: return try core.models(referringTo: model, by: relation, orStored: true)
    case .deny:
      let sources = try core.models(referringTo: model, by: relation, orStored: true)
      denials.append((model, relation.name, sources))
      return []
    }
  }

  /// Throws if a rule forbids deleting any of the models.
  private func requireAllowed() throws(DatabaseError) {
    for (model, property, others) in denials {
      let left = others.filter { !chosen.contains(ObjectIdentifier($0)) }
      guard let first = left.first else { continue }
      throw DatabaseError(
        .deleteDenied,
        "\(type(of: model)).\(property) has \(left.count == 1 ? "a model" : "\(left.count) models") that "
          + "\(left.count == 1 ? "is" : "are") not deleted with it, such as \(first.id.debugDescription)",
        hint: "Delete these first, or remove the references", documentID: model.id,
        propertyPath: property)
    }
  }

  /// Returns what to delete and to change in the store.
  ///
  /// - Throws: `deleteDenied` if a rule forbids deleting any of the models.
  func documents() throws -> DocumentDeletion {
    try requireAllowed()
    let stored = models.filter { $0.state == .stored }
    return DocumentDeletion(
      snapshot: try core.requireSnapshot(),
      documents: stored.map(DocumentDeletion.Item.init),
      references: incoming.map { each in
        DocumentDeletion.References(each.target, each.relation, each.ids, core)
      },
      deletedKeys: Set(stored.map { DocumentKey($0.id) }))
  }
}

extension ModelDeletion.Incoming {
  /// Removes the references from unsaved models.
  func removeUnsaved(in core: ModelContextCore) {
    for source in core.unsavedModels where relation.includes(source) && relation.isUnsaved(source) {
      let property = source.modelClass.properties[relation.property.location.index]
      let before = property.references(in: source)
      property.removeReferences(to: DocumentKey(target.id), in: source)
      core.noteRollbackEntry(
        ofRemoving: before, leaving: property.references(in: source), property, in: source)
    }
  }
}
