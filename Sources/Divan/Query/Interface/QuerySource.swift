/// A source that runs queries: a ``Snapshot``, a ``WriteTransaction`` or a ``ModelContext``.
///
/// ```swift
/// func titles(in source: some QuerySource) throws -> [String] {
///   try source.find(Query<Film>().sorted(by: \.title)).map(\.title)
/// }
/// ```
///
/// A ``WriteTransaction`` includes its own changes so far. The registry of a ``ModelContext`` knows
/// the subclasses of model classes.
///
/// Every call costs what the plan costs that ``explain(_:)`` returns. It throws ``DatabaseError``
/// with the codes `invalidQuery` if the query cannot be executed, `notFound` if it searches text
/// without a full-text index, `damaged` if a document that must be read cannot be, and `closed`.
public protocol QuerySource {
  /// Returns access to the documents for a query of a subject, for Divan's own use.
  func _queryView(of subject: Any.Type) throws -> _QueryView
}

/// The documents that a query reads; only Divan creates these.
public struct _QueryView {
  let view: ReadView
  /// The condition that a document is of the subject; nil if the query's own applies.
  var kind: FilterExpression?
}

extension QuerySource {
  func execution<Subject>(
    of query: Query<Subject>, readsResults: Bool = false
  ) throws -> QueryExecution {
    let source = try _queryView(of: Subject.self)
    var core = query.core
    if let kind = source.kind { core.kind = kind }
    return try QueryExecution(source.view, core, readsResults: readsResults)
  }

  /// Returns the documents that match a query, in its order.
  public func find(_ query: Query<Document>) throws -> [Document] { try documents(of: query) }

  /// Returns the values of a type that match a query, in its order.
  ///
  /// - Throws: also decoding errors of a document that claims to be of this type and does not fit
  ///   it.
  public func find<T: DocumentCodable>(_ query: Query<T>) throws -> [T] {
    try documents(of: query).map { try $0.decode(T.self) }
  }

  /// Returns the values of a type that meet a condition, in no particular order.
  ///
  /// ```swift
  /// let silent = try snapshot.find(Book.self) { $0.year < 1930 }
  /// ```
  ///
  /// It is short for a ``Query`` with a filter.
  public func find<T: DocumentCodable>(
    _ type: T.Type, where condition: (QuerySubject<T>) -> Filter
  ) throws -> [T] {
    try find(Query<T>().filter(condition))
  }

  /// Returns the values of a type in which a property is true, in no particular order.
  public func find<T: DocumentCodable>(
    _ type: T.Type, where property: (QuerySubject<T>) -> QueryProperty<Bool>
  ) throws -> [T] {
    try find(Query<T>().filter(property))
  }

  /// Returns the first document that matches a query; nil if there is none.
  public func first(_ query: Query<Document>) throws -> Document? {
    try documents(of: query.onlyFirst).first
  }

  /// Returns the first value that matches a query; nil if there is none.
  public func first<T: DocumentCodable>(_ query: Query<T>) throws -> T? {
    try find(query.onlyFirst).first
  }

  /// Returns a value of a type that meets a condition; nil if there is none.
  public func first<T: DocumentCodable>(
    _ type: T.Type, where condition: (QuerySubject<T>) -> Filter
  ) throws -> T? {
    try first(Query<T>().filter(condition))
  }

  /// Returns the IDs of the documents that match a query, in its order.
  public func ids<Subject>(_ query: Query<Subject>) throws -> [String] {
    var ids: [String] = []
    let execution = try execution(of: query)
    try execution.forEach { candidate in
      ids.append(try execution.view.text(ofID: candidate.id))
      return true
    }
    return ids
  }

  /// Returns the number of documents that match a query, after its offset and limit.
  ///
  /// If indexes answer the whole filter, no document is read.
  public func count<Subject>(_ query: Query<Subject>) throws -> Int {
    var query = query
    query.core.dropOrder()
    return try execution(of: query).count()
  }

  /// Whether any document matches a query.
  public func exists<Subject>(_ query: Query<Subject>) throws -> Bool {
    var query = query.onlyFirst
    query.core.dropOrder()
    return try execution(of: query).count() > 0
  }

  /// Executes a query, and returns how it was executed.
  public func explain<Subject>(_ query: Query<Subject>) throws -> QueryExplanation {
    let execution = try execution(of: query)
    try execution.forEach { _ in true }
    return try execution.explanation()
  }

  func documents<Subject>(of query: Query<Subject>) throws -> [Document] {
    let execution = try execution(of: query, readsResults: true)
    var documents: [Document] = []
    try execution.forEach { candidate in
      try execution.view.checkText(ofID: candidate.id)
      // It is created in place: a document is large, and passing it on would copy it.
      documents.append(execution.view.document(of: try execution.record(of: candidate)))
      return true
    }
    return documents
  }
}
