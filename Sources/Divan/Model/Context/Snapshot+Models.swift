extension Snapshot {
  /// Calls a closure with a context that reads this snapshot.
  ///
  /// ```swift
  /// let titles = try database.read { snapshot in
  ///   try snapshot.models { context in
  ///     try context.models(Film.self).map(\.title).collect()
  ///   }
  /// }
  /// ```
  ///
  /// The context is valid only during the closure. You can create and change models in it, but
  /// saving them throws ``DatabaseError/Code/readOnly``. The compiler prevents models from being
  /// returned from the closure. If they escape through a variable, the values they have can still
  /// be read, and reading more throws ``DatabaseError/Code/closed``.
  ///
  /// - Parameters:
  ///   - registry: the classes of documents; nil for those of the database's ``Schema``, or else
  ///     for the class that you request.
  ///   - body: a synchronous closure that receives the context.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`.
  public func models<R>(
    _ registry: ModelRegistry? = nil, _ body: (ModelContext) throws -> sending R
  ) rethrows -> sending R {
    let context = ModelContext(.snapshot(self), registry)
    defer {
      context.core.end(
        DatabaseError(
          .closed, "the context has ended", hint: "Use it only within its closure")
      )
    }
    return try body(context)
  }
}
