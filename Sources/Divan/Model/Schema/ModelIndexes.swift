import DivanLog

/// What the index of a property contains: `@Persisted(index: .unique) var name = ""`.
///
/// ```swift
/// final class User: Model {
///   @Persisted(index: .unique) var email: String?
///   @Persisted(index: .value) var joined: Date?
///   @Persisted(index: .eachElement) var groups: [String]
/// }
/// ```
///
/// The index contains only documents of the class and its subclasses, and queries for the class
/// use it. See ``Database/addIndexes(for:progress:)-8y952``.
public struct PropertyIndex<Value>: Sendable {
  @usableFromInline let _kind: PropertyIndexKind

  /// The value; an array is indexed as a whole.
  public static var value: PropertyIndex { PropertyIndex(_kind: .value) }

  /// The value, which must be unique.
  ///
  /// No two models of the class and its subclasses may have the same value, other than nil. Saving
  /// a second model with the value throws ``DatabaseError/Code/notUnique``. Nothing is saved then,
  /// and the models stay unsaved.
  public static var unique: PropertyIndex { PropertyIndex(_kind: .unique) }
}

extension PropertyIndex where Value: _QueryElements {
  /// Each element of an array: queries find models by any element.
  public static var eachElement: PropertyIndex { PropertyIndex(_kind: .eachElement) }
}

/// The kind of a property's index, without the property's type.
@usableFromInline
enum PropertyIndexKind: Sendable {
  case value, unique, eachElement
}

/// An index of a model class over several properties, or over some documents: ``Model/indexes``.
///
/// ```swift
/// override class var indexes: [ModelIndex] {
///   [ModelIndex(of: Todo.self, on: { $0.list }, { $0.due }, where: { $0.done == false })]
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
    var paths: [QueryPath] = []
    var refusal: DatabaseError?
    for property in repeat each properties {
      let property = property(QuerySubject())
      refusal = refusal ?? property.refusal?.error
      paths.append(property.path)
    }
    self.name = name
    self.paths = paths
    self.isUnique = isUnique
    self.eachElement = eachElement
    let filter = condition.map { $0(QuerySubject()).expression } ?? .all
    self.filter = filter
    self.refusal = refusal ?? filter.refusal
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
      return DocumentIndex(
        modelClass.indexName(property.key), paths: [[property.key]], isUnique: kind == .unique,
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
    var paths: [[String]] = []
    for path in index.paths {
      guard let keys = path.keys else {
        throw refuse(
          "is on \"\(path)\", which is not a property of its documents",
          "Index a property, and follow references when you query")
      }
      paths.append(keys)
    }
    let conditions: [IndexCondition]
    do throws(DatabaseError) {
      conditions = try index.filter.indexConditions()
    } catch {
      throw refuse("cannot be built: \(error.message)", error.hint ?? "Index stored properties")
    }
    let name = index.name ?? paths.map { $0.joined(separator: ".") }.joined(separator: "+")
    return DocumentIndex(
      modelClass.indexName(name), paths: paths, isUnique: index.isUnique,
      eachElement: index.eachElement, where: modelClass.typeConditions + conditions)
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
