import DivanLog

/// Where models live: one object for each document, as the database was at one moment.
///
/// A context and its models belong to the task, thread or actor that made it; several contexts may be
/// used side by side. It reads from one snapshot, until ``refresh()`` or saving moves it to the newest.
///
/// Models that are new or changed are held until they are saved; others go when nobody holds them, and
/// are made again when they are asked for. Unsaved models that nobody else holds go with the context.
public final class ModelContext {
  let core: ModelContextCore

  /// Told of errors that reading a property cannot throw: damage, failures of the system.
  ///
  /// The property then reads as its declared value, and is not saved as that.
  public var errorHandler: ((any Error) -> Void)?

  /// Told of each property whose document has a value that is not of its type, when it is first read:
  /// ``DatabaseError/Code/mismatchedType``, with the document's ID and the path to the property.
  ///
  /// The property then has its declared value, and the document keeps what it has.
  public var mismatchHandler: ((DatabaseError) -> Void)?

  /// Asked what becomes of a property that was changed in a model and elsewhere to different values, when the
  /// model is saved; without it, saving throws ``DatabaseError/Code/conflict``.
  ///
  /// It is asked within the transaction, once for each such property, and must neither save nor change models.
  public var conflictHandler: ((ModelConflict) -> ModelConflict.Resolution)?

  /// Whether a model is refused if a property of it cannot be read from its document.
  ///
  /// Then ``model(_:_:)`` and cursors look at all properties of what they give, as ``Model/load()`` does,
  /// and throw.
  public var isStrict: Bool {
    get { core.isStrict }
    set { core.isStrict = newValue }
  }

  /// Whether models tell those who observe them of reads and changes, if their classes are `Observable`.
  ///
  /// Set it to false for bulk work before models are made or loaded: those that come into the context while
  /// it is false cost what models of other classes do.
  public var isObservable: Bool {
    get { core.isObservable }
    set { core.isObservable = newValue }
  }

  init(_ source: ModelSource, _ registry: ModelRegistry?) {
    core = ModelContextCore(source, registry)
    core.setHandle(self)
  }

  deinit { core.close() }
}

@available(*, unavailable)
extension ModelContext: Sendable {}

extension Database {
  /// Makes a context for models, which belongs to the caller.
  ///
  /// - Parameter registry: which classes documents are of; without one, those that they are asked for as.
  /// - Returns: the context, which reads the database as it is now.
  public func makeContext(_ registry: ModelRegistry? = nil) -> sending ModelContext {
    ModelContext(.database(self), registry)
  }
}

extension ModelContext {
  /// The database that the models are in; nil for a context of a transaction or of a snapshot.
  public var database: Database? {
    if case .database(let database) = core.source { database } else { nil }
  }

  /// The database as the models see it.
  ///
  /// - Throws: ``DatabaseError/Code/inTransaction`` for a context of a transaction, which has none; `closed`.
  public var snapshot: Snapshot {
    get throws {
      guard case .transaction = core.source else { return try core.requireSnapshot() }
      throw DatabaseError(
        .inTransaction, "the context reads a transaction, and not a snapshot",
        hint: "Ask the transaction itself")
    }
  }

  /// The models that are to be saved, in the order in which they were made or first changed.
  public var unsavedModels: [Model] { core.unsavedModels }

  /// Puts in a model that was made without a context, and those in none that it refers to.
  ///
  /// Does nothing if the model is in this context.
  ///
  /// - Throws: ``DatabaseError`` with the code `notInContext` if the model is in another context, where it
  ///   stays; `alreadyExists` if it is a copy of a model of this context; and, for a copy, whatever reading
  ///   its document throws.
  public func insert(_ model: Model) throws {
    guard model.core == nil || model.core === core else {
      throw DatabaseError(
        .notInContext, "the model is in another context, and stays there",
        hint: "Ask this context for its own model of the document", documentID: model.id)
    }
    if model.core == nil, model.state == .stored, core.known(model.id)?.isDeleted == false {
      throw DatabaseError(
        .alreadyExists, "the context has a model of the document already",
        hint: "Ask the context for it, and set there what is to be changed", documentID: model.id)
    }
    let isCopy = model.core == nil && model.state == .stored
    core.insert(model)
    if isCopy { try core.catchUp(model) }
  }

  /// Makes a new model whose document has this ID, unless there is one.
  ///
  /// ```swift
  /// let film = try context.model(Film.self, id) ?? context.insert(Film.self, id: id)
  /// ```
  ///
  /// ``Model/init(in:id:)`` does not look, so that an ID that is taken shows only when the model is saved. This costs one
  /// search for the ID. A document of the ID that is stored later, before the model is saved, still is a
  /// ``DatabaseError/Code/conflict`` then.
  ///
  /// - Throws: ``DatabaseError`` with the code `alreadyExists` if there is a document of this ID, in what the context reads
  ///   or in the newest version, or a model of it in the context, saved or not; and whatever reading throws. Then no model
  ///   is made.
  public func insert<M: Model>(_ type: M.Type, id: String) throws -> M {
    guard try !core.isTaken(id) else {
      throw DatabaseError(
        .alreadyExists, "there is a document of this ID, or a model of it in the context",
        hint: "Ask the context for the model of the ID, or choose another one", documentID: id)
    }
    let model = type.init()
    model.documentID = id
    core.insert(model)
    return model
  }

  /// Makes a new model of a document that is not stored yet.
  ///
  /// Everything in the document is kept as it is, but for properties that are then changed. With a
  /// ``ModelRegistry`` the model is of the class that is registered for the document, if any is.
  ///
  /// - Throws: ``DatabaseError`` with the codes `invalidValue` or `documentTooLarge` if the document
  ///   cannot be stored; `otherModelClass` if a class is registered for it that is none of these.
  public func insert<M: Model>(_ type: M.Type, document: Document) throws -> M {
    let content = try ModelContent(document)
    let model = try core.modelClass(type, of: content).init()
    model.documentID = content.id
    model.attach(content.body, state: .new)
    model.give(document.attachments)
    core.insert(model)
    return model
  }

  /// The model of a document: the same object for as long as it lives.
  ///
  /// New models are found, too.
  ///
  /// - Returns: nil if there is no such document, or it is deleted.
  /// - Throws: ``DatabaseError/Code/otherModelClass`` if the document's model is of another class, and
  ///   whatever reading throws.
  public func model<M: Model>(_ type: M.Type, _ id: String) throws -> M? {
    try core.model(type, id)
  }

  /// The models of the documents in a range, one after the other, in the order of their IDs.
  ///
  /// Of a class that declares a ``Model/documentType``, those documents only that have it as their
  /// `type`; with a ``ModelRegistry``, those of its subclasses, too, and none of other registered classes.
  /// Models that were not saved yet are not among them.
  public func models<M: Model>(_ type: M.Type, in range: IDRange = .all) throws -> ModelCursor<M> {
    ModelCursor(core, try core.requireSnapshot(), range)
  }

  /// Stores what was changed in these models, in one transaction: all of it, or nothing.
  ///
  /// A new model becomes a document with all of its properties but those that are nil. Of others, what
  /// was changed is written over the document as it is now. Models without changes are passed over.
  ///
  /// If an error is thrown all models are as they were, with their changes. References to new models
  /// are stored, even if those are not saved with them.
  ///
  /// - Throws: ``DatabaseError`` with the codes
  ///   - `conflict` if a property was changed here and elsewhere, and not to the same value, and no
  ///     ``conflictHandler`` resolves that; if a
  ///     changed model's document was deleted elsewhere; or if there is a document of a new model's
  ///     ID. After ``refresh()`` what was changed here wins; ``Model/revert()`` gives it up.
  ///   - `notFound` if a changed model is deleted.
  ///   - `invalidValue` if a property cannot be stored, such as a number that is not finite.
  ///   - `invalidModel` if ``Model/validate(_:)`` of any of them says that something is wrong; the
  ///     underlying ``InvalidModelsError`` says all of it.
  ///   - `notInContext` if a model is in another context or in none.
  ///   - those of ``Database/write(durability:timeout:_:)-4yolg``.
  public func saveModels(_ models: some Sequence<Model>) throws { try core.save(models) }

  /// Stores everything that was made or changed in this context, in one transaction.
  ///
  /// - Throws: as ``saveModels(_:)``.
  public func saveAllModels() throws { try core.save(core.unsavedModels, isEverything: true) }

  /// Moves to the newest snapshot.
  ///
  /// Properties that were not changed here are read again; those that were keep their values, and will
  /// be written over what the document has now.
  ///
  /// - Returns: the models that took something over.
  /// - Throws: whatever reading throws.
  @discardableResult
  public func refresh() throws -> ModelUpdate { try core.refresh(settlesConflicts: true) }
}

/// Models one after the other: `while let todo = try cursor.next() { … }`.
public struct ModelCursor<M: Model> {
  private let core: ModelContextCore
  private var documents: DocumentCursor
  private let snapshot: Snapshot
  /// Which one of the context's snapshots that is.
  private let snapshotCount: Int

  init(_ core: ModelContextCore, _ snapshot: Snapshot, _ range: IDRange) {
    self.core = core
    self.snapshot = snapshot
    snapshotCount = core.snapshotCount
    documents = snapshot.documents(range)
  }

  /// The next model; nil at the end.
  public mutating func next() throws -> M? {
    while true {
      // The context may be over, and with it what is read from.
      try core.requireReadable()
      guard let (id, body) = try documents.nextBody() else { return nil }
      let found = ModelContent(id: id, body: EncodedValue(body))
      if core.snapshotCount == snapshotCount, !core.isInTransaction {
        if let model = try core.member(M.self, of: found) { return model }
        // The context has moved on since: its models say what its snapshot says.
      } else if let current = try core.current(found, in: snapshot),
        let model = try core.member(M.self, of: current)
      {
        return model
      }
    }
  }

  /// All that are left, as an array.
  public mutating func rest() throws -> [M] {
    var all: [M] = []
    while let model = try next() { all.append(model) }
    return all
  }
}

@available(*, unavailable)
extension ModelCursor: Sendable {}
