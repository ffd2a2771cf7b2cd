#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A change of what is stored that is made once in the life of a database.
///
/// ```swift
/// let migrations = [
///   Migration("years are numbers") { transaction in
///     var films = try transaction.documents()
///     while var film = try films.next() {
///       guard let year = film["year"]?.stringValue.flatMap({ Int64($0) }) else { continue }
///       film["year"] = .int(year)
///       try transaction.put(film)
///     }
///   }
/// ]
/// try database.migrate(migrations)
/// ```
///
/// For what can be done document by document when each is read, see ``Model/upgrade(from:)``.
public struct Migration: Sendable {
  /// What tells it from others; it is run once under this name.
  public let name: String
  fileprivate let change: @Sendable (WriteTransaction) throws -> Void

  /// Describes a migration.
  ///
  /// - Parameters:
  ///   - name: what tells it from others, for ever.
  ///   - change: makes the changes, all in one transaction.
  public init(_ name: String, _ change: @escaping @Sendable (WriteTransaction) throws -> Void) {
    self.name = name
    self.change = change
  }

  /// What a migration would do: see ``Database/rehearse(_:)``.
  public struct Rehearsal: Sendable {
    /// The documents that it would store or delete, as they would be.
    public let changes: [Change]
    /// How many documents there are before it that are not deleted.
    public let countBefore: Int
    /// How many there would be after it.
    public let countAfter: Int
  }

  /// The local document that says which migrations were run, and when.
  static let documentID = "divan migrations"
}

extension Database {
  /// Runs those migrations that were not run in this database yet, one after the other.
  ///
  /// Each is a transaction of its own, which notes that it was run: after an error or a crash, those before
  /// it are done, and it is not. The notes stand in the local document `divan migrations`.
  ///
  /// - Parameter migrations: all migrations that there ever were, in their order.
  /// - Returns: the names of those that were run now.
  /// - Throws: ``DatabaseError/Code/alreadyExists`` if two have the same name, before any is run; whatever a
  ///   migration throws, and as ``write(durability:timeout:_:)-4yolg``.
  @discardableResult
  public func migrate(_ migrations: [Migration]) throws -> [String] {
    var known: Set<String> = []
    for migration in migrations where !known.insert(migration.name).inserted {
      throw DatabaseError(
        .alreadyExists, "two migrations are called \(migration.name.debugDescription)",
        hint: "Give each a name of its own: the second would never be run", path: path)
    }
    var names: [String] = []
    for migration in migrations {
      let isNew = try write { transaction in
        var done = try transaction.localDocument(Migration.documentID) ?? [:]
        guard done[migration.name] == nil else { return false }
        try migration.change(transaction)
        let now = Date(timeIntervalSince1970: Double(store.configuration.now()) / 1000)
        done[migration.name] = .string(now.formatted(.iso8601))
        try transaction.putLocal(Migration.documentID, done)
        return true
      }
      if isNew { names.append(migration.name) }
    }
    return names
  }

  /// Does what a migration would do, and takes it back.
  ///
  /// Nothing is stored, and readers see nothing of it; writers wait meanwhile. Whether it was run before makes
  /// no difference. Takes memory for all documents that it changes.
  ///
  /// - Returns: what the migration would do to the database as it is now.
  /// - Throws: whatever the migration throws, and as ``write(durability:timeout:_:)-4yolg``.
  public func rehearse(_ migration: Migration) throws -> Migration.Rehearsal {
    /// Ends the transaction.
    struct Enough: Error {
      let rehearsal: Migration.Rehearsal
    }
    do {
      return try write { transaction in
        let (sequence, count) = (transaction.lastSequence, transaction.count)
        try migration.change(transaction)
        var changes = ChangeCursor(transaction.view, since: sequence)
        throw Enough(
          rehearsal: Migration.Rehearsal(
            changes: try changes.rest(), countBefore: count, countAfter: transaction.count))
      }
    } catch let enough as Enough {
      return enough.rehearsal
    }
  }
}
