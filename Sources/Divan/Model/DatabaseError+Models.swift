// The codes of errors that only the model layer throws.

extension DatabaseError.Code {
  /// The operation is not available in the context of a transaction.
  public static let inTransaction = Self("inTransaction", 401)

  /// The model is in no context, or in another one.
  public static let notInContext = Self("notInContext", 402)
  /// The context has a model of another class for this document.
  public static let modelClassMismatch = Self("modelClassMismatch", 403)

  /// The database was not closed, because autosaving contexts have unsaved models.
  public static let unsavedModels = Self("unsavedModels", 404)

  /// A model reported that it is invalid.
  public static let invalidModel = Self("invalidModel", 405)

  /// A ``DeleteRule/deny`` rule forbids deleting a model.
  public static let deleteDenied = Self("deleteDenied", 406)

  /// A model class cannot be used as it is declared.
  public static let invalidModelClass = Self("invalidModelClass", 407)

  /// Whether a retry would fail again.
  var isFinal: Bool {
    [
      .conflict, .damaged, .validationFailed, .notUnique, .notFound, .alreadyExists, .invalidValue,
      .documentTooLarge, .transactionTooLarge,
    ].contains(self)
  }
}
