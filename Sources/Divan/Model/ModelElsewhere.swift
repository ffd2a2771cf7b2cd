// References to models of another context, which may be one of another database.

/// Where the models of a class are, if not in the context that refers to them.
struct ModelElsewhere {
  /// Which class that was said of.
  let type: Model.Type
  /// Whether a class is the one that was meant, or a subclass of it.
  let includes: (Model.Type) -> Bool
  weak var context: ModelContext?
}

extension ModelContext {
  /// Says in which context the models of a class are that are referred to from here, such as one of another database.
  ///
  /// ```swift
  /// films.setContext(people, for: Person.self)
  /// film.director = Person(in: people)
  /// ```
  ///
  /// It concerns the properties that are declared as references to this class or a subclass of it, and ``Inverse`` properties
  /// whose models are of one: what they refer to is looked for there, and a model in no context that they are set to comes
  /// there. The document has the other model's ID, and nothing that says where that is.
  ///
  /// Each context saves and refreshes its own models only: no transaction spans two databases, so save what is referred to first. A
  /// ``DeleteRule`` cannot reach into the other context: deleting a model whose class has one that would throws
  /// ``DatabaseError/Code/notInContext``. The other context belongs to the same task, thread or actor, and is not held by this one:
  /// when it is gone the properties read as nil or empty, ``errorHandler`` is told, and the references stay.
  ///
  /// - Parameters:
  ///   - context: where the models are; nil, or this context, for here.
  ///   - type: a class of models.
  public func setContext<M: Model>(_ context: ModelContext?, for type: M.Type) {
    core.elsewhere.removeAll { $0.type == type }
    guard let context, context !== self else { return }
    // What is said last of a class comes before what was said of its superclasses.
    core.elsewhere.insert(
      ModelElsewhere(type: type, includes: { $0 is M.Type }, context: context), at: 0)
  }
}

extension ModelContextCore {
  /// Whether models of a class are in another context.
  func isElsewhere(_ type: Model.Type) -> Bool { elsewhere.contains { $0.includes(type) } }

  /// The context in which models of a class are that are referred to from here.
  ///
  /// - Throws: ``DatabaseError/Code/closed`` if it is gone.
  func home(of type: Model.Type) throws(DatabaseError) -> ModelContextCore {
    guard !elsewhere.isEmpty, let found = elsewhere.first(where: { $0.includes(type) }) else {
      return self
    }
    guard let context = found.context else {
      throw DatabaseError(
        .closed, "the context in which the models of \(type) are is gone",
        hint: "Hold it as long as the one that refers to them")
    }
    return context.core
  }

  /// Puts in a model that is in no context, where models of the class are that a property declares.
  func insert(_ target: Model, referredToAs type: Model.Type) {
    guard target.core == nil else { return }
    do throws(DatabaseError) {
      try home(of: type).insert(target)
    } catch {
      handle?.errorHandler?(error)
    }
  }
}
