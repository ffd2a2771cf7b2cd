// Saving and deleting for asynchronous callers, whose actor they do not block.

extension Model {
  /// Stores the model's changes, without blocking the actor; see ``ModelContext/save(isolation:)``.
  ///
  /// - Parameter actor: The actor that the model belongs to; the caller's actor by default.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public final func save(isolation actor: isolated (any Actor)? = #isolation) async throws {
    try await requireCore().save([self])
  }

  /// Deletes the model's document, without blocking the actor while the transaction runs.
  ///
  /// Hooks are called, and other models found that a ``DeleteRule`` concerns, on the actor. The
  /// model is deleted when the call returns. It differs from the synchronous call as
  /// ``ModelContext/save(isolation:)`` does.
  ///
  /// - Parameter actor: The actor that the model belongs to; the caller's actor by default.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public final func delete(isolation actor: isolated (any Actor)? = #isolation) async throws {
    guard state != .deleted else { return }
    try await requireCore().delete([self])
  }
}
