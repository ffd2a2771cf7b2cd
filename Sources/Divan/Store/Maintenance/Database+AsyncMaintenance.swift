import DivanLog

// Long calls for asynchronous callers, whose thread they do not block.

extension Database {
  /// Closes the database without blocking the calling thread.
  ///
  /// See the synchronous ``close(discardsUnsavedModels:isolation:)-b22j``. Unsaved models of
  /// contexts that save by themselves are saved first, as ``ModelContext/save(isolation:)`` does.
  /// Models of such contexts that you change during the call are not saved any more. A task that is
  /// cancelled closes the database nevertheless.
  ///
  /// - Parameters:
  ///   - discardsUnsavedModels: Whether to close nevertheless, without saving any models.
  ///   - actor: The actor of the caller.
  /// - Throws: The errors of the synchronous call.
  public func close(
    discardsUnsavedModels: Bool = false, isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    if !discardsUnsavedModels, !store.isClosed { await store.services.saveBeforeClosing() }
    try prepareToClose(discardsUnsavedModels: discardsUnsavedModels, on: actor)
    try await Database.run { _ in try self.store.close() }
  }

  /// Makes everything durable that was committed before the call; see the synchronous `flush()`.
  public func flush() async throws {
    try await Database.run { _ in try self.store.flush() }
  }

  /// Frees the space of everything that is no longer needed; see the synchronous `compact()`.
  public func compact() async throws {
    try await Database.run { _ in try self.compact() }
  }

  /// Reads the entire store and reports all problems; see the synchronous `check(progress:)`.
  ///
  /// - Parameter progress: Receives the completed share, between 0 and 1, on another thread.
  /// - Returns: The findings, including any damage, which is not thrown.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled`` if the task is
  ///   cancelled.
  public func check(
    progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws -> CheckReport {
    try await Database.run(reportingTo: progress) { report in
      try withoutActuallyEscaping(report) { try self.check(progress: $0) }
    }
  }

  /// Copies the store to a new directory; see the synchronous `backup`.
  ///
  /// - Parameters:
  ///   - path: The directory of the copy; it must not exist, and must not be within a store.
  ///   - keepingHistory: Whether the copy has the named snapshots and the earlier versions.
  ///   - progress: Receives the completed share, between 0 and 1, on another thread.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled`` if the task is
  ///   cancelled, and nothing is left behind.
  public func backup(
    to path: String, keepingHistory: Bool = false,
    progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws {
    try await Database.run(reportingTo: progress) { report in
      try withoutActuallyEscaping(report) {
        try self.backup(to: path, keepingHistory: keepingHistory, progress: $0)
      }
    }
  }

  /// Restores a store from a backup; see the synchronous `restore`.
  public static func restore(
    from backup: String, to path: String, configuration: Configuration = Configuration()
  ) async throws {
    try await run { _ in
      try Database.restore(from: backup, to: path, configuration: configuration)
    }
  }

  /// Runs the migrations that were not run in this database yet; see the synchronous `migrate`.
  ///
  /// - Returns: The IDs of the migrations that were run now.
  @discardableResult
  public func migrate(_ migrations: [Migration]) async throws -> [String] {
    try await Database.run { _ in try self.migrate(migrations) }
  }

  /// Runs a migration, and rolls it back; see the synchronous `dryRun`.
  public func dryRun(_ migration: Migration) async throws -> Migration.DryRun {
    try await Database.run { _ in try self.dryRun(migration) }
  }

  /// Runs the migrations that were not run yet, and rolls them back; see the synchronous `dryRun`.
  public func dryRun(_ migrations: [Migration]) async throws -> Migration.DryRun {
    try await Database.run { _ in try self.dryRun(migrations) }
  }

  /// Builds an index of the documents, unless it exists; see the synchronous `addIndex`.
  ///
  /// - Parameters:
  ///   - index: The index to build.
  ///   - progress: Receives the completed share, between 0 and 1, on another thread.
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled`` if the task is
  ///   cancelled, and nothing is left.
  public func addIndex(
    _ index: DocumentIndex, progress: (@Sendable (Double) throws -> Void)? = nil
  ) async throws {
    try await Database.run(reportingTo: progress) { report in
      try withoutActuallyEscaping(report) { try self.addIndex(index, progress: $0) }
    }
  }

  /// Removes an index; see the synchronous `removeIndex`.
  ///
  /// - Returns: Whether there was one with this name.
  @discardableResult
  public func removeIndex(named name: String) async throws -> Bool {
    try await Database.run { _ in try self.removeIndex(named: name) }
  }

  /// Names a version, which is then retained; see the synchronous `saveSnapshot`.
  public func saveSnapshot(named name: String, of snapshot: Snapshot? = nil) async throws {
    try await Database.run { _ in try self.saveSnapshot(named: name, of: snapshot) }
  }

  /// Deletes the name of a version; see the synchronous `deleteSnapshot`.
  public func deleteSnapshot(named name: String) async throws {
    try await Database.run { _ in try self.deleteSnapshot(named: name) }
  }

  /// Purges the documents that have expired; see the synchronous `purgeExpiredDocuments()`.
  ///
  /// - Returns: The number of purged documents.
  @discardableResult
  public func purgeExpiredDocuments() async throws -> Int {
    try await Database.run { _ in try self.purgeExpiredDocuments() }
  }
}
