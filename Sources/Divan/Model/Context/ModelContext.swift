import DivanLog

/// Loads, tracks and saves models, with one object for each document.
///
/// ```swift
/// let context = database.makeContext()
/// let todo = Todo(in: context)
/// todo.text = "Buy milk"
/// try context.save()
/// let open = try context.find(Query<Todo>().filter { !$0.done })
/// ```
///
/// A context and its models belong to the task, thread or actor that created it. You can use
/// several contexts at the same time. A context reads from one snapshot until ``refresh()`` or
/// saving moves it to the newest one.
///
/// The context retains new and changed models until they are saved. It does not retain other
/// models: once you release them, they are deallocated, and loaded again when needed.
///
/// **Unsaved models end with their context.** Keep the context for as long as there is anything to
/// save, and save before you give it up. It does not save by itself, because giving it up is also
/// how you discard a form that was cancelled.
public final class ModelContext {
  let core: ModelContextCore

  /// Called with errors that reading a property cannot throw, such as damage or a system failure.
  ///
  /// The property then reads as its declared value, which is not saved in place of the stored one.
  public var errorHandler: ((any Error) -> Void)?

  /// Called for each property whose stored value is not of its type, when it is first read.
  ///
  /// The error is ``DatabaseError/Code/mismatchedType``, with the document's ID and the path to the
  /// property. The property then has its declared value, and the document keeps its own.
  public var mismatchHandler: ((DatabaseError) -> Void)?

  /// Resolves a property with both an unsaved and an external change when the model is saved.
  ///
  /// It is called only if the two values differ. Without a handler, saving throws
  /// ``DatabaseError/Code/conflict``. It is called within the transaction, once for each such
  /// property, and must not save or change models.
  public var conflictHandler: ((ModelConflict) -> ModelConflict.Resolution)?

  /// Whether loading a model throws if one of its properties cannot be read from its document.
  ///
  /// If true, ``model(_:id:)`` and cursors check all properties of each model they load, as
  /// ``Model/load()`` does.
  public var isStrict: Bool {
    get { core.isStrict }
    set { core.isStrict = newValue }
  }

  /// Whether models notify their observers of reads and changes, if their class is observable.
  ///
  /// For bulk work, set it to false before you create or load models. Models that enter the context
  /// while it is false have the cost of models whose class is not observable.
  public var isObservable: Bool {
    get { core.isObservable }
    set { core.isObservable = newValue }
  }

  /// The durability of what the context saves and deletes; nil, the default, for the database's.
  ///
  /// ```swift
  /// // A draft may be lost if the device loses power.
  /// drafts.durability = .relaxed(maxDelay: .seconds(1))
  /// ```
  ///
  /// In a transaction, the durability of the transaction applies.
  public var durability: Durability? {
    get { core.durability }
    set { core.durability = newValue }
  }

  init(_ source: ModelSource, _ registry: ModelRegistry?) {
    core = ModelContextCore(source, registry)
    core.setHandle(self)
  }

  deinit { core.close() }
}

@available(*, unavailable)
extension ModelContext: Sendable {}

extension ModelContext {
  /// The database of the models; nil for the context of a transaction or a snapshot.
  public var database: Database? {
    if case .database(let database) = core.source { database } else { nil }
  }

  /// The snapshot of the database that the context reads.
  ///
  /// - Throws: ``DatabaseError/Code/inTransaction`` in the context of a transaction, which has no
  ///   snapshot; `closed`.
  public var snapshot: Snapshot {
    get throws {
      guard case .transaction = core.source else { return try core.requireSnapshot() }
      throw DatabaseError(
        .inTransaction, "the context reads a transaction, and not a snapshot",
        hint: "Read the transaction itself")
    }
  }

  /// The models with unsaved changes, in the order in which they were created or first changed.
  public var unsavedModels: [Model] { core.unsavedModels }

  /// Discards the unsaved changes of all models.
  ///
  /// Each model returns to what is stored, as by ``Model/revert()``. New models, of which nothing
  /// is stored, are deleted models from then on.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch {
  ///   context.revert()
  ///   throw error
  /// }
  /// ```
  ///
  /// Nothing is stored: no ``DeleteRule`` applies, and ``Model/willDelete()`` is not called.
  public func revert() {
    let models = unsavedModels
    for model in models { model.revert() }
    // A commit in flight may have stored some of them.
    core.discard(models.filter { $0.state == .new })
  }

  /// Inserts a model that was created without a context, and the models without one it refers to.
  ///
  /// Does nothing if the model is already in this context.
  ///
  /// - Throws: ``DatabaseError`` with the code `notInContext` if the model is in another context,
  ///   where it stays; `alreadyExists` if it is a copy of a model of this context; and, for a copy,
  ///   the errors of reading its document.
  public func insert(_ model: Model) throws {
    guard model.core == nil || model.core === core else {
      throw DatabaseError(
        .notInContext, "the model is in another context, and stays there",
        hint: "Get this context's own model of the document", documentID: model.id)
    }
    if core.hasOriginal(of: model) {
      throw DatabaseError(
        .alreadyExists, "the context already has a model of the document",
        hint: "Get that model from the context, and change it", documentID: model.id)
    }
    let isCopy = model.core == nil && model.state == .stored
    core.insert(model)
    if isCopy { try core.catchUp(model) }
  }

  /// Creates a new model whose document has the given ID, unless the ID is in use.
  ///
  /// ```swift
  /// let film = try context.model(Film.self, id: id) ?? context.insert(Film.self, id: id)
  /// ```
  ///
  /// Unlike this method, ``Model/init(in:id:)`` does not check the ID, and a collision is found
  /// only when the model is saved. The check costs one search for the ID. If a document with the ID
  /// is stored after the check, saving the model still throws ``DatabaseError/Code/conflict``.
  ///
  /// - Throws: ``DatabaseError`` with the code `alreadyExists` if the context has a model with this
  ///   ID, saved or not, or if a document with it exists in the context's snapshot or in the newest
  ///   version. The errors of reading. No model is created then.
  public func insert<M: Model>(_ type: M.Type, id: String) throws -> M {
    guard try !core.isTaken(id) else {
      throw DatabaseError(
        .alreadyExists, "a document with this ID exists, or the context has a model with it",
        hint: "Get the model with this ID from the context, or choose another ID", documentID: id)
    }
    let model = type.init()
    model.documentID = id
    core.insert(model)
    return model
  }

  /// Creates a new model from a document that is not stored yet.
  ///
  /// Everything in the document is kept, except for properties that you change afterwards. With a
  /// ``ModelRegistry``, the model is of the class that is registered for the document, if there is
  /// one.
  ///
  /// - Throws: ``DatabaseError`` with the codes `invalidValue` or `documentTooLarge` if the
  ///   document cannot be stored; `modelClassMismatch` if the class that is registered for it is
  ///   neither `type` nor a subclass of it.
  public func insert<M: Model>(_ type: M.Type, document: Document) throws -> M {
    let content = try ModelContent(document)
    let model = try core.modelClass(type, of: content).init()
    model.documentID = content.id
    model.attach(content.properties, state: .new)
    model.give(document.attachments)
    core.insert(model)
    return model
  }

  /// Returns the model of a document: the same object for as long as it lives.
  ///
  /// New models are found too.
  ///
  /// - Returns: the model; nil if there is no such document, or it is deleted.
  /// - Throws: ``DatabaseError/Code/modelClassMismatch`` if the document's model is of another
  ///   class, and the errors of reading.
  public func model<M: Model>(_ type: M.Type, id: String) throws -> M? {
    try core.model(type, id: id)
  }

  /// Returns a cursor over the models of the documents in a range, in the order of their IDs.
  ///
  /// Only documents with the class's ``Model/documentType``, or an earlier one, are included.
  /// With a ``ModelRegistry``, documents of its subclasses are included too, and documents of other
  /// registered classes are not. Models that were never saved are not included.
  public func models<M: Model>(_ type: M.Type, in range: some IDRangeExpression = .all) throws
    -> ModelCursor<M>
  {
    ModelCursor(core, try core.requireSnapshot(), range.idRange)
  }

  /// Stores the changes of these models in one transaction: all of them, or none.
  ///
  /// A new model becomes a document with all of its properties that are not nil. For other models,
  /// the changed properties are written into the current version of the document. Models without
  /// changes are skipped.
  ///
  /// If an error is thrown, all models keep their state, including their changes. References to new
  /// models are stored even if those models are not saved along with them.
  ///
  /// - Throws: ``DatabaseError`` with the codes
  ///   - `conflict` if a property has an unsaved and an external change to different values and
  ///     ``conflictHandler`` does not resolve it; if the document of a changed model was deleted
  ///     externally; or if a document with a new model's ID exists. After ``refresh()``, the
  ///     unsaved changes win; ``Model/revert()`` discards them.
  ///   - `notFound` if a changed model is deleted.
  ///   - `invalidValue` if a property cannot be stored, such as a number that is not finite.
  ///   - `invalidModel` if ``Model/validate(_:)`` of any model reports a failure; the underlying
  ///     ``InvalidModelsError`` lists all failures.
  ///   - `notInContext` if a model is in another context or in none.
  ///   - the codes of ``Database/write(durability:timeout:_:)-4yolg``.
  public func saveModels(_ models: some Sequence<Model>) throws { try core.save(models) }

  /// Stores all new and changed models of this context in one transaction.
  ///
  /// - Throws: the errors of ``saveModels(_:)``.
  public func save() throws { try core.save(core.unsavedModels, isEverything: true) }

  /// Moves the context to the newest snapshot.
  ///
  /// Properties without unsaved changes are read again. Changed properties keep their values, and
  /// the next save writes them into the document.
  ///
  /// - Returns: the models that took over external changes.
  /// - Throws: the errors of reading.
  @discardableResult
  public func refresh() throws -> ModelUpdate { try core.refresh(settlesConflicts: true) }
}

/// A cursor over models: `while let todo = try cursor.next() { … }`.
///
/// ```swift
/// var todos = try context.models(Todo.self)
/// while let todo = try todos.next() { print(todo.text) }
/// ```
public struct ModelCursor<M: Model>: Cursor {
  private let core: ModelContextCore
  private var documents: DocumentCursor
  private let snapshot: Snapshot
  /// The number of `snapshot` among the context's snapshots.
  private let snapshotCount: Int

  init(_ core: ModelContextCore, _ snapshot: Snapshot, _ range: IDRange) {
    self.core = core
    self.snapshot = snapshot
    snapshotCount = core.snapshotCount
    documents = snapshot.documents(range)
  }

  /// Returns the next model; nil at the end.
  public mutating func next() throws -> M? {
    while true {
      // The context may have ended, and with it the source that the cursor reads.
      try core.requireReadable()
      guard let (id, bytes) = try documents.nextProperties() else { return nil }
      let found = ModelContent(id: id, properties: EncodedValue(bytes))
      if core.snapshotCount == snapshotCount, !core.isInTransaction {
        if let model = try core.member(M.self, of: found) { return model }
        // The context has moved to another snapshot, whose version its models must show.
      } else if let current = try core.current(found, in: snapshot),
        let model = try core.member(M.self, of: current)
      {
        return model
      }
    }
  }
}

@available(*, unavailable)
extension ModelCursor: Sendable {}

extension ModelContext: CustomStringConvertible {
  /// The store, and the number of unsaved models.
  public var description: String {
    let store = database.map { " of \(printable($0.path))" } ?? ""
    return "ModelContext\(store) with \(core.unsavedModels.count) unsaved models"
  }
}
