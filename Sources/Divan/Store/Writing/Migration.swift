#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A change of stored documents that is made once in the life of a database.
///
/// ```swift
/// let migrations = [
///   Migration(id: "years are numbers") { transaction in
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
/// To upgrade each document when it is read, see ``Model/upgrade(from:)``.
public struct Migration: Sendable, Identifiable {
  /// The unique name; the migration is run once under it.
  public let id: String
  let change: @Sendable (WriteTransaction) throws -> Void

  /// Creates a migration.
  ///
  /// - Parameters:
  ///   - id: a unique name, which must never change.
  ///   - change: makes the changes, all in one transaction.
  public init(id: String, _ change: @escaping @Sendable (WriteTransaction) throws -> Void) {
    self.id = id
    self.change = change
  }

  /// The effects that a migration would have: see `Database.dryRun(_:)`.
  ///
  /// ```swift
  /// let run = try database.dryRun(migration)
  /// for change in run.changes { print(change.id, change.document.json) }
  /// ```
  public struct DryRun: Sendable {
    /// The documents that it would store or delete, as they would be.
    public let changes: [Change]
    /// The number of documents before the migration that are not deleted.
    public let countBefore: Int
    /// The number of documents after it.
    public let countAfter: Int
  }

  /// The local document that records which migrations were run, and when.
  package static let documentID = "divan migrations"
}
