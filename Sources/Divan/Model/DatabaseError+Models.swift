// The codes of errors that only the model layer throws.

extension DatabaseError.Code {
  /// The operation is not available in the context of a transaction.
  public static let inTransaction = Self("inTransaction")

  /// The model is in no context, or in another one.
  public static let notInContext = Self("notInContext")
  /// The context has a model of another class for this document.
  public static let modelClassMismatch = Self("modelClassMismatch")

  /// The database was not closed, because autosaving contexts have unsaved models.
  public static let unsavedModels = Self("unsavedModels")

  /// A model reported that it is invalid.
  public static let invalidModel = Self("invalidModel")

  /// A ``DeleteRule/deny`` rule forbids deleting a model.
  public static let deleteDenied = Self("deleteDenied")

  /// A model class cannot be used as it is declared.
  public static let invalidModelClass = Self("invalidModelClass")

  /// Whether a retry would fail again.
  var isFinal: Bool {
    [
      .conflict, .damaged, .validationFailed, .notUnique, .notFound, .alreadyExists, .invalidValue,
      .documentTooLarge, .transactionTooLarge,
    ].contains(self)
  }
}
