// What the database has of a model.

extension Model {
  /// The model's document as its context has it: with its revision, attachments and all properties, those that the class does
  /// not declare among them; nil if there is none.
  ///
  /// ```swift
  /// if let document = try film.document {
  ///   print(document.id, document.revision ?? "none", document.json)
  /// }
  /// ```
  ///
  /// It is what was stored, without what is changed in the model and not saved: ``propertiesToSave()`` has that. A new model has no
  /// document, nor has one that is deleted, or in no context. In a transaction it is what that has stored by now. Changing
  /// it changes nothing else: put it in a transaction.
  ///
  /// - Throws: ``DatabaseError/Code/closed`` if the context is over, and whatever reading throws.
  public final var document: Document? {
    get throws {
      noteAccess(ModelObservation.statePath)
      noteAccess(ModelObservation.documentPath)
      guard state == .stored, let core else { return nil }
      if case .transaction(let transaction) = core.source { return try transaction.get(id) }
      return try core.requireSnapshot().get(id)
    }
  }

  /// The revision of the model's document that its context has: the winning one, if there are several; nil if there is no
  /// document.
  ///
  /// ```swift
  /// let before = try film.revision
  /// try film.save()
  /// print(try film.revision == before ? "nothing was stored" : "it was stored")
  /// ```
  ///
  /// - Throws: as ``document``.
  public final var revision: RevisionID? {
    get throws { try document?.revision }
  }

  /// Tells observers that the context has another revision of the document.
  final func noteOtherDocument() { announcing(ModelObservation.documentPath) {} }
}
