import DivanLog
import Synchronization

/// The models that refer to this one by a property of theirs.
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
/// Nothing is stored for it. It is looked up each time it is read: in the context's snapshot, and among the
/// context's unsaved models, so that it shows what would be if everything were saved. Models come in the order
/// of their IDs, unsaved ones last. With an index of the other property (``Database/addIndexes(for:progress:)``) that costs a search, one more
/// for each model, and a look at each unsaved model of the context. Without it every document is read once for each snapshot, and the
/// index is made when the context saves something next, unless another one has its name; in a transaction every document is read
/// each time. What cannot be read is left out. Of that, and of an index that cannot be made, the context's
/// ``ModelContext/errorHandler`` is told. Of a model in no context nothing is found. Where neither a ``ModelRegistry`` nor a
/// ``Model/documentType`` says what documents are, every document counts whose property of that name refers to the model.
///
/// Where models are observed, reading it observes it: who does is told when a reference to the model comes or
/// goes in the context, and when documents were changed elsewhere.
@propertyWrapper
public struct Inverse<Source: Model> {
  private let path: any PartialKeyPath<Source> & Sendable
  private let rule: DeleteRule

  /// The models that refer to this one by a property that refers to one model.
  ///
  /// - Parameters:
  ///   - path: a ``Persisted`` property of the models that are looked for.
  ///   - rule: what becomes of them when this model is deleted.
  public init<Target: Model>(
    _ path: any KeyPath<Source, Target?> & Sendable, onDelete rule: DeleteRule = .none
  ) {
    self.path = path
    self.rule = rule
  }

  /// The models that refer to this one by a property that refers to several.
  ///
  /// - Parameters:
  ///   - path: a ``Persisted`` property of the models that are looked for.
  ///   - rule: what becomes of them when this model is deleted.
  public init<Target: Model>(
    _ path: any KeyPath<Source, [Target]> & Sendable, onDelete rule: DeleteRule = .none
  ) {
    self.path = path
    self.rule = rule
  }

  /// Finds the models, for the compiler.
  public static subscript<Owner: Model>(
    _enclosingInstance model: Owner,
    wrapped _: KeyPath<Owner, [Source]>,
    storage storage: KeyPath<Owner, Inverse<Source>>
  ) -> [Source] {
    model.models(by: model[keyPath: storage].path, of: Source.self)
  }

  /// Never called: it is found through the model.
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

/// What an ``Inverse`` property of a class says.
final class InverseRelation: Sendable {
  /// The name of the inverse property.
  let name: String
  let source: Model.Type
  let rule: DeleteRule
  let path: any AnyKeyPath & Sendable
  /// Whether a model is of the class.
  let includes: @Sendable (Model) -> Bool
  /// Whether a document is of the class, as far as anything says so.
  let isDocument: @Sendable (Document, ModelContextCore) -> Bool
  /// The model of a document, if it is of the class.
  let model: @Sendable (Document, ModelContextCore) throws -> Model?
  /// What the key path gives of a model of the class: the one that it refers to, or the first.
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
    isDocument = { document, core in
      if let known = core.known(document.id), known.state != .deleted { return known is Source }
      return core.isDocument(document, of: Source.self)
    }
    target = { model in
      guard let source = model as? Source else { return nil }
      let found = source[keyPath: path]
      return found as? Model ?? (found as? [Model])?.first
    }
    model = { document, core in
      guard core.isDocument(document, of: Source.self) else { return nil }
      return try core.model(Source.self, of: document)
    }
  }

  /// The property by which models refer.
  ///
  /// It has the same number in all subclasses of ``source``.
  var property: any ModelProperty {
    let known = ModelClass.of(source)
    // Not under the lock: it runs the client's initializer.
    let index = number.withLock { $0 } ?? find(known)
    number.withLock { $0 = index }
    return known.properties[index]
  }

  /// Finds out where a key path leads, by setting one reference after the other of a model that nobody sees.
  private func find(_ source: ModelClass) -> Int {
    let model = source.type.init()
    for property in source.properties {
      guard let probe = property.setProbe(in: model) else { continue }
      if target(model) === probe { return property.place.index }
    }
    refuseUse(
      "@Inverse \(name) needs a @Persisted property of \(source.type) that refers to models")
  }
}
