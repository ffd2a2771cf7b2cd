import DivanLog

/// A query for documents: a filter, an order, and the number of results.
///
/// ```swift
/// let query = Query<Todo>()
///   .filter { $0.done == false && $0.tags.contains("home") }
///   .sorted(by: \.due)
///   .limit(20)
/// let todos = try context.find(query)
/// ```
///
/// The subject is a class of models, a ``DocumentCodable`` type, or ``Document``. In a query for
/// documents you name properties: `Query<Document>().filter { $0["year"] > 1920 }`. A query is a
/// value. You can keep it, send it anywhere, and run it on any ``Snapshot``, ``WriteTransaction``
/// or ``ModelContext``.
///
/// Comparisons that make no sense do not compile. Some errors are found only when the query is
/// built, such as a property that is not stored, or a pattern that is too long. Every run of such a
/// query throws ``DatabaseError/Code/invalidQuery``.
public struct Query<Subject>: Sendable {
  var core = QueryCore()

  /// Creates a query for all documents of a kind.
  init(kind: FilterExpression) { core.kind = kind }
}

extension Query where Subject == Document {
  /// Creates a query for all documents.
  public init() { self.init(kind: .all) }
}

extension Query where Subject: DocumentCodable {
  /// Creates a query for all values of the type.
  ///
  /// These are the documents that have its ``DocumentCodable/documentType`` as their `type`.
  public init() {
    let path = QueryPath(steps: [.key(DocumentType.key)])
    self.init(kind: .test(path, .equal(.string(Subject.documentType))))
  }
}

extension Query where Subject: Codable {
  /// Unavailable: documents of a type that is only `Codable` cannot be distinguished from others.
  @available(
    *, unavailable,
    message:
      "documents of this type cannot be distinguished from others: make it DocumentCodable, or use a Query<Document>"
  )
  public init() { self.init(kind: .nothing) }
}

/// A query without the type of its subject.
struct QueryCore: Sendable {
  /// The condition that a document is of the subject.
  var kind = FilterExpression.all
  /// The conditions of the query, joined; nil if there is none.
  var conditions: Filter?
  /// The sort keys, the most significant first; equal results are sorted by the bytes of their IDs.
  var sorts: [QuerySort] = []
  /// The order by the condition on text, if results have it.
  var textOrder: FullTextOrder?
  var limit: Int?
  var offset = 0
}

extension QueryCore {
  var filter: FilterExpression {
    get { conditions?.expression ?? .all }
    set { conditions = Filter(newValue) }
  }

  /// All conditions that documents must meet.
  var whole: FilterExpression { .joining(conjuncts) }

  /// The parts of ``whole``.
  var conjuncts: [FilterExpression] {
    // Most queries have no condition on the kind, or no other.
    let filter = filter
    if case .all = kind { return filter.conjuncts }
    if case .all = filter { return kind.conjuncts }
    return kind.conjuncts + filter.conjuncts
  }

  /// Whether the results depend on documents that neither are nor were among them.
  var followsReferences: Bool {
    kind.followsReferences || filter.followsReferences
      || sorts.contains { $0.path.followsReferences }
  }
}

extension QueryCore {
  /// Whether the documents that match its condition on text best come first.
  var isByRelevance: Bool { textOrder != nil }

  /// Throws if the results cannot be ordered by relevance, and are to be.
  func refuseOrder() throws(DatabaseError) {
    guard isByRelevance else { return }
    guard sorts.isEmpty else {
      throw DatabaseError(
        .invalidQuery, "a query is sorted by relevance and by properties",
        hint: "Sort by one of them. Equally relevant documents have a fixed order")
    }
    let count = conjuncts.count { if case .fullText = $0 { true } else { false } }
    guard count != 1 else { return }
    throw DatabaseError(
      .invalidQuery,
      count == 0
        ? "a query is sorted by relevance, and no condition on text must be true for all results"
        : "a query is sorted by relevance, and has \(count) conditions on text",
      hint: "Join one condition `matches` with the others by &&, and write AND and OR in its query")
  }

  /// Drops sort keys, where the order of results makes no difference.
  ///
  /// An order by relevance stays, so that it is refused if it must be.
  mutating func dropOrder() {
    if !isByRelevance { sorts = [] }
  }
}

/// A sort key of results.
struct QuerySort: Sendable, Hashable {
  var path: QueryPath
  var descending: Bool
  /// Whether texts are sorted by their bytes, and not by collation.
  var byBytes: Bool
}

extension Query {
  /// Returns the query, restricted to documents that also meet a condition.
  public func filter(_ condition: (QuerySubject<Subject>) -> Filter) -> Query {
    filter(condition(QuerySubject()))
  }

  /// Returns the query, restricted to documents in which a property is also true.
  ///
  /// For example: `Query<Todo>().filter { $0.done }`.
  public func filter(_ property: (QuerySubject<Subject>) -> QueryProperty<Bool>) -> Query {
    filter(property(QuerySubject()) == true)
  }

  /// Returns the query, restricted to documents that also match a filter.
  public func filter(_ filter: Filter) -> Query {
    var query = self
    query.core.conditions = core.conditions.map { $0 && filter } ?? filter
    return query
  }

  /// Returns the query with a property as its next sort key.
  ///
  /// Each key orders the results for which all earlier keys are equal. Null and missing values come
  /// first, then false, true, numbers, texts, arrays and objects. Where all keys are equal,
  /// documents are sorted by the bytes of their IDs.
  ///
  /// ```swift
  /// Query<Event>().sorted(.descending) { $0.place.name }
  /// ```
  ///
  /// - Parameters:
  ///   - direction: Whether the smallest or the greatest value comes first.
  ///   - texts: How texts are ordered.
  ///   - property: The property.
  /// - Returns: The query with this sort key after the existing ones.
  public func sorted<PropertyValue: _QueryOrdered>(
    _ direction: SortDirection = .ascending, texts: TextOrder = .collated,
    by property: (QuerySubject<Subject>) -> QueryProperty<PropertyValue>
  ) -> Query {
    let property = property(QuerySubject())
    var query = self
    if let refusal = property.refusal { return filter(Filter(.refused(refusal.error))) }
    query.core.sorts.append(
      QuerySort(
        path: property.path, descending: direction == .descending,
        byBytes: texts == .bytes || PropertyValue.sortsByBytes))
    return query
  }

  /// Returns the query with the documents first that match its full-text condition best.
  ///
  /// ```swift
  /// Query<Note>().filter { $0.text.matches(.fullText("urgent milk*")) }.sort(.relevance).limit(10)
  /// ```
  ///
  /// Exactly one condition `matches` must be true for all results: it is joined with the others by
  /// `&&`, and not negated. There are no further sort keys. Executing any other query throws
  /// ``DatabaseError/Code/invalidQuery``. With a limit, only the documents of the best matches are
  /// read.
  public func sort(_ order: FullTextOrder) -> Query {
    var query = self
    query.core.textOrder = order
    return query
  }

  /// Returns the query, limited to `count` results.
  ///
  /// - Precondition: `count` is not negative.
  public func limit(_ count: Int) -> Query {
    require(count >= 0, "A limit must not be negative")
    var query = self
    query.core.limit = count
    return query
  }

  /// The query, limited to its first result.
  var onlyFirst: Query { limit(min(core.limit ?? 1, 1)) }

  /// Returns the query without its first `count` results.
  ///
  /// - Precondition: `count` is not negative.
  public func offset(_ count: Int) -> Query {
    require(count >= 0, "An offset must not be negative")
    var query = self
    query.core.offset = count
    return query
  }
}

extension Query where Subject == Document {
  /// Returns the query, sorted by the property of this name: see ``sorted(_:texts:by:)``.
  public func sorted(
    by name: String, _ direction: SortDirection = .ascending, texts: TextOrder = .collated
  ) -> Query {
    sorted(direction, texts: texts) { $0[name] }
  }
}

extension Query where Subject: DocumentCodable {
  /// Returns the query, sorted by a property: see ``sorted(_:texts:by:)``.
  public func sorted<PropertyValue: _QueryOrdered>(
    by path: KeyPath<Subject, PropertyValue>, _ direction: SortDirection = .ascending,
    texts: TextOrder = .collated
  ) -> Query {
    sorted(direction, texts: texts) { $0[dynamicMember: path] }
  }
}

extension Query: CustomStringConvertible {
  /// A textual description of the query.
  public var description: String { core.description }
}

extension QueryCore: CustomStringConvertible {
  var description: String {
    var text = whole.description
    if let textOrder { text += ", \(textOrder)" }
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
