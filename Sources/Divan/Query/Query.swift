import DivanLog

/// Which documents are meant, in which order, and how many of them.
///
/// ```swift
/// let query = Query<Todo>().filter { $0.done == false && $0.tags.contains("home") }.sort(\.due).limit(20)
/// let todos = try context.find(query)
/// ```
///
/// The subject is a class of models, a ``DocumentCodable`` type, or ``Document`` for documents as they are, whose properties are
/// named: `Query<Document>().filter { $0["year"] > 1920 }`. A query is a value, which can be kept, sent anywhere, and asked
/// of any ``Snapshot``, ``WriteTransaction`` or ``ModelContext``.
///
/// Comparisons that make no sense do not compile. What only shows when it is made, such as a property that is not
/// stored, or a pattern that is too long, makes every run of it throw ``DatabaseError/Code/invalidQuery``.
public struct Query<Subject>: Sendable {
  var core = QueryCore()

  /// Makes a query for all documents of a kind.
  init(kind: FilterExpression) { core.kind = kind }
}

extension Query where Subject == Document {
  /// Makes a query for all documents.
  public init() { self.init(kind: .all) }
}

extension Query where Subject: DocumentCodable {
  /// Makes a query for all values of the type: the documents that have its ``DocumentCodable/documentType`` as their `type`.
  public init() {
    let path = QueryPath(steps: [.key(DocumentType.key)])
    self.init(kind: .test(path, .equal(.string(Subject.documentType))))
  }
}

extension Query where Subject: Codable {
  /// Not there: documents of a type that is only `Codable` cannot be told from others.
  @available(
    *, unavailable,
    message:
      "documents of this type cannot be told from others: make it DocumentCodable, or ask a Query<Document>"
  )
  public init() { self.init(kind: .nothing) }
}

/// A query without the type of what it is about.
struct QueryCore: Sendable {
  /// Which documents are of the subject at all.
  var kind = FilterExpression.all
  /// The conditions that were said, joined; nil if none was.
  var conditions: Filter?
  /// By what the results are sorted: first by the first; where all are equal, by the bytes of the IDs.
  var sorts: [QuerySort] = []
  var limit: Int?
  var offset = 0
}

extension QueryCore {
  var filter: FilterExpression {
    get { conditions?.expression ?? .all }
    set { conditions = Filter(newValue) }
  }

  /// All that documents must fulfil.
  var whole: FilterExpression { .joining(conjuncts) }

  /// The parts of that.
  var conjuncts: [FilterExpression] {
    // Most queries say nothing of the kind, or nothing else.
    let filter = filter
    if case .all = kind { return filter.conjuncts }
    if case .all = filter { return kind.conjuncts }
    return kind.conjuncts + filter.conjuncts
  }

  /// Whether the results may change with other documents than those that are or were among them.
  var followsReferences: Bool {
    kind.followsReferences || filter.followsReferences
      || sorts.contains { $0.path.followsReferences }
  }
}

/// One of the orders that results are in.
struct QuerySort: Sendable, Hashable {
  var path: QueryPath
  var descending: Bool
  /// Whether texts are in the order of their bytes, and not in that of people.
  var byBytes: Bool
}

extension Query {
  /// Only what also fulfils a condition.
  public func filter(_ condition: (QuerySubject<Subject>) -> Filter) -> Query {
    filter(condition(QuerySubject()))
  }

  /// Only what also fulfils a filter.
  public func filter(_ filter: Filter) -> Query {
    var query = self
    query.core.conditions = core.conditions.map { $0 && filter } ?? filter
    return query
  }

  /// In the order of a property; where it is equal, in that of the next one that is said.
  ///
  /// Null and what is missing come first, then false, true, numbers, texts, arrays and objects. Where everything is equal,
  /// documents come in the order of the bytes of their IDs.
  ///
  /// - Parameters:
  ///   - descending: whether in the opposite order.
  ///   - byBytes: whether texts are in the order of their bytes, which an index has, and not in that of people.
  ///   - property: the property.
  /// - Returns: the query with this order behind those that were said before.
  public func sort<PropertyValue: QueryOrdered>(
    descending: Bool = false, byBytes: Bool = false,
    _ property: (QuerySubject<Subject>) -> QueryProperty<PropertyValue>
  ) -> Query {
    let property = property(QuerySubject())
    var query = self
    if let refusal = property.refusal { return filter(Filter(.refused(refusal.error))) }
    query.core.sorts.append(
      QuerySort(
        path: property.path, descending: descending,
        byBytes: byBytes || PropertyValue.sortsByBytes))
    return query
  }

  /// No more than so many results.
  ///
  /// - Precondition: `count` is not negative.
  public func limit(_ count: Int) -> Query {
    require(count >= 0, "A limit below 0")
    var query = self
    query.core.limit = count
    return query
  }

  /// The query with the first of its results only, if it has any.
  var onlyFirst: Query { limit(min(core.limit ?? 1, 1)) }

  /// Without the first results.
  ///
  /// - Precondition: `count` is not negative.
  public func offset(_ count: Int) -> Query {
    require(count >= 0, "An offset below 0")
    var query = self
    query.core.offset = count
    return query
  }
}

extension Query where Subject == Document {
  /// In the order of the property of this name: see ``sort(descending:byBytes:_:)``.
  public func sort(_ name: String, descending: Bool = false, byBytes: Bool = false) -> Query {
    sort(descending: descending, byBytes: byBytes) { $0[name] }
  }
}

extension Query where Subject: DocumentCodable {
  /// In the order of a property: see ``sort(descending:byBytes:_:)``.
  public func sort<PropertyValue: QueryOrdered>(
    _ path: KeyPath<Subject, PropertyValue>, descending: Bool = false, byBytes: Bool = false
  ) -> Query {
    sort(descending: descending, byBytes: byBytes) { $0[dynamicMember: path] }
  }
}

extension Query: CustomStringConvertible {
  /// The query in words.
  public var description: String { core.description }
}

extension QueryCore: CustomStringConvertible {
  var description: String {
    var text = whole.description
    if !sorts.isEmpty {
      text +=
        ", by "
        + sorts.map { "\($0.path)\($0.descending ? " descending" : "")" }
        .joined(separator: ", then ")
    }
    if offset > 0 { text += ", without the first \(offset)" }
    if let limit { text += ", at most \(limit)" }
    return text
  }
}
