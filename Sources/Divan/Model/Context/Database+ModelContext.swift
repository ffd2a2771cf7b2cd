import DivanLog

extension Database {
  /// Creates a context for models, which belongs to the caller.
  ///
  /// - Parameter registry: the classes of documents; without it, a document becomes a model of the
  ///   class that you request.
  /// - Returns: a context that reads the database in its current state.
  public func makeContext(_ registry: ModelRegistry? = nil) -> sending ModelContext {
    ModelContext(.database(self), registry)
  }
}
