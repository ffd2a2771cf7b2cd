import DivanLog

extension ModelContext {
  /// Changes and saves all models that match a query in one transaction: all of them, or none.
  ///
  /// ```swift
  /// try context.update(Query<Todo>().filter { $0.due < today }) { $0.priority += 1 }
  /// ```
  ///
  /// The query is executed in the transaction before anything is changed, on the newest documents,
  /// so no model is visited twice. With a ``ModelRegistry``, a query for a class includes its
  /// subclasses.
  ///
  /// `change` receives models that are created for this call, a few hundred at a time, which
  /// limits memory use. They belong to a context of the transaction and are invalid after the
  /// call: see ``WriteTransaction/models``. You may set their references to models of this context.
  /// New models that they refer to are saved with them.
  ///
  /// Hooks and ``Model/validate(_:)`` are called as by ``saveModels(_:)``, a few hundred models at
  /// a time. Changes that ``Model/didSave()`` makes are saved too, for up to sixteen rounds.
  /// Unsaved models of this context stay unsaved. `change` must not save with this context, unless
  /// it is the context of a transaction: the nested transaction would throw ``DatabaseError`` with
  /// the code `nestedWrite`.
  ///
  /// Afterwards, this context's models show the changes, and ``undo()`` undoes them as a whole.
  /// Models that match and have unsaved changes keep them, as if the documents had been changed
  /// externally. Saving them keeps both changes; if they concern the same property, it is a
  /// conflict until ``refresh()``.
  ///
  /// - Parameters:
  ///   - query: the models to change.
  ///   - change: changes one model; it may delete this model or others.
  /// - Returns: the number of models that `change` was called with.
  /// - Throws: the errors of ``find(_:)``, ``saveModels(_:)`` and `change`;
  ///   ``DatabaseError/Code/invalidModel`` if ``Model/didSave()`` still changes models after the
  ///   last round; ``DatabaseError/Code/readOnly`` in the context of a snapshot.
  @discardableResult
  public func update<M: Model>(
    _ query: Query<M>, _ change: (M) throws -> Void
  ) throws -> Int { try core.update(query, change) }

  /// Deletes all models that match a query, and applies their ``DeleteRule``s, in one transaction.
  ///
  /// The models are those that ``find(_:)`` returns. They are deleted as by ``Model/delete()``, but
  /// together: a rule that denies deleting one of them ignores the others. Their unsaved changes
  /// are discarded. All of them are in memory until the transaction ends. If an error is thrown,
  /// nothing is deleted.
  ///
  /// A query of a class without a ``Model/documentType`` concerns the documents of all classes. So
  /// deleting what it matches has to be asked for:
  ///
  /// ```swift
  /// try context.delete(Query<Page>().filter { $0.text == "" }, includingOtherClasses: true)
  /// ```
  ///
  /// - Parameters:
  ///   - query: the models to delete.
  ///   - includingOtherClasses: whether to delete documents although they may be of other classes,
  ///     because the class has no document type.
  /// - Returns: the number of models that match the query, not including those that a rule deletes.
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if the class has no document type, and
  ///   `includingOtherClasses` is false; the errors of ``find(_:)`` and ``Model/delete()``.
  @discardableResult
  public func delete<M: Model>(
    _ query: Query<M>, includingOtherClasses: Bool = false
  ) throws -> Int {
    try core.source.requireWritable()
    if !includingOtherClasses { try M.requireDocumentType() }
    let models = try find(query)
    try core.delete(models)
    return models.count
  }
}
