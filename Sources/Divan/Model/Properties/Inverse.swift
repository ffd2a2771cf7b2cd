import DivanLog
import Synchronization

/// The models that refer to this one by one of their properties.
///
/// ```swift
/// class Film: Model {
///   @Persisted var director: Person?
///   @Persisted var cast: [Person]
/// }
/// class Person: Model {
///   @Inverse(\Film.director, onDelete: .nullify) var directed: [Film]
///   @Inverse(\Film.cast) var films: [Film]
/// }
/// try database.addIndexes(for: Person.self)
/// ```
///
/// Nothing is stored for an inverse. Each read looks it up in the context's snapshot and among the
/// context's unsaved models, as if everything were saved. Models are in the
/// order of their IDs, followed by unsaved ones. A model in no context has an empty inverse.
///
/// With an index of the other property (``Database/addIndexes(for:progress:)-8y952``), a read costs
/// one search, another search for each model found, and a check of each unsaved model of the
/// context. Without the index, every document is read once for each snapshot, and in a transaction
/// at each read. The context builds the missing index at its next save, unless another index has
/// its name.
///
/// Models that cannot be read are left out. The context's ``ModelContext/errorHandler`` receives
/// their errors, and the error of an index that cannot be built. If neither a ``ModelRegistry`` nor
/// a ``Model/documentType`` determines the class of documents, every document counts whose property
/// of that name refers to the model.
///
/// If models are observed, reading an inverse observes it. Observers are notified when a reference
/// to the model is added or removed in the context, and after external changes of documents.
@propertyWrapper
public struct Inverse<Source: Model> {
  private let path: any PartialKeyPath<Source> & Sendable
  private let rule: DeleteRule

  /// Declares an inverse of a property that refers to one model.
  ///
  /// - Parameters:
  ///   - path: a ``Persisted`` property of the models to find.
  ///   - rule: what happens to them when this model is deleted.
  public init<Target: Model>(
    _ path: any KeyPath<Source, Target?> & Sendable, onDelete rule: DeleteRule = .noAction
  ) {
    self.path = path
    self.rule = rule
  }

  /// Declares an inverse of a property that refers to several models.
  ///
  /// - Parameters:
  ///   - path: a ``Persisted`` property of the models to find.
  ///   - rule: what happens to them when this model is deleted.
  public init<Target: Model>(
    _ path: any KeyPath<Source, [Target]> & Sendable, onDelete rule: DeleteRule = .noAction
  ) {
    self.path = path
    self.rule = rule
  }

  /// Finds the models, on behalf of the compiler.
  public static subscript<Owner: Model>(
    _enclosingInstance model: Owner,
    wrapped _: KeyPath<Owner, [Source]>,
    storage storage: KeyPath<Owner, Inverse<Source>>
  ) -> [Source] {
    model.models(by: model[keyPath: storage].path, of: Source.self)
  }

  /// Unavailable: an inverse is accessed through its model.
  @available(*, unavailable, message: "@Inverse can only be used on properties of Model subclasses")
  public var wrappedValue: [Source] { [] }
}

extension Inverse: InverseWrapper {
  static func relation(_ name: String, in model: Model, at offset: Int) -> InverseRelation {
    model.withValue(at: offset, of: Self.self) { wrapper in
      InverseRelation(name, Source.self, path: wrapper.path, rule: wrapper.rule)
    }
  }
}

/// An `Inverse` of any type.
protocol InverseWrapper {
  static func relation(_ name: String, in model: Model, at offset: Int) -> InverseRelation
}

/// The declaration of an ``Inverse`` property of a class.
final class InverseRelation: Sendable {
  /// The name of the inverse property.
  let name: String
  let source: Model.Type
  let rule: DeleteRule
  let path: any AnyKeyPath & Sendable
  /// Whether a model is of the class.
  let includes: @Sendable (Model) -> Bool
  /// Whether a document is of the class, if anything determines that.
  private let isDocument: @Sendable (Document, ModelRegistry?) -> Bool
  /// The model of a document, if it is of the class.
  let model: @Sendable (Document, ModelContextCore) throws -> Model?
  /// The value of the key path in a model of the class: the model it refers to, or the first one.
  private let target: @Sendable (Model) -> Model?
  private let number = Mutex<Int?>(nil)

  init<Source: Model>(
    _ name: String, _ source: Source.Type, path: any PartialKeyPath<Source> & Sendable,
    rule: DeleteRule
  ) {
    self.name = name
    self.source = source
    self.path = path
    self.rule = rule
    includes = { $0 is Source }
    isDocument = { ModelKind.includes($0, Source.self, $1) }
    target = { model in
      guard let source = model as? Source else { return nil }
      let found = source[keyPath: path]
      return found as? Model ?? (found as? [Model])?.first
    }
    model = { document, core in
      guard ModelKind.includes(document, Source.self, core.registry) else { return nil }
      return try core.model(Source.self, of: ModelContent(document))
    }
  }

  /// The property by which models refer to the owner of the inverse.
  ///
  /// It has the same number in all subclasses of ``source``.
  var property: any ModelProperty {
    let known = ModelClass.of(source)
    // Not under the lock, because it runs the client's initializer.
    let index = number.withLock { $0 } ?? find(known)
    number.withLock { $0 = index }
    return known.properties[index]
  }

  /// Returns a test of whether documents are of the class, for use on any thread.
  ///
  /// The models that a context has of documents with the given IDs decide for these.
  func documents(
    in core: ModelContextCore, amid ids: [String]
  ) -> @Sendable (Document) -> Bool {
    var known: [DocumentKey: Bool] = [:]
    for id in ids {
      guard let model = core.known(id), model.state != .deleted else { continue }
      known[DocumentKey(id)] = includes(model)
    }
    return { [known, registry = core.registry, isDocument] document in
      known[DocumentKey(document.id)] ?? isDocument(document, registry)
    }
  }

  /// Finds the property of the key path by setting one reference after another in a scratch model.
  private func find(_ source: ModelClass) -> Int {
    let model = source.type.init()
    for property in source.properties {
      guard let probe = property.setProbe(in: model) else { continue }
      if target(model) === probe { return property.location.index }
    }
    refuseUse(
      "@Inverse \(name) needs a @Persisted property of \(source.type) that refers to models")
  }
}
