import DivanLog

/// What a ``ModelContext`` is inside, and what its models hold on to.
///
/// It holds the unsaved models, and they hold it: that circle is cut when the `ModelContext` goes, so
/// that models which nobody else holds go with it, saved or not.
///
/// Invariants:
/// - `live` has at most one model for each ID; models take themselves out when they go.
/// - `unsaved` has the models that are new or changed and not deleted, as long as `handle` lives.
/// - Models that are not changed say what `snapshot` says, but for those in `outdated`; in a transaction, what that
///   had made when they were read or refreshed last.
final class ModelContextCore {
  let source: ModelSource
  let registry: ModelRegistry?
  /// Whether models are told that they are about to be saved.
  var isSaving = false
  private(set) weak var handle: ModelContext?
  /// What the context reads; nil in a transaction, which goes on.
  private(set) var snapshot: Snapshot?
  /// Why nothing can be read.
  private var failure: (any Error)?
  private var live: [DocumentKey: WeakModel] = [:]
  private(set) var unsaved: [UInt64: Model] = [:]
  private(set) var lastOrder: UInt64 = 0
  /// Tells those who save that models became unsaved; nil while nobody waits for that.
  private var unsavedSignal: ChangeSignal?
  /// Those who are to be told of models that took something over.
  var followers: [ModelUpdates.WeakFollower] = []
  /// What shows the same snapshot.
  var liveQueries: [WeakLiveQuery] = []
  /// Changed models whose documents were changed elsewhere, and those that could not be read;
  /// `refresh` looks at them again.
  var outdated: Set<DocumentKey> = []
  /// Whether the context saves by itself what was changed: then it is kept until it has, and so is the
  /// actor on which it does.
  private var savesByItself = false
  private weak var savingActor: (any Actor)?
  private var kept: (handle: ModelContext, actor: any Actor)?
  /// What goes on by itself, until the context goes.
  var tasks: [Task<Void, Never>] = []

  /// The indexes that inverses were looked for in and that there were not; and what is known without them.
  var missingIndexes: Set<DocumentIndex> = []
  var scannedReferences: [DocumentIndex: (snapshot: Snapshot, ids: [DocumentKey: [String]])] = [:]
  /// The classes whose declared indexes were looked for.
  var indexedClasses: Set<ObjectIdentifier> = []
  var undoHistory = UndoHistory()
  /// The classes whose models are in other contexts.
  var elsewhere: [ModelElsewhere] = []
  /// The models whose inverses somebody observes.
  var inverseReaders: [DocumentKey: WeakModel] = [:]

  struct WeakModel {
    weak var model: Model?
  }

  init(_ source: ModelSource, _ registry: ModelRegistry?) {
    self.source = source
    self.registry = registry
    do {
      switch source {
      case .database(let database): snapshot = try database.snapshot()
      case .snapshot(let given): snapshot = given
      case .transaction: break
      }
    } catch {
      failure = error
    }
  }

  func setHandle(_ handle: ModelContext) { self.handle = handle }

  /// What the context reads: in a transaction, what that has made so far.
  ///
  /// The latter never leaves the context, since it belongs to the transaction's thread.
  func requireSnapshot() throws -> Snapshot {
    if let failure { throw failure }
    if case .transaction(let transaction) = source {
      try transaction.check()
      return Snapshot(transaction.view)
    }
    guard let snapshot else { throw DatabaseError(.closed, "the context was never opened") }
    return snapshot
  }

  /// Ends the use of the context: from now on nothing is read or saved.
  func end(_ error: DatabaseError) {
    failure = error
    snapshot = nil
    scannedReferences = [:]
  }

  /// Whether the context reads and saves by a transaction.
  var isInTransaction: Bool { if case .transaction = source { true } else { false } }
}

// MARK: - Which models there are

extension ModelContextCore {
  /// The live model of this ID.
  func known(_ id: String) -> Model? { live[DocumentKey(id)]?.model }

  func register(_ model: Model) {
    // The ID may be taken if the client gave it; saving then finds the conflict.
    if let other = known(model.id), other.state != .deleted { return }
    live[DocumentKey(model.id)] = WeakModel(model: model)
    model.isKnown = true
  }

  /// Takes out a model that is going.
  func forget(_ id: String) {
    // Another may have been made meanwhile.
    if let index = live.index(forKey: DocumentKey(id)), live[index].value.model == nil {
      live.remove(at: index)
      inverseReaders[DocumentKey(id)] = nil
    }
  }

  /// Puts in a new model that is in no context, and those that it refers to.
  func insert(_ model: Model) {
    guard model.core == nil else { return }
    model.core = self
    if handle?.isObservable == false { model.stopObservation() }
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
    guard model.unsavedOrder == 0, handle != nil else { return }
    lastOrder += 1
    model.unsavedOrder = lastOrder
    unsaved[lastOrder] = model
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
    unsaved[model.unsavedOrder] = nil
    model.unsavedOrder = 0
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
  var unsavedModels: [Model] { unsaved.sorted { $0.key < $1.key }.map(\.value) }

  /// Lets go of all models, when the context goes.
  func close() {
    for task in tasks { task.cancel() }
    for model in unsaved.values { model.unsavedOrder = 0 }
    unsaved.removeAll()
  }
}

// MARK: - Loading

extension ModelContextCore {
  /// The model of a document.
  func model<M: Model>(_ type: M.Type, of document: Document) throws -> M {
    if let known = known(document.id) { return try cast(known) }
    let model = try modelClass(type, of: document).init()
    model.core = self
    if handle?.isObservable == false { model.stopObservation() }
    model.documentID = document.id
    model.attach(try document.encoded(), state: .stored)
    // Before anything else is called: what that reads may refer to this document again.
    register(model)
    model.upgradeIfOutdated()
    do {
      if handle?.isStrict == true { try model.load() }
    } catch {
      live[DocumentKey(model.id)] = nil
      model.isKnown = false
      noteClean(model)
      throw error
    }
    model.didLoad()
    model.awakeFromInitializer()
    return model
  }

  /// What the context's snapshot has of a document that was found in another; nil if nothing.
  func current(_ document: Document, in snapshot: Snapshot) throws -> Document? {
    let newest = try requireSnapshot()
    // Numbers of changes may come again in a transaction, after others were taken back.
    if isInTransaction { return try newest.get(document.id) }
    return newest.isSameVersion(as: snapshot) ? document : try newest.get(document.id)
  }

  /// The class of the model of a document: the one that is registered for it, or that which was asked for.
  private func modelClass<M: Model>(
    _ type: M.Type, of document: Document
  ) throws(DatabaseError) -> M.Type {
    guard let registered = registry?.modelClass(of: document) else { return type }
    guard let found = registered as? M.Type else {
      throw DatabaseError(
        .otherModelClass, "the document is of the class \(registered), not \(type)",
        documentID: document.id)
    }
    return found
  }

  /// Whether a document is one of a class or of a subclass of it, as far as anything says so.
  func isDocument<M: Model>(_ document: Document, of type: M.Type) -> Bool {
    if let registered = registry?.modelClass(of: document) { return registered is M.Type }
    guard let name = type.documentType else { return true }
    return document[type.documentTypeKey]?.stringValue == name
  }

  /// The model of an ID; nil if there is no such document and no new model.
  func model<M: Model>(_ type: M.Type, _ id: String) throws -> M? {
    if let known = known(id) { return known.state == .deleted ? nil : try cast(known) }
    guard let document = try requireSnapshot().get(id) else { return nil }
    return try model(type, of: document)
  }

  /// What a reference refers to; nil if it is not there, or is of another class.
  func target<M: Model>(_ id: String, _ type: M.Type) -> M? {
    do {
      let home = try home(of: type)
      if let known = home.known(id) { return known.state == .deleted ? nil : known as? M }
      return try home.model(type, id)
    } catch {
      handle?.errorHandler?(error)
      return nil
    }
  }

  /// The models of a class that references lead to; what is not there, or of another class, is left out.
  func targets<M: Model>(of references: [ModelReference], _ type: M.Type) throws -> [M] {
    try references.compactMap { reference in
      do {
        return try home(of: type).model(type, reference.id)
      } catch let error as DatabaseError where error.code == .otherModelClass {
        return nil
      }
    }
  }

  private func cast<M: Model>(_ model: Model) throws(DatabaseError) -> M {
    guard let cast = model as? M else {
      throw DatabaseError(
        .otherModelClass, "the context has a \(type(of: model)) for it, not a \(M.self)",
        documentID: model.id)
    }
    return cast
  }
}

// MARK: - Moving on

extension ModelContextCore {
  /// Moves to the newest snapshot, and the models with it.
  ///
  /// - Parameter settlesConflicts: whether what was changed here is to win over what was changed elsewhere
  ///   by now. If not, saving finds the conflict.
  /// - Returns: the models that took something over.
  /// - Throws: whatever reading throws.
  @discardableResult
  func refresh(settlesConflicts: Bool) throws -> ModelUpdate {
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
    let newest = try requireSnapshot()
    var firstError: (any Error)?
    for key in outdated {
      do {
        guard let model = known(key.id) else {
          outdated.remove(key)
          continue
        }
        if settlesConflicts { model.settleConflicts() }
        try update(model, newest.get(key.id), settlesConflicts: settlesConflicts, &taken)
        // What is changed still is looked at again when somebody says that it is to win.
        if settlesConflicts || !model.isChanged { outdated.remove(key) }
      } catch {
        firstError = firstError ?? error
      }
    }
    if let firstError { throw firstError }
  }

  /// Tells followers of the models that `body` says took something over.
  private func telling(_ body: (inout ModelUpdate) throws -> Void) rethrows -> ModelUpdate {
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
      for model in live.values.compactMap(\.model) where model.state == .stored {
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
    for model in live.values.compactMap(\.model) where model.state != .new {
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
      noteClean(model)
      model.lastExternalChange = .now
      taken.deleted.append(model)
      return
    }
    let body = try document.encoded()
    if model.state == .deleted, let type = registry?.modelClass(of: document),
      type != Swift.type(of: model)
    {
      // Another thing has got the ID: it gets an object of its own when it is asked for.
      live[DocumentKey(document.id)] = nil
      model.isKnown = false
      return
    }
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
    if wasDeleted, model.isChanged { noteUnsaved(model) }
    model.upgradeIfOutdated()
    noteExternalChange(of: model, &taken)
  }

  private func noteExternalChange(of model: Model, _ taken: inout ModelUpdate) {
    model.lastExternalChange = .now
    taken.noteChanged(model)
  }
}
