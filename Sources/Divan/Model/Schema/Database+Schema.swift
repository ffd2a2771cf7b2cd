#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Database {
  /// Opens a store, and prepares it for a schema; creates it if there is none.
  ///
  /// ```swift
  /// let database = try Database(at: "Todos.divan", schema: Schema(Todo.self, TodoList.self))
  /// ```
  ///
  /// Runs the migrations that have not been run, then builds the indexes that are missing: see
  /// ``Schema``. If nothing is missing, nothing is written. A database that can only be read
  /// (``Configuration/isReadOnly``, damage, a full disk) is left as it is. To open a large database
  /// without blocking a thread, use ``open(at:schema:configuration:progress:)``.
  ///
  /// - Parameters:
  ///   - path: The store's directory. It is created if it is missing, with the directories around
  ///     it.
  ///   - schema: The kinds of documents, their indexes and the migrations.
  ///   - configuration: How the database behaves.
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if two kinds of documents have the same
  ///   type; the errors of ``init(at:configuration:)``, ``migrate(_:)-1hsqt``,
  ///   ``addIndexes(for:progress:)-8y952`` and ``addIndex(_:progress:)-9g191``. Migrations and
  ///   indexes that are complete by then stay.
  public convenience init(
    at path: String, schema: Schema, configuration: Configuration = Configuration()
  ) throws {
    try schema.validate()
    try self.init(at: path, configuration: configuration)
    try prepare(for: schema) { _ in }
  }

  /// Opens a store at a file URL: see ``init(at:schema:configuration:)``.
  ///
  /// ```swift
  /// let url = URL.applicationSupportDirectory.appending(path: "Todos.divan")
  /// let database = try Database(url: url, schema: Schema(Todo.self))
  /// ```
  ///
  /// - Throws: ``DatabaseError/Code/notAStore`` if it is not a file URL.
  public convenience init(
    url: URL, schema: Schema = Schema(), configuration: Configuration = Configuration()
  ) throws {
    try self.init(
      at: try url.filePath(orThrow: .notAStore), schema: schema, configuration: configuration)
  }

  /// Creates an empty store in memory, prepared for a schema, which ends with its last reference.
  ///
  /// For tests and previews.
  public static func inMemory(
    schema: Schema, configuration: Configuration = Configuration()
  ) throws -> Database {
    try schema.validate()
    let database = try inMemory(configuration: configuration)
    try database.prepare(for: schema) { _ in }
    return database
  }

  /// Opens a store without blocking the calling thread: see ``init(at:schema:configuration:)``.
  ///
  /// ```swift
  /// let database = try await Database.open(at: path, schema: schema) { share in
  ///   print("\(Int(share * 100)) %")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - schema: The kinds of documents, their indexes and the migrations.
  ///   - configuration: How the database behaves.
  ///   - progress: Receives the completed share, between 0 and 1, on another thread. If it throws,
  ///     opening stops with that error.
  /// - Returns: The database.
  /// - Throws: The errors of ``init(at:schema:configuration:)``; ``DatabaseError/Code/cancelled``
  ///   if the task is cancelled. Migrations and indexes that are complete by then stay.
  public static func open(
    at path: String, schema: Schema = Schema(), configuration: Configuration = Configuration(),
    progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws -> Database {
    try await run { isCancelled in
      @Sendable func report(_ share: Double) throws {
        if isCancelled() { throw cancelledOpening }
        try progress?(share)
      }
      var configuration = configuration
      configuration.openingProgress = { [own = configuration.openingProgress] share in
        try own?(share)
        try report(share / 2)
      }
      try schema.validate()
      try report(0)
      let database = try Database(at: path, configuration: configuration)
      try database.prepare(for: schema) { share in try report(0.5 + share / 2) }
      try report(1)
      return database
    }
  }

  /// Opens a store at a file URL: see ``open(at:schema:configuration:progress:)``.
  ///
  /// - Throws: ``DatabaseError/Code/notAStore`` if it is not a file URL.
  public static func open(
    url: URL, schema: Schema = Schema(), configuration: Configuration = Configuration(),
    progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws -> Database {
    try await open(
      at: try url.filePath(orThrow: .notAStore), schema: schema, configuration: configuration,
      progress: progress)
  }

  private static let cancelledOpening = DatabaseError(
    .cancelled, "the task was cancelled while the database was being opened")

  /// Runs the migrations of a schema, and builds its indexes.
  private func prepare(for schema: Schema, progress: (Double) throws -> Void) throws {
    DatabaseSchema.set(schema, of: store)
    // Read-only, by request, for damage or for lack of space.
    guard store.refusal == nil else { return }
    let declared = schema.models.flatMap { ModelClass.of($0).andIndexedSuperclasses }
      .flatMap { $0.indexes.indexes + $0.inverses.map(\.index) }
    try ModelIndexes.requireUniqueNames(of: schema.indexes + declared)
    try migrate(schema.migrations)
    let total = Double(schema.indexes.count + 1)
    try withoutActuallyEscaping(progress) { progress in
      try addIndexes(forAll: schema.models) { try progress($0 / total) }
      for (number, index) in schema.indexes.enumerated() {
        try replaceIndex(
          with: index, isCancelled: { Task.isCancelled },
          progress: { try progress((Double(number + 1) + $0) / total) })
      }
    }
  }
}
