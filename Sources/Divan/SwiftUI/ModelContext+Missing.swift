extension ModelContext {
  /// The error of a view whose environment has no database.
  static let missingDatabase = DatabaseError(
    .notInContext, "the environment of the view has no database",
    hint: "Add `.divan(database)` to the scene, or to a view above this one")

  /// Returns a context for a view whose environment has none: everything throws that error.
  static func missing() -> ModelContext { ModelContext(.ended(missingDatabase), nil) }
}
