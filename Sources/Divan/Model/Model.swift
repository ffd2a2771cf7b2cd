import DivanLog
import Observation

/// An object whose properties are stored in a document.
///
/// Subclass it, and wrap what is to be stored in ``Persisted``; other properties are the object's own
/// business.
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
/// A model stands for one document for its whole life, and a context has one object for each. What the
/// document holds beyond the declared properties is kept when it is saved.
///
/// Models belong to the task, thread or actor of their context, and the compiler makes sure of it.
/// The initializer `init()` also runs when a model is loaded, and now and then for one that is only
/// looked at: it should do nothing but set properties.
///
/// Invariants:
/// - `body` is the document as it was when it was last read or saved; nil if it never was.
/// - A property without `PropertyFlags.dirty` has the value that `body` says.
/// - `isChanged` says whether any property is dirty, or `extras` hold changes.
nonisolated open class Model {
  final var modelClass: ModelClass
  /// The context's inner part; nil while the model is in none.
  final var core: ModelContextCore?
  final var body: EncodedValue?
  /// The document's ID; empty as long as nobody asked for it.
  final var documentID = ""
  final var state = State.new
  final var isChanged = false
  /// Whether the model said that it needs to be saved, whatever its properties are: see ``markNeedsSave()``.
  final var mark = Mark.none
  /// Whether the context is to forget the model when it goes.
  final var isKnown = false
  /// Whether it turned out that the class does not know its properties: they are kept, and not stored.
  final var isUnknownToItself = false
  /// Whether the context could not save the model by itself, and tries again when it is changed, or later.
  final var isRefused = false
  /// Whether properties that refer to several models hold some of these: see ``ModelReference/found``.
  final var holdsFound = false
  /// Whether nobody is told of anything, though the class is `Observable`.
  final var isUnobserved = false
  /// The hash of the document's ID, once the context knows the model.
  final var idHash: UInt32 = 0
  /// The version of the document that ``upgrade(from:)`` has changed into the class's, if it did.
  final var upgradedFrom: Int?
  /// Where the model stands among the unsaved ones of its context, from 1 on; 0 if it is none of them.
  final var unsavedPlace = 0
  /// What the model was before its context's transaction changed it; nil elsewhere.
  final var reversal: ModelReversal?
  /// When its context's transaction was read for the model last: see ``ModelReversals``.
  final var lastReading = 0
  /// Where the model leaves what it held when it goes; nil unless something that held it is just going.
  final var going: GoingModels?
  /// What the properties that are references refer to, by their numbers.
  final var references: [Int: ModelReference] = [:]
  /// The same of properties that refer to several.
  final var referenceLists: [Int: [ModelReference]] = [:]
  /// Changes of undeclared properties and of attachments; nil while there was never anything of that.
  final var extras: ModelExtras?
  /// Those who observe the model; nil while nobody ever did.
  ///
  /// They are never exchanged.
  final var observers: ModelObservers?
  /// When the model last took over what its document was changed to elsewhere, as a time since `firstMoment`; nil if it never did.
  ///
  /// The size of an instant is not known here: with one, a model's properties would be reached only by asking where they are.
  final var lastExternalChange: Duration?

  enum State {
    /// There is no document yet.
    case new
    case stored
    case deleted
  }

  enum Mark {
    case none
    /// ``willSave(_:)`` is to be called.
    case set
    /// ``willSave(_:)`` was called; the mark goes when that has led to something.
    case asked
  }

  /// Makes a new model that is in no context: see ``ModelContext/insert(_:)``.
  public required init() {
    if let known = ModelClassTable.find(Self.self) {
      modelClass = known
    } else {
      // Only a model that is whole can be looked at.
      modelClass = .none
      modelClass = ModelClass.discover(Self.self, from: self)
    }
    for (index, place) in modelClass.places.enumerated() {
      setIndex(UInt16(index), at: place)
      setFlags(place.initialFlags, at: place)
    }
  }

  /// Makes a new model in a context.
  ///
  /// - Parameters:
  ///   - context: where the model belongs, and where it is saved.
  ///   - id: the ID of its document; a new one is made if this is nil. Nothing is read: the model is new, with declared
  ///     values, even if there is a document of this ID, and then saving it throws ``DatabaseError/Code/conflict`` and changes
  ///     nothing. ``ModelContext/insert(_:id:)`` says so at once, and ``ModelContext/model(_:_:)`` finds the model of what
  ///     is stored.
  public convenience init(in context: ModelContext, id: String? = nil) {
    self.init()
    documentID = id ?? ""
    context.core.insert(self)
  }

  deinit {
    if isKnown { core?.forget(self) }
    if core == nil, modelClass.hasReferences { letGoOfTargets() }
  }

  /// What is stored under `type` in new documents of this class; nil, which is the default, stores
  /// nothing.
  ///
  /// A class that declares it is told apart from others in one database:
  /// ``ModelContext/models(_:in:)`` gives only its documents.
  open class var documentType: String? { nil }

  /// Where documents have what ``documentType`` says: under `type`, unless it is overridden.
  open class var documentTypeKey: String { "type" }

  /// The version of what the class stores; 1, unless this is overridden.
  ///
  /// Count it up when properties change their meaning, and override ``upgrade(from:)``. From 2 on it is stored
  /// in documents, under ``modelVersionKey``.
  open class var modelVersion: Int { 1 }

  /// Where documents have the ``modelVersion`` of the class that stored them.
  open class var modelVersionKey: String { "modelVersion" }

  /// Indexes of the class beside those of single properties: of several ones together, or of some documents only.
  ///
  /// ```swift
  /// override class var indexes: [ModelIndex] {
  ///   super.indexes + [ModelIndex(of: Todo.self, on: \.list, \.due, where: { $0.done == false })]
  /// }
  /// ```
  ///
  /// None, unless this is overridden; ``Database/addIndexes(for:progress:)`` makes them.
  open class var indexes: [ModelIndex] { [] }

  // MARK: What subclasses may override

  /// Called when the model was made of a document that an earlier version of its class has stored, before
  /// ``didLoad()``.
  ///
  /// It reads what the document has, with ``value(for:)`` also what the class does not declare any more, and
  /// sets what the class has now. That changes the model: it is stored in the new form when the model is saved
  /// with ``ModelContext/saveAllModels()`` or otherwise, and upgraded again each time it is loaded until then.
  ///
  /// - Parameter version: the version that the document has; 1 if it says nothing. Documents of later
  ///   versions than the class's are read as they are.
  /// - Throws: whatever keeps it from being upgraded: the context's ``ModelContext/errorHandler`` is told, and
  ///   the model is what the document says, of the earlier version.
  open func upgrade(from version: Int) throws {}

  /// Makes the ID of a new model's document, for models that are made without one; nil, which is the default,
  /// or an empty one has the database make it.
  ///
  /// It is asked for once for each model, at the latest when the model comes into a context.
  open class func makeDocumentID() -> String? { nil }

  /// The properties of the tombstone that stays when the model's document is deleted; none, unless this is
  /// overridden.
  ///
  /// They are asked for after ``willDelete()``.
  open var tombstoneProperties: Value.Object { [:] }

  /// Called once on every model that has come into a context: on a new one when it was made there or
  /// inserted, on one that was made of a document after ``didLoad()``.
  ///
  /// It may set properties, which changes the model. `init()` is no place for more than declared values,
  /// since it also runs for models that nobody ever sees.
  open func awakeFromInitializer() {}

  /// Called when the model was made of its document, and again each time when it has taken over what the
  /// document was changed to elsewhere.
  open func didLoad() {}

  /// Called before the model is saved, before anything is checked or written.
  ///
  /// It may change properties, which are saved too. State of the model's own becomes properties here:
  /// ``markNeedsSave()`` has the model called when only that has changed. Other models that it changes or makes are saved with
  /// this one by ``ModelContext/saveAllModels()``, and stay unsaved otherwise. Nothing can be saved from
  /// here.
  ///
  /// - Parameter changedProperties: the names of the properties that were changed, in the order of their
  ///   declaration; empty for a new model of which nothing was set, and for one that is only marked.
  open func willSave(_ changedProperties: [String]) {}

  /// Called before the model's document is deleted, before anything is checked or written: by ``delete()``, by
  /// ``ModelContext/delete(_:)``, and by the ``DeleteRule``s of whatever takes this model along.
  ///
  /// ```swift
  /// override func willDelete() {
  ///   lastTitle = title            // `tombstoneProperties` leaves it in the database
  ///   for each in followers { each.leader = nil }
  /// }
  /// override var tombstoneProperties: Value.Object { ["title": .string(lastTitle)] }
  /// ```
  ///
  /// It may remember what ``tombstoneProperties`` says next, and change, make and delete other models. The rules
  /// of deletion are followed as references are after that, so that it may take out what would keep the model
  /// from being deleted. What it deletes goes in the same transaction; what it changes stays unsaved, until it is
  /// saved by ``ModelContext/saveAllModels()`` or otherwise. Nothing can be saved from here.
  ///
  /// Each model is called once for each deletion. If the deletion fails then, nothing is deleted, what the hooks
  /// changed stays changed, and the next attempt calls them again. Like ``willSave(_:)`` it does not throw: what
  /// may keep a model from being deleted is ``DeleteRule/deny``. It is not called for a model that was never
  /// saved, nor where documents are deleted otherwise: by transactions, by undoing, or elsewhere.
  open func willDelete() {}

  /// Called when the model was saved and is clean: its transaction was committed or, in a context of a transaction, has it.
  open func didSave() {}

  /// Called before the model is saved, after ``willSave(_:)`` of all that are saved: says what is wrong.
  ///
  /// If anything is, with any of the models, none is saved, and the error says all that is wrong with all
  /// of them.
  open func validate(_ validation: inout ModelValidation) {}
}

@available(*, unavailable)
extension Model: Sendable {}

extension Model: Identifiable {
  /// The ID of the model's document, which never changes.
  ///
  /// A model that is in no context gets one when it is first asked for.
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
  /// Whether both are the same object.
  public static func == (a: Model, b: Model) -> Bool { a === b }

  /// Feeds the object's identity into the hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Model: PersistableOptional {}

extension PersistableOptional where Self: Model {
  /// Stored as the ID of the other model's document.
  public static var _optionalStorage: _PersistedStorage {
    // Here `Self` is the class that the property declares; in `Model` it would be `Model`.
    _PersistedStorage { ReferenceProperty<Self>(place: $0) }
  }
}

// MARK: - State

extension Model {
  /// The context that the model is in; nil if it is in none, or the context is gone.
  public final var context: ModelContext? { core?.handle }

  /// Whether there is no document of the model yet.
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

  /// Whether saving has something to do: the model is new, properties were changed, or ``markNeedsSave()`` was
  /// called.
  public final var needsSave: Bool {
    noteAccess(ModelObservation.statePath)
    return isUnsaved
  }

  /// How long ago the model took over what its document was changed to elsewhere, or learned that it was
  /// deleted there; nil if it never did.
  ///
  /// ``markExternallyChanged()`` lets it begin again. Observers of it hear each time it does.
  public final var timeSinceExternallyChanged: Duration? {
    noteAccess(ModelObservation.externalChangePath)
    return lastExternalChange.map { Self.firstMoment.duration(to: .now) - $0 }
  }

  /// Lets ``timeSinceExternallyChanged`` begin at zero, as if the document had just been changed elsewhere.
  ///
  /// ```swift
  /// // The user is led to this one: it lights up like one that has just arrived.
  /// todo.markExternallyChanged()
  /// ```
  ///
  /// Nothing else of the model changes, and nothing is to be saved.
  public final func markExternallyChanged() { noteExternalChange() }

  /// Notes that the model took something over now.
  final func noteExternalChange() {
    announcing(ModelObservation.externalChangePath) {
      lastExternalChange = Self.firstMoment.duration(to: .now)
    }
  }

  /// Some moment before all that are noted.
  private static let firstMoment = ContinuousClock.now

  /// Whether saving has something to do.
  final var isUnsaved: Bool { hasChanges || state == .stored && mark != .none }

  /// Whether saving stores something.
  final var hasChanges: Bool { state == .new || state == .stored && isChanged }

  /// The names of the properties that were changed and not saved yet, in the order of declaration; then the
  /// keys of those that ``setValue(_:for:)`` changed and the class does not declare.
  ///
  /// A property that was changed in place counts, even if its value is what it was.
  public final var changedProperties: [String] {
    noteAccess(ModelObservation.statePath)
    return changedNames
  }

  final var changedNames: [String] {
    guard isChanged else { return [] }
    var names: [String] = []
    for place in modelClass.places where isDirty(place) { names.append(place.name) }
    if let extras { names += extras.undeclared.keys.sorted() }
    return names
  }
}

// MARK: - Saving and the like

extension Model {
  /// Stores what was changed, in a transaction of its own; see ``ModelContext/saveModels(_:)``.
  public final func save() throws {
    try requireCore().save([self])
  }

  /// Deletes the model's document, and what its class's ``DeleteRule``s say, in one transaction.
  ///
  /// The model stays readable, and is never saved again. A model that was not saved yet is only
  /// forgotten by its context. Does nothing if the model was deleted already. Where a rule takes references out
  /// of other documents that is stored at once, without their models' hooks; what else was changed in those
  /// models stays unsaved.
  /// - Throws: ``DatabaseError`` with the codes `conflict` if the document, or one that is deleted with it, was
  ///   changed elsewhere since it was read: refresh the context, and delete again; `stillReferenced` if a rule
  ///   says no; `notInContext` if a rule reaches into another context (``ModelContext/setContext(_:for:)``); and whatever reading and writing throw. Then nothing is deleted.
  public final func delete() throws {
    guard state != .deleted else { return }
    try requireCore().delete([self])
  }

  /// Makes sure that every property that was not changed can be read from the document.
  ///
  /// Otherwise a property that cannot be read has its declared value, and the context is told: see
  /// ``ModelContext/errorHandler`` and ``ModelContext/mismatchHandler``.
  ///
  /// - Throws: ``DatabaseError/Code/mismatchedType`` for the first property whose value is not of its
  ///   type; `damaged` if the document's bytes are not what was stored.
  public final func load() throws {
    for property in modelClass.properties {
      if let problem = try property.problem(in: self) { throw problem }
    }
  }

  /// Has the model saved though no property was assigned: by the next ``save()``, by
  /// ``ModelContext/saveAllModels()``, by contexts that save by themselves, and by closing.
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
  /// So a model may keep state of its own in whatever form, and write it into properties only when it is saved, in
  /// ``willSave(_:)``. If no property is changed after that, nothing is validated and stored, ``didSave()`` is not called,
  /// and the model needs no saving any more. If saving throws the model stays marked. A mark that is set after
  /// `willSave` of the model was called, by other models' hooks, is for the next time. ``revert()`` takes it away. A
  /// deleted model is not saved, whether it is marked or not.
  public final func markNeedsSave() {
    if isRefused { core?.noteMended(self) }
    guard mark != .set else { return }
    announcing(ModelObservation.statePath) { mark = .set }
    if isUnsaved { core?.noteUnsaved(self) }
  }

  /// Takes back what was changed and not saved.
  ///
  /// A new model gets the values that its class declares or, if it was made of a document, what that has.
  public final func revert() {
    if mark != .none { announcing(ModelObservation.statePath) { mark = .none } }
    takeBackChanges()
    if state != .new { core?.noteClean(self) } else if isRefused { core?.noteMended(self) }
    upgradeIfOutdated()
  }

  private func requireCore() throws(DatabaseError) -> ModelContextCore {
    guard let core else {
      throw DatabaseError(
        .notInContext, "the model is in no context", hint: "Insert it into one first")
    }
    return core
  }
}

extension DatabaseError.Code {
  /// The model is in no context, or in another one.
  public static let notInContext = Self("notInContext")
  /// The context has a model of another class for this document.
  public static let otherModelClass = Self("otherModelClass")
}
