import DivanLog

extension Database {
  /// Builds the indexes that model classes declare, unless they exist already.
  ///
  /// ```swift
  /// try database.addIndexes(for: Todo.self, Person.self)
  /// ```
  ///
  /// These are the indexes of ``Persisted`` properties with an `index`, those in ``Model/indexes``,
  /// and those that ``Inverse`` properties need. Call this method after opening the database,
  /// before anything is saved. See ``addIndex(_:progress:)-9g191`` for the cost. A context that
  /// saves models of a class for the first time builds missing indexes. If it cannot, its
  /// ``ModelContext/errorHandler`` receives the error, and later saves try again if the reason may
  /// pass. The error is ``DatabaseError/Code/invalidModelClass`` if another class has declared a
  /// different index with the name since the database was opened; that index stays.
  ///
  /// The indexes of a class contain only the documents of its types and of its subclasses' types,
  /// and unique values are unique among these documents. Their names are `model:`, the type, a dot
  /// and the keys of the properties. If the class declares no type, they contain all documents with
  /// the properties, and their names have no type. Indexes for inverses are named `reference:`,
  /// followed by the key of the property that refers.
  ///
  /// A subclass inherits the indexes of its superclass. If the subclass declares its own type, it
  /// has its own indexes, which contain fewer documents, and the indexes of its superclasses with a
  /// type are built along with them. For example, `addIndexes(for: Film.self, Series.self)` also
  /// builds the indexes of `Show`, which order all shows and make unique values of `Show` unique
  /// among films and series together.
  ///
  /// Subclasses become known when they are named here, when a context that has them in its
  /// ``ModelRegistry`` saves, or when one of their models is saved. An index without the documents
  /// of a newly known subclass is then rebuilt; name all classes here to avoid later rebuilding.
  /// Types in an existing index that no known class declares are kept. Subclasses with a different
  /// ``Model/documentTypeKey`` are not in the indexes of their superclass.
  ///
  /// An index whose declaration has changed is removed and rebuilt. If the rebuilt index would
  /// violate uniqueness, the previous index is restored. An index that is no longer declared stays
  /// until ``removeIndex(named:)-222v9``.
  ///
  /// - Parameters:
  ///   - types: model classes.
  ///   - progress: called with the completed fraction, from 0 to 1. If it throws, building stops
  ///     with that error, and completed indexes stay; so it does with
  ///     ``DatabaseError/Code/cancelled`` if the task is cancelled.
  /// - Throws: ``DatabaseError/Code/invalidIndex`` if a class declares an invalid index, and
  ///   ``DatabaseError/Code/invalidModelClass`` if two different indexes would have the same name;
  ///   no index is built then. The errors of ``addIndex(_:progress:)-9g191``.
  public func addIndexes(
    for types: Model.Type..., progress: ((Double) throws -> Void)? = nil
  ) throws {
    try addIndexes(forAll: types, progress: progress)
  }

  /// Builds the indexes that model classes declare, without blocking the calling thread.
  ///
  /// See the synchronous call.
  ///
  /// - Parameters:
  ///   - types: Model classes.
  ///   - progress: Receives the completed share, between 0 and 1, on another thread.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled`` if the task is
  ///   cancelled, and completed indexes stay.
  public func addIndexes(
    for types: Model.Type..., progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws {
    try await Database.run(reportingTo: progress) { report in
      try withoutActuallyEscaping(report) { try self.addIndexes(forAll: types, progress: $0) }
    }
  }

  /// Builds the indexes that model classes declare.
  func addIndexes(
    forAll types: [Model.Type], progress: ((Double) throws -> Void)? = nil
  ) throws {
    var wanted: [(index: DocumentIndex, of: ModelClass)] = []
    for type in types {
      for known in ModelClass.of(type).andIndexedSuperclasses {
        let declared = known.indexes
        if let refusal = declared.refusal { throw refusal }
        wanted += (declared.indexes + known.inverses.map(\.index)).map { ($0, known) }
      }
    }
    try ModelIndexes.requireUniqueNames(of: wanted.map(\.index))
    for (index, _) in wanted { try index.validate(path) }
    let declared = DeclaredIndexes.of(store)
    declared.know(types)
    for (index, _) in wanted { declared.set(index) }
    for (number, (index, known)) in wanted.enumerated() {
      try addDeclaredIndex(index, of: known, isCancelled: { Task.isCancelled }) { share in
        try progress?((Double(number) + share) / Double(wanted.count))
      }
    }
  }

  /// Builds a declared index, extended to known subclasses, replacing another one with its name.
  func addDeclaredIndex(
    _ own: DocumentIndex, of known: ModelClass, isCancelled: @escaping () -> Bool = { false },
    progress: ((Double) throws -> Void)? = nil
  ) throws {
    let index = DeclaredIndexes.of(store).index(own, of: known, amid: try indexes())
    try replaceIndex(with: index, isCancelled: isCancelled, progress: progress)
  }
}
