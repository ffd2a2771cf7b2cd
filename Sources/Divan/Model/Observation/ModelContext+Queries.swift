import DivanLog

/// Queries of a context see the stored documents of its snapshot.
///
/// Unsaved changes make no difference, and models that were never saved are not in the results.
/// With a ``ModelRegistry``, a query for a class includes its subclasses.
extension ModelContext: QuerySource {
  /// The view that the context reads, with the classes of its registry.
  public func _queryView(of subject: Any.Type) throws -> _QueryView {
    _QueryView(
      view: try core.requireSnapshot().view,
      kind: (subject as? any QueriedClass.Type)?.kind(core.registry))
  }

  /// Returns the models that match a query, in its order.
  ///
  /// The query sees the stored documents of the context's snapshot. Unsaved changes make no
  /// difference, and models that were never saved are not in the result.
  ///
  /// - Throws: ``DatabaseError/Code/invalidQuery`` if the query cannot be executed; the errors of
  ///   reading.
  public func find<M: Model>(_ query: Query<M>) throws -> [M] {
    let view = try core.requireSnapshot().view
    let execution = try QueryExecution(view, core.known(query).core, readsResults: true)
    var contents: [ModelContent] = []
    try execution.forEach { candidate in
      let id = try view.text(ofID: candidate.id)
      let properties = EncodedValue(try execution.record(of: candidate).takeProperties())
      contents.append(ModelContent(id: id, properties: properties))
      return true
    }
    // Making a model runs its hooks, and may change it. So no model is made if reading fails.
    return try contents.compactMap { content in
      let model = try core.model(M.self, of: content)
      return model.isDeleted ? nil : model
    }
  }

  /// Returns the first model that matches a query; nil if there is none.
  public func first<M: Model>(_ query: Query<M>) throws -> M? { try find(query.onlyFirst).first }

  /// Returns the models of a class that meet a condition, in no particular order.
  ///
  /// ```swift
  /// let silent = try context.find(Film.self) { $0.year < 1930 }
  /// ```
  ///
  /// It is short for a ``Query`` with a filter.
  public func find<M: Model>(
    _ type: M.Type, where condition: (QuerySubject<M>) -> Filter
  ) throws -> [M] {
    try find(Query<M>().filter(condition))
  }

  /// Returns the models of a class in which a property is true, in no particular order.
  ///
  /// For example: `context.find(Todo.self) { $0.done }`.
  public func find<M: Model>(
    _ type: M.Type, where property: (QuerySubject<M>) -> QueryProperty<Bool>
  ) throws -> [M] {
    try find(Query<M>().filter(property))
  }

  /// Returns a model of a class that meets a condition; nil if there is none.
  public func first<M: Model>(
    _ type: M.Type, where condition: (QuerySubject<M>) -> Filter
  ) throws -> M? {
    try first(Query<M>().filter(condition))
  }
}
