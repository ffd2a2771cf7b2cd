extension ModelContextCore {
  /// Whether models of a class are in another context.
  func isInOtherContext(_ type: Model.Type) -> Bool { crossContext.contains { $0.includes(type) } }

  /// Returns the context in which to look up the targets of references to a class.
  ///
  /// - Throws: ``DatabaseError/Code/closed`` if it was released.
  func targetCore(of type: Model.Type) throws(DatabaseError) -> ModelContextCore {
    guard !crossContext.isEmpty, let found = crossContext.first(where: { $0.includes(type) }) else {
      return self
    }
    guard let context = found.context else {
      throw DatabaseError(
        .closed, "the context of the models of \(type) was released",
        hint: "Retain it as long as the context that refers to its models")
    }
    return context.core
  }

  /// Inserts a model that is in no context into the context for a property's declared class.
  func insert(_ target: Model, referredToAs type: Model.Type) {
    guard target.core == nil else { return }
    do throws(DatabaseError) {
      try targetCore(of: type).insertTarget(target)
    } catch {
      handle?.report(error)
    }
  }
}
