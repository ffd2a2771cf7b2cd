import DivanLog

// Queries for models.

extension Query where Subject: Model {
  /// Makes a query for all models of the class.
  ///
  /// Of a class that declares a ``Model/documentType``, those documents only that have it as their `type`. In a context
  /// with a ``ModelRegistry`` models of subclasses are among them, too.
  public init() { self.init(kind: ModelKind.withoutRegistry(Subject.self)) }

  /// In the order of a property: see ``sort(descending:byBytes:_:)``.
  public func sort<PropertyValue: QueryOrdered>(
    _ path: KeyPath<Subject, PropertyValue>, descending: Bool = false, byBytes: Bool = false
  ) -> Query {
    sort(descending: descending, byBytes: byBytes) { $0[dynamicMember: path] }
  }
}

/// Which documents are of a class.
enum ModelKind {
  /// Those that say so, where there is no registry.
  static func withoutRegistry(_ type: Model.Type) -> FilterExpression {
    guard let name = type.documentType else { return .all }
    return .test(QueryPath(steps: [.key(type.documentTypeKey)]), .equal(.string(name)))
  }

  /// Those that a context makes models of the class of.
  static func of<M: Model>(_ type: M.Type, _ registry: ModelRegistry?) -> FilterExpression {
    let alone = withoutRegistry(type)
    guard let registry else { return alone }
    if let names = registry.subclassNames(of: type) { return names }
    return .custom("documents of \(type)") { includes($0, type, registry) }
  }

  /// Whether a document of these properties is one of a class or of a subclass of it, as far as anything says so.
  static func includes<M: Model>(
    _ body: EncodedValue, _ type: M.Type, _ registry: ModelRegistry
  ) -> Bool {
    if let registered = registry.modelClass(of: body) { return registered is M.Type }
    return includes(body, type)
  }

  /// The same where there is no registry.
  static func includes<M: Model>(_ body: EncodedValue, _ type: M.Type) -> Bool {
    guard let name = type.documentType else { return true }
    guard let stored = try? body.string(type.documentTypeKey) else { return false }
    return haveSameUTF8(stored, name)
  }
}

// MARK: - Properties of models

extension QuerySubject where Subject: Model {
  /// A property of the class.
  public subscript<PropertyValue>(
    dynamicMember path: KeyPath<Subject, PropertyValue>
  ) -> QueryProperty<PropertyValue> {
    QueryProperty<Subject>(self.path, refusal: refusal).member(path)
  }
}

extension QueryProperty {
  /// A property of the model that this one refers to; where it refers to none, it is missing.
  ///
  /// Each of these models' documents is read once.
  public subscript<Target: Model, Inner>(
    dynamicMember path: KeyPath<Target, Inner>
  ) -> QueryProperty<Inner> where PropertyValue == Target? {
    QueryProperty(self.path.appending(.reference), refusal: refusal).member(path)
  }

  /// A property of the model that is an element of an array.
  public subscript<Inner>(
    dynamicMember path: KeyPath<PropertyValue, Inner>
  ) -> QueryProperty<Inner> where PropertyValue: Model {
    QueryProperty(self.path.appending(.reference), refusal: refusal).member(path)
  }

  fileprivate func member<Target: Model, Inner>(
    _ member: KeyPath<Target, Inner>
  ) -> QueryProperty<Inner> {
    guard refusal == nil else { return QueryProperty<Inner>(path, refusal: refusal) }
    do throws(DatabaseError) {
      if let key = try ModelKeys.key(of: member, in: Target.self) {
        return QueryProperty<Inner>(path.appending(.key(key)))
      }
    } catch {
      return QueryProperty<Inner>(path, refusal: QueryRefusal(error))
    }
    // The ID of what a reference leads to is what refers.
    guard path.steps.last == .reference else { return QueryProperty<Inner>(.documentID) }
    var path = path
    path.steps.removeLast()
    return QueryProperty<Inner>(path)
  }
}

// MARK: - References

extension QueryProperty {
  /// Whether the property refers to this model.
  public static func == <Target: Model>(
    property: Self, target: ModelID<Target>?
  ) -> Filter where PropertyValue == Target? {
    property.test(.equal(target.map { .string($0.documentID) } ?? .null))
  }

  /// Whether it does not.
  public static func != <Target: Model>(
    property: Self, target: ModelID<Target>?
  ) -> Filter where PropertyValue == Target? { !(property == target) }

  /// Whether the property refers to this model, or to none if that is nil.
  public static func == <Target: Model>(
    property: Self, target: Target?
  ) -> Filter where PropertyValue == Target? {
    property.test(.equal(target.map { .string($0.id) } ?? .null))
  }

  /// Whether it does not.
  public static func != <Target: Model>(
    property: Self, target: Target?
  ) -> Filter where PropertyValue == Target? { !(property == target) }

  /// Whether the property refers to nothing.
  public static func == <Target: Model>(
    property: Self, _: _OptionalNilComparisonType
  ) -> Filter where PropertyValue == Target? { property.test(.equal(.null)) }

  /// Whether it refers to anything.
  public static func != <Target: Model>(
    property: Self, _: _OptionalNilComparisonType
  ) -> Filter where PropertyValue == Target? { !property.test(.equal(.null)) }

  /// Whether one of the models that the property refers to is this one.
  public func contains<Target: Model>(_ target: ModelID<Target>) -> Filter
  where PropertyValue == [Target] {
    contains { $0.test(.equal(.string(target.documentID))) }
  }

  /// Whether one of the models that the property refers to is this one.
  public func contains<Target: Model>(_ target: Target) -> Filter
  where PropertyValue == [Target] {
    contains { $0.test(.equal(.string(target.id))) }
  }
}

// MARK: - Asking a context

/// Whatever is asked of a context is answered with what is stored, as the context sees it: what is changed and not saved makes
/// no difference, and models that were not saved yet are not among the results. With a ``ModelRegistry`` a query for a class is
/// one for its subclasses, too.
extension ModelContext: QuerySource {
  /// What the context reads, and what its registry says of classes.
  public func _queryView() throws -> _QueryView {
    let registry = core.registry
    return _QueryView(view: try core.requireSnapshot().view) { subject in
      (subject as? any QueriedClass.Type)?.kind(registry)
    }
  }

  /// The models that a query means, in its order.
  ///
  /// It is asked of what is stored, as the context sees it: what is changed and not saved makes no difference, and models
  /// that were not saved yet are not among them.
  ///
  /// - Throws: ``DatabaseError/Code/invalidQuery`` if the query cannot be answered; whatever reading throws.
  public func find<M: Model>(_ query: Query<M>) throws -> [M] {
    try documents(of: query).compactMap { document in
      let model = try core.model(M.self, of: document)
      return model.isDeleted ? nil : model
    }
  }

  /// The first model that a query means; nil if there is none.
  public func first<M: Model>(_ query: Query<M>) throws -> M? { try find(query.onlyFirst).first }
}

/// A class of models, which knows itself even where nothing but its being a type is known.
private protocol QueriedClass {
  static func kind(_ registry: ModelRegistry?) -> FilterExpression
}

extension QueriedClass where Self: Model {
  // Here `Self` is the class that was asked; in `Model` it would be `Model`.
  static func kind(_ registry: ModelRegistry?) -> FilterExpression {
    ModelKind.of(Self.self, registry)
  }
}

extension Model: QueriedClass {}

extension ModelContextCore {
  /// A query for what this context makes models of the class of.
  func known<M: Model>(_ query: Query<M>) -> Query<M> {
    var query = query
    query.core.kind = ModelKind.of(M.self, registry)
    return query
  }
}
