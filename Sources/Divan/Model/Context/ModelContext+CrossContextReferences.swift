extension ModelContext {
  /// Looks up the models of a class to which models here refer in another context.
  ///
  /// Use it for references into another database, for example:
  ///
  /// ```swift
  /// films.resolveReferences(to: Person.self, in: people)
  /// film.director = Person(in: people)
  /// ```
  ///
  /// It applies to properties that are declared as references to this class or a subclass, and to
  /// ``Inverse`` properties with such models. Their targets are looked up in the given context. A
  /// model in no context that is assigned to such a property is inserted there. The document stores
  /// only the ID of the other model, not its location.
  ///
  /// Each context saves and refreshes only its own models. No transaction spans two databases, so
  /// save the targets first. A ``DeleteRule`` cannot reach into the other context: deleting a model
  /// whose class has such a rule throws ``DatabaseError/Code/notInContext``.
  ///
  /// The other context must belong to the same task, thread or actor, and is not retained by this
  /// one. After it was released, the properties read as nil or empty, ``errorHandler`` receives an
  /// error, and the references stay.
  ///
  /// - Parameters:
  ///   - type: The class of the models.
  ///   - context: The context of the models; nil, or this context, to look them up here.
  public func resolveReferences<M: Model>(to type: M.Type, in context: ModelContext?) {
    core.crossContext.removeAll { $0.type == type }
    guard let context, context !== self else { return }
    // The latest setting for a class takes precedence over earlier ones for its superclasses.
    core.crossContext.insert(
      CrossContextReference(type: type, includes: { $0 is M.Type }, context: context), at: 0)
  }
}
