import DivanLog

// Queries for models.

extension Query where Subject: Model {
  /// Creates a query for all models of the class.
  ///
  /// Documents with the class's ``Model/documentType`` match, or an earlier one. In a context with
  /// a ``ModelRegistry``, models of subclasses match too.
  public init() { self.init(kind: ModelKind.withoutRegistry(Subject.self)) }

  /// Returns the query, sorted by a property: see ``sorted(_:texts:by:)``.
  public func sorted<PropertyValue: _QueryOrdered>(
    by path: KeyPath<Subject, PropertyValue>, _ direction: SortDirection = .ascending,
    texts: TextOrder = .collated
  ) -> Query {
    sorted(direction, texts: texts) { $0[dynamicMember: path] }
  }
}

/// Filters for the documents of a class.
enum ModelKind {
  /// The types of documents of a class; empty if they store none.
  private static func types(of type: Model.Type) -> [String] {
    // The name of a class takes longer to find out than the class.
    ModelClassTable.find(type)?.documentTypes ?? type.allDocumentTypes
  }

  /// The documents with the type that the class declares, without a registry.
  static func withoutRegistry(_ type: Model.Type) -> FilterExpression {
    .ofTypes(types(of: type), under: type.documentTypeKey) ?? .all
  }

  /// The documents of which a context with a registry makes models of the class.
  static func of<M: Model>(_ type: M.Type, _ registry: ModelRegistry?) -> FilterExpression {
    let alone = withoutRegistry(type)
    guard let registry else { return alone }
    if let names = registry.subclassNames(of: type) { return names }
    return .custom("documents of \(type)") { includes($0, type, registry) }
  }

  /// Whether a document is of a class or a subclass of it, if anything determines that.
  static func includes<M: Model>(
    _ properties: EncodedValue, _ type: M.Type, _ registry: ModelRegistry?
  ) -> Bool {
    if let registered = registry?.modelClass(of: properties) { return registered is M.Type }
    return includes(properties, type)
  }

  /// Whether a document is of a class or a subclass of it, if anything determines that.
  static func includes<M: Model>(
    _ document: Document, _ type: M.Type, _ registry: ModelRegistry?
  ) -> Bool {
    // A document that cannot be encoded is of no class.
    guard let properties = try? document.encoded() else { return false }
    return includes(properties, type, registry)
  }

  /// Whether a document is of a class, without a registry.
  static func includes<M: Model>(_ properties: EncodedValue, _ type: M.Type) -> Bool {
    let names = types(of: type)
    if names.isEmpty { return true }
    let isIncluded = try? properties.withText(type.documentTypeKey) { stored in
      names.contains { withUTF8(of: $0) { areEqual($0, stored) } }
    }
    return isIncluded ?? false
  }
}

extension FilterExpression {
  /// A filter for documents with one of several types; nil if there are none.
  static func ofTypes(_ names: [String], under key: String) -> FilterExpression? {
    guard let name = names.first else { return nil }
    return .test(
      QueryPath(steps: [.key(key)]),
      names.count == 1 ? .equal(.string(name)) : .oneOf(names.map { .string($0) }))
  }
}

// MARK: - Properties of models

extension QuerySubject where Subject: Model {
  /// A property of the model.
  public subscript<PropertyValue>(
    dynamicMember path: KeyPath<Subject, PropertyValue>
  ) -> QueryProperty<PropertyValue> {
    QueryProperty<Subject>(self.path, refusal: refusal).member(path)
  }
}

extension QueryProperty {
  /// A property of the model that this property refers to; missing if it refers to none.
  ///
  /// The document of each referenced model is read once.
  public subscript<Target: Model, Inner>(
    dynamicMember path: KeyPath<Target, Inner>
  ) -> QueryProperty<Inner> where PropertyValue == Target? {
    QueryProperty(self.path.appending(.reference), refusal: refusal).member(path)
  }

  /// A property of the model that an array element refers to.
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
      if let property = try ModelKeys.property(at: member, in: Target.self) {
        // A property of a model that is reached by a reference may also lack the model.
        return QueryProperty<Inner>(
          path.appending(.key(property.key)), declared: path.steps.isEmpty ? property.declared : nil
        )
      }
    } catch {
      return QueryProperty<Inner>(path, refusal: QueryRejection(error))
    }
    // The ID of a reference's target is the stored reference itself.
    guard path.steps.last == .reference else { return QueryProperty<Inner>(.documentID) }
    var path = path
    path.steps.removeLast()
    return QueryProperty<Inner>(path)
  }
}

// MARK: - References

extension QueryProperty {
  /// Returns a filter for properties that refer to this model, or to none if it is nil.
  public static func == <Target: Model>(
    property: Self, target: ModelID<Target>?
  ) -> Filter where PropertyValue == Target? {
    property.test(.equal(target.map { .string($0.documentID) } ?? .null))
  }

  /// Returns a filter for properties that do not refer to this model, or to any if it is nil.
  public static func != <Target: Model>(
    property: Self, target: ModelID<Target>?
  ) -> Filter where PropertyValue == Target? { !(property == target) }

  /// Returns a filter for properties that refer to this model, or to none if it is nil.
  public static func == <Target: Model>(
    property: Self, target: Target?
  ) -> Filter where PropertyValue == Target? {
    property.test(.equal(target.map { .string($0.id) } ?? .null))
  }

  /// Returns a filter for properties that do not refer to this model, or to any if it is nil.
  public static func != <Target: Model>(
    property: Self, target: Target?
  ) -> Filter where PropertyValue == Target? { !(property == target) }

  /// Returns a filter for properties that refer to no model.
  public static func == <Target: Model>(
    property: Self, _: _OptionalNilComparisonType
  ) -> Filter where PropertyValue == Target? { property.test(.equal(.null)) }

  /// Returns a filter for properties that refer to a model.
  public static func != <Target: Model>(
    property: Self, _: _OptionalNilComparisonType
  ) -> Filter where PropertyValue == Target? { !property.test(.equal(.null)) }

  /// Returns a filter for lists of references that contain this model.
  public func contains<Target: Model>(_ target: ModelID<Target>) -> Filter
  where PropertyValue == [Target] {
    contains { $0.test(.equal(.string(target.documentID))) }
  }

  /// Returns a filter for lists of references that contain this model.
  public func contains<Target: Model>(_ target: Target) -> Filter
  where PropertyValue == [Target] {
    contains { $0.test(.equal(.string(target.id))) }
  }
}

/// A model class that can be queried through its metatype alone.
protocol QueriedClass {
  static func kind(_ registry: ModelRegistry?) -> FilterExpression
}

extension QueriedClass where Self: Model {
  // Here `Self` is the class of the query; in `Model` it would be `Model`.
  static func kind(_ registry: ModelRegistry?) -> FilterExpression {
    ModelKind.of(Self.self, registry)
  }
}

extension Model: QueriedClass {}
