import DivanLog
public import Observation

/// An object whose properties are stored in a document.
///
/// Subclass it, and declare the properties to store with ``Persisted``. All other properties are
/// ordinary properties of the object and are not stored.
///
/// ```swift
/// class Todo: Model {
///   @Persisted var text: String
///   @Persisted var done = false
/// }
///
/// let context = database.makeContext()
/// let todo = Todo(in: context)
/// todo.text = "Buy milk"
/// try todo.save()
/// ```
///
/// A model represents the same document for its whole life, and a context has exactly one object
/// for each document. Saving a model keeps everything in the document that the class does not
/// declare.
///
/// Models belong to the task, thread or actor of their context; the compiler enforces this. The
/// initializer `init()` also runs when a model is loaded, and occasionally for a model that is only
/// inspected. It must do nothing but set properties.
///
/// Invariants:
/// - `storedProperties` is the document as it was last read or saved; nil if it never was.
/// - A property without `PropertyFlags.dirty` has the value in `storedProperties`.
/// - `isChanged` is true if any property is dirty or `pendingChanges` contain changes.
nonisolated open class Model: Observable {
  final var modelClass: ModelClass
  /// The context's core; nil while the model is in no context.
  final var core: ModelContextCore?
  final var storedProperties: EncodedValue?
  /// The document's ID; empty until it is first needed.
  final var documentID = ""
  final var state = State.new
  final var isChanged = false
  /// Whether the model needs to be saved regardless of its properties: see ``markNeedsSave()``.
  final var mark = Mark.none
  /// Whether the model is in the context's identity map, and must leave it in `deinit`.
  final var isKnown = false
  /// Whether property discovery failed for the class.
  ///
  /// Its properties then behave as ordinary stored properties, and saving the model throws.
  final var isUndiscovered = false
  /// Whether autosaving the model failed; the context retries when the model changes, or later.
  final var hasFailedToSave = false
  /// Whether reference lists retain models that they have looked up: see ``ModelReference/found``.
  final var retainsFound = false
  /// Whether observers are not notified although models of the class can be observed.
  final var isUnobserved = false
  /// The hash of the document's ID, once the model is in the identity map.
  final var idHash: UInt32 = 0
  /// Whether a transaction that stores the model runs on another thread: see `CommitInFlight`.
  ///
  /// A dirty property then has `PropertyFlags.hooked` until it is changed again.
  final var isBeingSaved = false
  /// The version of the document that ``upgrade(from:)`` upgraded from; nil if it did not.
  final var upgradedFrom: Int?
  /// The model's position among the unsaved models of its context, from 1; 0 if it is not there.
  final var unsavedPosition = 0
  /// The state to restore if the context's transaction rolls back; nil outside of a transaction.
  final var rollbackEntry: RollbackEntry?
  /// The number of the nested changes in which the model was last read: see ``RollbackLog``.
  final var lastReading = 0
  /// The queue to which the model adds its targets when it is released.
  ///
  /// Nil unless the object that retained the model is itself being released.
  final var releaseQueue: ReleasedModels?
  /// The targets of the properties that refer to one model, by property number.
  final var references: [Int: ModelReference] = [:]
  /// The targets of the properties that refer to several models, by property number.
  final var referenceLists: [Int: [ModelReference]] = [:]
  /// Changes of undeclared properties and of attachments; nil until there are any.
  final var pendingChanges: PendingChanges?
  /// The model's observers; nil until the model is first observed.
  ///
  /// The object is never replaced.
  final var observers: ModelObservers?
  /// The time from `referenceTime` to the last external change that the model took over.
  ///
  /// Nil if it never did. It is a duration because the size of an `Instant` is not known at compile
  /// time. With an `Instant`, the offsets of a model's properties would have to be looked up at run
  /// time.
  final var lastExternalChange: Duration?

  enum State {
    /// The model has no document yet.
    case new
    case stored
    case deleted
  }

  enum Mark {
    case none
    /// The next save calls ``willSave(_:)``.
    case set
    /// ``willSave(_:)`` was called; the mark is cleared when that save completes.
    case handled
  }

  /// Creates a new model that is in no context: see ``ModelContext/insert(_:)``.
  public required init() {
    if let known = ModelClassTable.find(Self.self) {
      modelClass = known
    } else {
      // The class can only be inspected through a fully initialized model.
      modelClass = .none
      modelClass = ModelClass.discover(Self.self, from: self)
    }
    for (index, location) in modelClass.locations.enumerated() {
      setIndex(UInt16(index), at: location)
      setFlags(location.initialFlags, at: location)
    }
  }

  /// Creates a new model in a context.
  ///
  /// Nothing is read: the model is new and has its declared values, even if a document with this ID
  /// exists. Saving it then throws ``DatabaseError/Code/conflict`` and changes nothing.
  /// ``ModelContext/insert(_:id:)`` reports this immediately. ``ModelContext/model(_:id:)`` returns
  /// the model of a stored document.
  ///
  /// - Parameters:
  ///   - context: the context that the model belongs to and is saved by.
  ///   - id: the ID of its document; nil to generate one.
  public convenience init(in context: ModelContext, id: String? = nil) {
    self.init()
    documentID = id ?? ""
    context.core.insert(self)
  }

  deinit {
    if isKnown { core?.forget(self) }
    if core == nil, modelClass.hasReferences { releaseTargets() }
  }

  /// The type that new documents of this class store under `type`: by default the class's name.
  ///
  /// It distinguishes the class from others in the same database: queries, counts, deletions by a
  /// query and ``ModelContext/models(_:in:)`` concern only documents of this type. Override it
  /// before you rename the class, or for a shorter name:
  ///
  /// ```swift
  /// override class var documentType: String? { "todo" }
  /// ```
  ///
  /// Subclasses store their own names, unless the class overrides it. Return nil for a class whose
  /// documents store no type: then *every* document of the database is one of the class, for
  /// queries, too. So it is for `Model` itself. Deleting by such a query has to be asked for: see
  /// ``ModelContext/delete(_:includingOtherClasses:)``.
  open class var documentType: String? { self == Model.self ? nil : String(describing: self) }

  /// The types of documents that earlier versions of the program stored for this class.
  ///
  /// Documents of these types are of the class as well. They keep their type when they are saved.
  /// They are not of subclasses that have a type of their own.
  ///
  /// ```swift
  /// class Task: Model {                                           // was called Todo
  ///   override class var earlierDocumentTypes: [String] { ["Todo"] }
  /// }
  /// ```
  open class var earlierDocumentTypes: [String] { [] }

  /// Whether models of this class notify observers, as `@Observable` classes do: true by default.
  ///
  /// Views that read a property are updated when it changes. If nothing observes a model, reading a
  /// property costs a few nanoseconds more. Override it with false for models that no view shows;
  /// ``ModelContext/isObservable`` does the same for the models of one context.
  open class var isObservable: Bool { true }

  /// The key under which documents store their ``documentType``; `type` by default.
  open class var documentTypeKey: String { "type" }

  /// The version of the class's stored form; 1 by default.
  ///
  /// Increase it when properties change their meaning, and override ``upgrade(from:)``. From
  /// version 2 on, documents store it under ``modelVersionKey``.
  open class var modelVersion: Int { 1 }

  /// The key under which documents store the ``modelVersion`` of the class that saved them.
  open class var modelVersionKey: String { "modelVersion" }

  /// The indexes that cover several properties, or only some documents; none by default.
  ///
  /// ```swift
  /// override class var indexes: [ModelIndex] {
  ///   super.indexes + [ModelIndex(of: Todo.self, on: \.list, \.due, where: { $0.done == false })]
  /// }
  /// ```
  ///
  /// Declare an index of a single property with ``Persisted``.
  /// ``Database/addIndexes(for:progress:)-8y952`` builds them all.
  open class var indexes: [ModelIndex] { [] }

  // MARK: Methods and properties to override

  /// Called when the model is loaded from a document that an earlier version of its class saved.
  ///
  /// It is called before ``didLoad()``. Read what the document has, and set the properties of the
  /// current version. ``value(for:)`` also reads what the class no longer declares. This changes
  /// the model: the next save stores it in the new form. Until then, it is upgraded again each time
  /// it is loaded.
  ///
  /// - Parameter version: the version of the document; 1 if the document stores none. Documents of
  ///   a later version than the class's are read as they are.
  /// - Throws: any error that prevents the upgrade. The context's ``ModelContext/errorHandler``
  ///   receives it, and the model keeps the document's values, in the earlier version.
  open func upgrade(from version: Int) throws {}

  /// Makes the ID of a new model's document if the model was created without one.
  ///
  /// Return nil, the default, or an empty string to have the database generate the ID. It is called
  /// once for each model, at the latest when the model is inserted into a context.
  open class func makeDocumentID() -> String? { nil }

  /// The properties of the tombstone that replaces the model's document when it is deleted.
  ///
  /// Empty by default. They are read after ``willDelete()``.
  open var tombstoneProperties: Value.Object { [:] }

  /// Called once for every model when it enters a context.
  ///
  /// A new model enters a context when it is created there or inserted; a loaded model does after
  /// ``didLoad()``. You may set properties here, which changes the model. Use it for setup that
  /// does not belong in `init()`, which also runs for models that never enter a context.
  open func didEnterContext() {}

  /// Called when the model was loaded, and again each time it took over an external change.
  open func didLoad() {}

  /// Called before the model is saved, before anything is validated or written.
  ///
  /// You may change properties here; the changes are saved too. Use it to write the model's own
  /// state into properties: ``markNeedsSave()`` ensures that it is called when only that state has
  /// changed. If you change or create other models, ``ModelContext/save()`` saves them
  /// together with this one; other saves leave them unsaved. You cannot save from here.
  ///
  /// - Parameter changedProperties: the names of the changed properties, in the order of their
  ///   declaration; empty for a new model without changes, and for a model that is only marked.
  open func willSave(_ changedProperties: [String]) {}

  /// Called before the model's document is deleted, before anything is checked or written.
  ///
  /// It is called by ``delete()``, by ``ModelContext/delete(_:includingOtherClasses:)``, and when a
  /// ``DeleteRule`` of another model deletes this one.
  ///
  /// ```swift
  /// override func willDelete() {
  ///   lastTitle = title            // stored by `tombstoneProperties`
  ///   for each in followers { each.leader = nil }
  /// }
  /// override var tombstoneProperties: Value.Object { ["title": .string(lastTitle)] }
  /// ```
  ///
  /// You may record state for ``tombstoneProperties``, and change, create and delete other models.
  /// The delete rules are applied to the references as they are afterwards, so you can remove
  /// references that would prevent the deletion. Models that you delete here are deleted in the
  /// same transaction. Models that you change stay unsaved until they are saved. You cannot save
  /// from here.
  ///
  /// It is called once per model for each deletion. If the deletion then fails, nothing is deleted,
  /// but changes that the hooks made remain; the next attempt calls the hooks again. It cannot
  /// throw: to prevent a deletion, use ``DeleteRule/deny``. It is not called for a model that was
  /// never saved, nor when a document is deleted by a transaction, by undo, or externally.
  open func willDelete() {}

  /// Called when the model was saved and has no unsaved changes.
  ///
  /// Its transaction is committed by then. In the context of a transaction, the document is stored
  /// in that transaction.
  open func didSave() {}

  /// Checks the model, and reports failures, before it is saved.
  ///
  /// It is called after ``willSave(_:)`` of all models in the save. If any model reports a failure,
  /// none is saved, and the error lists all failures of all models.
  ///
  /// It sees the values of the model. If saving merges them with external changes, it does not see
  /// the result. A validation of the database (``Database/setValidation(named:_:)``) checks every
  /// revision that is stored, also merged ones.
  open func validate(_ validation: inout ModelValidation) {}
}

@available(*, unavailable)
extension Model: Sendable {}

extension Model: Identifiable {
  /// The ID of the model's document, which never changes.
  ///
  /// A model that is in no context is given an ID when you first read this property.
  public final var id: String {
    if documentID.isEmpty {
      documentID =
        Swift.type(of: self).makeDocumentID().flatMap { $0.isEmpty ? nil : $0 }
        ?? core?.source.newDocumentID() ?? DocumentIDGenerator.timeOrdered.next()
    }
    return documentID
  }
}

extension Model: Hashable {
  /// Returns whether both are the same object.
  public static func == (a: Model, b: Model) -> Bool { a === b }

  /// Feeds the object's identity into the hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Model: PersistableOptional {}

extension PersistableOptional where Self: Model {
  /// The storage of an optional reference: the ID of the other model's document.
  public static var _optionalStorage: _PersistedStorage {
    // Here `Self` is the class that the property declares; in `Model` it would be `Model`.
    _PersistedStorage { ReferenceProperty<Self>(location: $0) }
  }
}

// MARK: - State

extension Model {
  /// The context that the model is in; nil if it is in none, or the context was released.
  public final var context: ModelContext? { core?.handle }

  /// Whether the model has no document yet.
  public final var isNew: Bool {
    noteAccess(ModelObservation.statePath)
    return state == .new
  }

  /// Whether the model's document was deleted.
  ///
  /// Its properties can still be read.
  public final var isDeleted: Bool {
    noteAccess(ModelObservation.statePath)
    return state == .deleted
  }

  /// Whether the model has something to save.
  ///
  /// It has if it is new, if properties were changed, or if ``markNeedsSave()`` was called.
  public final var needsSave: Bool {
    noteAccess(ModelObservation.statePath)
    return isUnsaved
  }

  /// The time since the model last took over an external change or deletion.
  ///
  /// Nil if it never did. ``markExternallyChanged()`` restarts it. Observers are notified each time
  /// it restarts.
  public final var timeSinceExternalChange: Duration? {
    noteAccess(ModelObservation.externalChangePath)
    return lastExternalChange.map { Self.referenceTime.duration(to: .now) - $0 }
  }

  /// Restarts ``timeSinceExternalChange`` at zero, as after an external change.
  ///
  /// ```swift
  /// // Highlight this item the way a newly arrived one is highlighted.
  /// todo.markExternallyChanged()
  /// ```
  ///
  /// Nothing else in the model changes, and it does not need to be saved.
  public final func markExternallyChanged() { noteExternalChange() }

  /// Records that the model took over an external change just now.
  final func noteExternalChange() {
    announcing(ModelObservation.externalChangePath) {
      lastExternalChange = Self.referenceTime.duration(to: .now)
    }
  }

  /// The reference point of `lastExternalChange`, before any recorded change.
  private static let referenceTime = ContinuousClock.now

  /// Whether the model has changes, or is marked as needing a save.
  final var isUnsaved: Bool { hasChanges || state == .stored && mark != .none }

  /// Whether saving writes anything.
  final var hasChanges: Bool { state == .new || state == .stored && isChanged }

  /// The names of the properties with unsaved changes, in the order of their declaration.
  ///
  /// The keys of undeclared properties that ``setValue(_:for:)`` changed follow. A property that
  /// was changed in place counts even if its value is the same as before.
  public final var changedProperties: [String] {
    noteAccess(ModelObservation.statePath)
    return changedNames
  }

  final var changedNames: [String] {
    guard isChanged else { return [] }
    var names: [String] = []
    for location in modelClass.locations where isDirty(location) { names.append(location.name) }
    if let pendingChanges { names += pendingChanges.undeclared.keys.sorted() }
    return names
  }
}

// MARK: - Saving, deleting and reverting

extension Model {
  /// Stores the model's changes in a transaction of its own; see ``ModelContext/saveModels(_:)``.
  public final func save() throws {
    try requireCore().save([self])
  }

  /// Deletes the model's document, and applies its class's ``DeleteRule``s, in one transaction.
  ///
  /// The model stays readable and is never saved again. A model that was never saved is only
  /// removed from its context. Does nothing if the model is already deleted. If an error is thrown,
  /// nothing is deleted.
  ///
  /// If a rule removes references from other documents, these changes are stored immediately,
  /// without calling the hooks of their models. Other changes in those models stay unsaved.
  ///
  /// - Throws: ``DatabaseError`` with the codes
  ///   - `conflict` if the document, or one that is deleted with it, was changed externally since
  ///     it was read: refresh the context, and delete again.
  ///   - `deleteDenied` if a ``DeleteRule/deny`` rule forbids it.
  ///   - `notInContext` if a rule reaches into another context
  ///     (``ModelContext/resolveReferences(to:in:)``).
  ///   - the errors of reading and writing.
  public final func delete() throws {
    guard state != .deleted else { return }
    try requireCore().delete([self])
  }

  /// Checks that every unchanged property can be read from the document.
  ///
  /// Without this check, a property that cannot be read has its declared value, and the context
  /// reports the error: see ``ModelContext/errorHandler`` and ``ModelContext/mismatchHandler``.
  ///
  /// - Throws: ``DatabaseError/Code/mismatchedType`` for the first property whose value is not of
  ///   its type; `damaged` if the document's bytes are damaged.
  public final func load() throws {
    for property in modelClass.properties {
      if let problem = try property.problem(in: self) { throw problem }
    }
  }

  /// Marks the model as needing a save although no property was assigned.
  ///
  /// The next ``save()`` or ``ModelContext/save()`` saves it, as do autosaving contexts
  /// and closing the database.
  ///
  /// ```swift
  /// final class Drawing: Model {
  ///   @Persisted var strokes: Data
  ///   private let canvas = Canvas()
  ///
  ///   func draw(_ stroke: Stroke) {
  ///     canvas.add(stroke)
  ///     markNeedsSave()
  ///   }
  ///   override func willSave(_ changedProperties: [String]) { strokes = canvas.encoded }
  /// }
  /// ```
  ///
  /// A model can thus keep state in any form, and write it into properties only when it is saved,
  /// in ``willSave(_:)``. If that changes no property, nothing is validated or stored,
  /// ``didSave()`` is not called, and the mark is cleared. If saving throws, the model stays
  /// marked. A mark that hooks of other models set after this model's `willSave` applies to the
  /// next save. ``revert()`` clears the mark. A deleted model is not saved even if it is marked.
  public final func markNeedsSave() {
    if hasFailedToSave { core?.scheduleRetry(self) }
    guard mark != .set else { return }
    announcing(ModelObservation.statePath) { mark = .set }
    if isUnsaved { core?.noteUnsaved(self) }
  }

  /// Discards the unsaved changes.
  ///
  /// The properties of a new model return to their declared values or, if the model was made from a
  /// document, to those of the document.
  public final func revert() {
    let context = core?.handle
    // An upgrade may make the model unsaved again, so a released context must not end before.
    defer { withExtendedLifetime(context) {} }
    if isBeingSaved { core?.finishCommit() }
    if mark != .none { announcing(ModelObservation.statePath) { mark = .none } }
    discardChanges()
    if state != .new { core?.noteClean(self) } else if hasFailedToSave { core?.scheduleRetry(self) }
    upgradeIfOutdated()
  }

  final func requireCore() throws(DatabaseError) -> ModelContextCore {
    guard let core else {
      throw DatabaseError(
        .notInContext, "the model is in no context", hint: "Insert it into one first")
    }
    return core
  }
}
