/// What queries are asked of: a ``Snapshot``, a ``WriteTransaction``, which answers with what it has changed so far, or a
/// ``ModelContext``, whose registry knows the subclasses of classes of models.
///
/// Every call costs what the plan costs that ``explain(_:)`` tells, and throws ``DatabaseError`` with the codes
/// `invalidQuery` if the query cannot be answered, `damaged` if a document that must be read cannot be, and `closed`.
public protocol QuerySource {
  /// A way to the documents, for Divan's own use.
  func _queryView() throws -> _QueryView
}

/// What a query reads; only Divan makes these.
public struct _QueryView {
  let view: StoreView
  /// Which documents are of a subject, where that is known better here than in the query; nil where it is not.
  var kind: (Any.Type) -> FilterExpression? = { _ in nil }
}

extension Snapshot: QuerySource {
  /// This version.
  public func _queryView() throws -> _QueryView { _QueryView(view: view) }
}

extension WriteTransaction: QuerySource {
  /// The version that the transaction makes.
  public func _queryView() throws -> _QueryView {
    try check()
    return _QueryView(view: view)
  }
}

extension QuerySource {
  func run<Subject>(_ query: Query<Subject>, readsResults: Bool = false) throws -> QueryRun {
    let source = try _queryView()
    guard let kind = source.kind(Subject.self) else {
      return try QueryRun(source.view, query.core, readsResults: readsResults)
    }
    var core = query.core
    core.kind = kind
    return try QueryRun(source.view, core, readsResults: readsResults)
  }

  /// The documents that a query means, in its order.
  public func find(_ query: Query<Document>) throws -> [Document] { try documents(of: query) }

  /// The values of a type that the documents of a query are, in its order.
  ///
  /// - Throws: also what decoding throws, of a document that says that it is of this type and does not fit it.
  public func find<T: DocumentCodable>(_ query: Query<T>) throws -> [T] {
    try documents(of: query).map { try $0.decode(T.self) }
  }

  /// The first document that a query means; nil if there is none.
  public func first(_ query: Query<Document>) throws -> Document? {
    try documents(of: query.onlyFirst).first
  }

  /// The first value that a query means; nil if there is none.
  public func first<T: DocumentCodable>(_ query: Query<T>) throws -> T? {
    try find(query.onlyFirst).first
  }

  /// The IDs of the documents that a query means, in its order.
  public func ids<Subject>(_ query: Query<Subject>) throws -> [String] {
    var ids: [String] = []
    let run = try run(query)
    try run.forEach { hit in
      ids.append(try run.view.text(ofID: hit.id))
      return true
    }
    return ids
  }

  /// How many documents a query means, without those that its offset and its limit leave out.
  ///
  /// Where indexes answer the whole filter, no document is read.
  public func count<Subject>(_ query: Query<Subject>) throws -> Int {
    var query = query
    query.core.sorts = []
    return try run(query).count()
  }

  /// Whether a query means any document.
  public func exists<Subject>(_ query: Query<Subject>) throws -> Bool {
    var query = query.onlyFirst
    query.core.sorts = []
    return try run(query).count() > 0
  }

  /// Answers a query and says how.
  public func explain<Subject>(_ query: Query<Subject>) throws -> QueryExplanation {
    let run = try run(query)
    try run.forEach { _ in true }
    return try run.explanation()
  }

  func documents<Subject>(of query: Query<Subject>) throws -> [Document] {
    let run = try run(query, readsResults: true)
    var documents: [Document] = []
    try run.forEach { hit in
      try run.add(hit, to: &documents)
      return true
    }
    return documents
  }
}

extension QueryRun {
  /// Adds the document of a result.
  ///
  /// It is made in its place: a document is large, and would be copied by whoever hands it on.
  func add(
    _ hit: borrowing QueryHit, to documents: inout [Document]
  ) throws(DatabaseError) {
    try view.checkText(ofID: hit.id)
    documents.append(view.document(of: try record(of: hit)))
  }
}
