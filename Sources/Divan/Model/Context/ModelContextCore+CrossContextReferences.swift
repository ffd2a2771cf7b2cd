extension ModelContextCore {
  /// Whether models of a class are in another context.
  func isElsewhere(_ type: Model.Type) -> Bool { crossContext.contains { $0.includes(type) } }

  /// Returns the context in which to look up the targets of references to a class.
  ///
  /// - Throws: ``DatabaseError/Code/closed`` if it was released.
  func home(of type: Model.Type) throws(DatabaseError) -> ModelContextCore {
    guard !crossContext.isEmpty, let found = crossContext.first(where: { $0.includes(type) }) else {
      return self
    }
    guard let context = found.context else {
      throw DatabaseError(
        .closed, "the context in which the models of \(type) are is gone",
        hint: "Hold it as long as the one that refers to them")
    }
    return context.core
  }

  /// Inserts a model that is in no context into the context for a property's declared class.
  func insert(_ target: Model, referredToAs type: Model.Type) {
    guard target.core == nil else { return }
    do throws(DatabaseError) {
      try home(of: type).insert(target)
    } catch {
      handle?.errorHandler?(error)
    }
  }
}
