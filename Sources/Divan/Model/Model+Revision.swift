// The stored document of a model.

extension Model {
  /// The model's document as stored in the context's snapshot; nil if there is none.
  ///
  /// It has the document's revision, its attachments and all of its properties, including those
  /// that the class does not declare.
  ///
  /// ```swift
  /// if let document = try film.document {
  ///   print(document.id, document.revision ?? "none", document.json)
  /// }
  /// ```
  ///
  /// Unsaved changes of the model are not included: see ``propertiesToSave()``. A model that is
  /// new, deleted, or in no context has no document. In a transaction, it is the document that the
  /// transaction has stored so far. Changing the document does not change the model or the
  /// database; to store it, put it in a transaction.
  ///
  /// - Throws: ``DatabaseError/Code/closed`` if the context has ended, and the errors of reading.
  public final var document: Document? {
    get throws {
      noteAccess(ModelObservation.statePath)
      noteAccess(ModelObservation.documentPath)
      guard state == .stored, let core else { return nil }
      if case .transaction(let transaction) = core.source { return try transaction.document(id) }
      return try core.requireSnapshot().document(id)
    }
  }

  /// The revision of the model's document in its context; nil if there is no document.
  ///
  /// If the document has conflicting revisions, it is the winning one.
  ///
  /// ```swift
  /// let before = try film.revision
  /// try film.save()
  /// print(try film.revision == before ? "nothing was stored" : "it was stored")
  /// ```
  ///
  /// - Throws: the errors of ``document``.
  public final var revision: RevisionID? {
    get throws { try document?.revision }
  }

  /// Notifies observers that the context has another revision of the document.
  final func noteOtherDocument() { announcing(ModelObservation.documentPath) {} }
}
