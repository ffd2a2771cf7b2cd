import DivanLog

extension ModelContext {
  /// Returns the model with this ID: the same object for as long as it lives.
  ///
  /// - Returns: the model; nil if there is no such document, or it is deleted.
  /// - Throws: the errors of ``model(_:id:)``.
  public func model<M: Model>(_ id: ModelID<M>) throws -> M? {
    try model(M.self, id: id.documentID)
  }
}
