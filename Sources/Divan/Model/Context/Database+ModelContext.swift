import DivanLog

extension Database {
  /// Creates a context for models, which belongs to the caller.
  ///
  /// - Parameter registry: the classes of documents; nil for those of the database's ``Schema``, or
  ///   else for the class that you request.
  /// - Returns: a context that reads the database in its current state.
  public func makeContext(_ registry: ModelRegistry? = nil) -> sending ModelContext {
    ModelContext(.database(self), registry)
  }
}
