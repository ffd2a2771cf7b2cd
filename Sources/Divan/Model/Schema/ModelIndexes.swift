import DivanLog

/// What the index of a property contains: `@Persisted(index: .unique) var name = ""`.
///
/// ```swift
/// final class User: Model {
///   @Persisted(index: .unique) var email: String?
///   @Persisted(index: .value) var joined: Date?
///   @Persisted(index: .eachElement) var groups: [String]
///   @Persisted(index: .fullText) var about: String
/// }
/// ```
///
/// The index contains only documents of the class and its subclasses, and queries for the class
/// use it. See ``Database/addIndexes(for:progress:)-8y952``.
public struct PropertyIndex<Value>: Sendable {
  @usableFromInline let _kind: PropertyIndexKind

  // Inlinable, so that a model's initializer does not make and release options of full text.
  @inlinable
  init(_kind: PropertyIndexKind) { self._kind = _kind }

  /// The value; an array is indexed as a whole.
  @inlinable public static var value: PropertyIndex { PropertyIndex(_kind: .value) }

  /// The value, which must be unique.
  ///
  /// No two models of the class and its subclasses may have the same value, other than nil. Saving
  /// a second model with the value throws ``DatabaseError/Code/notUnique``. Nothing is saved then,
  /// and the models stay unsaved.
  @inlinable public static var unique: PropertyIndex { PropertyIndex(_kind: .unique) }
}

extension PropertyIndex where Value: _QueryElements {
  /// Each element of an array: queries find models by any element.
  @inlinable public static var eachElement: PropertyIndex { PropertyIndex(_kind: .eachElement) }
}

extension PropertyIndex where Value: _QueryFullText {
  /// The words of a text, or of an array of texts: queries find models by any word.
  ///
  /// For an index over several properties, with weights, declare a ``ModelIndex``. See
  /// <doc:FullTextSearch>.
  @inlinable public static var fullText: PropertyIndex { PropertyIndex(_kind: .fullText(nil)) }

  /// The words of a text, or of an array of texts, with options of the full-text index.
  ///
  /// ```swift
  /// final class Letter: Model {
  ///   @Persisted(index: .fullText(FullTextOptions(stemming: .english))) var text: String
  /// }
  /// ```
  ///
  /// The options are made for each model. If they take time to make, put them into a constant.
  @inlinable
  public static func fullText(_ options: FullTextOptions) -> PropertyIndex {
    PropertyIndex(_kind: .fullText(options))
  }
}

/// The kind of a property's index, without the property's type.
@usableFromInline
enum PropertyIndexKind: Sendable, Hashable {
  case value, unique, eachElement
  /// A full-text index with options; nil for the default ones.
  case fullText(FullTextOptions?)
}

/// An index of a model class over several properties, or over some documents: ``Model/indexes``.
///
/// ```swift
/// override class var indexes: [ModelIndex] {
///   [ModelIndex(of: Todo.self, on: { $0.list }, { $0.due }, where: { $0.done == false })]
/// }
/// ```
///
/// A full-text index has the words of one or several properties:
///
/// ```swift
/// override class var indexes: [ModelIndex] {
///   [ModelIndex(of: Note.self, fullText: { $0.title }, { $0.text }, options: words, named: "all")]
/// }
/// ```
///
/// An invalid description is reported when the index is built:
/// ``Database/addIndexes(for:progress:)-8y952`` throws ``DatabaseError/Code/invalidIndex``.
public struct ModelIndex: Sendable {
  let name: String?
  let paths: [QueryPath]
  let isUnique: Bool
  let eachElement: Bool
  /// The options of a full-text index; nil for an index of values.
  let fullText: FullTextOptions?
  let filter: FilterExpression
  let refusal: DatabaseError?

  /// Creates the description of an index.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - properties: the properties that order the index, the most significant first: ``Persisted``
  ///     properties, or properties nested in them.
  ///   - name: the name of the index within the class; nil for the keys of the properties, joined
  ///     by `+`.
  ///   - isUnique: whether no two models of the class and its subclasses may have the same values
  ///     in all properties, unless one of the values is nil.
  ///   - eachElement: whether each element is indexed separately, if the first property is an
  ///     array.
  ///   - condition: the condition for models to be in the index: comparisons with constants,
  ///     non-nil properties, `isIn` with values, and string prefixes, joined with `&&`.
  public init<Root: Model, each V>(
    of type: Root.Type, on properties: repeat (QuerySubject<Root>) -> QueryProperty<each V>,
    named name: String? = nil, isUnique: Bool = false, eachElement: Bool = false,
    where condition: ((QuerySubject<Root>) -> Filter)? = nil
  ) {
    let (paths, refusal) = ModelIndex.paths(repeat each properties)
    self.name = name
    self.paths = paths
    self.isUnique = isUnique
    self.eachElement = eachElement
    fullText = nil
    let filter = condition.map { $0(QuerySubject()).expression } ?? .all
    self.filter = filter
    self.refusal = refusal ?? filter.refusal
  }

  /// Creates the description of a full-text index.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - properties: ``Persisted`` properties that are texts or arrays of texts, or properties
  ///     nested in them.
  ///   - options: how text becomes terms, and how much each property counts, by the path of its
  ///     keys.
  ///   - name: the name of the index within the class; nil for the keys of the properties, joined
  ///     by `+`.
  ///   - condition: the condition for models to be in the index, as for other indexes.
  public init<Root: Model, each V: _QueryFullText>(
    of type: Root.Type, fullText properties: repeat (QuerySubject<Root>) -> QueryProperty<each V>,
    options: FullTextOptions = FullTextOptions(), named name: String? = nil,
    where condition: ((QuerySubject<Root>) -> Filter)? = nil
  ) {
    let (paths, refusal) = ModelIndex.paths(repeat each properties)
    self.name = name
    self.paths = paths
    isUnique = false
    eachElement = false
    fullText = options
    let filter = condition.map { $0(QuerySubject()).expression } ?? .all
    self.filter = filter
    self.refusal = refusal ?? filter.refusal
  }

  /// Returns the paths of properties, and the error of the first one that has none.
  private static func paths<Root, each V>(
    _ properties: repeat (QuerySubject<Root>) -> QueryProperty<each V>
  ) -> (paths: [QueryPath], refusal: DatabaseError?) {
    var paths: [QueryPath] = []
    var refusal: DatabaseError?
    for property in repeat each properties {
      let property = property(QuerySubject())
      refusal = refusal ?? property.refusal?.error
      paths.append(property.path)
    }
    return (paths, refusal)
  }
}

/// The indexes that a model class declares, or the error of one that cannot be built.
///
/// They contain only documents of the class; ``DeclaredIndexes`` adds documents of its subclasses.
struct ModelIndexes: Sendable {
  private(set) var indexes: [DocumentIndex] = []
  private(set) var refusal: DatabaseError?

  init(of modelClass: ModelClass) {
    do throws(DatabaseError) {
      indexes = try ModelIndexes.ofProperties(modelClass)
      for index in modelClass.type.indexes {
        indexes.append(try ModelIndexes.index(index, modelClass))
      }
      try ModelIndexes.requireUniqueNames(of: indexes)
    } catch {
      refusal = error
    }
  }

  /// Throws if two different indexes have the same name.
  static func requireUniqueNames(of indexes: [DocumentIndex]) throws(DatabaseError) {
    for (number, index) in indexes.enumerated() {
      for other in indexes[..<number] where haveSameUTF8(other.name, index.name) && other != index {
        throw DatabaseError(
          .invalidModelClass,
          "two different indexes are named \(index.name.debugDescription)",
          hint:
            "Give one of them another name with `named:`, or one of the classes another document type"
        )
      }
    }
  }

  private static func ofProperties(
    _ modelClass: ModelClass
  ) throws(DatabaseError) -> [DocumentIndex] {
    modelClass.properties.compactMap { property in
      guard let kind = property.location.indexKind else { return nil }
      let name = modelClass.indexName(property.key)
      if case .fullText(let options) = kind {
        return DocumentIndex(
          name, fullTextPaths: [[property.key]], options: options ?? FullTextOptions(),
          where: modelClass.typeConditions)
      }
      return DocumentIndex(
        name, paths: [[property.key]], isUnique: kind == .unique,
        eachElement: kind == .eachElement, where: modelClass.typeConditions)
    }
  }

  private static func index(
    _ index: ModelIndex, _ modelClass: ModelClass
  ) throws(DatabaseError) -> DocumentIndex {
    func refuse(_ what: String, _ hint: String) -> DatabaseError {
      DatabaseError(.invalidIndex, "an index of \(modelClass.type) \(what)", hint: hint)
    }
    if let refusal = index.refusal {
      throw refuse("cannot be built: \(refusal.message)", refusal.hint ?? "Index stored properties")
    }
    guard !index.paths.isEmpty else {
      throw refuse("has no properties", "Name at least one property")
    }
    let paths = try keys(of: index.paths, refuse)
    let conditions: [IndexCondition]
    do throws(DatabaseError) {
      conditions = modelClass.typeConditions + (try index.filter.indexConditions())
    } catch {
      throw refuse("cannot be built: \(error.message)", error.hint ?? "Index stored properties")
    }
    let name = modelClass.indexName(
      index.name ?? paths.map { $0.joined(separator: ".") }.joined(separator: "+"))
    if let options = index.fullText {
      return DocumentIndex(name, fullTextPaths: paths, options: options, where: conditions)
    }
    return DocumentIndex(
      name, paths: paths, isUnique: index.isUnique, eachElement: index.eachElement,
      where: conditions)
  }

  /// Returns the keys in the paths of properties.
  private static func keys(
    of paths: [QueryPath], _ refuse: (_ what: String, _ hint: String) -> DatabaseError
  ) throws(DatabaseError) -> [[String]] {
    var found: [[String]] = []
    for path in paths {
      guard let keys = path.keys else {
        throw refuse(
          "is on \"\(path)\", which is not a property of its documents",
          "Index a property, and follow references when you query")
      }
      found.append(keys)
    }
    return found
  }
}

extension ModelClass {
  /// Returns the full name of an index of the class.
  fileprivate func indexName(_ name: String) -> String {
    documentType.map { "model:\($0).\(name)" } ?? "model:\(name)"
  }

  /// The conditions that limit an index to documents of the class, if it declares a type.
  fileprivate var typeConditions: [IndexCondition] {
    guard let first = documentTypes.first else { return [] }
    return [
      IndexCondition(
        path: [documentTypeKey],
        documentTypes.count == 1
          ? .equal(.string(first)) : .isIn(documentTypes.map { .string($0) }))
    ]
  }
}
