#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Database {
  /// Runs the migrations that were not run in this database yet, one after the other.
  ///
  /// Each is a transaction of its own, which also notes that it was run. So after an error or a
  /// crash, the migrations before it are done, and it is not. The notes are in the local document
  /// `divan migrations`.
  ///
  /// - Parameter migrations: all migrations that ever existed, in their order.
  /// - Returns: the names of the migrations that were run now.
  /// - Throws: ``DatabaseError/Code/alreadyExists`` if two have the same name, before any is run;
  ///   errors of a migration, and as ``write(durability:timeout:_:)-4yolg``.
  @discardableResult
  public func migrate(_ migrations: [Migration]) throws -> [String] {
    var names: [String] = []
    // Found before any write, so that nothing is written if there is nothing to do.
    for migration in try pendingMigrations(among: migrations) {
      let isNew = try write { transaction in
        var done = try transaction.localDocument(Migration.documentID) ?? [:]
        guard done[migration.id] == nil else { return false }
        try migration.change(transaction)
        let now = Date(timeIntervalSince1970: Double(store.configuration.now()) / 1000)
        done[migration.id] = .string(now.formatted(.iso8601))
        try transaction.putLocal(Migration.documentID, done)
        return true
      }
      if isNew { names.append(migration.id) }
    }
    return names
  }

  /// Finds the migrations that were not run in this database yet.
  ///
  /// ```swift
  /// let pending = try database.pendingMigrations(among: [numbers])
  /// print("To do:", pending.map(\.id))
  /// ```
  ///
  /// - Parameter migrations: all migrations that ever existed, in their order.
  /// - Returns: those that ``migrate(_:)-1hsqt`` would run, in the same order.
  /// - Throws: ``DatabaseError/Code/alreadyExists`` if two have the same name; the errors of
  ///   reading.
  public func pendingMigrations(among migrations: [Migration]) throws -> [Migration] {
    var known: Set<String> = []
    for migration in migrations where !known.insert(migration.id).inserted {
      throw DatabaseError(
        .alreadyExists, "two migrations have the name \(migration.id.debugDescription)",
        hint: "Give each a unique name: the second would never be run", path: path)
    }
    let done = try snapshot().localDocument(Migration.documentID) ?? [:]
    return migrations.filter { done[$0.id] == nil }
  }

  /// Runs a migration, and rolls it back.
  ///
  /// Nothing is stored, and readers see no effect; writers wait for it. It makes no difference
  /// whether the migration was run before. Takes memory for all documents that it changes.
  ///
  /// - Returns: the effects that the migration would have on the database as it is now.
  /// - Throws: errors of the migration, and as ``write(durability:timeout:_:)-4yolg``.
  public func dryRun(_ migration: Migration) throws -> Migration.DryRun {
    try rollBack { try migration.change($0) }
  }

  /// Runs the migrations that ``migrate(_:)-1hsqt`` would run, and rolls them back.
  ///
  /// They run one after the other in one transaction, so all their changes together must be within
  /// ``Configuration/transactionSizeLimit``.
  ///
  /// - Parameter migrations: all migrations that ever existed, in their order.
  /// - Returns: the effects of all pending migrations together.
  /// - Throws: as ``pendingMigrations(among:)`` and `dryRun` with one migration.
  public func dryRun(_ migrations: [Migration]) throws -> Migration.DryRun {
    // For the error; another process or thread may run some before the transaction begins.
    _ = try pendingMigrations(among: migrations)
    return try rollBack { transaction in
      let done = try transaction.localDocument(Migration.documentID) ?? [:]
      for migration in migrations where done[migration.id] == nil {
        try migration.change(transaction)
      }
    }
  }

  /// Returns the effects of `change`, which are rolled back.
  private func rollBack(_ change: (WriteTransaction) throws -> Void) throws -> Migration.DryRun {
    /// Thrown to roll back the transaction.
    struct DryRunEnd: Error {
      let effects: Migration.DryRun
    }
    do {
      return try write { transaction in
        let (sequence, count) = (transaction.lastSequence, transaction.count)
        try change(transaction)
        let changes = try ChangeCursor(transaction.view, since: sequence).collect()
        throw DryRunEnd(
          effects: Migration.DryRun(
            changes: changes, countBefore: count, countAfter: transaction.count))
      }
    } catch let end as DryRunEnd {
      return end.effects
    }
  }
}
